"""The loss and its gradient, against the slow obvious version over the whole joint table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.brute import Table
from understudy.errors import QuestionError
from understudy.graph import Clique, Measurement, Rows
from understudy.graph.domain import Domain
from understudy.graph.junction import JunctionTree, junction_tree
from understudy.graph.objective import Objective, objective

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2})
CLIQUES: list[Clique] = [("a",), ("b", "a"), ("c", "b"), ("a", "b", "c"), ("d",), ("b", "d")]


@st.composite
def measured(draw: st.DrawFn) -> list[Measurement]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    out = []
    for clique in draw(st.lists(st.sampled_from(CLIQUES), min_size=1, max_size=7)):
        cells, scale = DOMAIN.cells(clique), draw(st.floats(0.5, 50))
        if draw(st.booleans()):
            out.append(Measurement(clique=clique, values=rng.normal(5, 5, cells), scale=scale))
            continue
        sets = draw(
            st.lists(st.sets(st.integers(0, cells - 1), min_size=1), min_size=1, max_size=3)
        )
        starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
        flat = np.array([c for s in sets for c in sorted(s)], dtype=np.int64)
        values = rng.normal(5, 5, len(sets))
        out.append(Measurement(clique=clique, values=values, scale=scale, rows=Rows(starts, flat)))
    return out


def obvious(measurements: list[Measurement], joint: Table) -> float:
    """Sum every measurement's own squares, straight from the joint table."""
    names, total = list(DOMAIN.sizes), 0.0
    for m in measurements:
        axes = tuple(i for i, n in enumerate(names) if n not in m.clique)
        kept = [n for n in names if n in m.clique]
        cells = joint.sum(axis=axes).transpose([kept.index(n) for n in m.clique]).reshape(-1)
        if m.rows is not None:
            cells = np.add.reduceat(cells[m.rows.cells], m.rows.starts[:-1])
        total += 0.5 * float((((cells - m.values) / m.scale) ** 2).sum())
    return total


def built(measurements: list[Measurement]) -> tuple[JunctionTree, Objective]:
    tree = junction_tree(DOMAIN, [m.clique for m in measurements])
    return tree, objective(tree, measurements)


def tables(tree: JunctionTree, joint: Table) -> dict[Clique, Table]:
    names = list(DOMAIN.sizes)
    return {
        c: joint.sum(axis=tuple(i for i, n in enumerate(names) if n not in c)) for c in tree.cliques
    }


@given(measured(), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_the_loss_is_the_sum_of_squares(measurements: list[Measurement], seed: int) -> None:
    joint = np.random.default_rng(seed).random(DOMAIN.shape(tuple(DOMAIN.sizes))) * 10
    tree, loss = built(measurements)
    found = loss.value(loss.predict(tables(tree, joint)))
    assert found == pytest.approx(obvious(measurements, joint), rel=1e-9)


@given(measured(), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_the_gradient_and_the_curvature_give_the_loss_at_any_other_point(
    measurements: list[Measurement], seed: int
) -> None:
    """A quadratic is its tangent plus its curvature, exactly."""
    rng = np.random.default_rng(seed)
    here, there = (rng.random(DOMAIN.shape(tuple(DOMAIN.sizes))) * 10 for _ in range(2))
    tree, loss = built(measurements)
    at_here, at_there = tables(tree, here), tables(tree, there)
    before, after = loss.predict(at_here), loss.predict(at_there)
    slope = loss.gradient(before)
    tangent = sum(float(np.vdot(slope[c], at_there[c] - at_here[c])) for c in tree.cliques)
    bent = loss.curvature({c: after[c] - before[c] for c in before})
    assert loss.value(before) + tangent + bent == pytest.approx(
        loss.value(after), rel=1e-8, abs=1e-8
    )


def test_measurements_that_do_not_fit() -> None:
    tree = junction_tree(DOMAIN, [("a", "b")])
    with pytest.raises(QuestionError, match="no clique of the model holds"):
        objective(tree, [Measurement(clique=("a", "c"), values=np.zeros(8), scale=1.0)])
    with pytest.raises(QuestionError, match="a value a cell"):
        objective(tree, [Measurement(clique=("a",), values=np.zeros(3), scale=1.0)])
    rows = Rows(np.array([0, 1]), np.array([9]))
    with pytest.raises(QuestionError, match="do not fit"):
        objective(tree, [Measurement(clique=("a",), values=np.zeros(1), scale=1.0, rows=rows)])
