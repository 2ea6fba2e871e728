"""Write a card for a folder of series, from the files in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from tsbench.data.custom.recipe import Files, Recipe
from tsbench.data.custom.series import ENDINGS, PREPARED, read_series
from tsbench.errors import UserError

SIDES = ("train", "test")
ROLES = {
    "x": {"x", "data", "series", "signals", "inputs"},
    "y": {"y", "label", "labels", "class", "classes", "target", "targets"},
    "subject": {"subject", "subjects", "person", "persons", "participant", "participants"},
}
HEAD = """\
# The card of a data set; docs/adding-a-data-set.md explains all keys.
# {count} series, {channels} channel(s), {shortest} to {longest} steps, {classes} classes.
# unequal: pad or resample; missing: interpolate or zero; input_norm: instance, layer or none.
"""


def draft(folder: Path) -> str:
    """The text of a card for the folder; raises if the roles of the files are not clear."""
    import yaml

    if not folder.is_dir():
        raise UserError(f"'{folder}' is not a folder; create it and put the series into it")
    found = guess(folder)
    parts = [read_series(folder, files, Recipe.axes) for files in found.values()]
    series = [s for part in parts for s in part.series]
    lengths = [s.shape[1] for s in series]
    card: dict[str, Any] = {side: _written(files) for side, files in found.items()}
    if len(set(lengths)) > 1:
        card["unequal"] = "pad"
    if any(np.isnan(s).any() for s in series):
        card["missing"] = "interpolate"
    card |= {"input_norm": Recipe.input_norm, "licence": "", "citation": "", "page": ""}
    head = HEAD.format(
        count=len(series),
        channels=len(series[0]),
        shortest=min(lengths),
        longest=max(lengths),
        classes=len({label for part in parts for label in part.labels}),
    )
    return head + yaml.safe_dump(card, sort_keys=False, allow_unicode=True)


def guess(folder: Path) -> dict[str, Files]:
    """Which files are for training, for testing, or both."""
    files = sorted(p.name for p in folder.iterdir() if p.suffix.lower() in ENDINGS)
    arrays = [name for name in files if name.lower().endswith(".npy")]
    whole = [name for name in files if name not in arrays]
    sides = {side: [name for name in whole if side in _words(name)] for side in SIDES}
    if all(len(names) == 1 for names in sides.values()):
        return {side: Files(names[0]) for side, names in sides.items()}
    if len(whole) == 1:
        return {"data": Files(whole[0])}
    loose = {side: _roles([n for n in arrays if side in _words(n)]) for side in SIDES}
    if all("y" in roles for roles in loose.values()):
        return {side: Files(**roles) for side, roles in loose.items()}
    if "y" in (roles := _roles(arrays)):
        return {"data": Files(**roles)}
    if all(list((folder / side).glob("*/*.npy")) for side in SIDES):
        return {side: Files(f"{side}/*/*.npy") for side in SIDES}
    if any(PREPARED not in path.parent.name for path in folder.glob("*/*.npy")):
        return {"data": Files("*/*.npy")}
    raise UserError(
        f"'{folder}' has no files that can be recognised: one ….ts or ….npz, or two of them with "
        "train and test in their names; x….npy and y….npy; or one folder of .npy files per class"
    )


def _words(name: str) -> list[str]:
    """The words in a file's name, in lower case."""
    return re.findall(r"[a-z]+", name.lower())[:-1]  # without the ending


def _roles(names: list[str]) -> dict[str, str]:
    """Which arrays are series, labels and subjects; empty if that is not clear."""
    roles: dict[str, str] = {}
    for name in names:
        for role, words in ROLES.items():
            if words & set(_words(name)):
                if role in roles:
                    return {}
                roles[role] = name
                break
    return roles if "x" in roles else {}


def _written(files: Files) -> Any:
    """As in a card."""
    if not files.y:
        return files.x
    return {key: value for key, value in vars(files).items() if value}
