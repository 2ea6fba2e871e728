"""Noisy chirps: a data set to start from.

tsbench check ./mydata.py:card
tsbench run --method ts-acl --dataset ./mydata.py:card
"""

import numpy as np

from tsbench import Card, Coverage, Split, Splits

CLASSES = ("slow", "steady", "quick", "rising", "falling", "silent")
CHANNELS, LENGTH = 1, 64
RATE = np.array([2, 4, 8, 2, 8, 0])[:, None]
CHANGE = np.array([0, 0, 0, 3, -3, 0])[:, None]


def generate() -> Splits:
    """All of the data: read your files here, or compute; the same at every call."""
    return Splits(draw("train", 40), draw("test", 20), Coverage(360, 360, "series"))


def draw(split: str, per_class: int) -> Split:
    """Series (N, C, L) in float32, and labels that count the classes from 0."""
    random = np.random.default_rng([per_class, len(split)])
    y = np.repeat(np.arange(len(CLASSES)), per_class)
    time = np.linspace(0, 1, LENGTH)
    phase = random.uniform(0, 2 * np.pi, (len(y), 1))
    waves = np.sin(2 * np.pi * (RATE[y] + CHANGE[y] * time) * time + phase) * (RATE[y] > 0)
    x = waves + 0.5 * random.normal(size=waves.shape)
    return Split(x[:, None].astype(np.float32), y)


card = Card(
    name="mydata",
    title="My data",
    channels=CHANNELS,
    length=LENGTH,
    class_names=CLASSES,
    input_norm="instance",  # in the encoder: instance, layer or none
    dropout=0.0,  # in the encoder
    memory_per_class=40,  # replay methods may keep 5 % of it per class
    generate=generate,
)
