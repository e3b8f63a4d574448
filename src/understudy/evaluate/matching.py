"""Matching: the counts of two tables cell by cell, however many cells there are.

Few cells are counted in a dense array.  Many cells, of which most are empty, are counted by
sorting the rows' packed keys, and only cells that have a row are ever in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from understudy.evaluate.table import BLOCK, DENSE_CELLS, Counts, check_alike

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from understudy.evaluate.table import Coded


class Matched(NamedTuple):
    """Cells with a row in one table or both, ascending, and their counts in each."""

    cells: Counts
    real: Counts
    synthetic: Counts


def matched(real: Coded, synthetic: Coded, names: Sequence[str]) -> Iterator[Matched]:
    """Yield the cells of a clique that have a row, a block at a time, in ascending order."""
    check_alike(real, synthetic)
    cells = real.cells(names)
    if cells <= min(4 * (real.rows + synthetic.rows), DENSE_CELLS):
        yield _in_place(real.counts(names), synthetic.counts(names))
    else:
        yield from _sorted(real.keys(names), synthetic.keys(names))


def _in_place(left: Counts, right: Counts) -> Matched:
    cells = np.flatnonzero(left | right)
    return Matched(cells, left[cells], right[cells])


def _sorted(left: Counts, right: Counts) -> Iterator[Matched]:
    left.sort()
    right.sort()
    # Cut where either side has advanced by a block, so that no piece is large on either side.
    # The first cut would be at the very first key.
    cuts = np.unique(np.concatenate([left[:: 4 * BLOCK], right[:: 4 * BLOCK]]))[1:]
    ends = zip(
        np.append(np.searchsorted(left, cuts), len(left)),
        np.append(np.searchsorted(right, cuts), len(right)),
        strict=True,
    )
    begin = (0, 0)
    for end in ends:
        yield _merged(left[begin[0] : end[0]], right[begin[1] : end[1]])
        begin = end


def _merged(left: Counts, right: Counts) -> Matched:
    """Count two sorted pieces of keys, and align the counts."""
    (left_cells, left_counts), (right_cells, right_counts) = runs(left), runs(right)
    both = np.concatenate([left_cells, right_cells])
    both.sort()
    cells, _ = runs(both)
    counts = np.zeros((2, len(cells)), np.int64)
    counts[0, np.searchsorted(cells, left_cells)] = left_counts
    counts[1, np.searchsorted(cells, right_cells)] = right_counts
    return Matched(cells, counts[0], counts[1])


def runs(keys: Counts) -> tuple[Counts, Counts]:
    """Return the distinct values of sorted keys, and how often each occurs.

    NumPy's unique would hash the keys, or sort them again: several times as slow.
    """
    begins = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
    return keys[begins], np.diff(begins, append=len(keys))
