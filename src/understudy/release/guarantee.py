"""The guarantee in words and figures, for the manifest.

The words are those of (ε, δ)-differential privacy and no stronger: the page on the promise quotes
them, and the report prints them.  Figures for people are rounded up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from understudy.budget import epsilon_of, mu_upper, probabilistic_delta_upper

if TYPE_CHECKING:
    from understudy.budget import Bounding, Budget, ResolvedUnit

DELTAS = tuple(10.0**-k for k in range(3, 16))
FALSE_POSITIVES = (0.001, 0.01, 0.05)
"""The false-positive rates at which attacks are bounded."""
_COUNTS = {
    "minute": (2, 10, 60),
    "hour": (2, 8, 24),
    "date": (7, 30, 90, 365),
    "day": (2, 7, 31),
    "weekday": (2, 5, 7),
    "week": (2, 4, 12, 52),
    "month_index": (2, 3, 6, 12),
    "month": (2, 3, 6, 12),
    "quarter": (2, 4),
    "year": (2, 5, 10),
}
"""The numbers of units per person to price, by the finest part of a date in the unit."""
_ROWS = (10, 100, 1000)
_COMBINATIONS = (2, 5, 10)


def guarantee(budget: Budget, *, unit: ResolvedUnit, bounding: Bounding) -> dict[str, Any]:
    """Return the guarantee: of the run's whole budget, however much of it was spent."""
    promise: dict[str, Any] = {
        "words": _words(budget, unit),
        "unit": str(unit),
        "neighbours": f"one {unit} more or less, with all of its rows",
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        **({"failure": budget.failure} if budget.failure else {}),
        "accounting": "Gaussian differential privacy" if budget.delta else "pure epsilon",
        "bounding": str(bounding),
        "attacker": [
            {"false_positive_rate": rate, "true_positive_rate": true_positives(budget, rate)}
            for rate in FALSE_POSITIVES
        ],
        "best_accuracy": best_accuracy(budget),
    }
    if budget.delta:
        promise["mu"] = mu_upper(budget.grains)
        promise["probabilistic_delta"] = _probabilistic_delta(budget)
        promise["curve"] = [
            {
                "delta": d,
                "epsilon": epsilon_of(
                    budget.grains, budget.currency, replace(budget, delta=d).gaussian_delta
                ),
            }
            for d in DELTAS
            if d > budget.failure
        ]
    if unit.is_part:
        promise["whole_person"] = whole_person(budget, unit)
        promise["whole_person_words"] = whole_person_words(budget, unit)
    return promise


def true_positives(budget: Budget, rate: float) -> float:
    """Return the best true-positive rate of any attack with this false-positive rate.

    A failure adds at most its probability to it.
    """
    if not budget.delta:
        factor = _factor(budget)
        return _share_upper(min(factor * rate, 1 - (1 - rate) / factor))
    normal = NormalDist()
    found = normal.cdf(normal.inv_cdf(rate) + mu_upper(budget.grains))
    return _share_upper(found + budget.failure)


def best_accuracy(budget: Budget) -> float:
    """Return the best accuracy of any attack on people half of whom are in the table."""
    if not budget.delta:
        return _share_upper(1 / (1 + 1 / _factor(budget)))
    return _share_upper(NormalDist().cdf(mu_upper(budget.grains) / 2) + budget.failure / 2)


def whole_person(budget: Budget, unit: ResolvedUnit) -> list[dict[str, Any]]:
    """Return the group privacy of a person with several units: k of them have k·μ, or k·ε.

    k neighbours in a row lead from the table with all of them to the one without, which is
    the group privacy of μ-GDP (Dong, Roth, Su, thm 2.14) and of pure ε.  With a failure probability
    the answers are not μ-GDP, and k steps of (ε, δ) are (kε, δ·(e^(kε) − 1)/(e^ε − 1)).
    """
    if not unit.is_part:
        return []
    if not budget.delta:
        return [
            {"parts": k, "epsilon": epsilon_of(budget.grains * k, budget.currency, 0)}
            for k in _counts(unit)
        ]
    if budget.failure:
        return [
            {"parts": k, "epsilon": k * budget.epsilon, "delta": _group_delta(budget, k)}
            for k in _counts(unit)
        ]
    squared = {k: budget.grains * k**2 for k in _counts(unit)}
    return [
        {
            "parts": k,
            "mu": mu_upper(grains),
            "epsilon": epsilon_of(grains, budget.currency, budget.delta),
            "delta": budget.delta,
        }
        for k, grains in squared.items()
    ]


