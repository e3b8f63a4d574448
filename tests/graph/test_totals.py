"""Totals that measurements say: unbiased, of the least variance, whatever the rows."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse.linalg import lsqr

from tests.audit.effort import tried
from tests.graph.brute import DOMAIN, EVERY, design, least, measured, squares
from understudy.errors import QuestionError
from understudy.graph import Domain, Measurement, Rows, Zeros, estimate
from understudy.graph.totals import _lightest, totals

module = sys.modules[totals.__module__]


def whole(value: float, scale: float) -> Measurement:
    return Measurement(clique=(), values=np.array([value]), scale=scale)


@given(measured())
@tried(200)
def test_a_measurement_says_the_total_where_its_rows_add_up_to_all_cells(
    measurements: list[Measurement],
) -> None:
    """Against dense least squares: weights of the answers in which every cell counts once."""
    for m in measurements:
        dense = design(DOMAIN, m)
        weights, *_ = np.linalg.lstsq(dense.T, np.ones(dense.shape[1]), rcond=None)
        adds_up = np.allclose(dense.T @ weights, 1, atol=1e-9)
        found = totals(DOMAIN, [m])
        assert (None in found) == adds_up
        if adds_up and weights @ m.values > 0:
            assert found[None] == pytest.approx(float(weights @ m.values), rel=1e-6)


def test_the_mean_is_by_inverse_variance() -> None:
    """A table of 6 cells and σ = 2 says its total with variance 24, the other one with 8."""
    table = Measurement(clique=("a", "b"), values=np.full(6, 20.0), scale=2.0)
    assert totals(DOMAIN, [table, whole(100.0, np.sqrt(8))]) == pytest.approx({None: 105.0})


def test_coarse_rows_say_it_with_the_fewest_of_them() -> None:
    """Rows for every two cells and for all four: the one for all says it best."""
    rows = Rows(np.array([0, 2, 4, 8]), np.array([0, 1, 2, 3, 0, 1, 2, 3]))
    m = Measurement(clique=("c",), values=np.array([30.0, 40.0, 100.0]), scale=1.0, rows=rows)
    # Weights w, w and 1 − w, of the least squares: w = 1/3.
    assert totals(DOMAIN, [m])[None] == pytest.approx((30 + 40) / 3 + 100 * 2 / 3)


def test_groups_have_totals_of_their_own() -> None:
    grouped = [replace(whole(v, 1.0), group=g) for v, g in ((10.0, "g"), (30.0, "h"))]
    assert totals(DOMAIN, [whole(100.0, 1.0), *grouped]) == {None: 100.0, "g": 10.0, "h": 30.0}


def test_a_group_that_says_nothing_of_its_total() -> None:
    rows = Rows(np.array([0, 1]), np.array([0]))
    m = Measurement(clique=("a",), values=np.ones(1), scale=1.0, rows=rows, group="g")
    with pytest.raises(QuestionError, match="do not determine the total of group g"):
        estimate(DOMAIN, [m], total=10.0, zeros=[Zeros(clique=("b",), cells=np.array([0]))])


def test_part_of_a_table_says_nothing_of_the_total_but_counts_in_the_fit() -> None:
    rows = Rows(np.array([0, 1]), np.array([0]))
    part = Measurement(clique=("a",), values=np.array([7.0]), scale=0.1, rows=rows)
    fit = estimate(DOMAIN, [part, whole(20.0, 5.0)])
    assert fit.model.total == pytest.approx(20)
    assert fit.model.marginal("a").tolist() == pytest.approx([7, 13], rel=0.01)


def test_the_total_is_not_the_likeliest() -> None:
    """Most cells drown in noise: the likeliest total is far above the truth, ours is not.

    A thousand rows over 240 cells, σ = 30, forty times over.  Our estimate has a standard error
    of √(2400 · 30²) / √40 / 1000, some 7 % of the truth.
    """
    domain = Domain({"a": 12, "b": 20})
    rng = np.random.default_rng(11)
    ours, theirs = [], []
    for _ in range(40):
        shares = rng.dirichlet(np.full(240, 0.05))
        values = rng.multinomial(1000, shares) + rng.normal(0, 30, 240)
        ours.append(values.sum())
        m = Measurement(clique=("a", "b"), values=values, scale=30.0)
        assert totals(domain, [m])[None] == pytest.approx(values.sum())
        # With every cell measured the likeliest table is the answers above 0.
        theirs.append(np.maximum(values, 0).sum())
    assert np.mean(ours) == pytest.approx(1000, rel=0.25)
    assert np.mean(theirs) > 2000


def test_a_fit_at_the_total_found_is_the_best_of_that_total() -> None:
    m = [
        Measurement(clique=("a", "b"), values=np.array([9.0, -2, 4, 6, 8, 1]), scale=2.0),
        Measurement(clique=("b", "c"), values=np.arange(12.0) / 2, scale=2.0),
    ]
    fit = estimate(DOMAIN, m, tolerance=1e-6, most=3000)
    assert fit.model.total == pytest.approx((26 / 6 + 33 / 12) / (1 / 6 + 1 / 12))
    best = least(DOMAIN, m, total=fit.model.total)
    assert fit.loss == pytest.approx(best, rel=1e-4)
    assert fit.loss == pytest.approx(squares(DOMAIN, m, fit.model.marginal(EVERY)), rel=1e-9)


@pytest.mark.parametrize("cells", [200, 1000])
def test_running_sums_say_the_total_by_their_last(cells: int) -> None:
    sizes = np.arange(1, cells + 1)
    rows = Rows(
        np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([np.arange(n) for n in sizes])
    )
    values = np.arange(1.0, cells + 1)
    m = Measurement(clique=("a",), values=values, scale=1.0, rows=rows)
    assert totals(Domain({"a": cells}), [m])[None] == pytest.approx(cells)


@given(measured())
@tried(100)
def test_the_lightest_weights_are_found_step_by_step_too(measurements: list[Measurement]) -> None:
    """Of matrices too large to be written out: against SciPy's least squares."""
    for m in (m for m in measurements if m.rows is not None):
        sums = m.matrix(DOMAIN.cells(m.clique))
        true = lsqr(sums.toarray().T, np.ones(sums.width), atol=1e-14, btol=1e-14)[0]
        assert np.allclose(_lightest(sums, np.ones(sums.width)), true, rtol=1e-6, atol=1e-8)
        with pytest.MonkeyPatch.context() as patch:
            found = totals(DOMAIN, [m])
            patch.setattr(module, "DENSE_CELLS", 0)
            assert totals(DOMAIN, [m]) == pytest.approx(found, rel=1e-6)


