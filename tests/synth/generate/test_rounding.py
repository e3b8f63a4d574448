"""Projections keep their totals and bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.synth.generate.rounding import rescaled, simplex

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50).map(np.array)


@given(values, st.integers(0, 10**7))
def test_the_projection_is_non_negative_and_keeps_the_total(
    noisy: np.ndarray[tuple[int], np.dtype[np.float64]], total: int
) -> None:
    projected = simplex(noisy, total=total)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(total, abs=1e-6 * (1 + total))


@given(values, st.integers(1, 10**7))
def test_the_projection_is_the_nearest_point(
    noisy: np.ndarray[tuple[int], np.dtype[np.float64]], total: int
) -> None:
    """By its optimality conditions: all that is positive was lowered by one amount, and
    nothing that became zero was higher than that.
    """
    projected = simplex(noisy, total=total)
    lowered = (noisy - projected)[projected > 0]
    assert np.ptp(lowered) <= 1e-6 * (1 + total)
    assert np.all(noisy[projected == 0] <= lowered.max() + 1e-6 * (1 + total))


def test_counts_of_a_share_are_those_of_the_whole_times_as_many() -> None:
    whole = np.array([50.0, 30.0, 20.0, 0.0])
    assert rescaled(0.7 * whole, total=100).tolist() == pytest.approx(whole.tolist())
    for noisy in (np.array([5.0, -9.0, 1.0]), np.zeros(3), np.array([-1.0, -2.0])):
        found = rescaled(noisy, total=7)
        assert found.sum() == pytest.approx(7)
        assert found.min() >= 0
