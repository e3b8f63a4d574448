"""The quantile that the sampler's error bound rests on, against arbitrary precision."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from statistics import NormalDist

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

from tests.audit.effort import effort
from understudy.noise import quantile
from understudy.noise.quantile import upper_quantile

Floats = NDArray[np.float64]

EDGES = (0.5, 0.25, 0.075, float(np.exp(-25.0)), 2.0**-65)
"""Where probabilities end that are drawn, and where one ratio takes over from another."""


@cache
def exactly(tail: float) -> mpmath.mpf:
    """Solve for z by Newton's method, at 200 bits; from a judge of our own, not from ours."""
    with mpmath.workprec(200):
        z = mpmath.mpf(float(-ndtri(tail)))
        for _ in range(4):
            off = mpmath.erfc(z / mpmath.sqrt(2)) / 2 - mpmath.mpf(tail)
            z += off * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(z * z / 2)
        return z


def probabilities() -> Floats:
    """Some on every stretch, and the floats on both sides of each edge."""
    rng = np.random.default_rng(4)
    stretches = [
        np.exp(rng.uniform(np.log(low), np.log(high), effort(200, 400)))
        for high, low in pairwise(EDGES)
    ]
    beside = [np.nextafter(e, side) for e in EDGES[1:] for side in (0.0, 1.0)]
    return np.concatenate([*stretches, EDGES, beside])


def worst(found: Floats, tails: Floats) -> float:
    """Give the largest error, as a share of what the sampler allows: (|z| + 1)·2⁻⁴⁸."""
    with mpmath.workprec(200):
        shares = []
        for z, tail in zip(found.tolist(), tails.tolist(), strict=True):
            true = exactly(tail)
            shares.append(abs(mpmath.mpf(z) - true) / (abs(true) + 1) * mpmath.mpf(2) ** 48)
        return float(max(shares))


def test_it_is_within_a_fifth_of_the_error_that_the_sampler_allows() -> None:
    tails = probabilities()
    assert worst(upper_quantile(tails), tails) < 0.2


def test_a_digit_of_a_coefficient_less_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail, on each of the three stretches."""
    tails = probabilities()[:: effort(3, 1)]
    for name in ("CENTRE", "SHOULDER", "TAIL"):
        above, below = getattr(quantile, name)
        changed = tuple(float(f"{c:.12e}") for c in above)
        with monkeypatch.context() as patch:
            patch.setattr(quantile, name, (changed, below))
            assert worst(upper_quantile(tails), tails) > 1, name


def test_it_is_that_of_two_libraries() -> None:
    tails = np.concatenate(
        [probabilities(), 2.0 ** np.random.default_rng(5).uniform(-1e3, -1, 999)]
    )
    found = upper_quantile(tails)
    assert np.allclose(found, -ndtri(tails), rtol=2e-15, atol=1e-15)
    python = [-NormalDist().inv_cdf(tail) for tail in tails.tolist()]
    assert np.allclose(found, python, rtol=1e-15, atol=1e-15)


def test_it_falls_as_the_probability_rises() -> None:
    """Also where one ratio takes over from another, but for rounding."""
    for edge in EDGES:
        tails = np.array([edge * (1 + i * 2.0**-46) for i in range(-2000, 2001)])
        found = upper_quantile(tails[tails <= 0.5])
        assert np.diff(found).max() <= (found.max() + 1) * 2.0**-49


def test_one_half_is_zero_and_nothing_is_nothing() -> None:
    assert upper_quantile(np.array([0.5])).tolist() == [0.0]
    assert upper_quantile(np.zeros(0)).tolist() == []
