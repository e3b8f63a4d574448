"""Tallies: what each person adds to the rows of a query, in exact whole numbers.

A person's rows of a table lie in cells, and cells lie in rows of the query: v_r of them in row
r.  Where people have many rows of the table their parcels of cells are counted, and the parcels
of each row of the query added up; else every cell is replaced by the rows that hold it, and
those are counted.  Both are counts of whole numbers, and none of it depends on the order of the
rows.  Tied by ``tests/vault/test_tallies.py`` (against SciPy, and one by one).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph.measurement import Rows
from understudy.graph.sums import ParcelSums, Sums, in_parcels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]

AT_ONCE = 1 << 22
"""About how many pairs of a cell and a query row are processed together."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Which query rows contain each cell, by parcels: cells that lie in the same rows."""

    parcels: Whole
    """The parcel of each cell."""
    starts: Whole
    held: Whole
    """Row r holds the parcels from ``starts[r]`` to ``starts[r + 1]`` of these."""
    first: Whole
    rows: Whole
    """Parcel p is in the rows from ``first[p]`` to ``first[p + 1]`` of these."""

    @classmethod
    def of(cls, rows: Rows | None, *, cells: int) -> Tally:
        """Lay out a query over a number of cells; without rows every cell is its own row."""
        parcels = np.arange(cells)
        if rows is None:
            rows = Rows(np.arange(cells + 1), parcels)
        sums = in_parcels(Sums(rows.starts, rows.cells, np.ones(len(rows.cells)), cells))
        if isinstance(sums, ParcelSums):
            parcels, sums = sums.parcels, sums.sums
        row = np.repeat(np.arange(sums.rows), np.diff(sums.starts))
        first = np.concatenate(([0], np.cumsum(np.bincount(sums.cells, minlength=sums.width))))
        order = np.argsort(sums.cells, kind="stable")
        return cls(parcels, sums.starts, sums.cells, first, row[order])

    def holders(self, cells: Whole) -> Whole:
        """Return the number of query rows that contain each of some cells."""
        return np.diff(self.first)[self.parcels[cells]]

    def squares(self, cells: Whole, starts: Whole) -> Whole:
        """Return Σ v² over the rows of the query, for people whose cells start at these places.

        The last place is the end of all.  Squares beyond int64 are correct modulo 2⁶⁴.
        """
        people, width = len(starts) - 1, max(len(self.first) - 1, len(self.held))
        if people * width <= len(cells):
            return self._by_parcels(self.parcels[cells], starts)
        if people > 1 and int(self.holders(cells).sum()) > AT_ONCE:
            half = people // 2
            cut = starts[half]
            before = self.squares(cells[:cut], starts[: half + 1])
            return np.concatenate((before, self.squares(cells[cut:], starts[half:] - cut)))
        return self._by_rows(self.parcels[cells], starts)

    def _by_parcels(self, parcels: Whole, starts: Whole) -> Whole:
        """Count the parcels of each person, and add them up by rows."""
        people, width = len(starts) - 1, len(self.first) - 1
        person = np.repeat(np.arange(people), np.diff(starts))
        counts = np.bincount(parcels * people + person, minlength=width * people)
        added = np.add.reduceat(counts.reshape(width, people)[self.held], self.starts[:-1])
        squares: Whole = (added * added).sum(axis=0)
        return squares

    def _by_rows(self, parcels: Whole, starts: Whole) -> Whole:
        """Count the pairs of a person and a query row that contains a cell of theirs."""
        people, rows = len(starts) - 1, len(self.starts) - 1
        times = np.diff(self.first)[parcels]
        ends = np.concatenate(([0], np.cumsum(times)))
        places = np.repeat(self.first[parcels] - ends[:-1], times)
        places += np.arange(len(places))
        edges = np.arange(people + 1) * rows
        pairs = np.repeat(edges[:-1], np.diff(ends[starts])) + self.rows[places]
        if people * rows <= len(pairs):
            counts = np.bincount(pairs, minlength=people * rows)
        else:
            pairs, counts = np.unique(pairs, return_counts=True)
            edges = np.searchsorted(pairs, edges)
        sums = np.concatenate(([0], np.cumsum(counts * counts)))
        return np.diff(sums[edges])
