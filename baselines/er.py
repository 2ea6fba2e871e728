"""ER: experience replay from a reservoir.

Rolnick et al., Experience Replay for Continual Learning, NeurIPS 2019; Chaudhry et al., On Tiny
Episodic Memories in Continual Learning, 2019.

Loss: CE(replay) + CE(new), two means from two forward passes; replay from the second task on. The
memory is filled by reservoir sampling in a pass over the task after it was learned.

Deviation from the published code: 1. an exact reservoir; there the count stands still within a
batch.
"""

from __future__ import annotations

from tsbench.learn.method import Paper
from tsbench.learn.replay import ReplaySettings, ReservoirMethod


class ER(ReservoirMethod[ReplaySettings]):
    """The replay base as it is."""

    name, title = "er", "ER"
    paper = Paper("Rolnick et al.", "Experience Replay for Continual Learning", "NeurIPS", 2019)
