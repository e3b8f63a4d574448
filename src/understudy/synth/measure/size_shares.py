"""Size shares: what people a value's rows are of, by how many rows they have.

Columns that were measured by size class show P(S|a), the share of the rows of a code that people of
class S have, with noise.  Within a class, people differ too: the more of a code's rows are of large
people, the more of those in a class are of its largest ones.  So every class is in a few parts, and
the logarithm of P(S|a)/P(S) is taken to be linear in that of the size, between classes and beyond
them; what a class has of a code remains as it was measured.  Tied by
``tests/synth/measure/test_size_shares.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.synth.measure.sizes import Sizes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

PARTS = 4
"""The number of parts of a class, of about equal numbers of rows."""
FEWEST = 0.05
"""The least P(S|a), over P(S)."""
ITERATIONS = 4
LIMIT = 1.5
"""By how many standard deviations of its noise a code's deviation is shrunk, at most."""
DOUBT = 2.0
"""How many standard deviations of the noise are allowed for in how much people differ."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Classes of sizes, each in parts."""

    starts: Ints
    """The smallest size of every part."""
    firsts: Ints
    """The first part of every class."""
    rows: Floats
    """By part, the number of rows."""
    logs: Floats
    """By part, the mean logarithm of the size, by rows."""

    @classmethod
    def of(cls, sizes: Sizes, starts: tuple[int, ...]) -> Parts:
        """Divide classes into parts.

        >>> from understudy.synth.measure.sizes import Sizes
        >>> parts = Parts.of(Sizes(np.array([8.0, 4.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0])), (1, 4))
        >>> parts.starts.tolist(), parts.firsts.tolist(), parts.rows.tolist()
        ([1, 2, 4, 8], [0, 2], [8.0, 8.0, 8.0, 8.0])
        """
        each = np.arange(1.0, len(sizes.people) + 1)
        rows = sizes.people * each
        found: list[int] = []
        firsts = []
        for start, end in zip(starts, (*starts[1:], len(each) + 1), strict=True):
            firsts.append(len(found))
            (some,) = np.nonzero(rows[start - 1 : end - 1])
            own = np.cumsum(rows[start - 1 + some])
            before = np.append(0.0, own[:-1]) / own[-1]
            at = np.searchsorted(before, np.arange(1, PARTS) / PARTS - 1e-9)
            inner = np.unique(some[at[at < len(some)]]) + start
            found += [start, *inner[inner > start + some[0]].tolist()]
        ends = np.array(found) - 1
        by_part = np.add.reduceat(rows, ends)
        logs = np.add.reduceat(rows * np.log(each), ends) / by_part
        return cls(np.array(found), np.array(firsts), by_part, logs)

    @property
    def counts(self) -> Ints:
        """The number of parts of every class."""
        return np.diff(np.append(self.firsts, len(self.rows)))

    @property
    def classes(self) -> Floats:
        """By class, the number of rows."""
        rows: Floats = np.add.reduceat(self.rows, self.firsts)
        return rows

    def times(self, factors: Floats) -> Parts:
        """Multiply the rows of every class by a factor."""
        return replace(self, rows=self.rows * np.repeat(factors, self.counts))

    def shares(self, kept: Floats, sizes: Sizes) -> Floats:
        """Return the share of every part's rows that is kept, from the rows kept of each size."""
        ends, each = self.starts - 1, np.arange(1, len(kept) + 1)
        found: Floats = np.add.reduceat(kept, ends) / np.add.reduceat(sizes.people * each, ends)
        return found

    def tilted(self, rows: Floats, shares: Floats) -> Floats:
        """Return P(part|a) from a code's rows and P(S|a), people differing as classes do.

        Each part has its rows in all, as far as a few rounds of proportional fitting go.
        """
        classes, counts = self.classes, self.counts
        tilt = np.log(np.maximum(shares / (classes / classes.sum()), FEWEST))
        middles = np.add.reduceat(self.rows * self.logs, self.firsts) / classes
        below = np.clip(np.searchsorted(middles, self.logs) - 1, 0, max(0, len(middles) - 2))
        above = np.minimum(below + 1, len(middles) - 1)
        reach = (self.logs - middles[below]) / np.maximum(middles[above] - middles[below], 1e-9)
        found: Floats = np.exp(tilt[:, below] + (tilt[:, above] - tilt[:, below]) * reach)
        for _ in range(ITERATIONS):
            found = found * (self.rows / np.maximum(rows @ found, 1e-300))
            whole = np.add.reduceat(found, self.firsts, axis=1)
            found = found * np.repeat(shares / whole, counts, axis=1)
        return found


class Learned(NamedTuple):
    """What a column by size class shows."""

    rows: Floats
    """The number of rows of every code a, none below what noise is."""
    shares: Floats
    """P(S|a)."""
    doubts: Floats
    """The variance of every P(S|a), relative to its square."""
    unlike: float
    """How far P(S|a) is from P(S), relative to it: about the most that the noise allows."""


def learned(counts: Floats, noise: Floats, left: Floats, mix: Floats) -> Learned:
    """Estimate P(S|a) from noisy counts of (a, S), shrunk towards P(S).

    A code of N rows has N·P(S)·(1 + d) of them in a class, and d varies among codes with some
    variance φ, which is what the counts deviate by beyond their noise; the linear estimate of d
    with the least expected square error multiplies its noisy value by φ/(φ + its variance).  A code
    that is unlike all others is not shrunk by more than a few standard deviations of its noise
    (limited translation; Efron and Morris 1971).  The variance of d given its noisy value is
    φ·variance/(φ + variance), φ being as large as the noise, or the code itself, allows.
    """
    rows, found = counts / left, np.broadcast_to(mix, counts.shape)
    for _ in range(ITERATIONS):
        whole = np.maximum(counts.sum(axis=1) / (found @ left), noise)[:, None]
        away = rows / (whole * mix) - 1
        variance = (noise[:, None] / (left * whole * mix)) ** 2
        weight = variance**-2 / (variance**-2).sum(axis=0)
        spread = np.maximum((weight * (away**2 - variance)).sum(axis=0), 0.0)
        shrunk = away * variance / (spread + variance)
        most = LIMIT * np.sqrt(variance)
        found = mix * np.maximum(1 + away - np.clip(shrunk, -most, most), FEWEST)
        found /= found.sum(axis=1, keepdims=True)
    error = np.sqrt((weight**2 * (2 * variance**2 + 4 * variance * spread)).sum(axis=0))
    most = np.maximum(spread + error, away**2 - variance)
    return Learned(
        rows=whole[:, 0],
        shares=found,
        doubts=most * variance / (most + variance) * (mix / found) ** 2,
        unlike=_unlike(away, variance, whole, left, mix),
    )


def _unlike(away: Floats, variance: Floats, whole: Floats, left: Floats, mix: Floats) -> float:
    """Return how much classes differ, at most, from their deviations and the variances of these.

    Codes weigh as the squares of their rows: rare ones have little of an error, and much noise.
    Since a code's rows were estimated from the same counts, its deviations have less noise.  Where
    something deviates by d, with noise of variance v, its square has a variance of 2v² + 4vd².
    """
    part = left * mix / (left @ mix)
    noise = variance * (1 - 2 * part + len(part) * part**2)
    weight = whole**2 / (whole**2).sum()
    spread = np.maximum((weight * (away**2 - noise)).sum(axis=0), 0.0)
    error = np.sqrt((weight**2 * (2 * noise**2 + 4 * noise * spread)).sum(axis=0))
    return math.sqrt(float(mix @ (spread + DOUBT * error)))
