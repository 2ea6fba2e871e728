"""The fault campaign: random kills and bad inputs, and what they did.

    python tests/campaign.py --seed 0 --kills 1000 --arguments 1000 --records 500 --data 500
    python tests/campaign.py --seed 0 --seconds 40

Not part of the tests; CI runs a sample. It exits with 1 unless every count but the first is 0.

A command that is killed is mostly a copy (fork) of this process, which has imported everything, and
so is its worker server: the same code, but tenths of a second instead of seconds. One in twenty is
the real program. Bad inputs are given to the program in this process; its runs are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import math
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from bad_inputs import arguments, damaged_data, damaged_records, furnish
from forked_program import PATIENCE, ended, start, wait_for
from process_tree import children
from tsbench_process import call

COLUMNS = (
    "tries",
    "tracebacks",
    "wrong endings",
    "lost records",
    "double runs",
    "orphans",
    "leftovers",
)
MATRIX = ["--method", "naive,ts-acl", "--dataset", "own", "--seeds", "3", "--epochs", "1"]
MATRIX += ["--jobs", "2", "--retry-failed"]
RUNS = 6
SIGNALS = ("INT", "TERM", "HUP", "KILL", "STOP")
VICTIMS = ("parent", "worker", "server", "group")
COLD, TWICE = 0.05, 0.1
"""Shares of commands that are started as a user does, and of those that are started twice."""
ROUNDS = 5
"""Commands that are hit in one folder."""
BATCH = 50
WAIT = 300
"""Seconds until a bad input counts as one that hangs."""
SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER: processes whose parent has ended become our children."""
DONE = re.compile(r"^\[\d+/\d+\] .*: A_T (?!.*done by another process)", re.MULTILINE)


