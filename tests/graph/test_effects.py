"""Effects: the approximate inverse of the dual's curvature."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import Table, built, measured
from understudy.graph import Domain, Measurement, junction_tree
from understudy.graph.effects import Effects, Inverse
from understudy.graph.objective import Objective, objective

COLUMNS = Domain({"a": 3, "b": 4, "c": 2, "d": 5, "e": 3})
ROWS, SCALE, ENTROPY = 100_000.0, 5.0, 0.3


def dense(inverse: Inverse, size: int) -> Table:
    return np.array([inverse @ unit for unit in np.eye(size)])


@given(measured(), st.integers(0, 2**32))
@tried(150)
def test_the_inverse_is_symmetric_and_positive_for_any_cells_and_counts(
    measurements: list[Measurement], seed: int
) -> None:
    loss = built(measurements)
    assume(loss.by_cells)
    effects, rng = Effects.of(loss), np.random.default_rng(seed)
    size = len(effects.places)
    rows, softness = rng.gamma(0.3, 100.0, size), rng.gamma(0.5, 1.0, size)
    found = dense(Inverse(effects, rows, softness, total=1e4), size)
    assert np.allclose(found, found.T, rtol=1e-6, atol=1e-9 * np.abs(found).max())
    roots = np.linalg.eigvalsh((found + found.T) / 2)
    assert roots.min() >= -1e-9 * roots.max()


def independent(rng: np.random.Generator) -> tuple[Objective, Table, Table]:
    """Give all pairs of independent columns, the counts of their cells, and their covariance."""
    shares = {name: rng.dirichlet(np.ones(size)) for name, size in COLUMNS.sizes.items()}
    cliques = [*itertools.combinations(COLUMNS, 2), *((name,) for name in COLUMNS)]
    loss = objective(
        junction_tree(COLUMNS, cliques),
        [Measurement(clique=c, values=np.zeros(COLUMNS.cells(c)), scale=SCALE) for c in cliques],
    )
    codes = np.array(list(itertools.product(*(range(n) for n in COLUMNS.sizes.values()))))
    chances = np.prod([shares[n][codes[:, i]] for i, n in enumerate(COLUMNS)], axis=0)
    told = loss.places()
    indicators = np.zeros((len(codes), len(told.flat)))
    for key in loss.precisions:
        assert isinstance(key, tuple)
        columns = [list(COLUMNS).index(n) for n in key]
        cells = told[key][tuple(codes[:, i] for i in columns)].astype(int)
        indicators[np.arange(len(codes)), cells] = 1
    indicators = indicators[:, Effects.of(loss).places]
    mean = chances @ indicators
    return loss, ROWS * mean, ROWS * ((indicators.T * chances) @ indicators - np.outer(mean, mean))


@pytest.mark.parametrize("seed", range(4))
def test_independent_columns_have_nearly_one_curvature_in_all_directions(seed: int) -> None:
    """The curvature of largest to least; the diagonal alone leaves hundreds of times as much."""
    loss, rows, covariance = independent(np.random.default_rng(seed))
    softness = np.full(len(rows), ENTROPY * SCALE**2)
    curvature = covariance + np.diag(softness)
    found = dense(Inverse(Effects.of(loss), rows, softness, total=ROWS), len(rows))

    def spread(inverse: Table) -> float:
        # The direction that makes every row likelier changes nothing and is not looked at.
        roots = np.sort(np.linalg.eigvals(inverse @ curvature).real)
        return float(roots[-1] / roots[len(rows) // 20])

    assert spread(found) < 10
    assert spread(np.diag(1 / (rows + softness))) > 20 * spread(found)
