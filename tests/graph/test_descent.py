"""Descent: the least loss over the marginal polytope, certified on the way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import (
    DOMAIN,
    EVERY,
    answers,
    built,
    joint,
    least,
    logs,
    marginal,
    measured,
    random_case,
    squares,
)
from understudy.errors import QuestionError
from understudy.graph import Clique, Domain, Measurement, Model, junction_tree
from understudy.graph.descent import CHECK_EVERY, DRIFT, Descent
from understudy.graph.objective import objective

TOTAL = 100.0
PAIRS: list[Clique] = [("a", "b"), ("b", "c"), ("d",)]


def begun(measurements: list[Measurement], *, shift: float = 0.0, total: float = TOTAL) -> Descent:
    """Stand at the even model of some measurements, its potentials all moved alike."""
    loss = built(measurements)
    potentials = loss.tree.tables()
    potentials.flat += shift
    return Descent.begin(loss, potentials, total=total)


@given(measured())
@tried(25)
def test_the_loss_is_the_least_there_is_and_the_gap_never_claims_more_than_is_true(
    measurements: list[Measurement],
) -> None:
    """Against non-negative least squares over every cell of the joint table, at every check."""
    best = least(DOMAIN, measurements, total=TOTAL)
    close = 1e-6 * (1 + best)
    checks = 0

    def watch(now: Descent) -> None:
        nonlocal checks
        checks += 1
        assert now.value >= best - close
        assert now.value - now.gap <= best + close

    found = begun(measurements)
    found.run(tolerance=1e-5, most=1000, watch=watch)
    # Every ten iterations, later every eighth of those done.
    assert checks >= min(found.iterations // CHECK_EVERY, 8)
    assert found.value <= best * 1.001 + 1e-2


@given(measured(), st.integers(1, 40))
@tried(50)
def test_its_tables_are_those_of_one_model_and_have_the_loss_it_says(
    measurements: list[Measurement], most: int
) -> None:
    """Wherever it stops: no negative cell, one total, cliques that agree."""
    found = begun(measurements)
    found.run(tolerance=1e-5, most=most)
    tables, tree = found.tables(), found.loss.tree
    assert np.all(tables.flat >= 0)
    model = Model(tree, {c: tables[c] for c in tree.cliques})
    whole = model.marginal(EVERY)
    assert model.total == pytest.approx(TOTAL)
    for clique in tree.cliques:
        assert np.allclose(tables[clique], marginal(DOMAIN, whole, clique), atol=1e-9 * TOTAL)
    assert found.value == pytest.approx(squares(DOMAIN, measurements, whole), rel=1e-8, abs=1e-8)


def test_the_gap_is_finite_and_falls() -> None:
    gaps: list[float] = []
    found = begun(answers(DOMAIN, PAIRS, rows=1000, scale=5.0, seed=0), total=1000.0)
    assert found.gap == np.inf
    found.run(tolerance=1e-6, most=2000, watch=lambda now: gaps.append(now.gap))
    assert np.all(np.isfinite(gaps))
    # Not at every check, as momentum may overshoot, but over and over.
    assert len(gaps) > 8
    quarters = [min(part) for part in np.array_split(gaps, 4)]
    assert quarters == sorted(quarters, reverse=True)
    assert gaps[-1] == found.gap <= 1e-6 * found.value < gaps[0]


def test_it_goes_on_from_where_it_stands() -> None:
    found = begun(answers(DOMAIN, PAIRS, rows=1000, scale=5.0, seed=1), total=1000.0)
    values = [found.value]
    for _ in range(3):
        found.run(tolerance=1e-15, most=10)
        values.append(found.value)
    assert found.iterations == 30
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[1]


@pytest.mark.parametrize("shift", [-10 * DRIFT, 10 * DRIFT])
def test_potentials_that_have_gone_far_are_brought_back(shift: float) -> None:
    """At the next step, which goes where it would have gone anyhow."""
    measurements = answers(DOMAIN, PAIRS, rows=1000, scale=5.0, seed=2)
    near, far = (begun(measurements, total=1000.0, shift=s) for s in (0.0, shift))
    for descent in (near, far):
        descent.run(tolerance=1e-6, most=1)
        log = np.logaddexp.reduce(logs((descent.loss.tree, descent.potentials)).reshape(-1))
        assert abs(log) < DRIFT
    assert np.allclose(far.tables().flat, near.tables().flat, rtol=1e-9)


def test_momentum_pays() -> None:
    """Steps without it need about three times as many to be as certain."""
    wide = Domain({"a": 6, "b": 12, "c": 15, "d": 8, "e": 10, "f": 5})
    links = list(pairwise(wide.sizes))
    measurements = answers(wide, links, rows=5000, scale=10.0, seed=0)
    tree = junction_tree(wide, links)
    found = Descent.begin(objective(tree, measurements), tree.tables(), total=5000.0)
    found.run(tolerance=0.01, most=250)
    assert found.gap <= 0.01 * found.value


def test_it_begins_at_the_model_of_its_potentials() -> None:
    case = random_case(DOMAIN, PAIRS, seed=3)
    measurements = answers(DOMAIN, PAIRS, rows=1000, scale=5.0, seed=3)
    found = Descent.begin(objective(case[0], measurements), case[1], total=1000.0)
    mass = joint(case, total=1000.0)
    for clique in case[0].cliques:
        true = marginal(case[0].domain, mass, clique)
        assert np.allclose(found.tables()[clique], true, rtol=1e-9)


@pytest.mark.parametrize("total", [0.0, -1.0, np.inf, np.nan])
def test_a_total_that_cannot_be(total: float) -> None:
    with pytest.raises(QuestionError, match="total must be above 0"):
        begun([Measurement(clique=("a",), values=np.ones(2), scale=1.0)], total=total)


@pytest.mark.parametrize(("tolerance", "most"), [(0.0, 5), (-1.0, 5), (np.nan, 5), (0.1, 0)])
def test_a_run_that_cannot_be(tolerance: float, most: int) -> None:
    found = begun([Measurement(clique=("a",), values=np.ones(2), scale=1.0)])
    with pytest.raises(QuestionError, match="needs a tolerance and a number of iterations"):
        found.run(tolerance=tolerance, most=most)
    assert found.iterations == 0


def test_a_loss_that_has_been_reached_is_not_given_up() -> None:
    """Counts far above their noise, where momentum overshoots now and then."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cliques: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
        shares = rng.dirichlet(np.full(48, 0.3)).reshape(DOMAIN.shape(EVERY))
        measurements = [
            Measurement(
                clique=c,
                values=1e8 * marginal(DOMAIN, shares, c).reshape(-1)
                + rng.normal(0, 100, DOMAIN.cells(c)),
                scale=100.0,
            )
            for c in cliques
        ]
        seen: list[float] = []
        found = begun(measurements, total=1e8)
        found.run(tolerance=1e-3, most=600, watch=lambda now: seen.append(now.value))  # noqa: B023
        assert found.value <= min(seen) * 1.001
