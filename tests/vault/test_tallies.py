"""What people add to rows, in whole numbers: against SciPy's product, and one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.audit.effort import tried
from understudy.graph import Rows
from understudy.vault import tallies
from understudy.vault.tallies import Tally

Whole = NDArray[np.int64]


@st.composite
def queries(draw: st.DrawFn) -> tuple[Rows | None, int]:
    """Rows over some cells, of which many may be in none, or every cell by itself."""
    width = draw(st.integers(1, 25))
    if draw(st.integers(0, 4)) == 0:
        return None, width
    rows = draw(st.lists(st.sets(st.integers(0, width - 1), min_size=1), min_size=1, max_size=10))
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    return Rows(starts, np.concatenate([list(row) for row in rows]).astype(np.int64)), width


def one_by_one(rows: Rows | None, people: list[list[int]], width: int) -> list[int]:
    """Count what each person adds to each row, in Python's whole numbers."""
    sets = [{c} for c in range(width)]
    if rows is not None:
        ends = zip(rows.starts[:-1], rows.starts[1:], strict=True)
        sets = [set(rows.cells[a:b].tolist()) for a, b in ends]
    return [sum(sum(c in row for c in own) ** 2 for row in sets) for own in people]


@given(queries(), st.data())
@tried(300, usual=40)
def test_squares_are_those_counted_one_by_one(
    query: tuple[Rows | None, int], data: st.DataObject
) -> None:
    """By parcels, by rows in a table, by rows in order, and in halves."""
    rows, width = query
    cells = st.lists(st.integers(0, width - 1), min_size=1, max_size=60)
    people = data.draw(st.lists(cells, max_size=6))
    at_once = data.draw(st.sampled_from([1, 10, 2**22]))
    held = np.array([c for own in people for c in own], dtype=np.int64)
    starts = np.cumsum([0] + [len(own) for own in people])
    tally = Tally.of(rows, cells=width)
    true = one_by_one(rows, people, width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tallies, "AT_ONCE", at_once)
        assert tally.squares(held, starts).tolist() == true
    parcels = tally.parcels[held]
    assert tally._by_parcels(parcels, starts).tolist() == true
    assert tally._by_rows(parcels, starts).tolist() == true
    depth = np.ones(width) if rows is None else np.bincount(rows.cells, minlength=width)
    assert tally.holders(held).tolist() == depth[held].tolist()


@pytest.mark.parametrize("each", [2, 50, 20_000])
@pytest.mark.parametrize("most", [1, 6, 80])
def test_squares_are_those_of_a_product_of_sparse_matrices(each: int, most: int) -> None:
    """People of few rows and of many; cells in one row, in several, and in very many."""
    rng = np.random.default_rng(each + most)
    inside = rng.random((100, 500)) < most / 100
    inside[:, ::7] = False
    inside[np.arange(100), np.arange(100) + 1] = True
    rows = Rows(
        np.concatenate(([0], np.cumsum(inside.sum(axis=1)))),
        np.concatenate([np.flatnonzero(row) for row in inside]),
    )
    cells = rng.integers(0, 500, 40_000)
    starts = np.arange(0, 40_001, each)
    ones = np.ones(len(cells), dtype=np.int64)
    people = csr_array((ones, cells, starts), shape=(len(starts) - 1, 500))
    added = people @ csr_array(inside.T.astype(np.int64))
    true = (added.toarray() ** 2).sum(axis=1)
    found = Tally.of(rows, cells=500).squares(cells, starts)
    assert found.dtype == np.int64
    assert np.array_equal(found, true)
