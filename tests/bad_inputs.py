"""Bad inputs for the campaign: arguments, damaged records, damaged data folders.

Each kind is a function that gives the words of one command after it has spoiled something in the
current folder, which ``furnish`` has filled. The options come from the program itself, so new ones
take part without being listed here.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from handmade_records import fail, make
from own_series import CARD_FILE, folder, waves

from tsbench.data.custom.recipe import Recipe

JUNK: list[Any] = [
    *(None, True, -1, 0, 10**400, 1e308, -0.0, 250.0, float("nan"), float("inf"), "", "x"),
    *(
        [],
        {},
        [None],
        [[1e308, 1e308]],
        {"a": {}},
        "\x1b[31m",
        "\ud800",
        "=1+1",
        "x" * 10_000,
        "../..",
    ),
]
LINES = """
- -- -1 0 1 7 nan inf 1e309 1000000000 0x10 ½ = a=b =1 strength=nan strength=-1 lr=inf replay=0
replay=-1 batch=1e9 epochs=0 1/0 0/1 3/2 9/9 1/1000000000 naive er ts-acl all mine.py:Mine mine.py:
mine.py : gone.py:X demo uwave own ./own levels.py:card ./gone cpu cuda cuda:99 results file file/x
fifo loop /dev/null /dev/null/x curves json html out.csv out.svg out.tex exp-ln-100 er,er naive,gone
paper main published subject recording val bn latex csv all pairs ranks datasets time tsne ci , ,,,
"""
WORDS = LINES.split()
WORDS += ["", " ", "x" * 300, "9" * 30, "\x1b]0;owned\x07", "\udcff", "e\u0301", "\u202egnp"]
NEVER = {"--executor", "--help", "--version", "--rerun"}
"""They would start a cluster or a long run, or say nothing about errors."""
RIGHT = {
    "list": "methods",
    "download": "./own",
    "run": "--method er,ts-acl --dataset demo",
    "tune": "--method er --dataset demo",
    "status": "--method er,ts-acl --dataset demo",
    "merge": "results --results merged",
    "figure": "curves --out f.svg",
    "check": "gone.py:X",  # any other takes seconds in a process of its own
    "new-method": "new.py",
    "new-dataset": "own --force",
}
"""Words after which a command can do its work."""


def furnish(place: Path) -> None:
    """A results folder, a data set of one's own, a method, and things that are neither."""
    template = place.with_name("template")
    if not template.exists():
        for method in ("er", "ts-acl"):
            for seed in (1, 2):
                make(template / "results", method, seed, a_t=70.0 + seed, f_t=12.0)
        fail(template / "results", "lwf", 1)
        x, y = waves()
        folder(template / "own", "name: own\ndata: all.npz", x=x, y=y)
        (template / "levels.py").write_text(CARD_FILE)
        method = "from tsbench import Method\nclass Mine(Method):\n    pass\n"
        (template / "mine.py").write_text(method)
        (template / "file").write_text("")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(template, place)
    os.mkfifo(place / "fifo")
    (place / "loop").symlink_to("loop")


def arguments() -> Any:
    """A Hypothesis strategy: a command that is right but for up to four of its options."""
    import typer
    from hypothesis import strategies as st

    from tsbench.cli.main import app

    letters = st.characters(exclude_characters="/\0", exclude_categories=["Cs"])
    text = st.text(letters, max_size=20).filter(lambda word: ".." not in word)
    number = st.one_of(st.integers(), st.floats(), st.integers(-3, 12)).map(str)
    word = st.one_of(st.sampled_from(WORDS), st.sampled_from(WORDS), number, text)
    unknown = st.tuples(text.map("--{}".format))

    def option(each: Any) -> Any:
        if each.is_flag:
            return st.just((each.opts[0],))
        return st.tuples(st.just(each.opts[0]), word)

    def command(verb: str, about: Any) -> Any:
        known = [
            p for p in about.params if p.param_type_name == "option" and p.opts[0] not in NEVER
        ]
        given = st.one_of([unknown, *(option(each) for each in known for _ in range(3))])
        right = st.just(RIGHT.get(verb, "").split())
        first = (
            right if verb == "check" else st.one_of(right, right, right, st.lists(word, max_size=2))
        )
        return st.tuples(first, st.lists(given, min_size=1, max_size=4)).map(
            lambda parts: [verb, *parts[0], *(word for group in parts[1] for word in group)]
        )

    program: Any = typer.main.get_command(app)
    commands = [command(verb, about) for verb, about in program.commands.items()]
    return st.one_of(*commands, *commands, *commands, st.lists(word, max_size=3))


def _places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(content, dict):
        items = content.items()
    elif isinstance(content, list):
        items = enumerate(content)
    return [*([path] if path else []), *(p for k, v in items for p in _places(v, (*path, k)))]


