"""DER: dark experience replay; old samples are to be answered as the old network did.

Buzzega et al., Dark Experience for General Continual Learning, NeurIPS 2020.

Loss: CE(new) + α·MSE(logits(replay), stored logits), α = 0.5. Logits are stored when a sample
enters the reservoir, zero for classes that come later, and compared over all present outputs.

Deviations from the paper: 1. logits are those of the best network after the task, not of the
training trajectory; 2. no augmentation (both as in the published code). From the published code:
3. an exact reservoir.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tsbench.learn.loop import EVAL_BATCH
from tsbench.learn.method import Paper
from tsbench.learn.replay import ReplaySettings, ReservoirMethod
from tsbench.learn.settings import setting


@dataclass(frozen=True)
class DERSettings(ReplaySettings):
    """Hyper-parameters."""

    alpha: float = setting(0.5, "weight α of the stored logits", least=0)


class DER(ReservoirMethod[DERSettings]):
    """Cross-entropy on the new, stored logits for the old."""

    name, title = "der", "DER"
    keeps = "network, raw samples, logits"
    paper = Paper(
        "Buzzega et al.",
        "Dark Experience for General Continual Learning: a Strong, Simple Baseline",
        "NeurIPS",
        2020,
    )

    def replay_loss(self, chosen: Tensor) -> Tensor:
        """α·MSE over all present outputs."""
        logits = self.network(self.memory.x[chosen])
        stored = self.memory.extras["logits"][chosen, : logits.shape[1]]
        loss: Tensor = self.settings.alpha * F.mse_loss(logits, stored)
        return loss

    @torch.no_grad()
    def extras(self, x: Tensor) -> dict[str, Tensor]:
        """Logits of the network as it is, padded to all classes of the stream."""
        self.network.eval()
        logits = torch.cat([self.network(part) for part in x.split(EVAL_BATCH)])
        return {"logits": F.pad(logits, (0, self.context.classes - logits.shape[1]))}
