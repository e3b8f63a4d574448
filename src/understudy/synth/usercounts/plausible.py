"""Plausible cells: where public people were, or nearly, and how many people to expect there.

Cells are those of all columns of a schema.  Some columns define the period; public periods are
matched by the last of these alone (the month, whatever the year), and a cell is plausible where
public people were in it in a period that is near enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from understudy.synth.generate.rounding import simplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.door import Clique
    from understudy.schema import Domain

    Values = TypeVar("Values", bound=np.generic)
    Mask = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SMOOTHED = 3.0
"""The weight of a mean period's public count in an expectation, beside 1 for the cell's own."""
CYCLES = {"quarter": 4, "month": 12, "weekday": 7, "hour": 24}
"""Periods that come again, by the last word of a column's name."""
LEVEL_SPREAD = 0.5
"""The expected relative difference of a total from the public one."""


@dataclass(frozen=True, slots=True)
class TimedDomain:
    """All cells of a table, and the columns that define the period."""

    domain: Domain
    time: Clique

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.domain.cells(self.domain)

    @property
    def matched(self) -> Clique:
        """The columns by which public data are matched."""
        return tuple(n for n in self.domain if n not in self.time[:-1])

    @property
    def matched_size(self) -> int:
        """The number of cells of the matched columns."""
        return self.domain.cells(self.matched)

    @property
    def last(self) -> int:
        """The number of values of the last column, whose shares matter most."""
        return self.domain[self.matched[-1]]

    def alike(self, cells: Ints) -> Ints:
        """Number cells so that those that differ only in the last matched column share a number."""
        sizes = {n: 1 if n == self.matched[-1] else s for n, s in self.domain.items()}
        places = np.unravel_index(cells, tuple(self.domain.values()))
        kept = [
            p if sizes[n] > 1 else np.zeros_like(p)
            for n, p in zip(self.domain, places, strict=True)
        ]
        return np.ravel_multi_index(kept, tuple(sizes.values()))

    def spread(self, values: NDArray[Values]) -> NDArray[Values]:
        """Return, for every cell, the value of its matched cell."""
        shape = [self.domain[n] if n in self.matched else 1 for n in self.domain]
        whole = tuple(self.domain.values())
        return np.broadcast_to(values.reshape(shape), whole).reshape(-1)

    @property
    def wraps(self) -> bool:
        """Whether the first period follows the last: months, say, of one year or of any."""
        if not self.time:
            return False
        size = CYCLES.get(self.time[-1].lower().split("_")[-1])
        return size == self.domain[self.time[-1]] == self.domain.cells(self.time)

    def near(self, there: Mask, periods: int) -> Mask:
        """Widen a set of cells by ``periods`` periods before and after, within the schema.

        Public periods are of another year: where only months tell them apart, December is before
        January too.
        """
        if not self.time:
            return there
        by_period = self._by_period(there)
        count, wide = by_period.shape[1], by_period.copy()
        for far in range(1, min(periods, count - 1) + 1):
            wide[:, far:] |= by_period[:, :-far]
            wide[:, :-far] |= by_period[:, far:]
            if self.wraps:
                wide |= np.roll(by_period, far, axis=1) | np.roll(by_period, -far, axis=1)
        return self._by_cell(wide)

    def smooth(self, people: Floats) -> Floats:
        """Return expected counts: a cell's own, those of a mean period, and a little everywhere.

        A mean period has the public mean of each kind of cell, mixed with what it would be if
        columns other than time were independent.
        """
        by_period = self._by_period(people)
        mean = by_period.mean(axis=1)
        shape = [size for name, size in self.domain.items() if name not in self.time]
        apart = _independent(mean.reshape(shape)).reshape(-1)
        periods = by_period.shape[1]
        mean = (periods * mean + apart) / (periods + 1)
        return self._by_cell((by_period + SMOOTHED * mean[:, None]) / (1 + SMOOTHED))

    def guessed(self, noisy: Floats) -> Floats:
        """Return expected counts from noisy counts of all cells, as if columns were independent."""
        whole = noisy.reshape(tuple(self.domain.values()))
        total = max(float(noisy.sum()), 1.0)
        ways = [_others(whole, axis) for axis in range(whole.ndim)]
        shares = [simplex(way, total=total) / total for way in ways]
        expected = np.full(1, total)
        for share in shares:
            expected = (expected[:, None] * share).reshape(-1)
        return expected

    def levelled(self, expected: Floats, noisy: Floats, cells: Ints, noise: float) -> Floats:
        """Scale expectations of some cells towards their noisy totals, overall and by column.

        A total counts by how far it stands out of the noise of its cells.
        """
        places = np.unravel_index(cells, tuple(self.domain.values()))
        for place in (np.zeros_like(cells), *places):
            told, sums = np.bincount(place, noisy), np.bincount(place, expected)
            differ = (LEVEL_SPREAD * sums) ** 2
            gain = differ / (differ + np.bincount(place) * noise**2 + 1e-12)
            move = 1 + gain * (told / np.maximum(sums, 1e-12) - 1)
            expected = expected * np.maximum(move, 0.1)[place]
        return expected

    def _by_period(self, values: NDArray[Values]) -> NDArray[Values]:
        """Reshape cells to kinds × periods."""
        axes, periods = self._axes
        whole = tuple(self.domain.values())
        return values.reshape(whole).transpose(axes).reshape(-1, periods)

    def _by_cell(self, values: NDArray[Values]) -> NDArray[Values]:
        axes, _ = self._axes
        sizes = tuple(self.domain.values())
        return values.reshape([sizes[a] for a in axes]).transpose(np.argsort(axes)).reshape(-1)

    @property
    def _axes(self) -> tuple[list[int], int]:
        names = list(self.domain)
        rest = [i for i, name in enumerate(names) if name not in self.time]
        periods = self.domain.cells(self.time)
        return [*rest, *(names.index(n) for n in self.time)], periods


def _others(table: Floats, axis: int) -> Floats:
    """Sum over all axes but one."""
    return np.asarray(table.sum(axis=tuple(a for a in range(table.ndim) if a != axis)))


def _independent(table: Floats) -> Floats:
    """Return the product of a table's one-way sums, with its total."""
    total = max(float(table.sum()), 1e-12)
    product = np.full(1, total)
    for axis in range(table.ndim):
        product = (product[:, None] * _others(table, axis) / total).reshape(-1)
    return product


def whole_numbers(values: Floats, groups: Ints) -> Ints:
    """Round values up or down so that each group keeps its total, rounded.

    >>> whole_numbers(np.array([0.4, 0.4, 0.4, 2.0]), np.array([0, 0, 0, 1])).tolist()
    [1, 0, 0, 2]
    """
    low = np.floor(values)
    left = values - low
    wanted = np.rint(np.bincount(groups, left)).astype(np.int64)
    order = np.lexsort((-left, groups))
    ordered = groups[order]
    first = np.searchsorted(ordered, ordered, side="left")
    up = np.zeros(len(values), dtype=np.int64)
    up[order] = np.arange(len(values)) - first < wanted[ordered]
    return low.astype(np.int64) + up
