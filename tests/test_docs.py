"""The docs agree with the code: commands parse, examples run, tables are made from the code.

``python tests/test_docs.py`` writes the tables anew.
"""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer.main

from tsbench.api import COLUMNS
from tsbench.cli.main import app
from tsbench.data.catalogue import DATASETS, PAPER, card
from tsbench.learn.catalogue import INFO, _fields, hyper_parameters

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "results" / "README.md"])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(text: str) -> Iterator[str]:
    """Every ``tsbench …`` in a block of shell, or in the running text between backticks."""
    for language, block in FENCE.findall(text):
        if language in ("bash", "sh", "console"):
            for line in block.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\|\||[|;]", line.partition(" #")[0]):
                    if (words := part.strip().removeprefix("$ ")).startswith("tsbench "):
                        yield words
    for words in re.findall(r"`(tsbench [^`]+)`", FENCE.sub("", text)):
        if "…" not in words:
            yield " ".join(words.split())


def test_commands_are_found() -> None:
    shell = "$ tsbench run \\\n  --seeds 5  # five\npip x && tsbench demo\n"
    found = list(commands(f"`tsbench list` x\n```bash\n{shell}```"))
    assert found == ["tsbench run    --seeds 5", "tsbench demo", "tsbench list"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_the_docs_parse(page: Path) -> None:
    program = typer.main.get_command(app)
    for line in commands(page.read_text(encoding="utf-8")):
        _, *words = shlex.split(line)
        if words[0].startswith("--"):
            continue
        assert words[0] in program.commands, f"{line}: there is no such command"
        if len(words) == 1:  # a command's name in the running text
            continue
        try:
            program.commands[words[0]].make_context(words[0], words[1:])
        except Exception as error:
            pytest.fail(f"{line}: {getattr(error, 'message', error)}")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in link and not link.startswith("#"):
            assert (page.parent / link.partition("#")[0]).exists(), link


def test_the_index_has_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name
    assert "(docs/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_examples_in_the_docs_run(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if ">>> " not in text:
            continue
        test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        assert runner.run(test).failed == 0, page.name
        found += len(test.examples)
    assert found > 10


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def methods() -> str:
    return table(
        ["name", "in tables", "family", "keeps between tasks", "paper"],
        [[f"`{i.name}`", i.title, i.family, i.keeps, i.paper] for i in INFO.values()],
    )


def settings() -> str:
    rows = []
    for info in INFO.values():
        for h in hyper_parameters(info.target):
            meaning = h.meaning.replace("|", "\\|")
            rows.append([f"`{info.name}`", f"`{h.name}`", f"`{h.default}`", meaning])
    return table(["method", "hyper-parameter", "default", "meaning"], rows)


def samples(name: str) -> str:
    counts = card(name).published_counts
    return " / ".join(str(counts.get(split, "–")) for split in ("train", "val", "test"))


def datasets() -> str:
    from tsbench.bench.names import stream_tasks

    rows = []
    for name in DATASETS.builtin:
        c = card(name)
        budget = int(0.05 * c.memory_per_class) * 2 * stream_tasks(c)
        page = f"[{c.title}]({c.page})" if "://" in c.page else c.title
        shape = f"{c.channels} × {c.length}"
        rows.append(
            [f"`{name}`", page, shape, str(c.classes), samples(name), c.input_norm, str(budget),
             c.licence]
        )  # fmt: skip
    head = ["name", "source", "C × L", "classes", "train / val / test", "input norm"]
    return table([*head, "replay budget", "licence"], rows)


def citations() -> str:
    return "\n".join(f"- {card(name).title}: {card(name).citation}" for name in PAPER)


def keys() -> str:
    rows = []
    for key in _fields("tsbench.data.recipe", "Recipe"):
        default = "" if key.default in ("''", "None", "()") else f"`{key.default.strip(chr(39))}`"
        rows.append([f"`{key.name}`", default, key.meaning])
    return table(["key", "default", "meaning"], rows)


def template() -> str:
    text = (ROOT / "tsbench" / "templates" / "method.py").read_text(encoding="utf-8")
    return f"```python\n{text}```"


def columns() -> str:
    return ", ".join(f"`{column}`" for column in COLUMNS) + "."


MADE: dict[tuple[str, str], Callable[[], str]] = {
    ("methods.md", "the methods"): methods,
    ("methods.md", "the hyper-parameters"): settings,
    ("datasets.md", "the data sets"): datasets,
    ("datasets.md", "the citations"): citations,
    ("adding-a-data-set.md", "the keys"): keys,
    ("adding-a-method.md", "the template"): template,
    ("python.md", "the columns"): columns,
}


def filled(text: str, name: str, content: str) -> str:
    """The text with what stands between ``<!-- name -->`` and ``<!-- end -->`` replaced."""
    before, _, rest = text.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    assert end, name
    return f"{before}<!-- {name} -->\n\n{content}\n\n{end}{after}"


@pytest.mark.parametrize("made", MADE, ids=" ".join)
def test_what_is_made_from_the_code_is_of_today(made: tuple[str, str]) -> None:
    text = (ROOT / "docs" / made[0]).read_text(encoding="utf-8")
    assert text == filled(text, made[1], MADE[made]()), "write it anew: python tests/test_docs.py"


def test_the_readme_tells_of_every_method_and_the_data_sets_as_they_are() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    norms = {"layer": "LN", "instance": "IN", "none": "none"}
    for name in PAPER:
        c = card(name)
        row = [f"`{name}`", f"{c.channels} × {c.length}", str(c.classes), samples(name)]
        assert "| " + " | ".join([*row, norms[c.input_norm]]) + " |" in readme
    for name in INFO:
        assert f"`{name}`" in readme


def test_the_format_of_records_is_told_in_full(tmp_path: Path) -> None:
    import tsbench

    told = {}
    for line in (ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            key, _, meaning = line.strip("| ").partition(" | ")
            told[key.strip("`")] = re.findall(r"`(\w+)`", meaning)
    record = tsbench.run("naive", "demo", epochs=1, data=tmp_path)
    assert set(told) == set(record)
    for section in ("spec", "result", "time", "memory"):
        more = {"memory": set(record["memory"]["kept_bytes"]), "spec": {"tuned"}}.get(
            section, set()
        )
        assert set(told[section]) | more == set(record[section]) | more, section


if __name__ == "__main__":
    for (page_name, block), make in MADE.items():
        page = ROOT / "docs" / page_name
        page.write_text(filled(page.read_text(encoding="utf-8"), block, make()), encoding="utf-8")
