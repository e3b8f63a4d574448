"""The loss that is seen stays below the claim, comes near it, and shows a weak noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv, ndtri

from tests.audit.effort import THOROUGH, effort
from understudy.audit import measure_loss
from understudy.audit.statistical import _epsilon_below, at_most, mu_below
from understudy.budget import Budget, Norm
from understudy.cli.audit import NEAR_ONE
from understudy.noise import draw
from understudy.synth import MECHANISMS
from understudy.synth.aim import AIM
from understudy.synth.independent import Independent
from understudy.synth.usercounts import UserCounts
from understudy.vault import door as vault_door

RUNS = effort(1000, 10_000)
FEW = effort(100, 10_000)
"""Runs of a mechanism that takes longer: as few as can show a loss of a third more than the claim,
if no run were taken for the other."""


PURE = Budget(epsilon=2.0, delta=0.0)
TRIED = [
    pytest.param(name, budget, id=f"{currency}-{name}")
    for currency, budget in (("gdp", NEAR_ONE), ("pure", PURE))
    for name in MECHANISMS
    if THOROUGH or (budget is NEAR_ONE and name in {Independent.name, UserCounts.name})
]
"""All mechanisms draw their noise at the same door: one speaks for all, but in an audit, and one
that counts people.  That each asks no more than it is charged for, is tried in
`tests.audit.test_replay`; that too little noise is seen in either currency, below."""


@pytest.mark.parametrize(("name", "budget"), TRIED)
def test_no_mechanism_is_seen_to_lose_more_than_it_claims(name: str, budget: Budget) -> None:
    """A sound one fails this once in a million times."""
    runs = RUNS if name == Independent.name else FEW
    loss = measure_loss(MECHANISMS[name](), budget=budget, runs=runs)
    assert loss.kept
    assert loss.certain <= loss.likely
    assert loss.runs == runs
    if budget is NEAR_ONE:
        assert loss.claim == pytest.approx(1, abs=1e-3)
        # The pair presses: the test has nearly all the power that there is.  It falls below
        # 0.6 at 10,000 runs, or below 0.35 at 1,000, less than once in ten million times.
        assert loss.likely > (0.6 if runs >= 10_000 else 0.35) or runs < 1000


def test_norm_is_not_seen_to_lose_more_than_it_claims() -> None:
    loss = measure_loss(Independent(), budget=NEAR_ONE, runs=FEW, bounding=Norm())
    assert loss.kept
    assert loss.claim == pytest.approx(1, abs=1e-3)


def test_choices_by_noisy_distances_are_not_seen_to_lose_more_than_they_claim() -> None:
    loss = measure_loss(AIM(selection="gaussian", rounds=effort(1, 2)), budget=NEAR_ONE, runs=FEW)
    assert loss.kept
    assert loss.claim == pytest.approx(1, abs=1e-3)
    assert loss.certain <= loss.likely


WEAK = 0.6 if THOROUGH else 0.4
"""The share of the noise that is left: so few runs see only what is much too little."""


@pytest.mark.parametrize(("budget", "share"), [(NEAR_ONE, WEAK), (PURE, 0.15)], ids=["gdp", "pure"])
def test_noise_that_is_too_weak_is_seen(
    budget: Budget, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:

    def weak(shape: Any, scale: float, size: int, **more: Any) -> Any:
        return draw(shape, share * scale, size, **more)

    monkeypatch.setattr(vault_door, "draw", weak)
    runs = effort(700, 2000)
    assert not measure_loss(Independent(), budget=budget, runs=runs).kept


def test_the_bound_on_an_error_is_clopper_and_pearsons() -> None:
    """With k errors of n at the bound, k or fewer come with just the level's probability."""
    n, k, level = 200, 31, 0.01
    p = at_most(k, n, level)
    below = sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))
    assert below == pytest.approx(level, rel=1e-6)
    assert at_most(n, n, level) == 1.0


@pytest.mark.parametrize("level", [5e-7, 0.025, 0.4995])
@pytest.mark.parametrize(
    ("errors", "runs"), [(0, 1), (0, 5000), (1, 5000), (7, 50), (1543, 5000), (4999, 5000)]
)
def test_the_bounds_are_those_of_a_library(errors: int, runs: int, level: float) -> None:
    found = at_most(errors, runs, level)
    assert found == pytest.approx(float(betaincinv(errors + 1, runs - errors, 1 - level)), rel=1e-9)
    mu = mu_below(errors, 0, runs, 2 * level)
    far = float(-ndtri(found) - ndtri(at_most(0, runs, level)))
    assert mu == pytest.approx(max(0.0, far), rel=1e-12)


def test_bounds_from_errors_by_hand() -> None:
    """At a level of nearly 2 the bounds are nearly the shares seen."""
    assert mu_below(3085, 3085, 10_000, 0.999) == pytest.approx(1.0, abs=0.01)
    assert _epsilon_below(1000, 1000, 10_000, 0.999) == pytest.approx(math.log(9), abs=0.02)
    assert mu_below(10, 10, 10, 0.05) == 0.0
    assert _epsilon_below(10, 10, 10, 0.05) == 0.0


def test_bounds_are_too_high_no_more_often_than_they_say() -> None:
    """At 95 %, over many experiments with two Gaussians one apart."""
    rng, half = np.random.default_rng(8), 0.3085375387259869
    missed, false = rng.binomial(500, half, (2, effort(250, 2000)))
    above = [mu_below(int(m), int(f), 500, 0.05) > 1 for m, f in zip(missed, false, strict=True)]
    assert np.mean(above) < 0.05
