"""The package as it is installed: quick to start, complete, and tested as the README says."""

from __future__ import annotations

import os
import re
import resource
import runpy
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, check=True, **options)


LIGHT = [
    ["--help"],
    ["download", "--help"],
    ["run", "--help"],
    ["tune", "--help"],
    ["report", "--help"],
    ["figure", "--help"],
    ["verify", "--help"],
    ["merge", "--help"],
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


def processor_seconds(*command: str, cwd: Path) -> float:
    """User and system time of a command: other work on the machine hardly changes it."""
    as_users = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*command, cwd=cwd, env=as_users)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def test_help_is_quick(tmp_path: Path) -> None:
    """A third of what importing torch takes; a machine twice as slow as ours passes as well."""
    help_command = [str(Path(sys.executable).with_name("tsbench")), "--help"]
    torch_command = [sys.executable, "-c", "import torch"]
    limit = processor_seconds(*torch_command, cwd=tmp_path) / 3
    tries = [processor_seconds(*help_command, cwd=tmp_path) for _ in range(3)]
    assert min(tries) < limit, (tries, limit)


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
        p
        for d in ("tsbench", "baselines", "datasets", "tests", "tools")
        for p in (ROOT / d).rglob("*.py")
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


def test_the_version_is_the_same_everywhere() -> None:
    import tsbench

    assert metadata.version("tsbench") == tsbench.__version__
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == tsbench.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (Unreleased|\S+)", changes, re.MULTILINE)[1] in (
        "Unreleased",
        tsbench.__version__,
    )


def test_ci_runs_the_test_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^pip install.*&& pytest.*$", readme, re.MULTILINE)
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    lines = [line for line in script.splitlines() if re.match(r"(pip install|pytest)\b", line)]
    assert " && ".join(lines) == command
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_workflow_calls_the_same_script() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(workflow)["jobs"]["test"]["steps"]
    assert [step["run"] for step in steps if "run" in step][-1] == ".ci/run"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "benchmarks").glob("*.py")), ids=lambda path: path.stem
)
def test_benchmarks_still_fit_the_code(path: Path) -> None:
    """They are not run here; names that they import may have changed all the same."""
    found = runpy.run_path(str(path), run_name="imported")
    assert found["__doc__"]
