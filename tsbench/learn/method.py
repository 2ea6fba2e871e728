"""The interface of a method: ``learn(task)`` and ``predict(x)``, and what it keeps in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from tsbench.data.card import Card
from tsbench.data.stream import Stream, Task
from tsbench.errors import UserError
from tsbench.nn.encoder import EncoderNorm
from tsbench.nn.random import torch_generator
from tsbench.randomness import generator

if TYPE_CHECKING:
    from tsbench.learn.shared import SharedWork

Progress = Callable[[int, int, float], None]
"""Called with (task index, epoch, loss) while a method learns."""


def _silent(task: int, epoch: int, loss: float) -> None:
    pass


@dataclass(frozen=True)
class Kept:
    """Bytes that a method keeps between tasks, by kind."""

    raw: int = 0
    """Samples of the training data, however encoded."""
    generator: int = 0
    """Parameters of a model that generates samples."""
    statistics: int = 0
    """Everything else computed from the data: Gram matrices, importances, prototypes, logits."""
    parameters: int = 0
    """Network weights, teachers included."""


@dataclass(frozen=True)
class Context:
    """All that a method is told about the run it is in; never test data, never what is to come."""

    card: Card
    seed: int
    classes: int
    """Classes of the whole stream."""
    samples: int
    """Training samples of the whole stream."""
    budget: int
    """Raw samples that may be kept between tasks."""
    epochs: int = 100
    norm: EncoderNorm = "ln"
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    progress: Progress = _silent
    shared: SharedWork | None = None

    def random(self, *names: object) -> np.random.Generator:
        """A numpy generator named after its purpose."""
        return generator(self.seed, self.card.name, *names)

    def torch_random(self, *names: object, on_device: bool = False) -> torch.Generator:
        """A torch generator named after its purpose, on the CPU or on the device of the run."""
        device = self.device if on_device else "cpu"
        return torch_generator(self.seed, self.card.name, *names, device=device)

    def for_stream(self, stream: Stream, budget: int) -> Context:
        """The same run settings for another stream of the same data set."""
        samples = sum(len(task.train) for task in stream.tasks)
        return replace(self, classes=len(stream.classes), samples=samples, budget=budget)


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters of a method: a frozen dataclass, one line each with its meaning below."""


class Method(ABC):
    """Learns task after task and predicts over all classes seen so far."""

    Settings: ClassVar[type[Settings]] = Settings
    offline: ClassVar[bool] = False
    """True for joint training: ``learn`` is called once, with all classes."""

    def __init__(self, context: Context, settings: Any) -> None:
        self.context = context
        self.settings = settings

    @abstractmethod
    def learn(self, task: Task) -> None:
        """Learn one task; its data is gone afterwards."""

    @abstractmethod
    def predict(self, x: np.ndarray) -> np.ndarray:
        """Series (N, C, L) → scores (N, classes seen so far)."""

    @abstractmethod
    def kept(self) -> Kept:
        """What is kept between tasks, in bytes."""

    def parameters(self) -> int:
        """Number of trained parameters."""
        return 0

    def inputs(self, x: np.ndarray) -> np.ndarray | None:
        """Series (N, C, L) → what the classifier sees, for the variance ratio; None if unasked."""
        return None

    @classmethod
    def settle(
        cls, settings: Any, context: Context, validation: Callable[[], Stream]
    ) -> tuple[Any, dict[str, Any]]:
        """Settings that are to be chosen per seed on the validation stream, and the evidence."""
        return settings, {}


def require(holds: bool, rule: str) -> None:
    """For ``__post_init__`` of settings: a value that makes no sense is told at once."""
    if not holds:
        raise UserError(rule)


def nbytes(*tensors: torch.Tensor) -> int:
    """Bytes of tensors."""
    return sum(t.numel() * t.element_size() for t in tensors)
