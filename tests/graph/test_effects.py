"""Effects: the approximate inverse of the dual's curvature."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import Table, built, measured
from understudy.graph import Domain, Measurement, Rows, junction_tree
from understudy.graph.effects import Effects, Inverse
from understudy.graph.objective import Objective, objective

COLUMNS = Domain({"a": 3, "b": 4, "c": 2, "d": 5, "e": 3})
ROWS, SCALE, ENTROPY = 100_000.0, 5.0, 0.3


def dense(inverse: Inverse, size: int) -> Table:
    return np.array([inverse @ unit for unit in np.eye(size)])


@given(measured(most=1), st.integers(0, 2**32))
@tried(150)
def test_the_inverse_is_symmetric_and_positive_for_any_cells_and_counts(
    measurements: list[Measurement], seed: int
) -> None:
    loss = built(measurements)
    assert loss.by_cells
    effects, rng = Effects.of(loss), np.random.default_rng(seed)
    size = len(effects.places)
    rows, told, softness = (rng.gamma(0.3, scale, size) for scale in (100.0, 100.0, 1.0))
    found = dense(Inverse(effects, rows, told, softness, total=1e4), size)
    assert np.allclose(found, found.T, rtol=1e-6, atol=1e-9 * np.abs(found).max())
    roots = np.linalg.eigvalsh((found + found.T) / 2)
    assert roots.min() >= -1e-9 * roots.max()


def test_a_cell_of_another_weight_is_the_same_cell_in_other_units() -> None:
    """With λ for a cell of weight v, the cell's potential moves by v·λ."""
    rng, tree = np.random.default_rng(3), junction_tree(COLUMNS, [("a", "b"), ("b", "c")])
    # Cells in the tree's own order of columns.
    cliques = [tree.domain.clique(c) for c in (("a", "b"), ("b", "c"), ("b",))]
    plain, weighted, scales = [], [], []
    for clique in cliques:
        cells = COLUMNS.cells(clique)
        values, weights = rng.normal(50, 5, cells), rng.uniform(0.2, 5, cells)
        each = Rows(np.arange(cells + 1), np.arange(cells))
        plain.append(Measurement(clique=clique, values=values, scale=SCALE))
        weighted.append(
            Measurement(
                clique=clique, values=weights * values, scale=SCALE, rows=each, weights=weights
            )
        )
        scales.append(weights)
    v, size = np.concatenate(scales), sum(map(COLUMNS.cells, cliques))
    rows, softness = rng.gamma(2.0, 50.0, size), rng.gamma(2.0, 1.0, size)
    one, other = (Effects.of(objective(tree, each)) for each in (plain, weighted))
    found = dense(Inverse(other, rows, rows, softness * v**2, total=ROWS), size)
    assert np.allclose(
        found * v[:, None] * v, dense(Inverse(one, rows, rows, softness, total=ROWS), size)
    )


@pytest.mark.parametrize("seed", range(4))
def test_part_of_a_table_is_no_copy_of_its_columns(seed: int) -> None:
    """The curvature of a table's cells but a few, beside its column's own counts."""
    rng, pair = np.random.default_rng(seed), Domain({"a": 4, "b": 4})
    cells = np.sort(rng.permutation(16)[:11])
    chances = rng.dirichlet(np.ones(16))
    loss = objective(
        junction_tree(pair, [("a", "b")]),
        [
            Measurement(
                clique=("a", "b"), values=np.zeros(11), scale=SCALE, rows=Rows(np.arange(12), cells)
            ),
            Measurement(clique=("a",), values=np.zeros(4), scale=SCALE),
        ],
    )
    both = np.hstack([np.eye(16)[:, cells], np.repeat(np.eye(4), 4, axis=0)])
    mean = chances @ both
    curvature = ROWS * ((both.T * chances) @ both - np.outer(mean, mean))
    softness = np.full(15, ENTROPY * SCALE**2)
    counts = ROWS * mean
    found = dense(Inverse(Effects.of(loss), counts, counts, softness, total=ROWS), 15)
    roots = np.linalg.eigvals(found @ (curvature + np.diag(softness))).real
    assert roots.max() < 5


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
    told = loss.answers.places()
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
    found = dense(Inverse(Effects.of(loss), rows, rows, softness, total=ROWS), len(rows))

    def spread(inverse: Table) -> float:
        # The direction that makes every row likelier changes nothing and is not looked at.
        roots = np.sort(np.linalg.eigvals(inverse @ curvature).real)
        return float(roots[-1] / roots[len(rows) // 20])

    assert spread(found) < 10
    assert spread(np.diag(1 / (rows + softness))) > 20 * spread(found)
