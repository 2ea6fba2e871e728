"""DER++: dark experience replay, with the true labels of old samples beside the stored logits.

Buzzega et al., Dark Experience for General Continual Learning, NeurIPS 2020.

Loss: CE(new) + α·MSE(logits(replay), stored logits) + β·CE(replay′), replay and replay′ being two
independent draws from the memory. All else as DER (see ``der``); with β = 0 it is DER.

Deviations from the paper: those of DER.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from tsbench.baselines.der import DER, DERSettings

from tsbench.learn.settings import setting
from tsbench.protocol.stream import Task


@dataclass(frozen=True)
class DERPPSettings(DERSettings):
    """Hyper-parameters."""

    alpha: float = setting(0.5, "weight α of the stored logits", grid=(0.5, 0.1, 0.2), least=0)
    beta: float = setting(1.0, "weight β of the true labels", grid=(1.0, 0.5), least=0)


class DERPP(DER):
    """Cross-entropy on the new, stored logits and true labels for the old."""

    name, title = "derpp", "DER++"
    settings: DERPPSettings
    Settings = DERPPSettings

    def before_task(self, task: Task) -> None:
        """The second draw has its own randomness."""
        super().before_task(task)
        self.label_draws = self.context.torch_random("replay labels", task.index)

    def replay_loss(self, chosen: Tensor) -> Tensor:
        """α·MSE on one draw, β·CE on another."""
        dark = super().replay_loss(chosen)
        if not self.settings.beta:
            return dark
        other = self.memory.draw(self.settings.replay, self.label_draws)
        labelled = self.criterion(self.network(self.memory.x[other]), self.memory.y[other])
        return dark + self.settings.beta * labelled
