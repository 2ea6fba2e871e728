"""What GR's generator invents: how much its series move, and which classes they belong to.

    tsbench download uwave dsa
    python tools/generated_series.py uwave dsa --tasks 1

GR learns the first tasks of the validation stream as in a run. Then its generator invents series,
its network names their classes, and each class is compared with its real training series: the
standard deviation within a series, mean over channels and series.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from tsbench.baselines.gr import GR

from tsbench.data.catalogue import card
from tsbench.data.prepared import load
from tsbench.learn.registry import effective_settings
from tsbench.learn.settings import parse_assignments
from tsbench.protocol.rules import VALIDATION
from tsbench.protocol.stream import make_stream
from tsbench.runs.conformance import make_context

SERIES = 1000


def movement(x: np.ndarray) -> str:
    """Standard deviation within a series; a dash where there is none."""
    return f"{x.std(axis=2).mean():.2f}" if len(x) else "–"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset", nargs="+")
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--set", action="append", default=[], help="a setting of GR, NAME=VALUE")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| data set | class | share of the generated series | movement, real | generated |")
    print("|---|---|---|---|---|")
    for name in options.dataset:
        dataset = load(card(name, options.data), options.data)
        stream = make_stream(dataset, options.seed, VALIDATION)
        context = replace(make_context(dataset, stream), epochs=options.epochs)
        method = GR(context, effective_settings("gr", name, parse_assignments(options.set)))
        tasks = stream.tasks[: options.tasks]
        for task in tasks:
            method.learn(task)
        invented = method.generator.generate(SERIES, context.torch_random("shown")).numpy()
        labels = method.predict(invented).argmax(axis=1)
        for task in tasks:
            for label in np.unique(task.train.y):
                real, found = task.train.x[task.train.y == label], invented[labels == label]
                share = f"{len(found) / SERIES:.0%}"
                title = dataset.card.title
                print(f"| {title} | {label + 1} | {share} | {movement(real)} | {movement(found)} |")


if __name__ == "__main__":
    main()
