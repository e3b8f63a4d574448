"""Ascent: potentials near the best fit."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.audit.effort import THOROUGH, few, tried
from tests.graph.brute import DOMAIN, LINKS, WIDE, Table, answers, built, joint, logs, measured
from understudy.graph import Measurement, Zeros, estimate, junction_tree
from understudy.graph.ascent import ENTROPY, FAINT, Ascent
from understudy.graph.beliefs import propagate
from understudy.graph.descent import Descent
from understudy.graph.effects import Effects
from understudy.graph.objective import Objective, objective
from understudy.graph.tables import Tables

TOTAL = 1000.0


def begun(measurements: list[Measurement], *, total: float = TOTAL) -> Ascent:
    loss = built(measurements)
    return Ascent(loss, loss.tree.tables(), total=total)


def potentials(found: Ascent, dual: Table) -> Tables:
    tables, out = found.loss.tables(), found.loss.tree.tables()
    tables.flat[Effects.of(found.loss).places] = dual
    out.flat[...] = found.loss.gathered(tables)
    return out


def worth(found: Ascent, dual: Table) -> float:
    """Give the dual by the whole joint table."""
    places = Effects.of(found.loss).places
    precision = found.loss.spread_precisions().flat[places]
    partition = np.log(np.exp(logs((found.loss.tree, potentials(found, dual)))).sum())
    answers = found.loss.answers.flat[places]
    return float(TOTAL * partition - dual @ answers + 0.5 * ENTROPY * (dual**2 / precision).sum())


def relative_entropy(mass: Table, start: Table) -> float:
    return float((mass * np.log(mass / start)).sum())


@given(measured(most=1), st.integers(1, 12))
@tried(80)
def test_the_loss_is_that_of_its_potentials(measurements: list[Measurement], steps: int) -> None:
    """But for cells that are too rare: those that are returned are a little less so."""
    found = begun(measurements)
    found.run(steps)
    loss, cells = built(measurements), built(measurements).tree.cells
    exact, held = loss.tables(), loss.tables()
    for tables, told in ((exact, potentials(found, found._best)), (held, found.potentials())):
        propagate(loss.tree, told, total=TOTAL, out=tables)
    moved = np.abs(exact.flat[:cells] - held.flat[:cells]).sum()
    assert moved <= 2 * FAINT * TOTAL * len(loss.tree.cliques) ** 2
    loss.leave(exact)
    assert loss.value(exact.flat) == pytest.approx(found.least, rel=1e-6, abs=1e-6)


@given(measured(most=1), st.integers(0, 4), st.integers(1, 12))
@tried(80)
def test_no_model_is_better_by_more_than_the_gap(
    measurements: list[Measurement], few: int, more: int
) -> None:
    """With entropy: after a few steps, and after more of them, all before it begins anew."""
    early, late = begun(measurements), begun(measurements)
    start = joint((early.loss.tree, early.loss.tree.tables()), total=TOTAL)
    costs = []
    for found, steps in ((early, few), (late, few + more)):
        for _ in range(steps):
            if not found.advance():
                break
        mass = joint((found.loss.tree, potentials(found, found.dual)), total=TOTAL)
        assume(mass.min() > 0)
        costs.append(found.value + ENTROPY * relative_entropy(mass, start))
    assert costs[0] - early.gap <= costs[1] * (1 + 1e-7) + 1e-6
    assert costs[1] - late.gap <= costs[0] * (1 + 1e-7) + 1e-6


@given(measured(most=1), st.integers(0, 2**32))
@tried(60)
def test_the_slope_is_what_the_dual_changes_by(measurements: list[Measurement], seed: int) -> None:
    found, rng = begun(measurements), np.random.default_rng(seed)
    for _ in range(3):
        found.advance()
    way = rng.normal(0, 1e-4, len(found.dual))
    change = worth(found, found.dual + way) - worth(found, found.dual - way)
    rounding = 1e-11 * abs(worth(found, found.dual)) + 1e-9
    assert change == pytest.approx(2 * float(found.slope @ way), rel=1e-3, abs=rounding)


@pytest.mark.parametrize("scale", few([1.0, 100.0, 10.0], usual=2))
def test_it_ends_near_the_least_loss(scale: float) -> None:
    """A loop of pairs, where descent alone needs hundreds of iterations."""
    measurements = answers(WIDE, [*LINKS, ("a", "c")], rows=5000, scale=scale, seed=0)
    best = estimate(
        WIDE, measurements, total=5000.0, tolerance=1e-6 if THOROUGH else 1e-3, most=5000
    )
    loss = objective(junction_tree(WIDE, [m.clique for m in measurements]), measurements)
    found = Ascent(loss, loss.tree.tables(), total=5000.0)
    found.run(100)
    assert found.least <= 1.03 * best.loss


def test_impossible_cells_stay_impossible_and_others_possible() -> None:
    """Answers that contradict an impossible cell drive others to extremes."""
    told = [
        Measurement(clique=("a", "b"), values=np.array([5.0, -100, 100, 50, 9, -80]), scale=0.3),
        Measurement(clique=("a",), values=np.array([50.0, 10.0]), scale=0.3),
    ]
    loss = objective(junction_tree(DOMAIN, [("a", "b")]), told)
    start = loss.tree.tables()
    start[("a", "b")][0, 0] = -np.inf
    found = Ascent(loss, start, total=100.0)
    found.run(50)
    assert (np.isneginf(found.potentials().flat) == np.isneginf(start.flat)).all()


def test_answers_that_contradict_each_other_are_fitted_as_well_as_by_descent_alone() -> None:
    told = [
        Measurement(clique=("a", "b"), values=np.array([50.0, 10, 30, 100, 20, 10]), scale=1.0),
        Measurement(clique=("a",), values=np.array([10.0, 50.0]), scale=1.0),
    ]
    zeros = [Zeros(clique=("a", "b"), cells=np.array([0]))]
    found = estimate(DOMAIN, told, total=100.0, zeros=zeros, tolerance=1e-4)
    loss = objective(junction_tree(DOMAIN, [("a", "b")]), told)
    start = loss.tree.tables()
    start[("a", "b")][0, 0] = -np.inf
    alone = Descent.begin(loss, start, total=100.0)
    alone.run(tolerance=1e-6, most=2000)
    assert found.certain
    assert found.loss <= 1.0002 * alone.value


def test_where_most_cells_were_measured_it_is_left_to_descent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measurements = answers(WIDE, LINKS, rows=5000, scale=10.0, seed=0)
    monkeypatch.setattr(sys.modules[estimate.__module__], "FEW", 0)
    found = estimate(WIDE, measurements, total=5000.0, most=200)
    loss = objective(junction_tree(WIDE, [m.clique for m in measurements]), measurements)
    alone = Descent.begin(loss, loss.tree.tables(), total=5000.0)
    alone.run(tolerance=1e-3, most=200)
    assert (found.loss, found.iterations) == (alone.value, alone.iterations)


@pytest.mark.parametrize("scale", [1e-90, 1e-9, 1e9, 1e90])
def test_no_scale_is_too_small_or_large(scale: float) -> None:
    measurements = answers(DOMAIN, [("a", "b"), ("b", "c"), ("d",)], rows=1000, scale=5.0, seed=0)
    told = [Measurement(clique=m.clique, values=m.values, scale=scale) for m in measurements]
    told.append(Measurement(clique=(), values=np.array([900.0]), scale=scale))
    loss: Objective = objective(junction_tree(DOMAIN, [m.clique for m in told]), told)
    alone = Descent.begin(loss, loss.tree.tables(), total=1000.0)
    alone.run(tolerance=1e-3, most=300)
    found = estimate(DOMAIN, told, total=1000.0, most=300)
    assert np.isfinite(found.loss)
    assert found.loss <= 1.001 * alone.value + 1e-9
