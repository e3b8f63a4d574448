"""Sums of cells, by themselves and in parcels, against SciPy's sparse matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.audit.effort import tried
from understudy.graph import sums as module
from understudy.graph.sums import ParcelSums, Sums, in_parcels, shortened


@st.composite
def matrices(draw: st.DrawFn) -> Sums:
    """Rows of one cell and of many, with few different weights, on cells that are often alike."""
    width = draw(st.integers(1, 30))
    cells = st.sets(st.integers(0, width - 1), min_size=1)
    ranges = st.tuples(st.integers(0, width - 1), st.integers(1, width)).map(
        lambda r: set(range(r[0], min(width, r[0] + r[1])))
    )
    rows = draw(
        st.one_of(
            st.lists(st.one_of(cells, ranges), min_size=1, max_size=12),
            st.lists(st.integers(0, width - 1).map(lambda c: {c}), min_size=1, max_size=30),
        )
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    held = np.concatenate([rng.permutation(sorted(row)) for row in rows])
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    weights = rng.choice([1.0, 0.5, -2.0], len(held), p=[0.8, 0.1, 0.1])
    return Sums(starts, held, weights, width)


def judge(sums: Sums) -> csr_array:
    return csr_array((sums.weights, sums.cells, sums.starts), shape=(sums.rows, sums.width))


def check(found: Sums | ParcelSums, true: csr_array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, values = rng.normal(size=true.shape[1]), rng.normal(size=true.shape[0])
    assert np.allclose(found.forward(table), true @ table, rtol=1e-12, atol=1e-12)
    assert np.allclose(found.backward(values), true.T @ values, rtol=1e-12, atol=1e-12)


@given(matrices(), st.integers(0, 2**32))
@tried(300)
def test_sums_are_those_of_a_sparse_matrix(sums: Sums, seed: int) -> None:
    true = judge(sums)
    assert np.array_equal(sums.toarray(), true.toarray())
    for found in (sums, shortened(sums), in_parcels(sums)):
        check(found, true, seed)


@given(matrices(), st.sampled_from([2**62, 2000, 100, 1]))
@tried(300)
def test_cells_of_one_parcel_are_those_that_count_alike_in_every_row(
    sums: Sums, largest: int
) -> None:
    """However soon numbers are numbered anew, and no parcel could be larger but for order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGEST", largest)
        found = in_parcels(sums)
    assert isinstance(found, ParcelSums)
    columns = [tuple(column) for column in sums.toarray().T]
    assert len(found.parcels) == sums.width
    assert set(found.parcels.tolist()) == set(range(found.sums.width))
    for parcel in range(found.sums.width):
        alike = {columns[c] for c in np.flatnonzero(found.parcels == parcel)}
        assert len(alike) == 1
        assert alike == {tuple(found.sums.toarray()[:, parcel])}
    if (sums.weights == 1).all():
        assert found.sums.width == len(set(columns))


def test_overlapping_rows_are_taken_in_parcels_and_others_are_not() -> None:
    halves = Sums(np.array([0, 4, 8, 16]), np.arange(16) % 8, np.ones(16), 8)
    found = shortened(halves)
    assert isinstance(found, ParcelSums)
    assert found.parcels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert found.sums.cells.tolist() == [0, 1, 0, 1]
    few = Sums(np.array([0, 2]), np.array([3, 5]), np.ones(2), 8)
    assert shortened(few) is few


def test_cells_in_very_many_rows_are_not_sought_to_be_alike() -> None:
    many = module.DEEPEST + 1
    every = Sums(np.arange(many + 1) * 2, np.tile([0, 1], many), np.ones(2 * many), 2)
    assert shortened(every) is every
    assert in_parcels(every) is every
    check(every, judge(every), 0)


def test_longer_numbers_than_an_integer_has_are_numbered_anew() -> None:
    """Sixty rows of a thousand cells each: sixty digits to the base 61."""
    rng = np.random.default_rng(2)
    kinds = rng.random((60, 40)) < 0.6
    inside = kinds[:, rng.integers(0, 40, 2000)]
    cells = np.concatenate([np.flatnonzero(row) for row in inside])
    starts = np.concatenate(([0], np.cumsum(inside.sum(axis=1))))
    sums = Sums(starts, cells, np.ones(len(cells)), 2000)
    found = shortened(sums)
    assert isinstance(found, ParcelSums)
    assert found.sums.width == 40
    check(found, judge(sums), 3)