def _edit(random: Random, path: Path) -> str:
    """Change or remove one value of a JSON file."""
    content = json.loads(path.read_text())
    *outer, name = random.choice(_places(content))
    inner = content
    for key in outer:
        inner = inner[key]
    if random.random() < 0.2:
        del inner[name]
        action = "removed"
    else:
        inner[name] = random.choice(JUNK)
        action = repr(inner[name])[:40]
    path.write_text(json.dumps(content))
    return f"{path.name} {'.'.join(map(str, (*outer, name)))} = {action}"


def _spoil(random: Random, path: Path) -> str:
    """Damage a file, whatever is in it."""
    data = bytearray(path.read_bytes())
    at = random.randrange(len(data) or 1)
    actions = {
        "empty": b"", "cut": bytes(data[:at]), "twice": bytes(data * 2), "noise": b"\x00\xff",
        "nested": b"[" * 100_000, "list": b"[1]", "null": b"null", "digits": b"9" * 9_999,
        "changed": bytes(data[:at] + random.randbytes(random.randint(1, 8)) + data[at + 8 :]),
    }  # fmt: skip
    name = random.choice([*actions, "fifo", "folder", "loop", "gone"])
    path.unlink()
    if name in actions:
        path.write_bytes(actions[name])
    elif name == "fifo":
        os.mkfifo(path)
    elif name == "folder":
        path.mkdir()
    elif name == "loop":
        path.symlink_to(path.name)
    return f"{path.name} {name} at {at}"


READERS = [
    words.split()
    for words in (
        "report",
        "report --format csv",
        "report --format latex",
        "report --format json --compare paper",
        "report --format html --out page",
        "report --table all",
        "status --method er,ts-acl --dataset demo",
        "verify",
        "verify --all",
        "merge results --results merged",
        "merge results --check --results merged",
        "figure curves --out f.svg",
    )
]


def damaged_records(random: Random) -> tuple[str, list[str]]:
    """One or two records are changed; the words of a command that reads them."""
    files = sorted(path for path in Path("results").rglob("*.json") if path.is_file())
    done = []
    for path in random.sample(files, random.randint(1, 2)):
        done.append((_edit if random.random() < 0.6 else _spoil)(random, path))
    return "; ".join(done), random.choice(READERS)


def _odd_array(random: Random) -> np.ndarray:
    shape = tuple(random.choice([0, 1, 2, 20, 48]) for _ in range(random.randint(0, 4)))
    kind = random.choice(["f4", "f8", "i8", "U3", "c8", "M8[s]", "?", "f2"])
    array = np.zeros(shape, kind)
    if kind in ("f4", "f8") and array.size:
        array.flat[random.randrange(array.size)] = random.choice([np.nan, np.inf, 1e38, -0.0])
    return array


def damaged_data(random: Random, prepared: Path) -> tuple[str, list[str]]:
    """A folder of series or of prepared arrays is changed; the words of a command that reads it."""
    if random.random() < 0.5:
        shutil.copytree(prepared, "d")
        path = random.choice(sorted(path for path in Path("d").rglob("*") if path.is_file()))
        edit = path.suffix == ".json" and random.random() < 0.7
        done = (_edit if edit else _spoil)(random, path)
        return f"prepared {done}", random.choice(READERS_OF_PREPARED)
    kind = random.choice(["card", "file", "arrays"])
    if kind == "card":
        line = f"{random.choice(KEYS)}: {random.choice([*map(str, JUNK[:9]), *VALUES])}"
        Path("own/card.yaml").write_text(f"data: all.npz\n{line}\n")
        done = f"card {line[:60]}"
    elif kind == "arrays":
        x, y = waves()
        arrays = {"x": x, "y": y} | {random.choice(["x", "y", "subject"]): _odd_array(random)}
        np.savez("own/all.npz", **arrays)
        done = "arrays " + ", ".join(f"{k} {v.dtype} {v.shape}" for k, v in arrays.items())
    else:
        done = _spoil(random, random.choice([Path("own/card.yaml"), Path("own/all.npz")]))
    return f"own {done}", random.choice(READERS_OF_OWN)


KEYS = [*(field.name for field in fields(Recipe)), "x", "subject"]
VALUES = ["*a", "&a [*a]", "!!python/object:os.system x", "'../*'", "{x: 1}", "[" * 50]
READERS_OF_PREPARED = [
    words.split()
    for words in (
        "list datasets --data d",
        "status --method naive --seed 1 --dataset own --data d",
        "run --method naive --seed 1 --dataset own --data d",
        "report --table datasets --data d",
        "download own --data d",
    )
]
READERS_OF_OWN = [
    words.split()
    for words in (
        "download ./own --data d",
        "status --method naive --seed 1 --dataset ./own --data d",
        "new-dataset own --force",
    )
]
