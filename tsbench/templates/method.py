"""Nearest class mean on spectra: a method to start from.

tsbench check ./mine.py:Mine
tsbench run --method ./mine.py:Mine --dataset demo --set power=1
"""

from dataclasses import dataclass

import numpy as np

from tsbench import Context, Kept, Method, Settings, Task, setting


@dataclass(frozen=True)
class MineSettings(Settings):
    """Hyper-parameters: default, meaning, range, and what ``tsbench tune`` tries."""

    power: float = setting(
        0.5,
        "exponent of the amplitudes: below 1 the peaks count less",
        grid=(0.25, 0.5, 1.0),
        above=0,
    )


class Mine(Method[MineSettings]):
    """A class is the mean spectrum of its training series; the nearest one wins."""

    title = "Mine"  # what tables and figures call it
    keeps = "means"

    def __init__(self, context: Context, settings: MineSettings) -> None:
        super().__init__(context, settings)  # context.random("name") gives seeded randomness
        self.means: list[np.ndarray] = []

    def learn(self, task: Task) -> None:
        """Learn the classes ``task.labels``; the task's data is gone afterwards."""
        features = self.features(task.train.x)
        self.means += [features[task.train.y == label].mean(axis=0) for label in task.labels]

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Series (N, C, L) → a score for every class so far (N, classes); the highest wins."""
        return -((self.features(x)[:, None] - np.stack(self.means)) ** 2).mean(axis=2)

    def kept(self) -> Kept:
        """Bytes kept between tasks; raw samples are limited to ``context.budget`` of them."""
        return Kept(statistics=sum(mean.nbytes for mean in self.means))

    def features(self, x: np.ndarray) -> np.ndarray:
        """Series (N, C, L) → amplitudes of their Fourier transforms, side by side."""
        return (np.abs(np.fft.rfft(x)) ** self.settings.power).reshape(len(x), -1)
