"""The share of the variance that GR's generator can store, in a case that is known."""

from __future__ import annotations

import generator_weight
import numpy as np
import pytest


def test_only_variance_above_the_noise_is_stored() -> None:
    x = np.array([[2.0, 1.0], [-2.0, 1.0], [2.0, -1.0], [-2.0, -1.0]]) + 7  # variances 4 and 1
    assert generator_weight.stored_share(x, 0.5) == pytest.approx(3 / 5)  # noise 1
    assert generator_weight.stored_share(x, 5.0) == pytest.approx((3.9 + 0.9) / 5)
    assert generator_weight.stored_share(x, 0.1) == 0.0
