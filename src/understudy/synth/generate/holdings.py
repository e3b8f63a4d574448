"""Holdings: how many rows each person has in each cell, worked out a part of the rows at a time.

A public table may have many more rows than there are pairs of a person and a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger[Any]]

AT_ONCE = 1 << 20
"""Rows looked at together, up to the end of a person."""
LARGEST = 2**62
"""Keys and rows that are one number below this are sorted together."""


@dataclass(frozen=True, slots=True, eq=False)
class Holdings:
    """The number of rows of each person in each cell where they have any, person after person."""

    people: Ints
    cells: Ints
    rows: Ints

    @classmethod
    def of(cls, people: Ints, cells: Ints) -> Self:
        """Count the rows of people, who come one after the other, by their cells."""
        size = int(cells.max()) + 1
        cuts = np.unique([0, *np.searchsorted(people, people[::AT_ONCE]), len(people)])
        found = []
        for a, b in pairwise(cuts):
            pairs, rows = np.unique(people[a:b] * np.int64(size) + cells[a:b], return_counts=True)
            found.append([part.astype(np.int32) for part in (*np.divmod(pairs, size), rows)])
        return cls(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def commonest(self) -> Ints:
        """Return the cell in which each person has most rows."""
        order = np.lexsort((self.rows, self.people))
        people = self.people[order]
        last = np.append(np.flatnonzero(np.diff(people)), len(people) - 1)
        commonest: Ints = self.cells[order[last]]
        return commonest


def summed(keys: NDArray[np.int64], rows: Ints) -> tuple[NDArray[np.int64], Ints]:
    """Return the distinct keys, sorted, and the rows of each of them together.

    >>> keys, rows = summed(np.array([7, 5, 7]), np.array([1, 2, 3]))
    >>> keys.tolist(), rows.tolist()
    ([5, 7], [2, 4])
    """
    most = int(rows.max()) + 1
    if int(keys.max()) < LARGEST // most:
        # Sorted as one number with its rows, a key needs no second array to be sorted by.
        keys = keys * most
        keys += rows
        keys.sort()
        rows = keys % most
        keys //= most
    else:
        order = np.argsort(keys)
        keys, rows = keys[order], rows[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return keys[starts], np.add.reduceat(rows, starts, dtype=np.int64)