def whole_person_words(budget: Budget, unit: ResolvedUnit) -> str:
    """Return the guarantee for a person with several units, in words."""
    many = "rows" if unit.is_row else "of them"
    price = "k·mu" if budget.delta and not budget.failure else "k·epsilon"
    points, at = whole_person(budget, unit), ""
    if budget.failure:
        each = ", ".join(
            f"{rounded_up(p['epsilon'])} at delta = {rounded_up(p['delta'])} for {p['parts']:,}"
            for p in points
        )
    else:
        each = ", ".join(f"{rounded_up(p['epsilon'])} for {p['parts']:,}" for p in points)
        at = f", each at delta = {_exact(budget.delta)}" if budget.delta else ""
    return (
        f"The promise is for one {_who(unit)}, which may be only a part of a person. For a person "
        f"with k {many} it is weaker, and costs {price}: epsilon = {each}{at}."
    )


def delta_words(delta: float, failure: float) -> str:
    """Return a δ as text, with its part for failure probabilities, if it has one.

    >>> delta_words(1e-7, 0.0), delta_words(1e-7, 2e-8)
    ('1e-07', '1e-07 (2e-08 of it for failure probabilities)')
    """
    return f"{delta:g}" + (f" ({failure:g} of it for failure probabilities)" if failure else "")


def _group_delta(budget: Budget, count: int) -> float:
    """Return the δ of a group, rounded up; at most 1."""
    log = math.log(budget.delta) + (count - 1) * budget.epsilon
    ratio = -math.expm1(-count * budget.epsilon) / -math.expm1(-budget.epsilon)
    return min(1.0, math.exp(min(log, 1.0)) * ratio * (1 + 1e-9))


def rounded_up(value: float, digits: int = 3) -> str:
    """Return a number as text, rounded up to ``digits`` digits.

    >>> rounded_up(7.181), rounded_up(0.2), rounded_up(3.2534e-8)
    ('7.19', '0.2', '3.26e-08')
    """
    near = Decimal(f"{value:.12g}")
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).plus(near)):g}"


def _words(budget: Budget, unit: ResolvedUnit) -> str:
    who, epsilon, delta = _who(unit), _exact(budget.epsilon), _exact(budget.delta)
    whole = f"one {who}" if unit.is_row else f"one {who} with all of its rows"
    large = budget.epsilon >= 700
    about = "more than 1e300" if large else f"about {math.exp(budget.epsilon):.3g}"
    found = rounded_up(100 * true_positives(budget, 0.05))
    opening = (
        "This release limits how well anyone, even someone who knows everything about everyone "
        f"else in the table, can tell whether any one {who} was in it."
    )
    test = (
        "A test that wrongly accuses 5 % of those who are not in the table finds at most "
        f"{found} % of those who are."
    )
    if not budget.delta:
        return (
            f"{opening} It is epsilon-differentially private with epsilon = {epsilon} and delta = 0"
            f" for {whole}: every outcome is at most e^epsilon ({about}) times more or less "
            f"likely with it than without it, without exception. {test}"
        )
    return (
        f"{opening} It is (epsilon, delta)-differentially private with epsilon = {epsilon} and "
        f"delta = {delta} for {whole}: for every set S of outcomes, "
        "P(S with it) ≤ e^epsilon · P(S without it) + delta, and "
        "P(S without it) ≤ e^epsilon · P(S with it) + delta; "
        f"e^epsilon is {about}. {test} This does not say that the odds change by at most "
        "e^epsilon except with probability delta: for Gaussian noise of this strength "
        f"(mu = {rounded_up(mu_upper(budget.grains))}) that probability is "
        f"{rounded_up(_probabilistic_delta(budget))}.{_failure_words(budget, who)}"
    )


def _failure_words(budget: Budget, who: str) -> str:
    """Say what the part of δ for failure probabilities is for."""
    if not budget.failure:
        return ""
    return (
        f" Of delta, {_exact(budget.failure)} bounds the probability that a value which only one "
        f"{who} has is told; the rest is for Gaussian noise."
    )


def _probabilistic_delta(budget: Budget) -> float:
    noise = probabilistic_delta_upper(mu_upper(budget.grains), budget.epsilon)
    return min(1.0, noise + budget.failure)


def _counts(unit: ResolvedUnit) -> tuple[int, ...]:
    if unit.is_row:
        return _ROWS
    return _COMBINATIONS if unit.period is None else _COUNTS[unit.period]


def _who(unit: ResolvedUnit) -> str:
    return "row" if unit.is_row else f"'{unit}'"


def _factor(budget: Budget) -> float:
    return math.exp(min(budget.epsilon, 700))


def _exact(value: float) -> str:
    return f"{value:.12g}"


def _share_upper(share: float) -> float:
    """Round a share up to six decimals, which is more than a float's error."""
    return min(1.0, math.ceil(share * 1e6 + 1e-6) / 1e6)
