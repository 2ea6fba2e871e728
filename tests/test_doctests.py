"""Examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tsbench

MODULES = [m.name for m in pkgutil.walk_packages(tsbench.__path__, "tsbench.")]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_examples_are_found() -> None:
    """An example that is collected but never run would make the tests above pass for nothing."""
    metrics = importlib.import_module("tsbench.protocol.metrics")
    assert doctest.testmod(metrics).attempted > 5
