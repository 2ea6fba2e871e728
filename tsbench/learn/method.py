"""The interface of a method: ``learn(task)`` and ``predict(x)``, and what it keeps in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args, get_origin

import numpy as np
import torch

from tsbench.data.card import Card
from tsbench.learn.settings import Settings
from tsbench.nn.random import torch_generator
from tsbench.protocol.rules import CLASSES_PER_TASK, EncoderNorm, task_labels
from tsbench.protocol.stream import Stream, Task
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
    """All that a method knows about its run; never test data, never what is to come."""

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
    classes_per_task: int = CLASSES_PER_TASK
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    progress: Progress = _silent
    shared: SharedWork | None = None

    @property
    def tasks(self) -> int:
        """Tasks of the whole stream."""
        return max(1, len(task_labels(self.classes, self.classes_per_task)))

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
class Paper:
    """Where a method was published."""

    authors: str
    title: str
    venue: str
    year: int

    def __str__(self) -> str:
        return f"{self.authors}, {self.title}, {self.venue} {self.year}"


S = TypeVar("S", bound=Settings)


class Method(ABC, Generic[S]):
    """Learns task after task and predicts over all classes seen so far.

    ``class Mine(Method[MySettings])`` makes ``MySettings`` the class of its settings.
    """

    name: ClassVar[str] = ""
    """What ``--method`` calls it; a class without a name is a base or a user's own."""
    title: ClassVar[str] = ""
    """What tables and figures call it."""
    family: ClassVar[str] = "other"
    """bounds, exemplar-free, exemplar-based, analytic or other."""
    keeps: ClassVar[str] = ""
    """What it keeps between tasks, in a few words."""
    paper: ClassVar[Paper | None] = None
    colour: ClassVar[str] = ""
    """A fixed colour in figures, like ``#aa2277``; empty takes one from the palette."""
    marker: ClassVar[str] = ""
    """A fixed marker in figures, as matplotlib names it."""

    Settings: ClassVar[type[Settings]] = Settings
    offline: ClassVar[bool] = False
    """True for joint training: ``learn`` is called once, with all classes."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for base in cls.__dict__.get("__orig_bases__", ()):
            of_method = isinstance(get_origin(base), type) and issubclass(get_origin(base), Method)
            for argument in get_args(base) if of_method else ():
                if isinstance(argument, type) and "Settings" not in cls.__dict__:
                    cls.Settings = argument

    def __init__(self, context: Context, settings: S) -> None:
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

    def linear_head(self, x: np.ndarray) -> np.ndarray | None:
        """Scores of the network's linear head, for a method that predicts with something else.

        Their accuracy after the last task goes into the record; None: there is nothing to compare.
        """
        return None

    def notes(self) -> dict[str, Any]:
        """Facts about the run that belong in its record."""
        return {}

    def classifier_features(self, x: np.ndarray) -> np.ndarray | None:
        """Series (N, C, L) → what the classifier sees, for the variance ratio; None: no ratio."""
        return None

    @classmethod
    def select_hyperparameters(
        cls, settings: S, context: Context, validation: Callable[[], Stream]
    ) -> tuple[S, dict[str, Any]]:
        """Settings that are chosen per seed on the validation stream, and the evidence for it."""
        return settings, {}


def nbytes(*tensors: torch.Tensor) -> int:
    """Bytes of tensors."""
    return sum(t.numel() * t.element_size() for t in tensors)
