"""How GR forgets its first task while it learns the second, for each weight and schedule.

    python tools/generator_schedules.py uci-har --weights 10 --schedules step15 onecycle

Most of the time of GR goes into its generator. For a quick look at the validation stream, the
generator learns the first task once per weight, and the second not at all. Printed are accuracies:
on the first task when it was learned, on both after the second, and on the first after each epoch.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor
from tsbench.baselines.gr import GR, GRSettings

from tsbench.data.catalogue import card
from tsbench.data.prepared import load
from tsbench.learn.loop import SCHEDULES
from tsbench.learn.method import Context
from tsbench.protocol.rules import Protocol
from tsbench.protocol.stream import Stream, Task, make_stream
from tsbench.runs.conformance import make_context
from tsbench.runs.execute import predict

Generator = dict[str, Tensor]


class TwoTasks(GR):
    """GR whose generator learns the first task only, or not even that if it is given."""

    given: Generator | None = None

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Teach the generator the first task, unless it is given."""
        if self.given is not None:
            self.generator.load_state_dict(self.given)
        elif task.index == 0:
            super().after_task(task, x, y)


@dataclass(frozen=True)
class Trial:
    """Accuracies in %, and the generator of the first task."""

    learned: float
    first: float
    second: float
    by_epoch: list[float]
    generator: Generator


def trial(context: Context, stream: Stream, settings: GRSettings, given: Generator | None) -> Trial:
    """Learn two tasks."""
    by_epoch: list[float] = []

    def test(place: int, task: int) -> float:
        x, y = stream.tests[place].x, stream.tests[place].y
        return 100 * float((predict(method, x, max(stream.tasks[task].labels) + 1) == y).mean())

    def progress(task: int, epoch: int, loss: float) -> None:
        if task == 1:
            by_epoch.append(test(0, 1))

    method = TwoTasks(replace(context, progress=progress), settings)
    method.given = given
    method.learn(stream.tasks[0])
    learned, generator = test(0, 0), method.generator.state_dict()
    method.learn(stream.tasks[1])
    return Trial(learned, test(0, 1), test(1, 1), by_epoch, generator)


def main() -> None:
    """Print a row per trial."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--weights", type=float, nargs="+", default=[0.1])
    parser.add_argument("--schedules", choices=SCHEDULES, nargs="+", default=SCHEDULES)
    parser.add_argument("--rate", type=float, default=1e-3, help="Adam's step for the generator")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    options = parser.parse_args()
    data = load(card(options.dataset, options.data), options.data)
    stream = make_stream(data, options.seed, Protocol(stream="val"))
    context = replace(make_context(data, stream), epochs=options.epochs)
    torch.set_num_threads(1)
    print("| weight | schedule | first, learned | first | second | first after each epoch |")
    print("|---" * 6 + "|")
    for weight in options.weights:
        generator: Generator | None = None
        for schedule in options.schedules:
            settings = GRSettings(
                schedule=schedule, reconstruction=weight, generator_rate=options.rate
            )
            found = trial(context, stream, settings, generator)
            generator = found.generator
            shown = [f"{value:.1f}" for value in (found.learned, found.first, found.second)]
            curve = " ".join(f"{value:.0f}" for value in found.by_epoch)
            row = " | ".join([f"{weight:g}", schedule, *shown, curve])
            print(f"| {row} |", flush=True)


if __name__ == "__main__":
    main()