def test_running_sums_say_the_total_by_their_last_step_by_step_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "DENSE_CELLS", 0)
    test_running_sums_say_the_total_by_their_last(200)


def test_a_total_that_is_given_is_not_looked_for() -> None:
    """Rows that say nothing of the total are no hindrance then."""
    rows = Rows(np.array([0, 1]), np.array([0]))
    part = Measurement(clique=("a",), values=np.array([7.0]), scale=0.1, rows=rows)
    assert estimate(DOMAIN, [part], total=20.0).model.total == pytest.approx(20)


# Fine and coarse rows of one clique


def spread(power: int, *, squares: tuple[int, ...] = (1, 2)) -> list[Measurement]:
    """Cells 0 to 3 of c: 0 and 1 by themselves, 2 and 3 in a row each and in one together.

    The coefficients of the coarse rows are 1/√2 in L2 and 1/2 in L1, so that every column has
    norm 1.
    """
    fine = Rows(np.array([0, 1, 2]), np.array([0, 1]))
    coarse = Rows(np.array([0, 2, 3, 4]), np.array([2, 3, 2, 3]))
    scales = [3.0 * (np.sqrt(s) if power == 2 else s) for s in squares]
    return [
        Measurement(clique=("c",), values=np.array([10.0, 20.0]), scale=scales[0], rows=fine),
        Measurement(
            clique=("c",), values=np.array([70.0, 30.0, 44.0]), scale=scales[1], rows=coarse
        ),
    ]


@pytest.mark.parametrize("power", [2, 1])
def test_fine_and_coarse_rows_say_the_total_together(power: int) -> None:
    """Neither says it alone; by a power of their precision they count every cell once."""
    ms = spread(power)
    for m in ms:
        assert totals(DOMAIN, [m]) == {}
    # The coarse rows weigh 1/2 each: (70 + 30 + 44) / 2 is cells 2 and 3.
    assert totals(DOMAIN, ms)[None] == pytest.approx(30 + 72)
    assert totals(DOMAIN, ms[::-1])[None] == pytest.approx(30 + 72)


@pytest.mark.parametrize(("power", "variance"), [(2, 2 * 9 + 3 * 18 / 4), (1, 2 * 9 + 3 * 36 / 4)])
def test_together_they_weigh_by_their_variance_beside_others(power: int, variance: float) -> None:
    ms = [*spread(power), whole(130.0, 5.0)]
    mean = (102 / variance + 130 / 25) / (1 / variance + 1 / 25)
    assert totals(DOMAIN, ms)[None] == pytest.approx(mean)


def test_rows_that_do_not_count_every_cell_alike_say_what_each_says_alone() -> None:
    """Two whole marginals and a part: the part says nothing, and hinders nothing."""
    table = Measurement(clique=("c",), values=np.full(4, 25.0), scale=2.0)
    part = Measurement(
        clique=("c",), values=np.array([9.0]), scale=2.0, rows=Rows(np.array([0, 1]), np.array([0]))
    )
    assert totals(DOMAIN, [table, part])[None] == pytest.approx(100)
    other = Measurement(clique=("c",), values=np.full(4, 30.0), scale=2.0)
    assert totals(DOMAIN, [table, other])[None] == pytest.approx(110)


def test_groups_are_read_apart_though_they_share_a_clique() -> None:
    one = [replace(m, group="g") for m in spread(2)]
    other = Measurement(clique=("c",), values=np.full(4, 2.0), scale=1.0, group="h")
    assert totals(DOMAIN, [*one, other]) == pytest.approx({"g": 102.0, "h": 8.0})


def test_weighted_rows_are_not_taken_together() -> None:
    fine, coarse = spread(2)
    weighed = replace(coarse, weights=np.ones(4))
    assert totals(DOMAIN, [fine, weighed]) == {}


def test_a_table_is_fitted_to_fine_and_coarse_rows_of_a_group() -> None:
    """The group's table is a tenth of the real one, whose size another question tells."""
    ms = [replace(m, group="g") for m in spread(2)]
    exact = [10.0, 20.0, 30.0, 40.0]
    ms[1] = replace(ms[1], values=np.array([70.0, 30.0, 40.0]))
    fit = estimate(DOMAIN, ms, total=1000.0)
    assert fit.model.marginal("c").tolist() == pytest.approx([10 * e for e in exact], rel=0.01)
