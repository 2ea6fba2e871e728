"""``tsbench new-method`` and ``tsbench new-dataset``: something to start from."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from tsbench.cli.options import command
from tsbench.console import say
from tsbench.disk import write_whole
from tsbench.errors import UserError

Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]


@command
def new_method(
    path: Annotated[Path, typer.Argument(metavar="FILE.py", help="Where to write it.")],
    force: Force = False,
) -> None:
    """Write a small method to start from: nearest class mean, with all that a method has.

    tsbench new-method mine.py
    """
    if path.suffix != ".py":
        raise UserError(f"'{path}' must end in .py")
    kind = _class_name(path.stem)
    text = _template("method.py").replace("./mine.py:Mine", quote(f"./{path.name}:{kind}"))
    _write(path, text.replace("Mine", kind), force)
    here = quote(f"{_place(path)}:{kind}")
    say(f"try it: tsbench check {here}")
    say(f"        tsbench run --method {here} --dataset demo")


@command
def new_dataset(
    path: Annotated[
        Path,
        typer.Argument(metavar="FOLDER|FILE.py", help="A folder of series, or a file to write."),
    ],
    force: Force = False,
) -> None:
    """Write the card of a folder of series, or a data set in one file to start from.

    tsbench new-dataset gestures/
    tsbench new-dataset mydata.py
    """
    if path.suffix == ".py":
        _identifier(path.stem)
        text = _template("dataset.py").replace("./mydata.py", f"./{path.name}")
        _write(path, text.replace('"mydata"', f'"{path.stem}"'), force)
        here = quote(f"{_place(path)}:card")
    else:
        from tsbench.data.custom.draft import draft
        from tsbench.data.custom.folder import CARD

        _write(path / CARD, draft(path), force)
        here = quote(_place(path))
    say(f"try it: tsbench check {here}")
    say(f"        tsbench run --method ts-acl --dataset {here}")


def _class_name(stem: str) -> str:
    """A class for a file: ``my_method`` → ``MyMethod``."""
    words = [word for word in re.split(r"\W+|_+", stem) if word]
    return _identifier("".join(word[0].upper() + word[1:] for word in words), stem)


def _identifier(name: str, stem: str = "") -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UserError(f"no name for Python code can be made from '{stem or name}'; try mine.py")
    return name


def _place(path: Path) -> str:
    """The path in a form that is never taken for a name."""
    return str(path) if path.is_absolute() else f"./{path.as_posix()}"


def _template(name: str) -> str:
    from importlib import resources

    return (resources.files("tsbench.templates") / name).read_text(encoding="utf-8")


def _write(path: Path, text: str, force: bool) -> None:
    if path.exists() and not force:
        raise UserError(f"'{path}' exists; --force overwrites it")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder '{path.parent}' to write '{path.name}' into")
    write_whole(path, text.encode())
    say(f"written to '{path}'")
