"""Every registered method passes the conformance suite, and the suite catches offenders."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.learn.method import Kept, Method
from tsbench.learn.registry import METHODS, dataset_settings, load_method
from tsbench.runs.conformance import CHECKS, Broken, examine


@pytest.mark.parametrize("name", METHODS.builtin)
def test_every_registered_method_keeps_all_rules(name: str, monkeypatch) -> None:
    torch.set_num_threads(1)
    kind = load_method(name)
    short = partial(kind.Settings, **dataset_settings(name, "demo"))
    monkeypatch.setattr(kind, "Settings", short)
    monkeypatch.setattr("tsbench.runs.conformance.EPOCHS", 1)
    monkeypatch.setattr("tsbench.baselines.gr.EPOCHS_PER_EPOCH", 1)
    verdicts = dict(examine(kind))
    assert len(verdicts) > len(CHECKS)
    assert not {rule: reason for rule, reason in verdicts.items() if reason}


class Nearest(Method):
    """Nearest class mean: a minimal method that keeps all rules."""

    def __init__(self, context, settings):
        super().__init__(context, settings)
        self.means: list[np.ndarray] = []

    def learn(self, task):
        self.means += [task.train.x[task.train.y == k].mean(axis=0) for k in task.labels]

    def predict(self, x):
        means = np.stack(self.means)
        return -((x[:, None] - means) ** 2).sum(axis=(2, 3))

    def kept(self):
        return Kept(statistics=sum(m.nbytes for m in self.means))


class Moody(Nearest):
    def predict(self, x):
        return super().predict(x) + np.random.normal(size=(len(x), len(self.means)))  # noqa: NPY002


class Forgetful(Nearest):
    def predict(self, x):
        return super().predict(x)[:, -2:]


class Nan(Nearest):
    def predict(self, x):
        return super().predict(x) * np.nan


class Hoarder(Nearest):
    def learn(self, task):
        self.all = task.train.x
        super().learn(task)

    def kept(self):
        return Kept(raw=self.all.nbytes)


class Peeker(Nearest):
    def __init__(self, context, settings):
        super().__init__(context, settings)
        self.tasks = []

    def learn(self, task):
        self.tasks.append(task)
        self.means = [t.train.x[t.train.y == k].mean(axis=0) for t in self.tasks for k in t.labels]


class Vandal(Nearest):
    def learn(self, task):
        super().learn(task)
        task.train.x[:] = 0


class BatchNormed(Nearest):
    def predict(self, x):
        return super().predict(x - x.mean(axis=0))


def test_a_minimal_method_passes() -> None:
    assert not [rule for rule, reason in examine(Nearest) if reason]


def test_the_check_command_tells_pass_or_reason(tmp_path: Path) -> None:
    import inspect

    head = "import numpy as np\nfrom tsbench.learn.method import Kept, Method\n"
    text = head + inspect.getsource(Nearest) + inspect.getsource(Forgetful)
    (tmp_path / "mine.py").write_text(text)
    good = CliRunner().invoke(app, ["check", f"{tmp_path}/mine.py:Nearest"])
    assert good.exit_code == 0, good.output
    assert good.stdout.count("pass") == len(CHECKS) + 1
    bad = CliRunner().invoke(app, ["check", f"{tmp_path}/mine.py:Forgetful"])
    assert bad.exit_code == 1
    assert "FAIL  scores cover all classes: predict returned shape" in bad.stdout


@pytest.mark.parametrize(
    ("offender", "check"),
    [
        (Moody, "same seed same result"),
        (Forgetful, "scores cover all classes"),
        (Nan, "scores cover all classes"),
        (Hoarder, "the budget is kept"),
        (Peeker, "the task is left as it is"),
        (Vandal, "the task is left as it is"),
        (BatchNormed, "predictions do not depend on the batch"),
    ],
)
def test_offenders_are_caught(offender: type[Method], check: str) -> None:
    with pytest.raises((Broken, ValueError)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CHECKS[check](offender)
