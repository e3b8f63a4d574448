"""Sums of cells: a query's rows as a matrix that is never written out.

Cells that count alike in every row are a parcel.  Where rows overlap, as coarse ones do, there
are far fewer parcels than cells, so every cell is added up once, into its parcel, and the rows
are sums of parcels; on the way back a parcel's cells all get what the parcel gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.graph.kernels import Table

    Ints = NDArray[np.int64]

DEEPEST = 64
"""No parcels are looked for where a cell is in more rows than this."""
LARGEST = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Rows of one or more cells each, and the weight of each cell in its row.

    >>> sums = Sums(np.array([0, 2, 3]), np.array([0, 2, 2]), np.array([1.0, 0.5, 3.0]), 4)
    >>> sums.forward(np.array([1.0, 5.0, 2.0, 7.0])).tolist()
    [2.0, 6.0]
    >>> sums.backward(np.array([1.0, 10.0])).tolist()
    [1.0, 0.0, 30.5, 0.0]
    """

    starts: Ints
    """Row i holds the cells from ``starts[i]`` to ``starts[i + 1]``."""
    cells: Ints
    weights: Table
    width: int
    """The number of cells."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    def forward(self, table: Table) -> Table:
        """Sum the cells of each row."""
        counted = table[self.cells]
        counted *= self.weights
        if self.rows == len(self.cells):
            return counted
        return np.add.reduceat(counted, self.starts[:-1])

    def backward(self, values: Table) -> Table:
        """Return, for every cell, the weighted sum of its rows' values (the transpose)."""
        if self.rows != len(self.cells):
            values = np.repeat(values, np.diff(self.starts))
        return sums_by(self.cells, values * self.weights, self.width)

    def toarray(self) -> Table:
        """Return the dense matrix, rows × cells."""
        dense = np.zeros((self.rows, self.width))
        dense[np.repeat(np.arange(self.rows), np.diff(self.starts)), self.cells] = self.weights
        return dense


@dataclass(frozen=True, slots=True, eq=False)
class ParcelSums:
    """The same sums, over parcels."""

    parcels: Ints
    """The parcel of each cell."""
    sums: Sums

    def forward(self, table: Table) -> Table:
        """Sum the cells of each row."""
        return self.sums.forward(sums_by(self.parcels, table, self.sums.width))

    def backward(self, values: Table) -> Table:
        """Return, for every cell, the weighted sum of its rows' values (the transpose)."""
        return self.sums.backward(values)[self.parcels]


def sums_by(number: Ints, values: Table, count: int) -> Table:
    """Sum the values of each number below ``count``."""
    return np.asarray(np.bincount(number, weights=values, minlength=count), dtype=np.float64)


def shortened(sums: Sums) -> Sums | ParcelSums:
    """Sum parcels instead of cells, where that is less work."""
    return sums if len(sums.cells) <= sums.width else in_parcels(sums)


def in_parcels(sums: Sums) -> Sums | ParcelSums:
    """Sum parcels instead of cells, unless cells are in too many rows to find them."""
    depth = np.bincount(sums.cells, minlength=sums.width)
    if depth.max() > DEEPEST:
        return sums
    parcels = _parcels(sums, depth)
    # Each parcel has the weights of the last of its cells.
    cell = np.zeros(int(parcels.max()) + 1, dtype=np.int64)
    cell[parcels] = np.arange(sums.width)
    chosen = cell[parcels[sums.cells]] == sums.cells
    ends = np.concatenate(([0], np.cumsum(chosen)))[sums.starts]
    held = Sums(ends, parcels[sums.cells[chosen]], sums.weights[chosen], len(cell))
    return ParcelSums(parcels, held)


def _parcels(sums: Sums, depth: Ints) -> Ints:
    """Number cells so that those with equal numbers are in the same rows with the same weights.

    A cell's number has a digit for each of its rows, in order: which run of entries of one row
    and one weight it is in, or 0.  Before numbers overflow they are renumbered.
    """
    new = np.ones(len(sums.cells), dtype=bool)
    new[1:] = sums.weights[1:] != sums.weights[:-1]
    new[sums.starts[:-1]] = True
    stretch = np.cumsum(new)
    base = int(stretch[-1]) + 1
    stretch = stretch[np.argsort(sums.cells, kind="stable")]
    first = np.cumsum(depth) - depth
    number, most = np.zeros(sums.width, dtype=np.int64), 1
    for level in range(int(depth.max())):
        if most * base > LARGEST:
            found, number = np.unique(number, return_inverse=True)
            most = len(found)
        held = np.flatnonzero(depth > level)
        number *= base
        number[held] += stretch[first[held] + level]
        most *= base
    return np.unique(number, return_inverse=True)[1]
