"""Tables of what methods cost: time and memory."""

from __future__ import annotations

from tsbench.console import amount
from tsbench.report.records import BUSY, Results, busy
from tsbench.report.summary import figures_of
from tsbench.report.table import Cell, Options, Row, Table

KINDS = {
    "raw": "samples",
    "generator": "generator",
    "statistics": "statistics",
    "parameters": "network",
}
"""Of what is kept between tasks, with their titles."""


def time_table(runs: Results, options: Options) -> Table:
    """Seconds of learning, and relative to TS-ACL; machines are never mixed in a column."""
    table = Table(
        name="time",
        caption=f"Seconds of learning per run, {options.mean}; training of the first task that "
        "runs share is charged to each of them.",
        headers=("Machine", "Method"),
    )
    frame = runs.frame.dropna(subset=["seconds"])
    seconds = figures_of(frame, "seconds", ("dataset", "method", "machine"))
    machines = sorted(frame["machine"].unique())
    for number, machine in enumerate(machines, start=1):
        sign = f"[{number}]"
        table.note(f"{sign}:", machine, sign)
        table.rows += [Row((sign, runs.title(method)), []) for method in runs.methods]
    for dataset in runs.datasets:
        cells, relative = [], []
        for machine in machines:
            base = seconds.get((dataset, "ts-acl", machine))
            for method in runs.methods:
                found = seconds.get((dataset, method, machine))
                cells.append(Cell(found))
                ratio = found.mean / base.mean if found and base and base.mean > 0 else None
                relative.append(Cell() if ratio is None else Cell(text=f"{ratio:.2f}", value=ratio))
        table.add_column("s", cells)
        table.add_column("/ TS-ACL", relative)
        table.groups.append((table.dataset_of(runs, dataset), 2))
    table.rows = [row for row in table.rows if any(c.figure for c in row.cells)]
    disturbed = sum(busy(r) for entry in runs.entries.values() for r in entry.finished)
    if disturbed:
        words = f"{disturbed} run(s) during which other work used more than {BUSY:.0%} of the cores"
        table.note("Left out:", words)
    return table.first_header_once()


def memory_table(runs: Results, options: Options) -> Table:
    """What is kept between tasks, by kind; parameters; peak."""
    table = Table(
        name="memory",
        caption="Kept between tasks at the end of the stream, by kind and in total; trained "
        "parameters; peak memory of the process. Means over seeds.",
        headers=("Data set", "Method"),
        columns=[*KINDS.values(), "total", "trained", "peak"],
    )
    columns = [*KINDS, "kept", "trained", "peak"]
    grouped = runs.frame.astype(dict.fromkeys(columns, float)).groupby(["dataset", "method"])
    averages = grouped[columns].mean()
    means = dict(zip(averages.index, averages.to_numpy().tolist(), strict=True))
    for headers, entry in table.entries_of(runs):
        if values := means.get((entry.dataset, entry.method)):
            pairs = zip(columns, values, strict=True)
            cells = [_amount(value, name != "trained") for name, value in pairs]
            table.rows.append(Row(headers, cells))
    return table.first_header_once()


def _amount(value: float, in_bytes: bool) -> Cell:
    if value != value:  # no run has it
        return Cell()
    return Cell(text=amount(value) if in_bytes and value else f"{value:,.0f}", value=value)
