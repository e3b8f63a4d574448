"""Estimation: the least loss over the marginal polytope, certified, entropy elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import nnls

from tests.graph.test_objective import DOMAIN, built, measured
from understudy.errors import QuestionError
from understudy.graph import Measurement
from understudy.graph.estimate import fit
from understudy.graph.junction import junction_tree
from understudy.graph.objective import objective

TOTAL = 100.0


def least(measurements: list[Measurement]) -> float:
    """The least loss there is, by non-negative least squares over every cell of the joint table.

    A heavily weighted row holds the total where it is.
    """
    names = list(DOMAIN.sizes)
    shape = DOMAIN.shape(tuple(names))
    cells = int(np.prod(shape))
    matrix, values = [np.full((1, cells), 1e4)], [np.array([1e4 * TOTAL])]
    places = np.indices(shape).reshape(len(names), cells)
    for m in measurements:
        number = np.zeros(cells, dtype=np.int64)
        for n in m.clique:
            number = number * DOMAIN.sizes[n] + places[names.index(n)]
        held = (np.arange(DOMAIN.cells(m.clique))[:, None] == number[None, :]).astype(float)
        if m.rows is not None:
            held = np.add.reduceat(held[m.rows.cells], m.rows.starts[:-1], axis=0)
        matrix.append(held / m.scale)
        values.append(m.values / m.scale)
    found, residual = nnls(np.vstack(matrix), np.concatenate(values), maxiter=10_000)
    off = 1e4 * (found.sum() - TOTAL)
    return 0.5 * float(residual**2 - off**2)


@given(measured())
@settings(max_examples=25, deadline=None)
def test_the_loss_is_the_least_there_is_and_the_gap_says_so(
    measurements: list[Measurement],
) -> None:
    _, loss = built(measurements)
    found = fit(loss, total=TOTAL, tolerance=1e-6, most=3000)
    best = least(measurements)
    assert found.loss >= best - 1e-6 * (1 + best)
    # The certificate never claims more than is true.
    assert found.loss - found.gap <= best + 1e-6 * (1 + best)
    assert found.loss <= best * 1.001 + 1e-3


def test_consistent_answers_are_fitted_exactly_and_nothing_is_made_up() -> None:
    """Two pairs of a chain, no noise: their marginals come back, and a ⊥ c given b."""
    rng = np.random.default_rng(0)
    joint = rng.random(DOMAIN.shape(("a", "b", "c"))) * 10
    pairs = {("a", "b"): joint.sum(axis=2), ("b", "c"): joint.sum(axis=0)}
    measurements = [
        Measurement(clique=c, values=t.reshape(-1), scale=1.0) for c, t in pairs.items()
    ]
    tree = junction_tree(DOMAIN, list(pairs))
    found = fit(objective(tree, measurements), total=float(joint.sum()), tolerance=1e-9, most=3000)
    for clique, table in pairs.items():
        assert np.allclose(found.tables[clique], table, rtol=1e-3, atol=1e-3)
    # Nobody asked about d: it stays uniform.
    assert np.allclose(found.tables[("d",)], joint.sum() / 2)


def test_a_start_saves_iterations() -> None:
    rng = np.random.default_rng(1)
    values = rng.random(24) * 10
    tree = junction_tree(DOMAIN, [("a", "b", "c")])
    loss = objective(tree, [Measurement(clique=("a", "b", "c"), values=values, scale=1.0)])
    near: dict[Any, Any] = {
        c: np.log(values.reshape(2, 3, 4)) if c == ("a", "b", "c") else np.zeros(DOMAIN.shape(c))
        for c in tree.cliques
    }
    cold = fit(loss, total=float(values.sum()), tolerance=1e-3, most=20)
    warm = fit(loss, total=float(values.sum()), tolerance=1e-3, most=20, start=near)
    assert warm.loss < 0.01 * cold.loss + 1e-9


@pytest.mark.parametrize("wrong", [{"total": 0.0}, {"tolerance": 0.0}, {"most": 0}])
def test_fits_that_cannot_be(wrong: dict[str, Any]) -> None:
    _, loss = built([Measurement(clique=("a",), values=np.ones(2), scale=1.0)])
    settings_ = {"total": 2.0, "tolerance": 0.1, "most": 5, **wrong}
    with pytest.raises(QuestionError, match="needs a total"):
        fit(loss, **settings_)
