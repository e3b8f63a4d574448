"""Gaussian accounting: exact, and rounded in the direction its names say."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import effort, one_in, tried
from understudy.budget import (
    delta_upper,
    epsilon_upper,
    mu_lower,
    mu_of_pure_upper,
    mu_of_selection_upper,
    probabilistic_delta_upper,
)
from understudy.errors import BudgetError

TOLERANCE = 1e-12


def delta_slow(mu: float, epsilon: float) -> mpmath.mpf:
    """The formula as the paper has it, at 200 digits."""
    with mpmath.workdps(200):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def test_against_dp_accounting_on_a_grid_never_below_and_hardly_above() -> None:
    points = [
        (sigma, delta)
        for sigma in np.geomspace(0.2, 60, 20)
        for delta in (1e-2, 1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-14, 1e-15)
    ]
    assert len(points) >= 200
    for sigma, delta in one_in(5, points):
        theirs = gaussian_mechanism.get_epsilon_gaussian(float(sigma), delta, tol=TOLERANCE)
        ours = epsilon_upper(1 / float(sigma), delta)
        # Their root search is good to its tolerance; ours is never below it by more.
        assert ours >= theirs - TOLERANCE, (sigma, delta)
        assert ours <= theirs * 1.001 + TOLERANCE, (sigma, delta)


@given(st.floats(1e-3, 50), st.floats(1e-3, 50))
@tried(60)
def test_delta_is_rounded_up_from_the_exact_value(mu: float, epsilon: float) -> None:
    exact, ours = delta_slow(mu, epsilon), delta_upper(mu, epsilon)
    assert ours >= exact or ours == 1.0
    assert ours <= exact * (1 + mpmath.mpf(2) ** -50) + mpmath.mpf(10) ** -300


@given(st.floats(1e-3, 50), st.floats(1e-3, 50))
@tried(60)
def test_the_chance_of_a_larger_loss_is_rounded_up_from_the_exact_value(
    mu: float, epsilon: float
) -> None:
    """The loss of N(μ, 1) against N(0, 1) at x is μx − μ²/2: above ε beyond x = ε/μ + μ/2."""
    with mpmath.workdps(200):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        exact = mpmath.erfc((e / m + m / 2 - m) / mpmath.sqrt(2)) / 2
        ours = mpmath.mpf(probabilistic_delta_upper(mu, epsilon))
        assert exact <= ours <= exact * (1 + mpmath.mpf(2) ** -50) + mpmath.mpf(10) ** -300
    assert ours >= delta_upper(mu, epsilon)


@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 270.706), (1.0, 32.535), (10.0, 4.918)])
def test_a_larger_loss_is_likelier_than_delta_by_far(epsilon: float, times: float) -> None:
    chance = probabilistic_delta_upper(mu_lower(epsilon, 1e-9), epsilon)
    assert chance / 1e-9 == pytest.approx(times, rel=1e-4)


def test_nothing_is_lost_where_mu_is_0() -> None:
    assert probabilistic_delta_upper(0.0, 1.0) == 0.0


@given(st.floats(1e-2, 30), st.floats(-15, -2))
@tried(40)
def test_mu_is_the_greatest_that_keeps_the_promise(epsilon: float, exponent: float) -> None:
    delta = 10.0**exponent
    mu = mu_lower(epsilon, delta)
    assert delta_slow(mu, epsilon) <= delta
    assert delta_slow(mu * (1 + 1e-12), epsilon) > delta


@given(st.floats(1e-2, 20), st.floats(-15, -2))
@tried(40)
def test_epsilon_and_mu_are_inverse_and_lean_to_the_safe_side(mu: float, exponent: float) -> None:
    delta = 10.0**exponent
    epsilon = epsilon_upper(mu, delta)
    if epsilon > 1e-6:
        assert mu_lower(epsilon, delta) >= mu * (1 - 1e-12)
        assert delta_slow(mu, epsilon) <= delta


def test_a_mu_so_small_that_delta_alone_covers_it_needs_no_epsilon() -> None:
    assert epsilon_upper(1e-6, 0.01) == 0.0
    assert epsilon_upper(0.0, 0.01) == 0.0


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 20.0, 150.0])
def test_a_pure_event_is_covered_by_its_mu(epsilon: float) -> None:
    """Randomised response at ε, the worst pure mechanism, lies above the trade-off of μ."""
    normal, mu = mpmath.ncdf, mu_of_pure_upper(epsilon)
    p = 1 / (1 + math.exp(epsilon))
    # Its trade-off function has one corner, at type I error p and type II error p.
    worst = normal(-mpmath.mpf(mu) / 2)
    assert worst <= p
    assert worst >= p * (1 - 1e-9)


def test_a_huge_pure_event_is_covered_too() -> None:
    with mpmath.workdps(700):
        worst = mpmath.ncdf(-mpmath.mpf(mu_of_pure_upper(1000.0)) / 2)
        assert worst <= 1 / (1 + mpmath.exp(1000))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 3.0, 10.0])
def test_selection_is_covered_wherever_its_range_lies(epsilon: float) -> None:
    """Log-ratios in [t − ε, t]: every such two-point mechanism stays above the charged curve.

    With P(x) = a and Q(x) = b on one outcome, a/b = e^t and (1−a)/(1−b) = e^(t−ε), the
    corner of the trade-off curve is at (1 − a, b) or (a, 1 − b); both orders are tried.
    """
    mu = mpmath.mpf(mu_of_selection_upper(epsilon))

    def charged(alpha: mpmath.mpf) -> mpmath.mpf:
        return mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * alpha) - mu)

    for t in np.linspace(epsilon / 1000, epsilon * 0.999, effort(67, 201)):
        up, down = mpmath.e ** mpmath.mpf(t), mpmath.e ** mpmath.mpf(t - epsilon)
        b = (1 - down) / (up - down)
        a = up * b
        for type_one, type_two in ((1 - a, b), (b, 1 - a), (a, 1 - b), (1 - b, a)):
            if type_one + type_two <= 1:
                assert type_two >= charged(type_one) * (1 - mpmath.mpf(10) ** -12)


def test_half_of_that_mu_would_not_cover_selection() -> None:
    """The test above can fail: at half the charge the corner dips below the curve."""
    epsilon = 1.0
    mu = mpmath.mpf(mu_of_selection_upper(epsilon)) / 2
    corner = 1 / (1 + mpmath.e ** mpmath.mpf(epsilon / 2))
    assert corner < mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * corner) - mu)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_epsilons_that_are_none(epsilon: float) -> None:
    with pytest.raises(BudgetError, match="epsilon must be positive"):
        mu_lower(epsilon, 1e-6)
    with pytest.raises(BudgetError, match="epsilon must be positive"):
        mu_of_pure_upper(epsilon)


@pytest.mark.parametrize("delta", [0, -1, 1, 2, math.nan])
def test_deltas_that_are_none(delta: float) -> None:
    with pytest.raises(BudgetError, match="delta must lie between 0 and 1"):
        epsilon_upper(1.0, delta)


@pytest.mark.parametrize("mu", [-1, math.inf, math.nan])
def test_mus_that_are_none(mu: float) -> None:
    with pytest.raises(BudgetError, match="mu must be at least 0"):
        epsilon_upper(mu, 1e-6)
