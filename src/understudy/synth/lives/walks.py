"""Walks: a column's codes, row after row of each person.

A row's code is drawn with weights of its own, times what the code before says of it, times what the
person had before, as from Pólya's urn: two rows of a person agree as often, however many rows there
are.  All people take their n-th step at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Weights = NDArray[np.float32]
    Ints = NDArray[np.int64]

BLOCK_CELLS = 1 << 24
"""About how many weights, of rows by codes, are held at once."""


class Walk:
    """The rows of people in the order in which they are drawn: all first rows, all second rows.

    Whoever has more rows comes first, so that those with an n-th row are the first of those with a
    row before it.
    """

    def __init__(self, sizes: Ints) -> None:
        """Take every person's number of rows; rows come person by person, each at least one."""
        self.sizes = sizes
        by_size = np.argsort(-sizes, kind="stable")
        starts = np.cumsum(sizes) - sizes
        there = np.searchsorted(-sizes[by_size], -np.arange(int(sizes.max(initial=0))))
        self._ends = np.concatenate(([0], np.cumsum(there)))
        """Where the n-th rows end."""
        nth = np.repeat(np.arange(len(there)), there)
        who = np.arange(len(nth)) - self._ends[nth]
        self.rows = starts[by_size][who] + nth
        """The row of each place of the walk."""

    @property
    def first(self) -> NDArray[np.bool_]:
        """Whether a row, in the order of rows, is its person's first."""
        found = np.zeros(len(self.rows), dtype=np.bool_)
        found[np.cumsum(self.sizes) - self.sizes] = True
        return found

    def draw(
        self,
        weights: Weights,
        lifts: Weights | None,
        luck: Floats,
        *,
        urn: float = 0.0,
        common: Weights | None = None,
    ) -> Ints:
        """Draw a code for every row; weights and luck are in the order of rows.

        ``lifts[c]`` are factors for the codes after c; the last line is for first rows.  ``common``
        is the distribution of codes, where there is an urn.
        """
        codes = weights.shape[1]
        found = np.empty(len(self.rows), dtype=np.int64)
        had = np.zeros((len(self.sizes) if urn else 0, codes), dtype=np.float32)
        before = np.zeros(0, dtype=np.int64)
        for nth in range(len(self._ends) - 1):
            rows = self.rows[self._ends[nth] : self._ends[nth + 1]]
            here = weights[rows]
            if lifts is not None:
                here *= lifts[before[: len(rows)]] if nth else lifts[-1]
            if urn and nth and common is not None:
                here *= 1 + had[: len(rows)] * (urn / common)
            ends = np.cumsum(here, axis=1, out=here)
            nowhere = ends[:, -1] <= 0
            if nowhere.any():
                # Nothing can follow: the row's own weights, or any code.
                alone = weights[rows[nowhere]] + np.float32(1e-30)
                ends[nowhere] = np.cumsum(alone, axis=1)
            at = luck[rows].astype(np.float32) * ends[:, -1]
            before = np.minimum((ends <= at[:, None]).sum(axis=1), codes - 1)
            if urn:
                had[np.arange(len(rows)), before] += 1
            found[rows] = before
        return found


class Part(NamedTuple):
    """Some people and their rows."""

    people: slice
    rows: slice
    walk: Walk


def parts(
    sizes: Ints, codes: int, *, first: int = BLOCK_CELLS, others: int = BLOCK_CELLS
) -> Iterator[Part]:
    """Give people in parts of about as many rows, whose weights by codes are about a block.

    No part but that of one person has more rows than a block has, nor the first one more than
    ``first``, nor another one more than ``others``.
    """
    ends, begun = np.cumsum(sizes), 0
    while begun < len(ends):
        rows = max(1, min(BLOCK_CELLS // codes, others if begun else first))
        low = int(ends[begun] - sizes[begun])
        left = int(ends[-1]) - low
        end = int(np.searchsorted(ends, low + left / math.ceil(left / rows), side="right"))
        end = max(begun + 1, end)
        yield Part(slice(begun, end), slice(low, int(ends[end - 1])), Walk(sizes[begun:end]))
        begun = end


def shared_luck(walk: Walk, share: float, own: Floats, new: Floats) -> Floats:
    """Return uniform numbers from normal ones: a part that is the person's, a part of the row."""
    person = np.repeat(own, walk.sizes)
    return _uniform(math.sqrt(share) * person + math.sqrt(1 - share) * new)


def _uniform(normal: Floats) -> Floats:
    """Return about the share of normal numbers below each (Abramowitz and Stegun, 26.2.17)."""
    x = np.abs(normal)
    t = 1 / (1 + 0.2316419 * x)
    terms = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    above = np.zeros_like(x)
    for term in reversed(terms):
        above = t * (term + above)
    above *= np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return np.where(normal > 0, 1 - above, above)
