"""Gaps: how far a person's rows are apart in time, where several may be of one time.

A row's gap, how far its time is from that of the row before, is a column like any other
(`understudy.door.views`), and so cheap to measure that every gap up to half a year of days has
a class of its own.  As many rows of each class are wanted as the noisy answer says, as far as that
stands out of its noise; elsewhere gaps are as they come (`lives.bridges`).

Only noisy answers enter.  Tied by ``tests/synth/lives/test_gaps.py``.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.public import PublicTable

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

GAP = "(gap)"
EXACT, GROWTH = 200, 1.1
"""Gaps below this are classes of their own; from there on, classes grow by this factor."""
WIDEST = 2048
"""Of a time with more codes, gaps are not measured."""
FEW = 0.5
"""Rows of a class of gaps that nothing is known of."""
OUT, NEARLY = 3.0, 0.8
"""How many standard deviations of its noise a class has that stands out, and what share of all gaps
those have if there are hardly any others."""
MOST_STEPS, STEP = 300, 0.5
"""How often a table moves towards its answer, and by how much at most, in logarithms."""
CHANCE, SOONER = 1.5, 4.0
"""How many standard deviations of the noise's own contribution are chance, and how many a table may
come closer."""


def gap_classes(size: int) -> Ints:
    """Return the class of every gap between two codes of a time.

    >>> gap_classes(210)[[0, 1, 199, 200, 201, 209]].tolist()
    [0, 1, 199, 200, 200, 200]
    """
    starts = [*range(min(EXACT + 1, size))]
    while EXACT <= starts[-1] < size:
        starts.append(round(GROWTH * starts[-1]))
    classes: Ints = np.searchsorted(starts, np.arange(size), side="right") - 1
    return classes


def follow(table: Floats, answer: Floats, noise: float) -> None:
    """Move a table towards a noisy answer, as far as it stands out of its noise.

    The squared distance to the truth would be the noise's; where much more than that is missing,
    the table may come a little closer, since noise fits a table of many cells by chance.  It stays
    as it is where no more is missing than by chance, in all and in the worst cell, and where all of
    its rows could not make up for it.
    """
    expected, missing = table.size * noise**2, answer - table
    largest, chance = float(np.abs(missing).max()), math.sqrt(2 / table.size)
    signal = max(0.0, float((missing**2).sum()) - expected)
    alone = noise * (math.sqrt(2 * math.log(table.size + 1)) + 1)
    if (signal < CHANCE * chance * expected and largest < alone) or (
        signal > 2 * float(table.sum()) * largest
    ):
        return
    sooner = SOONER * chance * signal / (signal + expected)
    for _ in range(MOST_STEPS):
        missing = answer - table
        if float((missing**2).sum()) <= max(0.0, 1 - sooner) * expected:
            break
        total, largest = table.sum(), max(float(np.abs(missing).max()), float(table.max()))
        table *= np.exp(STEP / largest * missing)
        table *= total / table.sum()


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """Noisy counts of rows by class of gap, without first rows."""

    classes: Ints
    """The class of every gap."""
    values: Floats
    noise: float
    norm: float = math.inf
    """People are weighed down to this L2 norm, and those of many rows have the short gaps."""
    repeats: float = 1.0
    """How often two rows of a person count in the same cell."""
    ordered: int = sys.maxsize
    """The number of times that have an order: a missing one comes after all, and is no time."""
    public: Floats | None = None
    """The shares of classes among public people, weighed likewise."""

    def wanted(self, spread: Floats) -> Floats:
        """Return as many rows, as the noisy answer says where it stands out of its noise.

        Elsewhere gaps are those of public people, or as they come where times are ``spread``
        evenly.
        """
        rows = max(1.0, float(spread.sum()))
        known = spread if self.public is None else self.public * rows
        factor = rows / max(1.0, float(self.values.sum()))
        table: Floats = (known + FEW) * (rows / (known + FEW).sum())
        follow(table, factor * self.values, factor * self.noise)
        return table

    def never(self, wanted: Floats) -> Bools:
        """Return the gaps of which there are hardly any: of five days, where people come weekly.

        That is known where nearly all gaps are of classes that stand out of the noise.
        """
        rows = max(1.0, float(wanted.sum()))
        out = wanted > OUT * self.noise * rows / max(1.0, float(self.values.sum()))
        nearly = float(wanted[out].sum()) > NEARLY * rows
        found: Bools = ~out[self.classes] & nearly
        return found

    def counts(self, times: Ints, sizes: Ints) -> Floats:
        """Count the gaps of people's rows in order by class, as far as their people count."""
        first = times >= self.ordered
        first[1:] |= first[:-1]
        first[np.cumsum(sizes) - sizes] = True
        lengths = np.sqrt(sizes + sizes * (sizes - 1.0) * self.repeats)
        weights = np.repeat(np.minimum(1.0, self.norm / lengths), sizes)[~first]
        apart = np.diff(times, prepend=0)[~first]
        counted = np.bincount(self.classes[apart], weights, minlength=len(self.values))
        return counted.astype(np.float64)

    def beside(self, public: PublicTable | None, time: str) -> Gaps:
        """Return them with the gaps of public people, where these are known."""
        if public is None or public.people is None:
            return self
        order = np.lexsort([public.codes[time], public.people])
        times = public.codes[time][order].astype(np.int64)
        counts = self.counts(times, np.unique(public.people, return_counts=True)[1])
        return replace(self, public=counts / counts.sum()) if counts.any() else self
