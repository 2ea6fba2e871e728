"""The package as it is installed: quick to start, complete, and documented as CI runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, check=True, **options)


LIGHT = [
    ["--help"],
    ["list"],
    ["list", "--json"],
    ["download", "--help"],
    ["run", "--help"],
    ["tune", "--help"],
    ["status", "--dataset", "demo"],
    ["report", "--help"],
    ["figure", "--help"],
]


@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_light_commands_never_import_torch(arguments: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['tsbench', *sys.argv[1:]]\n"
        "from tsbench.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code, stop.code\n"
        "heavy = {'torch', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    assert run(sys.executable, "-c", code, *arguments, cwd=tmp_path).stdout


@pytest.mark.alone
@pytest.mark.parametrize("arguments", [["--help"], ["list"]], ids=" ".join)
def test_light_commands_take_a_third_of_importing_torch(
    arguments: list[str], tmp_path: Path
) -> None:
    program = str(Path(sys.executable).with_name("tsbench"))
    as_users = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def seconds(*command: str) -> float:
        started = time.monotonic()
        run(*command, cwd=tmp_path, env=as_users)
        return time.monotonic() - started

    pairs = [
        (seconds(program, *arguments), seconds(sys.executable, "-c", "import torch"))
        for _ in range(5)
    ]
    ours, torch = map(min, zip(*pairs, strict=True))
    assert ours < torch / 3, pairs


@pytest.mark.slow
def test_the_wheel_holds_baselines_and_datasets_under_tsbench(tmp_path: Path) -> None:
    copy = tmp_path / "source"
    run("git", "clone", "-q", str(ROOT), str(copy))
    for path in run("git", "ls-files", "-mo", "--exclude-standard", cwd=ROOT).stdout.split("\n"):
        if path and (ROOT / path).is_file():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes((ROOT / path).read_bytes())
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
        "-w", str(tmp_path), str(copy))  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    sources = {
        f"tsbench/{p}" if not p.startswith("tsbench/") else p
        for p in run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).stdout.split("\n")
        if re.match(r"(tsbench|baselines|datasets)/.*\.(py|yaml|html|css|js)$", p)
        and (ROOT / p).exists()
    }
    assert sources <= set(names)
    assert not [n for n in names if re.match(r"(datasets|baselines|tests)/", n)]


def test_nothing_imports_a_top_level_datasets_or_baselines() -> None:
    wrong = re.compile(r"^\s*(from|import) (datasets|baselines)\b", re.MULTILINE)
    files = [
        p for d in ("tsbench", "baselines", "datasets", "tests") for p in (ROOT / d).rglob("*.py")
    ]
    assert files
    assert not [p for p in files if wrong.search(p.read_text())]


def test_citation_file_is_valid_and_cites_both_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"] and citation["authors"] and citation["message"]
    titles = " ".join(reference["title"] for reference in citation["references"])
    assert "TS-ACL" in titles
    assert "Class-incremental Learning for Time Series" in titles
    for reference in citation["references"]:
        assert reference["type"] and reference["authors"]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = re.findall(r"^pip install.*&& pytest.*$", (ROOT / "README.md").read_text(), re.M)
    assert len(commands) == 1
    script = (ROOT / ".ci" / "run").read_text()
    expression = re.search(r"sed -n '([^']+)'", script)[1]
    found = run("sed", "-n", expression, str(ROOT / "README.md")).stdout.splitlines()
    assert found[0] == commands[0]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
