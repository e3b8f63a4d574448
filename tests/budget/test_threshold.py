"""Thresholds: what is charged as a failure is the chance that a lone person's value is told."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr

from tests.audit.effort import one_in, tried
from understudy.budget import (
    GRAIN,
    MOST_VALUES,
    Charge,
    Currency,
    Gaussian,
    Threshold,
    failure_of,
    failure_upper,
    threshold_upper,
    value_weight,
)
from understudy.errors import BudgetError
from understudy.noise import draw, steps_per_unit

sigmas = st.floats(0.05, 500)
mosts = st.integers(1, 60)


def lattice(sigma: float, threshold: float) -> tuple[int, int]:
    """Return the steps to a weight of 1, and a threshold in steps."""
    steps = steps_per_unit(sigma, at_least=2**16)
    return steps, math.ceil(Fraction(threshold) * steps)


def independent(most: int, sigma: float, steps: int, least: int) -> float:
    """Compute the largest chance in float64, by logarithms of the other tail."""
    worst = 0.0
    for count in range(1, most + 1):
        weight = steps * math.isqrt(2**32 // count) / 2**16
        below = float(log_ndtr((least - 0.5 - weight) / (sigma * steps)))
        worst = max(worst, -math.expm1(count * below))
    return worst


@given(st.integers(1, MOST_VALUES))
def test_squares_of_a_persons_weights_sum_to_at_most_one_and_hardly_less(count: int) -> None:
    assert count * value_weight(count) ** 2 <= 2**32
    assert count * (value_weight(count) + 1) ** 2 > 2**32


@given(sigmas, mosts, st.floats(0.1, 7))
@tried()
def test_the_failure_is_what_an_independent_computation_says(
    sigma: float, most: int, far: float
) -> None:
    steps, least = lattice(sigma, 1 + far * sigma)
    found = failure_upper(most=most, sigma=sigma, steps=steps, least=least) * GRAIN
    assert float(found) == pytest.approx(independent(most, sigma, steps, least), rel=1e-9)


@given(sigmas, mosts, st.floats(0.1, 30))
@tried(usual=12)
def test_it_is_rounded_up_by_less_than_a_grain(sigma: float, most: int, far: float) -> None:
    import mpmath

    steps, least = lattice(sigma, 1 + far * sigma)
    with mpmath.workdps(100):
        exact = max(
            1
            - (
                1
                - mpmath.erfc(
                    (least - mpmath.mpf(1) / 2 - steps // 2**16 * math.isqrt(2**32 // count))
                    / (mpmath.mpf(sigma) * steps)
                    / mpmath.sqrt(2)
                )
                / 2
            )
            ** count
            for count in range(1, most + 1)
        )
        grains = failure_upper(most=most, sigma=sigma, steps=steps, least=least)
        assert exact * 2**80 <= grains < exact * 2**80 + 1.001


@pytest.mark.parametrize(("sigma", "most", "worst"), [(0.2, 9, 1), (20.0, 9, 9)])
def test_the_worst_number_of_lone_values_depends_on_the_noise(
    sigma: float, most: int, worst: int
) -> None:
    """With little noise one heavy value is the likeliest to pass; with much, any of many."""
    steps, least = lattice(sigma, 1 + 5 * sigma)
    chances = [independent(j, sigma, steps, least) for j in range(1, most + 1)]
    alone = [
        -math.expm1(
            j * float(log_ndtr((least - 0.5 - steps * value_weight(j) / 2**16) / (sigma * steps)))
        )
        for j in range(1, most + 1)
    ]
    assert 1 + int(np.argmax(alone)) == worst
    found = failure_upper(most=most, sigma=sigma, steps=steps, least=least) * GRAIN
    assert float(found) == pytest.approx(max(chances), rel=1e-9)


@pytest.mark.parametrize(("sigma", "most"), [(0.3, 1), (0.5, 4), (3.0, 5), (40.0, 30)])
def test_simulated_on_its_worst_case_lone_values_are_told_as_often_as_is_charged(
    sigma: float, most: int
) -> None:
    runs, target = 40_000, 0.08
    steps, least = lattice(sigma, threshold_upper(target, sigma=sigma, most=most))
    charged = float(failure_upper(most=most, sigma=sigma, steps=steps, least=least) * GRAIN)
    often = []
    # Of many numbers of values some, and the most.
    for count in one_in(7 if most > 9 else 1, range(most, 0, -1)):
        noise = draw("gaussian", sigma * steps, runs * count).reshape(runs, count)
        told = noise + steps // 2**16 * value_weight(count) >= least
        often.append(float(told.any(axis=1).mean()))
    error = 5 * math.sqrt(charged / runs)
    assert max(often) <= charged + error
    assert max(often) >= charged - error


@given(st.floats(1e-12, 0.4), st.floats(0.05, 500), st.integers(1, 60))
@tried()
def test_a_threshold_for_a_failure_keeps_it_and_wastes_little(
    failure: float, sigma: float, most: int
) -> None:
    steps, least = lattice(sigma, threshold_upper(failure, sigma=sigma, most=most))
    grains = failure_upper(most=most, sigma=sigma, steps=steps, least=least)
    assert grains * GRAIN <= Fraction(failure)
    assert grains * GRAIN >= Fraction(failure) * Fraction(97, 100)


@pytest.mark.parametrize("failure", [0.0, -1.0, 0.5, 1.0, math.nan])
def test_a_threshold_needs_a_failure_that_is_one(failure: float) -> None:
    with pytest.raises(BudgetError, match="failure probability must be positive"):
        threshold_upper(failure, sigma=1.0, most=1)


def test_a_threshold_that_all_pass_fails_for_certain() -> None:
    assert failure_upper(most=3, sigma=0.1, steps=2**16, least=-(2**30)) == 2**80


def test_a_charge_has_both_parts_and_pure_refuses_it() -> None:
    event = Threshold(most=3, sigma=4.0, steps=2**16, least=20 * 2**16)
    noise = Gaussian(squared_sensitivity=Fraction(1), sigma=4.0)
    alone = failure_upper(most=3, sigma=4.0, steps=2**16, least=20 * 2**16)
    assert Charge((event,)).grains(Currency.GDP) == Charge((noise,)).grains(Currency.GDP) == 2**76
    assert (Charge((noise,)).failure, Charge((event, noise, event)).failure) == (0, 2 * alone)
    assert Charge.from_dict(Charge((event, noise)).to_dict()) == Charge((event, noise))
    with pytest.raises(BudgetError, match="failure probability cannot be charged"):
        Charge((event,)).grains(Currency.PURE)
    assert Fraction(failure_of(alone)) >= alone * GRAIN
