"""GR: generative replay; a TimeVAE invents the past.

Shin et al., Continual Learning with Deep Generative Replay, NeurIPS 2017, with the TimeVAE of
Desai et al., 2021.

Classifier: CE(x̃, argmax of the previous network on x̃) + CE(new), 32 generated samples per step from
the previous generator. Then the generator learns the task: w·reconstruction + KL, sums over the
batch; from the second task on half of it on generated samples. Adam for all tasks, early stopping
by the reconstruction error on the current task's validation samples, best weights restored.

Only the generator (with its optimiser) and the network are kept; no raw sample.

Deviations from the published code: 1. the generator trains for at most five times the epochs of
the classifier, which is the published 500 for the default of 100; 2. the error that stops it is
that of the decoded posterior mean, not of a random draw.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from tsbench.learn.distillation import teacher_of
from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.loop import batches
from tsbench.learn.method import Context, Kept, Paper, nbytes
from tsbench.learn.settings import setting
from tsbench.nn.network import Network
from tsbench.nn.timevae import TimeVAE
from tsbench.protocol.stream import Task

EPOCHS_PER_EPOCH = 5


@dataclass(frozen=True)
class GRSettings(GradientSettings):
    """Hyper-parameters."""

    batch: int = setting(32, "new samples per step", least=1)
    replay: int = setting(32, "generated samples per step", least=1)
    patience: int = setting(
        20, "epochs without improvement before stopping, of classifier and generator", least=1
    )
    generator_rate: float = setting(
        1e-3, "Adam's step for the generator", grid=(1e-3, 1e-4), above=0
    )
    reconstruction: float = setting(
        0.1, "weight of the reconstruction", grid=(0.1, 0.01, 1.0, 0.001, 10.0), least=0
    )


class GR(GradientMethod[GRSettings]):
    """Replay of generated samples, labelled by the previous network."""

    name, title, family = "gr", "GR", "exemplar-based"
    keeps = "network, generator"
    paper = Paper("Shin et al.", "Continual Learning with Deep Generative Replay", "NeurIPS", 2017)
    labeller: Network | None = None
    past: TimeVAE | None = None

    def __init__(self, context: Context, settings: GRSettings) -> None:
        super().__init__(context, settings)
        card = context.card
        weights = context.torch_random("generator weights")
        self.generator = TimeVAE(card.channels, card.length, weights).to(context.device)
        self.optimiser = torch.optim.Adam(
            self.generator.parameters(),
            lr=settings.generator_rate,
            fused=context.device.type != "mps",
        )

    def before_task(self, task: Task) -> None:
        """The network before the task labels what the generator before the task invents."""
        self.labeller = teacher_of(self.network)
        self.past = copy.deepcopy(self.generator).requires_grad_(False)
        self.noise = self.context.torch_random("generated", task.index)

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """CE(generated) + CE(new)."""
        assert self.past is not None and self.labeller is not None
        invented = self.past.generate(self.settings.replay, self.noise)
        with torch.no_grad():
            labels = self.labeller(invented).argmax(1)
        return self.criterion(self.network(invented), labels) + super().loss(x, y, rows)

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Teach the generator the task, and what it knew before."""
        val = self.tensors(task.val.x, task.val.y)[0] if len(task.val) else x
        noise = self.context.torch_random("generator noise", task.index)
        order = self.context.torch_random("generator order", task.index)
        best, best_error, waited = copy.deepcopy(self.generator.state_dict()), math.inf, 0
        for epoch in range(1, EPOCHS_PER_EPOCH * self.context.epochs + 1):
            for rows in batches(len(x), self.settings.batch, order, x.device):
                self._generator_step(x[rows], self.past, noise)
            error = self._reconstruction_error(val)
            self.context.progress(task.index, epoch, error)
            if not math.isfinite(error):
                raise FloatingPointError(f"the generator's error became {error} in epoch {epoch}")
            if error <= best_error:
                best, best_error = copy.deepcopy(self.generator.state_dict()), error
                waited = 0
            else:
                waited += 1
                if waited >= self.settings.patience:
                    break
        self.generator.load_state_dict(best)
        self.past = self.labeller = None

    def _generator_step(self, x: Tensor, past: TimeVAE | None, noise: torch.Generator) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        if past is not None:  # the loss is a sum: half of each is half of both together
            x = torch.cat([x, past.generate(self.settings.replay, noise)])
        loss = self.generator.loss(x, self.settings.reconstruction, noise)
        (loss if past is None else 0.5 * loss).backward()
        self.optimiser.step()

    @torch.no_grad()
    def _reconstruction_error(self, x: Tensor) -> float:
        mean, _ = self.generator.encode(x)
        return F.mse_loss(self.generator.decode(mean), x).item()

    def kept(self) -> Kept:
        """Network, generator and its optimiser's moments."""
        moments = [
            value
            for state in self.optimiser.state.values()
            for value in state.values()
            if isinstance(value, Tensor)
        ]
        return replace(super().kept(), generator=nbytes(*self.generator.parameters(), *moments))
