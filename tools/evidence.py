"""Tables, sentences and figures of the documentation that are made from the committed records."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from tsbench.data.catalogue import card

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "results" / "reference"
PROGRAM = str(Path(sys.executable).with_name("tsbench"))
SHOWN = "--results results/reference --method all,ts-acl-deep,ts-acl-deep-rhl,ts-acl-r"
"""The paper's methods and ours with their defaults: more do not fit into a figure."""
FIGURES = [
    f"tsbench figure {kind} {SHOWN} --out docs/figures/{kind}.svg"
    for kind in ("curves", "time", "pareto")
]
SEEDS = range(1234, 1239)
SIGNS = {"match": "=", "better": "▲", "worse": "▼", "partial data": "†"}


def output(command: str) -> str:
    """What a ``tsbench …`` command prints on stdout, run in the root of the repository."""
    words = [PROGRAM, *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    allowed = (0, 1) if " verify " in command else (0,)  # 1: a cell is worse than the paper's
    if done.returncode not in allowed:
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout.strip()


def draw_figures() -> None:
    """Draw the figures of the documentation."""
    for command in FIGURES:
        output(command)
    out = "docs/figures/protocols.svg"
    output(f"tsbench figure protocols {_run_under_several_splits()} --out {out}")


def splits() -> str:
    """A_T under each split, one row per data set and method that was run under several."""
    return output(
        f"tsbench report --table protocols {_run_under_several_splits()} --format markdown"
    )


def _run_under_several_splits() -> str:
    methods = sorted({folder.name.partition("+")[0] for folder in RECORDS.glob("*-subject/*/*")})
    return f"--results results/reference --method {','.join(methods)}"


def runs() -> str:
    """How many committed records there are, from which code and which machine."""
    found = _records("**")
    records = [record for record in found if record["spec"]["stream"] == "exp"]
    hours = sum(record["time"]["total"] for record in found) / 3600
    commits = Counter(record["environment"]["commit"][:7] for record in records)
    code = ", ".join(f"`{commit}` ({n})" for commit, n in sorted(commits.items()))
    return (
        f"{len(records)} runs on the experiment stream and {len(found) - len(records)} tuning "
        f"trials; {hours:.0f} hours of computing in total. Commits of the runs: {code}."
    )


def machines() -> str:
    """On what the records were made, one line per machine and number of runs at a time."""
    found = _records("**")
    keys = ("cpu", "torch", "threads", "workers")
    count = Counter(tuple(r["environment"].get(key) for key in keys) for r in found)
    return "\n".join(
        f"- {n} records: {cpu}, torch {torch}; threads per run: {threads}, runs at once: {workers}"
        for (cpu, torch, threads, workers), n in count.most_common()
    )


def rounding() -> str:
    """A_T of CLOPS on UCI-HAR by seed: by default, with a smaller step of β, and with β rounded."""
    kinds = {
        "exact, 1e-4 (default)": "exp-ln-100/uci-har/clops",
        "exact, 1e-5": "rounding/exp-ln-100/uci-har/clops+beta_rate=1e-05",
        "rounded, 1e-5": "rounding/exp-ln-100/uci-har/clops_rounding-Rounded+beta_rate=1e-05",
    }
    lines, above = [["β, lr_β", *map(str, SEEDS), "mean", "against the row above"]], None
    for title, folder in kinds.items():
        values = [record["result"]["A_T"] for record in _records(folder)]
        mean, difference = sum(values) / len(values), "–"
        if above:
            low, high = ttest_rel(values, above).confidence_interval()
            difference = f"{mean - sum(above) / len(above):+.1f} ({low:+.1f} to {high:+.1f})"
        lines.append([title, *(f"{value:.1f}" for value in [*values, mean]), difference])
        above = values
    return _table(lines)


def replayed() -> str:
    """GR on UCI-HAR by class order: A_t after each task, and between which classes it errs."""
    names = card("uci-har").class_names
    lines = [["seed", "tasks", "A_1", "A_2", "A_3", "F_T", "errors within a kind"]]
    for record in _records("exp-ln-100/uci-har/gr"):
        result, order = record["result"], record["class_order"]
        pairs = zip(order[::2], order[1::2], strict=True)
        tasks = "; ".join(f"{names[first]}, {names[second]}" for first, second in pairs)
        confusion = np.array(result["confusion"])
        np.fill_diagonal(confusion, 0)
        walking = np.array([names[label].startswith("walking") for label in order])
        within = confusion[walking[:, None] == walking].sum() / confusion.sum()
        values = [f"{value:.1f}" for value in [*result["curve"], result["F_T"]]]
        lines.append([str(record["spec"]["seed"]), tasks, *values, f"{100 * within:.0f} %"])
    return _table(lines)


def _records(folder: str) -> list[dict[str, Any]]:
    """The committed records in a folder of results/reference, in the order of their seeds."""
    paths = sorted(RECORDS.glob(f"{folder}/seed-*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def _table(lines: list[list[str]]) -> str:
    """Markdown; the first line is the header."""
    header, *rows = lines
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, ["---"] * len(header), *rows])


def _verdict() -> list[tuple[str, str, str, str, list[dict[str, Any]]]]:
    """(table, data set, method, metric, [ours, paper, Δ, verdict]) of every cell that was run."""
    rows = json.loads(output("tsbench verify --results results/reference --format json"))["rows"]
    return [(*row["headers"], row["cells"]) for row in rows]


def verdict() -> str:
    """Ours and the paper's, one row per method, with a sign for the verdict of each cell."""
    columns: list[str] = []
    methods: dict[str, dict[str, str]] = {}
    for kind, dataset, method, metric, (ours, paper, _, judged) in _verdict():
        if kind == "main":
            column = f"{dataset} {metric.replace('_', chr(92) + '_')}"
            columns += [column] if column not in columns else []
            values = f"{ours['figure']['mean']:.1f} / {paper['figure']['mean']:.1f}"
            sign = SIGNS.get(judged["text"], judged["text"])
            methods.setdefault(method, {})[column] = f"{values} {sign}"
    rows = [[m, *(cells.get(c, "–") for c in columns)] for m, cells in methods.items()]
    return _table([["ours / paper", *columns], *rows])


def differences() -> str:
    """The cells outside the 95 % interval, one line per method and data set."""
    found: dict[str, list[str]] = {}
    for _, dataset, method, metric, (ours, paper, delta, judged) in _verdict():
        if judged["text"] in ("better", "worse"):
            means = f"{ours['figure']['mean']:.2f}, paper {paper['figure']['mean']:.2f}"
            seeds = ours["figure"]["seeds"]
            text = f"{metric} {means} ({delta['text']}, {judged['text']}; seeds: {seeds})"
            found.setdefault(f"**{method} on {dataset}**", []).append(text)
    return "\n".join(f"- {cell}: {'; '.join(texts)}" for cell, texts in found.items())
