"""Work that several runs share: the network after the first task.

The first task is plain training in nearly every method, so methods with the same data, seed and
settings start from the same weights. The first to need them trains them; the others, in this
process or another, load them. What it took is charged in full to each of them.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import io
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tsbench import __version__
from tsbench.data.raw import ZIP_FAULTS
from tsbench.disk import locked, write_whole
from tsbench.learn.loop import Fit
from tsbench.learn.method import Context
from tsbench.protocol.stream import Task

SECONDS = "__seconds__"


def first_task_key(context: Context, task: Task, how: Fit, kind: type) -> str:
    """A name for the outcome of training on a first task; all that could change it goes in.

    The code, too: of the network, the loop and the criterion, and for a method from outside tsbench
    all of its file, since it may have changed anything.
    """
    criterion = kind.criterion  # type: ignore[attr-defined]
    ours = kind.__module__.startswith("tsbench.")
    parts = [
        __version__,
        _training_code(),
        criterion.__qualname__ if ours else "",
        _digest([Path(inspect.getfile(criterion if ours else kind))]),
        torch.__version__,
        str(context.device.type),
        str(torch.get_num_threads()),
        context.card.name,
        context.seed,
        context.norm,
        context.card.input_norm,
        context.card.dropout,
        task.train.digest(),
        task.val.digest(),
        sorted(asdict(how).items()),
    ]
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]


@functools.lru_cache(maxsize=1)
def _training_code() -> str:
    package = Path(__file__).resolve().parents[1]
    return _digest(
        [*sorted((package / "nn").glob("*.py")), *sorted((package / "learn").glob("*.py"))]
    )


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


@dataclass(frozen=True)
class Use:
    """One use of shared work: what it took this run, and what training it took, whoever did it."""

    key: str
    spent: float
    """Seconds of training, waiting or loading."""
    charged: float
    """Seconds that the training took."""


class SharedWork:
    """A folder of trained first tasks, safe for many processes at once."""

    def __init__(self, folder: Path, since: float = 0.0) -> None:
        self.folder = folder
        self.since = since
        """Work from before this time (in seconds since 1970) does not count."""
        self.uses: list[Use] = []

    def first_task(self, key: str, train: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
        """The weights called ``key``, trained now unless they are there already."""
        started = time.perf_counter()
        path = self.folder / f"{key}.npz"
        with locked(self.folder / f"{key}.lock", waiting=lambda: None, poll=0.05):
            arrays = _read(path, self.since)
            if arrays is None:
                began = time.perf_counter()
                state = train()
                seconds = time.perf_counter() - began
                arrays = {name: value.cpu().numpy() for name, value in state.items()}
                arrays[SECONDS] = np.array(seconds)
                buffer = io.BytesIO()
                np.savez(buffer, allow_pickle=False, **arrays)
                write_whole(path, buffer.getvalue())
        charged = float(arrays.pop(SECONDS))
        self.uses.append(Use(key, time.perf_counter() - started, charged))
        return {name: torch.from_numpy(value) for name, value in arrays.items()}


def _read(path: Path, since: float) -> dict[str, np.ndarray] | None:
    try:
        if path.stat().st_mtime < since:
            return None
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except ZIP_FAULTS:
        return None  # not there, or damaged: train
    return arrays if SECONDS in arrays else None
