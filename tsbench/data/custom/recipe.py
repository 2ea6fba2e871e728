"""The YAML card of a folder of series: its keys and their values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tsbench.data.card import InputNorm
from tsbench.errors import UserError
from tsbench.registry import closest
from tsbench.schema import shown

Axes = Literal["ncl", "nlc"]
Unequal = Literal["pad", "resample"]
Missing = Literal["interpolate", "zero"]
SplitBy = Literal["class", "subject"]


MOST = 1_000_000
"""Steps of a series, and samples per class; more is a typing error."""


@dataclass(frozen=True)
class Files:
    """Where the series are: one file or pattern, or one file per array."""

    x: str
    y: str = ""
    subject: str = ""


@dataclass(frozen=True)
class Recipe:
    """The contents of a card; each field is a key."""

    name: str = ""
    """Name in results and tables; by default the folder's name."""
    title: str = ""
    """Title in the table of data sets; by default the name."""
    train: Files | None = None
    """A file, a pattern such as train/*/*.npy, or {x: FILE, y: FILE, subject: FILE}."""
    test: Files | None = None
    """The same for the test data."""
    data: Files | None = None
    """Instead of train and test: all series, to be split by tsbench."""
    test_share: float = 0.25
    """Share of data that is used for testing."""
    split_by: SplitBy | None = None
    """class, or subject (a subject's series stay together); by default subject if given."""
    split_seed: int = 0
    """Seed of the split."""
    axes: Axes = "ncl"
    """Axes of arrays: ncl (series, channels, steps) or nlc (series, steps, channels)."""
    length: int | None = None
    """Steps per series; by default those of the longest."""
    unequal: Unequal | None = None
    """If lengths differ: pad (zeros at the end, or cut) or resample (linearly)."""
    missing: Missing | None = None
    """For missing values: interpolate (linearly, in time) or zero."""
    drop: tuple[str, ...] = ()
    """Classes to leave out."""
    input_norm: InputNorm = "instance"
    """Input norm: instance (each channel over time), layer (channels at each step) or none."""
    dropout: float = 0.0
    """Dropout rate of the encoder."""
    memory_per_class: int | None = None
    """Replay methods may keep 5 % of it per class; by default the training series per class."""
    licence: str = ""
    """Licence of the data."""
    citation: str = ""
    """Whom to cite."""
    page: str = ""
    """Where the data comes from."""

    def __post_init__(self) -> None:
        given = self.train is not None, self.test is not None, self.data is not None
        if given not in ((True, True, False), (False, False, True)):
            raise ValueError("give either train and test, or data")
        if not 0 < self.test_share < 1:
            raise ValueError(f"test_share must be between 0 and 1, not {self.test_share}")
        if self.split_seed < 0:
            raise ValueError("split_seed must be at least 0")
        for name, value in (("length", self.length), ("memory_per_class", self.memory_per_class)):
            if value is not None and not 1 <= value <= MOST:
                raise ValueError(f"{name} must be between 1 and {MOST:,}, not {shown(value)}")


def read_recipe(path: Path) -> Recipe:
    """Read and check a card; errors name the key."""
    import yaml

    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read '{path.name}': {error}") from error
    except RecursionError as error:
        raise UserError(f"'{path.name}' is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"'{path.name}' is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(loaded, dict):
        raise UserError(f"'{path.name}' is not a card: it has no 'key: value' lines")
    kinds = get_type_hints(Recipe)
    values = {}
    for key, value in loaded.items():
        if key not in kinds:
            hint = closest(str(key), kinds)
            raise UserError(f"'{path.name}': unknown key '{key}'{hint}; known: {', '.join(kinds)}")
        if value is None:
            continue  # a key without a value counts as missing
        try:
            values[key] = _value(value, kinds[key])
        except ValueError as error:
            raise UserError(f"'{path.name}': {key} must be {error}, not {shown(value)}") from error
    try:
        return Recipe(**values)
    except ValueError as error:
        raise UserError(f"'{path.name}': {error}") from error


def _value(value: Any, kind: Any) -> Any:
    """A value of a key's type; ValueError with what it should be."""
    if get_origin(kind) not in (None, Literal, tuple):  # X | None
        (kind,) = (k for k in get_args(kind) if k is not type(None))
    if kind is Files:
        return _files(value)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError("a list")
        return tuple(_text(item) for item in value)
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return value
    if kind is str:
        return _text(value)
    if isinstance(value, bool) or not isinstance(value, (int, kind)):
        raise ValueError("a whole number" if kind is int else "a number")
    try:
        return kind(value)
    except OverflowError:
        raise ValueError("a number that is not so large") from None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        raise ValueError("in quotes: YAML reads yes, no, true and false as truth values")
    if not isinstance(value, (str, int, float)):
        raise ValueError("text")
    return str(value).strip()


def _files(value: Any) -> Files:
    if isinstance(value, str) and value:
        return Files(value)
    if isinstance(value, dict) and "x" in value and value.keys() <= get_type_hints(Files).keys():
        return Files(**{key: _text(name) for key, name in value.items()})
    raise ValueError("a file, or {x: FILE, y: FILE, subject: FILE}")
