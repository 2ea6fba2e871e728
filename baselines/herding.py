"""Herding: replay of the samples whose mean stays closest to the class mean.

Welling, Herding Dynamical Weights to Learn, ICML 2009; as in iCaRL: Rebuffi et al., iCaRL:
Incremental Classifier and Representation Learning, CVPR 2017.

Loss as ER. After a task each new class is ranked on L2-normalised features: w ← μ; again and
again pick argmax wᵀd, note it if it is new, w ← w + μ − d. The budget is shared equally among the
classes seen; old classes keep their best ranks.

Deviations from iCaRL: 1. no distillation, linear head in place of nearest means (as in the
published code). From the published code: 2. shares are rounded down, so that the budget is never
exceeded; 3. no past raw data is held beside the memory; 4. if the picks repeat for too long, the
rest is ranked by wᵀd, not at random.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tsbench.learn.method import Paper
from tsbench.learn.replay import ReplayMethod, ReplaySettings
from tsbench.protocol.stream import Task

MOST_PICKS = 5000


class Herding(ReplayMethod[ReplaySettings]):
    """Replay of herded exemplars."""

    name, title = "herding", "Herding"
    paper = Paper(
        "Rebuffi et al.",
        "iCaRL: Incremental Classifier and Representation Learning",
        "CVPR",
        2017,
    )

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Rank the new classes, trim the old ones."""
        features = F.normalize(self.features(x), dim=1)
        ranking = {}
        for label in task.labels:
            places = (y == label).nonzero().flatten()
            ranking[label] = places[herd(features[places], self.memory.budget)]
        self.store_ranked(x, y, ranking)


def herd(features: Tensor, count: int) -> Tensor:
    """Places of up to ``count`` samples in the order herding picks them."""
    mean = features.mean(0)
    count = min(count, len(features))
    weight, picked = mean.clone(), torch.zeros(len(features), dtype=torch.bool)
    order: list[int] = []
    for _ in range(MOST_PICKS):
        if len(order) == count:
            break
        best = int((features @ weight).argmax())
        if not picked[best]:
            picked[best] = True
            order.append(best)
        weight = weight + mean - features[best]
    rest = (features @ weight).argsort(descending=True).tolist()
    order += [place for place in rest if not picked[place]][: count - len(order)]
    return torch.tensor(order, dtype=torch.long, device=features.device)
