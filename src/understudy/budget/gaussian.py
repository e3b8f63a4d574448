"""Gaussian differential privacy: μ, and its exact relation to (ε, δ).

A mechanism is μ-GDP when telling two neighbours apart is at least as hard as telling
N(0, 1) from N(μ, 1) (Dong, Roth, Su, arXiv 1905.02383).  It then satisfies (ε, δ) for
every ε with δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle and Wang, ICML 2018, thm 8).

All of it is worked out with `mpmath` at 60 digits, since the two terms cancel to the
last bit of a float64 long before δ = 1e-15; each result is rounded in the direction its
name says.  Tied to the code by ``tests/budget/test_gaussian.py``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from threading import get_ident
from typing import TYPE_CHECKING, Any

from understudy.errors import BudgetError

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS = 60


@lru_cache
def context(_thread: int, digits: int = _DIGITS) -> Any:  # noqa: ANN401  mpmath has no types
    """Return a thread's own mpmath context, since computations change its precision."""
    import mpmath  # noqa: PLC0415  a help page need not wait for it

    context = mpmath.mp.clone()
    context.dps = digits
    return context


def _delta(mp: Any, mu: Any, epsilon: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Return δ, and by how much it falls with ε: by its second term."""
    if mu == 0:
        return mp.zero, mp.zero
    fall = mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
    return max(mp.zero, mp.ncdf(mu / 2 - epsilon / mu) - fall), fall


def _up(mp: Any, value: Any) -> float:  # noqa: ANN401
    """Round to a float64 that is not below the value."""
    near = float(value)
    return near if mp.mpf(near) >= value else math.nextafter(near, math.inf)


def _down(mp: Any, value: Any) -> float:  # noqa: ANN401
    near = float(value)
    return near if mp.mpf(near) <= value else math.nextafter(near, -math.inf)


def _close_in(
    mp: Any,  # noqa: ANN401
    distance: Callable[[Any], tuple[Any, Any]],
    point: Any,  # noqa: ANN401
) -> tuple[Any, Any]:
    """Bracket the point up to which a distance is positive, to 20 digits.

    A distance comes with its slope, and both ends are points whose distance was worked out: where
    Newton's steps lead is a matter of time alone.  The first is a point near by, and each goes a
    little beyond, so that the other end is found too; one that leads nowhere is replaced by a
    factor of two, or by half of the way.
    """
    low, high, tiny = mp.zero, mp.inf, mp.mpf(10) ** -20
    while mp.isinf(high) or high - low > high * tiny:
        value, slope = distance(point)
        low, high = (point, high) if value > 0 else (low, point)
        guess = point - value / slope if slope else mp.nan
        guess += guess * tiny / (4 if value > 0 else -4)
        halfway = 2 * low if mp.isinf(high) else (low + high) / 2
        point = guess if low < guess < min(high, 4 * point) else halfway
    return low, high


@lru_cache(maxsize=4096)
def delta_upper(mu: float, epsilon: float) -> float:
    """Return the least δ for which μ-GDP implies (ε, δ), rounded up.

    >>> round(delta_upper(1.0, 1.0), 12)
    0.126936737507
    """
    mp = context(get_ident())
    return min(1.0, _up(mp, _delta(mp, mp.mpf(mu), mp.mpf(epsilon))[0]))


@lru_cache(maxsize=4096)
def probabilistic_delta_upper(mu: float, epsilon: float) -> float:
    """Return the probability that the privacy loss of Gaussian noise exceeds ε, rounded up.

    The loss between N(0, 1) and N(μ, 1) is N(μ²/2, μ²), so it is Φ(μ/2 − ε/μ).  This is the δ of
    probabilistic differential privacy.  It is larger than the δ of (ε, δ), and unlike that one it
    is not closed under post-processing.

    >>> round(probabilistic_delta_upper(mu_lower(1.0, 1e-9), 1.0) / 1e-9, 1)
    32.5
    """
    mp = context(get_ident())
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    return _up(mp, mp.ncdf(m / 2 - e / m) if mu else mp.zero)


@lru_cache(maxsize=4096)
def epsilon_upper(mu: float, delta: float) -> float:
    """Return the least ε for which μ-GDP implies (ε, δ), rounded up.

    >>> round(epsilon_upper(1.0, 1e-5), 6)
    4.377178
    """
    _check_delta(delta)
    if not mu >= 0 or math.isinf(mu):
        raise BudgetError("mu must be at least 0", got=mu)
    mp = context(get_ident())
    m, d = mp.mpf(mu), mp.mpf(delta)
    if _delta(mp, m, mp.zero)[0] <= d:
        return 0.0

    def distance(e: Any) -> tuple[Any, Any]:  # noqa: ANN401
        found, fall = _delta(mp, m, e)
        return mp.log(found) - mp.log(d), -fall / found if found else mp.zero

    _, least = _close_in(mp, distance, m * (m / 2 + mp.sqrt(-2 * mp.log(d))))
    return _up(mp, least)


@lru_cache(maxsize=1024)
def mu_lower(epsilon: float, delta: float) -> float:
    """Return the greatest μ for which μ-GDP implies (ε, δ), rounded down.

    >>> round(mu_lower(1.0, 1e-9), 8)
    0.18197481
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    mp = context(get_ident())
    e, d = mp.mpf(epsilon), mp.mpf(delta)

    def distance(m: Any) -> tuple[Any, Any]:  # noqa: ANN401
        found, rise = _delta(mp, m, e)[0], mp.npdf(m / 2 - e / m)
        return mp.log(d) - mp.log(found), -rise / found if found else mp.zero

    tail = mp.sqrt(-2 * mp.log(d))
    greatest, _ = _close_in(mp, distance, mp.sqrt(tail**2 + 2 * e) - tail)
    return _down(mp, greatest)


@lru_cache(maxsize=1024)
def mu_of_pure_upper(epsilon: float) -> float:
    """Return the μ of an ε-DP event, 2Φ⁻¹(1/(1+e^(−ε))), rounded up.

    >>> round(mu_of_pure_upper(1.0), 6)
    1.232035
    """
    _check_epsilon(epsilon)
    if epsilon > 200:
        # Beyond the digits kept below: Φ(−z) ≤ ½e^(−z²/2) makes z = √(2(ε+1)) large enough.
        return 2 * math.sqrt(2 * (epsilon + 1)) * (1 + 1e-12)
    mp = context(get_ident(), _DIGITS + 100)
    # Φ⁻¹(p) = √2 · erfinv(2p − 1), and 2/(1+e^−ε) − 1 = tanh(ε/2).
    return _up(mp, 2 * mp.sqrt(2) * mp.erfinv(mp.tanh(mp.mpf(epsilon) / 2)))


def mu_of_selection_upper(epsilon: float) -> float:
    """Return the μ of an exponential mechanism with the ½ in its exponent.

    Its log-ratios lie in an interval of length ε (bounded range), and the worst such
    mechanism is randomised response at ε/2: 2Φ⁻¹(1/(1+e^(−ε/2))).
    """
    return mu_of_pure_upper(epsilon / 2)


def _check_epsilon(epsilon: float) -> None:
    if not 0 < epsilon < math.inf:
        raise BudgetError("epsilon must be positive", got=epsilon, allowed="a number above 0")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise BudgetError("delta must lie between 0 and 1", got=delta, allowed="0 < delta < 1")
