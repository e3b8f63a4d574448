"""The guarantee in words and figures, for the manifest."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from understudy.budget import epsilon_of, mu_upper

if TYPE_CHECKING:
    from understudy.budget import AnyUnit, Bounding, Budget

DELTAS = tuple(10.0**-k for k in range(3, 16))


def guarantee(budget: Budget, *, unit: AnyUnit, bounding: Bounding) -> dict[str, Any]:
    """Say what is promised: the run's whole budget, whatever was used of it."""
    promise: dict[str, Any] = {
        "words": _words(budget, unit),
        "unit": str(unit),
        "neighbours": f"one {unit} more or less, with all of its rows",
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "accounting": "Gaussian differential privacy" if budget.delta else "pure epsilon",
        "bounding": str(bounding),
    }
    if budget.delta:
        promise["mu"] = mu_upper(budget.grains)
        promise["curve"] = [
            {"delta": d, "epsilon": epsilon_of(budget.grains, "gdp", d)} for d in DELTAS
        ]
    return promise


def _words(budget: Budget, unit: AnyUnit) -> str:
    who = "row" if unit.is_row else f"'{unit}'"
    odds = f"{math.exp(budget.epsilon):.3g}" if budget.epsilon < 700 else "more than 1e300"
    text = (
        f"Whoever sees this release, and knows all about everyone else in the table, can hardly "
        f"tell whether any one {who} was in it: with all of its rows taken out, every outcome "
        f"would have been at most {odds} times more or less likely (epsilon = {budget.epsilon:g})"
    )
    if not budget.delta:
        return text + ", without exception (delta = 0)."
    normal = NormalDist()
    power = normal.cdf(normal.inv_cdf(0.05) + mu_upper(budget.grains))
    return (
        f"{text}, but for a chance of at most delta = {budget.delta:g}. Put another way: a test "
        f"that wrongly accuses 5 % of those who are not in the table finds at most "
        f"{100 * power:.3g} % of those who are."
    )
