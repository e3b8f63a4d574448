"""Likeliest numbers: beside a library's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from understudy.synth.measure.likeliest import Noisy, likeliest


def test_the_estimate_is_that_of_a_library() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        count = int(rng.integers(2, 30))
        counts = rng.normal(20, 40, count)
        means = np.sort(rng.uniform(1, 200, count))
        sums = np.array([np.ones(count), means])
        totals = [Noisy(20.0 * count, 30.0), Noisy(float(20 * means.sum()), 900.0)]
        found = likeliest(counts, sums, error=np.full(count, 40.0), totals=totals)
        matrix = np.vstack([np.eye(count) / 40, sums[0] / 30, sums[1] / 900])
        wanted = [*(counts / 40), totals[0].value / 30, totals[1].value / 900]
        judged, _ = nnls(matrix, np.array(wanted))
        assert found == pytest.approx(judged, abs=0.01)