class Campaign:
    """Counts by kind, and what went wrong in words."""

    def __init__(self, seed: int, seconds: float) -> None:
        self.random = random.Random(seed)
        self.seconds, self.deadline = seconds, math.inf
        self.counts: dict[str, Counter[str]] = {}
        self.problems: list[str] = []
        self.pause = 0.5
        """The longest time between two kills, in seconds."""

    def add(self, kind: str, column: str, n: int = 1, what: str = "") -> None:
        self.counts.setdefault(kind, Counter())[column] += n
        if n and column != "tries":
            self.problems.append(f"{kind}: {column}: {what}")
            print(self.problems[-1], file=sys.stderr, flush=True)

    def begin(self, share: float) -> None:
        """A kind may take its share of the time from now on."""
        self.deadline = time.monotonic() + share * self.seconds

    def tries(self) -> int:
        return sum(count["tries"] for count in self.counts.values())

    def over(self) -> bool:
        return time.monotonic() > self.deadline

    def table(self) -> str:
        kinds = sorted(self.counts, key=lambda kind: (" to the " not in kind, kind))
        rows = [(kind, *(str(self.counts[kind][name]) for name in COLUMNS)) for kind in kinds]
        lines = [("", *COLUMNS), ("---", *["---:"] * len(COLUMNS)), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# --- kills ---------------------------------------------------------------------------------------


def choose(victim: str, pid: int) -> list[int]:
    """The processes to be hit; empty if there are none now."""
    below = children(pid)
    workers = [worker for server in below for worker in children(server)]
    return {
        "parent": [pid],
        "server": below,
        "worker": workers[:1],
        "group": [pid, *below, *workers],
    }[victim]


def hit(campaign: Campaign, pid: int) -> str | None:
    """Send a signal; its name if it arrived."""
    victim, name = campaign.random.choice(VICTIMS), campaign.random.choice(SIGNALS)
    arrived = False
    for target in choose(victim, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(target, getattr(signal, f"SIG{name}"))
            arrived = True
            if name == "STOP":
                time.sleep(campaign.random.random() * 0.2)
                os.kill(target, signal.SIGCONT)
    if arrived:
        campaign.add(f"{name} to the {victim}", "tries")
    return f"{name} to the {victim}" if arrived else None


def sweep() -> int:
    """Wait for the processes that an ended command has left; how many did not end."""
    deadline = time.monotonic() + PATIENCE
    with contextlib.suppress(ChildProcessError):  # raised when there are none
        while time.monotonic() < deadline:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.02)
    left = children(os.getpid())
    for pid in left:
        print(f"left: {Path(f'/proc/{pid}/cmdline').read_text()[-200:]}", file=sys.stderr)
        os.kill(pid, signal.SIGKILL)
    return len(left)


def stored(results: Path) -> tuple[dict[str, Any], dict[str, tuple[int, int]], list[str]]:
    """Finished records, the identities of their files, and files that are not records."""
    from tsbench.runs.record import comparable, place_of
    from tsbench.runs.store import Store

    records, problems = Store(results).records()
    found = {str(place_of(r)): comparable(r) for r in records if r["status"] == "ok"}
    about = {place: (results / place).stat() for place in found}
    return found, {place: (a.st_ino, a.st_mtime_ns) for place, a in about.items()}, problems


def kill_round(campaign: Campaign, words: list[str], results: Path, budget: int) -> int:
    """One command, hit until it ends, and what it left; how often it was hit."""
    records, files, _ = stored(results)
    log = results.with_name("log")
    log.unlink(missing_ok=True)
    cold = campaign.random.random() < COLD
    pid = start(words, log, cold)
    second = start(words, log, False) if campaign.random.random() < TWICE else None
    kind, hits, code = "undisturbed", 0, None
    deadline = time.monotonic() + 3 * PATIENCE
    while code is None and time.monotonic() < deadline:
        until = time.monotonic() + campaign.random.random() * campaign.pause * (4 if cold else 1)
        while code is None and time.monotonic() < until:
            time.sleep(0.01)
            code = ended(pid)
        if code is None and hits < budget and (found := hit(campaign, pid)):
            kind, hits = found, hits + 1
    if not hits:
        campaign.add(kind, "tries")
    if code not in (0, 1, 130, *(-signal.Signals[f"SIG{name}"] for name in SIGNALS)):
        campaign.add(kind, "wrong endings", what=f"exit code {code}: {log.read_text()[-2000:]}")
    while second is not None and ended(second) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    campaign.add(kind, "orphans", sweep(), "processes were left")
    said = log.read_text(errors="replace")
    campaign.add(kind, "tracebacks", said.count("Traceback"), said[-3000:])
    now, files_now, problems = stored(results)
    lost = [place for place, record in records.items() if now.get(place) != record]
    campaign.add(kind, "lost records", len(lost) + len(problems), f"{lost} {problems}")
    again = [place for place in files if files_now.get(place) != files[place]]
    extra = len(DONE.findall(said)) - (len(now) - len(records))
    campaign.add(kind, "double runs", max(len(again), extra, 0), f"{again} {said}")
    return hits


def kills(campaign: Campaign, count: int, place: Path) -> None:
    """Kill commands until there were enough; each folder is completed and compared in the end."""
    import tsbench.cli.main
    import tsbench.runs.execute  # noqa: F401
    from tsbench.executors.local import import_torch

    import_torch()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    furnish(place)
    assert call("download", f"{place}/own", "--data", f"{place}/d")[0] == 0
    words = ["run", *MATRIX, "--data", f"{place}/d", "--results"]
    began = time.monotonic()
    code = wait_for(start([*words, f"{place}/reference"], place / "log", False))
    campaign.pause = (time.monotonic() - began) / 4
    assert code == 0, (place / "log").read_text()
    reference = stored(place / "reference")[0]
    assert len(reference) == RUNS
    total = 0
    campaign.begin(1 / 2)
    while total < count and not campaign.over():
        results = place / "r"
        results.mkdir()
        for _ in range(ROUNDS):
            total += kill_round(campaign, [*words, str(results)], results, count - total)
        finish(campaign, [*words, str(results)], results, reference)
        shutil.rmtree(results)


def finish(campaign: Campaign, words: list[str], results: Path, reference: dict[str, Any]) -> None:
    """After all kills the same command completes the folder, as if nothing had happened."""
    for path in results.rglob("*.tmp"):
        os.utime(path, (0, 0))  # as a day later
    kind, log = "the folder afterwards", results.with_name("last")
    campaign.add(kind, "tries")
    code = wait_for(start(words, log, False))
    said = log.read_text()
    log.unlink()
    if code != 0:
        campaign.add(kind, "wrong endings", what=f"exit code {code}: {said}")
    campaign.add(kind, "tracebacks", said.count("Traceback"), said)
    campaign.add(kind, "orphans", sweep(), "processes were left")
    found = stored(results)[0]
    lost = [place for place, content in reference.items() if found.get(place) != content]
    campaign.add(kind, "lost records", len(lost), f"not as undisturbed: {lost}")
    left = [
        path for end in ("tmp", "failed.json", "foreign*") for path in results.rglob(f"*.{end}")
    ]
    campaign.add(kind, "leftovers", len(left), f"{left}")


# --- bad inputs ----------------------------------------------------------------------------------


class TooLong(BaseException):
    """A bad input took more time than it may."""


def try_words(campaign: Campaign, kind: str, what: str, words: list[str]) -> None:
    """One bad input: any answer is right that is not a traceback, a hang or a broken promise."""

    def stop(*_: object) -> None:
        raise TooLong

    campaign.add(kind, "tries")
    about = f"{what} {words!r}"
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(WAIT)
    try:
        with without_runs():
            code, out, said = call(*words)
    except TooLong:
        campaign.add(kind, "wrong endings", what=f"hangs: {about}")
        return
    except BaseException:
        campaign.add(kind, "tracebacks", what=f"{about}\n{traceback.format_exc()[-3000:]}")
        return
    finally:
        signal.alarm(0)
    if "Traceback" in said + out:
        campaign.add(kind, "tracebacks", what=f"{about}\n{said[-3000:]}")
    if code not in (0, 1, 2) or (code == 2 and "error: " not in said and words):
        campaign.add(kind, "wrong endings", what=f"{about} exit code {code}: {said[-500:]}")
    if not said.replace("\n", "").isprintable():
        campaign.add(kind, "wrong endings", what=f"{about} control characters: {said[-500:]!r}")


def in_own_folder(act: Callable[[], None], place: Path) -> None:
    """Do something in a new working directory."""
    furnish(place)
    os.chdir(place)
    act()
    os.chdir("/")


def bad_arguments(campaign: Campaign, count: int, place: Path) -> None:
    """Random words, made by Hypothesis in batches."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    left = count
    campaign.begin(1 / 6)
    while left > 0 and not campaign.over():

        @seed(campaign.random.getrandbits(32))
        @settings(max_examples=BATCH, deadline=None, database=None, phases=[Phase.generate],
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(arguments())
        def act(words: list[str]) -> None:
            nonlocal left
            if left > 0 and not campaign.over():
                left -= 1
                in_own_folder(lambda: try_words(campaign, "bad arguments", "", words), place)

        act()


def bad_records(campaign: Campaign, count: int, place: Path) -> None:
    """Records are damaged; the others must not be touched."""

    def act() -> None:
        what, words = damaged_records(campaign.random)
        before = {
            path: path.read_bytes() for path in Path("results").rglob("*.json") if path.is_file()
        }
        try_words(campaign, "damaged records", what, words)
        lost = [
            str(p) for p, content in before.items() if not p.is_file() or p.read_bytes() != content
        ]
        campaign.add("damaged records", "lost records", len(lost), f"{what} {words}: {lost}")
        left = list(Path().rglob("*.tmp"))
        campaign.add("damaged records", "leftovers", len(left), f"{left}")

    repeat(campaign, count, act, place)


def repeat(campaign: Campaign, count: int, act: Callable[[], None], place: Path) -> None:
    """Do something ``count`` times, each in its own copy of a folder, while there is time."""
    campaign.begin(1 / 6)
    for _ in range(count):
        if campaign.over():
            break
        in_own_folder(act, place)


def bad_data(campaign: Campaign, count: int, place: Path) -> None:
    """Folders of series or of prepared arrays are damaged."""
    prepared = place.with_name("prepared")
    furnish(place)
    call("download", f"{place}/own", "--data", str(prepared))

    def act() -> None:
        what, words = damaged_data(campaign.random, prepared)
        try_words(campaign, "damaged data", what, words)
        left = [path for path in Path().rglob("*.tmp") if path.is_file()]
        campaign.add("damaged data", "leftovers", len(left), f"{what} {words} {left}")

    repeat(campaign, count, act, place)


@contextlib.contextmanager
def without_runs() -> Iterator[None]:
    """Neither runs nor downloads: the program does all that comes before them."""

    def refuse(*_: object, **__: object) -> None:
        from urllib.error import URLError

        raise URLError("no network in the campaign")

    with (
        patch("tsbench.executors.local.LocalExecutor.run", lambda *_: iter(())),
        patch("tsbench.executors.local.LocalOptions.prepare", lambda *_: None),
        patch("urllib.request.urlopen", refuse),
    ):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after about so long")
    for kind in ("kills", "arguments", "records", "data"):
        parser.add_argument(f"--{kind}", type=int, default=10**6, metavar="N")
    options = parser.parse_args()
    if options.seconds == math.inf and 10**6 in vars(options).values():
        parser.error("say how many of each kind, or how many seconds")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    campaign = Campaign(options.seed, options.seconds)
    kinds = {"kills": kills, "arguments": bad_arguments, "records": bad_records, "data": bad_data}
    with tempfile.TemporaryDirectory() as folder:
        for name, act in kinds.items():
            before = campaign.tries()
            if count := getattr(options, name):
                act(campaign, count, Path(folder) / name)
                if campaign.tries() == before:
                    campaign.problems.append(f"{name}: nothing was tried")
    print(campaign.table())
    sys.exit(1 if campaign.problems else 0)


if __name__ == "__main__":
    main()
