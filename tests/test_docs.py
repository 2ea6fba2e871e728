"""The documentation agrees with the code: commands parse, examples run, tables are true."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints, is_typeddict

import pytest
import update_docs

from tsbench.runs import record

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "results" / "README.md"])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(text: str) -> Iterator[str]:
    """Every ``tsbench …``: in shell blocks, between backticks, and behind generated parts."""
    for language, block in FENCE.findall(text):
        if language in ("bash", "sh", "console"):
            for line in block.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\|\||[|;]", line.partition(" #")[0]):
                    if (words := part.strip().removeprefix("$ ")).startswith("tsbench "):
                        yield words
    for words in re.findall(r"`(tsbench [^`]+)`", FENCE.sub("", text)):
        if "…" not in words:
            yield " ".join(words.split())
    yield from re.findall(r"<!-- (tsbench [^>\n]+) -->", text)


def test_commands_are_found() -> None:
    shell = "$ tsbench run \\\n  --seeds 5  # five\npip x && tsbench demo\n"
    found = list(commands(f"`tsbench list` x\n```bash\n{shell}```\n<!-- tsbench report -->"))
    assert found == ["tsbench run    --seeds 5", "tsbench demo", "tsbench list", "tsbench report"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_the_docs_parse(page: Path) -> None:
    import typer.main

    from tsbench.cli.main import app

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


def test_the_site_and_the_index_have_every_page() -> None:
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    assert set(re.findall(r": ([\w-]+\.md)$", nav, re.MULTILINE)) == pages
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert {*re.findall(r"\]\(([\w-]+\.md)\)", index), "README.md"} == pages


def test_examples_in_the_docs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


PARTS = [
    (page, part[1], part[2])
    for page in PAGES
    for part in update_docs.PART.finditer(page.read_text(encoding="utf-8"))
]
FROM_CODE = [part for part in PARTS if part[1] in update_docs.FROM_CODE]


def facts(text: str) -> set[tuple[str, ...]]:
    """The lines of a part; table rows as cells, without the columns that only list methods."""
    found: set[tuple[str, ...]] = set()
    skipped: set[int] = set()
    for line in filter(None, text.splitlines()):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if set(cells[1:-1]) & {"methods", "more"}:
            skipped = {i for i, cell in enumerate(cells) if cell in ("methods", "more")}
        found.add(tuple(cell for i, cell in enumerate(cells) if i not in skipped))
    return found


@pytest.mark.parametrize("part", FROM_CODE, ids=lambda part: part[1])
def test_what_the_docs_say_of_the_code_is_true(part: tuple[Path, str, str]) -> None:
    """Missing rows are allowed: whoever adds a method or a data set need not edit the docs."""
    _, name, text = part
    wrong = facts(text) - facts(update_docs.content(name))
    assert not wrong, "run: python tools/update_docs.py"


def test_every_generated_part_is_used_and_known() -> None:
    used = {name for _, name, _ in PARTS if not name.startswith("tsbench ")}
    assert used == update_docs.FROM_CODE.keys() | update_docs.FROM_RECORDS.keys()


def test_a_generated_part_is_replaced_and_nothing_else() -> None:
    text = "a\n<!-- the columns -->\nold\n<!-- end -->\nb <!-- a comment --> c\n"
    new = update_docs.updated(text)
    assert new.startswith("a\n<!-- the columns -->\n\n`protocol`, ")
    assert new.endswith("\n\n<!-- end -->\nb <!-- a comment --> c\n")
    assert update_docs.updated(new) == new
    assert update_docs.updated(text, wanted=lambda name: False) == text


def test_parts_from_the_records_can_be_made() -> None:
    """Whatever the committed records say; their numbers are not tested here."""
    for make in update_docs.FROM_RECORDS.values():
        assert make()


def test_the_format_of_records_is_documented_in_full() -> None:
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    documented = {}
    for line in text.splitlines():
        if line.startswith("| `"):
            key, _, meaning = line.strip("| ").partition(" | ")
            documented[key.strip("`")] = set(re.findall(r"`(\w+)`", meaning))
    schema = get_type_hints(record.Finished)
    assert set(documented) == set(schema)
    for key, section in schema.items():
        if is_typeddict(section):
            assert documented[key] == set(get_type_hints(section)), key
    for key in get_type_hints(record.Failed).keys() - schema.keys():
        assert f"`{key}`" in text
