"""Whatever the system refuses becomes one line and an exit code, in every command."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from handmade_records import make
from own_series import folder, waves
from tsbench_process import PROGRAM, call
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.disk import write_whole
from tsbench.errors import os_error
from tsbench.runs.store import Store

RUN = ["run", "--method", "naive", "--dataset", "demo", "--seed", "1", "--epochs", "1"]
COMMANDS = {
    "demo": ["demo"],
    "list": ["list"],
    "download": ["download", "uwave", "--from", "PLACE/x"],
    "download own": ["download", "PLACE/x/card.yaml"],
    "run": RUN,
    "run own method": [*RUN[:2], "PLACE/x/mine.py:Mine", *RUN[3:]],
    "run own data": [*RUN[:4], "PLACE/x", *RUN[5:]],
    "tune": ["tune", *RUN[1:]],
    "status": ["status", *RUN[1:]],
    "merge": ["merge", "PLACE/x"],
    "report": ["report"],
    "report out": ["report", "--results", "RESULTS", "--format", "csv", "--out", "PLACE/x/t.csv"],
    "report html": ["report", "--results", "RESULTS", "--format", "html", "--out", "PLACE/x/t"],
    "figure": ["figure", "curves", "--results", "RESULTS", "--out", "PLACE/x/f.svg"],
    "verify": ["verify"],
    "check": ["check", "PLACE/x/mine.py:Mine"],
    "new-method": ["new-method", "PLACE/x/mine.py"],
    "new-dataset": ["new-dataset", "PLACE/x"],
}
QUIET = ("list", "status")
"""Commands that have something to print where there is nothing."""


def tsbench(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=False, **options
    )


def placed(name: str, place: Path, results: Path) -> list[str]:
    """A command whose folders are below a place, unless it says otherwise."""
    words = COMMANDS[name]
    own = {f"--{kind}" for kind in ("data", "results") if f"--{kind}" in words}
    takes = {"data": ("demo", "list", "download", "run", "tune", "status"),
             "results": ("demo", "run", "tune", "status", "merge", "report", "verify")}  # fmt: skip
    for kind, verbs in takes.items():
        if words[0] in verbs and f"--{kind}" not in own:
            words = [*words, f"--{kind}", f"PLACE/x/{kind}"]
    words = [word.replace("PLACE", str(place)) for word in words]
    return [word.replace("RESULTS", str(results)) for word in words]


def expect_line(name: str, code: int, said: str) -> None:
    assert "Traceback" not in said, said
    assert "Error" not in said.replace("error:", ""), said
    lines = [line for line in said.splitlines() if not line.startswith("demo: ")]
    if name in QUIET and code == 0:
        return
    assert code == 2, said
    assert 1 <= len(lines) <= 2, said
    assert any(line.startswith("error: ") for line in lines), said


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    make(root, "er", 1234, a_t=70.0, f_t=12.0)
    return root


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_where_a_folder_should_be(tmp_path: Path, results: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, placed(name, tmp_path / "file", results))
    expect_line(name, result.exit_code, result.stderr)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["list", "methods", "--dataset", "uwav"], "unknown data set 'uwav' (did you mean 'uwave'"),
        (["list", "methods", "--dataset", "./nowhere"], "there is no such folder"),
        (["check", "uwavee"], "unknown method or data set 'uwavee' (did you mean 'uwave'?)"),
        (["report", "--results", "RESULTS", "--method", "mas"], "there are runs on uwave of er"),
        (["report", "--results", "RESULTS", "--dataset", "nope"], "there are runs on uwave of er"),
        (["report", "--results", __file__], "test_errors.py' is a file"),
        (["status", "--data", __file__], "test_errors.py' is a file"),
        (["run", "--seeds", "x"], "'--seeds': it should be a valid integer (see tsbench run"),
        (["report", "--format", "text"], "'--format': 'text' is not one of 'markdown'"),
        (["verify", "--results", "RESULTS", "--rerun", "uwave/er/z"], "a whole number as seed"),
        (["verify", "--results", "RESULTS", "--rerun", "uwave/er/9"], "there are the seeds 1234"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_ones(
    results: Path, words: list[str], expected: str
) -> None:
    code, _, said = call(*[word.replace("RESULTS", str(results)) for word in words])
    assert code == 2
    assert expected in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_a_path_that_is_too_long(tmp_path: Path, results: Path, name: str) -> None:
    result = CliRunner().invoke(app, placed(name, tmp_path / ("x" * 300), results))
    expect_line(name, result.exit_code, result.stderr)


DROP = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
"""Lets root be refused like anybody else."""


def test_a_folder_without_permission(tmp_path: Path, results: Path) -> None:
    """All commands in one process, which starts no other."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root is never refused")
    closed = tmp_path / "closed"
    (closed / "x").mkdir(parents=True)
    commands = [placed(name, closed, results) for name in COMMANDS]
    closed.chmod(0)
    drop = DROP if os.geteuid() == 0 else []
    script = (
        f"import sys, json; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from tsbench_process import call\n"
        "print(json.dumps([call(*words) for words in json.load(sys.stdin)]))"
    )
    try:
        done = subprocess.run(
            [*drop, sys.executable, "-c", script],
            input=json.dumps(commands), capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    finally:
        closed.chmod(0o755)
    assert done.returncode == 0, done.stderr
    for name, (code, _, said) in zip(COMMANDS, json.loads(done.stdout), strict=True):
        expect_line(name, code, said)


def test_a_working_directory_that_was_deleted(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for words in (["report"], RUN):
        gone.mkdir()
        script = f'cd "{gone}" && rmdir "{gone}" && exec "$@"'
        done = subprocess.run(
            ["sh", "-c", script, "sh", PROGRAM, *words],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        expect_line(words[0], done.returncode, done.stderr)
    assert "working directory" in os_error(FileNotFoundError(errno.ENOENT, "No such file"))


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["--help"], ["report", "--results", "RESULTS"]])
def test_a_full_disk_behind_stdout(results: Path, words: list[str]) -> None:
    words = [word.replace("RESULTS", str(results)) for word in words]
    with FULL.open("w") as full:
        done = subprocess.run(
            [PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: No space left on device"
    assert "Traceback" not in done.stderr


def test_a_full_disk_behind_stderr(results: Path) -> None:
    with FULL.open("w") as full:
        words = ["report", "--results", str(results), "--format", "csv"]
        done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=full, check=False)
    assert done.returncode == 0
    assert b"70.0" in done.stdout


def test_a_reader_that_has_seen_enough(results: Path) -> None:
    words = [PROGRAM, "list", "methods", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_keep_a_run_from_its_record(tmp_path: Path, closed: str) -> None:
    words = [*RUN, "--results", str(tmp_path)]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", PROGRAM, *words],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    records, problems = Store(tmp_path).records()
    assert len(records) == 1
    assert not problems
    again = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", PROGRAM, "report", "--results", str(tmp_path)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr


def limited(size: int):
    """No file may grow beyond a size: a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("name", ["report out", "report html", "figure"])
def test_a_full_disk_leaves_no_file(tmp_path: Path, results: Path, name: str) -> None:
    done = tsbench(*placed(name, tmp_path, results), preexec_fn=limited(50))
    expect_line(name, done.returncode, done.stderr)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("precious")
    done = tsbench("new-method", str(path), "--force", preexec_fn=limited(50))
    expect_line("new-method", done.returncode, done.stderr)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.py"]
    assert path.read_text() == "precious"
    x, y = waves()
    series = folder(tmp_path / "own", "data: all.npz", x=x, y=y)
    done = tsbench("new-dataset", str(series), "--force", preexec_fn=limited(50))
    expect_line("new-dataset", done.returncode, done.stderr)
    assert (series / "card.yaml").read_text() == "data: all.npz"


def test_a_full_disk_during_a_run(tmp_path: Path) -> None:
    done = tsbench(*RUN, "--results", str(tmp_path), preexec_fn=limited(50))
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "FAILED: OSError: [Errno 27] File too large" in done.stderr
    assert "could not be stored" in done.stderr
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".lock"]


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "--rerun", f"uwave/er/{'9' * 5000}"],
        ["run", "--method", "naive", "--dataset", "demo", "--slurm", f"pack={'9' * 5000}"],
        ["run", "--method", "naive", "--dataset", "demo", "--address", f"host:{'9' * 5000}"],
    ],
)
def test_a_number_with_thousands_of_digits(tmp_path: Path, words: list[str]) -> None:
    folders = ["--data", str(tmp_path), "--results", str(tmp_path)]
    executor = {"--slurm": ["--executor", "slurm"], "--address": ["--executor", "ray"]}
    result = CliRunner().invoke(app, [*words, *executor.get(words[-2], []), *folders])
    expect_line("", result.exit_code, result.stderr)
    assert len(result.stderr) < 400, "nobody wants to read the number"


def test_bare_tsbench_prints_its_help() -> None:
    code, out, said = call()
    assert code == 2
    assert "Usage: " in out
    assert said == ""


def test_control_characters_in_names_are_not_repeated(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    evil = "na\x1b]0;owned\x07\x1b[2Jive\nerror: forged"
    for words in (
        ["run", "--method", evil, "--dataset", "demo"],
        ["run", "--method", "naive", "--dataset", evil],
        ["run", "--method", "naive", "--dataset", f"./{evil}"],
        ["run", "--method", "naive", "--dataset", "demo", "--set", evil],
        ["run", "--method", "naive", "--dataset", "demo", "--set", f"{evil}=1"],
        ["run", "--method", "naive", "--dataset", "demo", "--set", f"batch={evil}"],
        ["run", "--method", "naive", "--dataset", "demo", "--shard", evil],
        ["run", "--method", "naive", "--dataset", "demo", "--device", evil],
        ["run", "--stream", evil],
        ["report", "--results", str(tmp_path / evil)],
        ["report", "--results", str(tmp_path), "--protocol", evil],
        ["merge", str(tmp_path / evil)],
        ["check", evil],
        ["new-method", evil],
        ["download", evil],
        [evil],
    ):
        code, out, said = call(*words)
        assert code == 2, words
        assert "\x1b" not in said + out, words
        assert "\nerror: forged" not in said, words


def test_devices_and_links_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    write_whole(Path("/dev/null"), b"x")
    assert not Path("/dev/null").is_file()
    (tmp_path / "real").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("real")
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    write_whole(tmp_path / ("n" * 250), b"long names are fine")


@pytest.mark.parametrize("words", ["", "--help"])
def test_a_reader_that_leaves_early_sees_no_traceback(words: str) -> None:
    done = subprocess.run(
        f"'{PROGRAM}' {words} | true", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


DROPPED = """
import time
import tsbench.cli.main
from tsbench.__main__ import main

class Cleared:
    def __del__(self):
        raise KeyboardInterrupt  # as if Ctrl-C had come at this moment

def program():
    Cleared()
    print("dropped", flush=True)
    time.sleep(60)

tsbench.cli.main.main = program
main()
"""


def test_ctrl_c_that_python_drops_is_repeated() -> None:
    done = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stdout == "dropped\n", "the first one was dropped"
    assert not done.stderr
