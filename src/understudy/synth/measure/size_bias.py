"""Size bias: what contribution bounding leaves of every cell, by its people's numbers of rows.

Under `Norm` people with many rows are weighted down, and cells where they are common are counted
too low.  Neighbours differ by whole people, so a person's size class S is a column like any other:
columns are measured together with it, which adds nothing to anybody's norm.  Of class S the share

    w_S = counted rows / rows

is left, the rows being those of the noisy distribution of sizes (`measure.sizes`).  A cell's share
is the mean of w_S over its rows: ρ_a = Σ_S P(S|a)·w_S for a column's code a, and for a pair, where
only columns were measured with S, that of P(S|a,b) ∝ P(S|a)·P(S|b)/P(S), as if a and b depended on
each other through S alone.  A later round, measured without S, has weights of its own: by the
clipping norm, the sizes, and how often rows of a person agree.  Dividing counts by ρ removes
one half to four fifths of the bias; what is left is due to people of one class who differ.

P(S|a) is shrunk towards P(S), as far as its noise asks, and people of one class are taken to differ
as classes do (`measure.size_shares`).  Tied by ``tests/synth/measure/test_size_bias.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.door import Derived
from understudy.graph import Rows, totals
from understudy.synth.measure.population import clipping_norm
from understudy.synth.measure.size_borders import EXACT, RATIO, apart, class_starts
from understudy.synth.measure.size_shares import Parts, learned
from understudy.synth.measure.sizes import Sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique, Measurement
    from understudy.graph import Domain
    from understudy.synth.measure.population import Crowd
    from understudy.synth.measure.support import Support
    from understudy.synth.measure.weighted_round import WeightedMarginal

    Floats = NDArray[np.float64]

SIZE = "(size class)"
CLASSES = 3
"""The number of classes, of about equal numbers of rows."""
FAIR = 0.1
"""The least share of the rows in a class."""
SHARE = 0.3
"""The share of columns' precision that is spent on columns by size class."""
UNSURE = 0.5
"""How far what is left of a class may be off, where next to nothing is left of it."""
REMAINS = (0.06, 0.17, 0.45)
"""The bias that remains of a column's cell, of a pair's, and where nothing is corrected: a relative
standard deviation, over how much what is left of people varies.  Of planes, taxis, customers, women
and patients, clipped at three levels, they are 0.02 to 0.17, 0.11 to 0.32, and 0.15 to 0.37."""
MOST_ROWS = 0.95
"""The share of rows that people have who are to be counted whole."""
PRECISE = 0.1
"""Less noisy than this, cells of size classes show the bias better than public people do: of planes
and taxis they are more noisy up to an epsilon of 10, of a made-up gym's members up to one of 3."""
BEYOND, MOST_ERROR, LARGER = 2, 0.5, 2.5
"""How many classes of sizes there may be above the largest that was seen; the largest relative
error of a class's rows; and how much more values are off that are of the largest people."""
STEPS = 40
LEAST = 1e-3
"""The least share of a class that is taken to be counted."""
HALF = 0.5
"""How far off what is left of a cell is taken to be, relative to it, where counts are divided."""


def size_classes(sizes: Sizes) -> Derived | None:
    """Return the column of size classes; None where all people would be in one.

    Borders are those of the classes that people were counted in: how many people of one of these
    are above a size inside it is not known.  Those too close to others say little of bounding.
    Every class has a fair part of the rows, since one of nobody would seem to be clipped away.

    >>> from understudy.synth.measure.sizes import Sizes
    >>> size_classes(Sizes(np.array([8.0, 4.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0]))).starts
    (1, 2, 5)
    """
    rows = sizes.people * np.arange(1, len(sizes.people) + 1)
    ends = np.cumsum(rows) / rows.sum()
    borders = apart(class_starts(len(rows)))[1:]
    starts, begun = [1], 0.0
    for part in range(1, CLASSES):
        if not len(borders):
            break
        before = ends[borders - 2]
        nearest = int(np.argmin(np.abs(before - part / CLASSES)))
        if min(before[nearest] - begun, 1 - before[nearest]) >= FAIR:
            starts.append(int(borders[nearest]))
            begun = before[nearest]
    return Derived(name=SIZE, kind="rows", starts=tuple(starts)) if len(starts) > 1 else None


def by_size_class(asked: Sequence[WeightedMarginal], size: Derived) -> list[WeightedMarginal]:
    """Return marginals by size class, with a share of the precision of a round that has both."""
    weight = (SHARE / (1 - SHARE)) ** 0.75 / len(size.starts) ** 0.5
    return [replace(a, clique=(*a.clique, size.name), weight=weight * a.weight) for a in asked]


def is_precise(crowd: Crowd, size: Derived | None, domain: Domain, *, price: float) -> bool:
    """Whether cells of size classes have little noise, over what they hold on average.

    The noise is what leaves people who have most rows as they are.
    """
    if size is None or crowd.sizes is None:
        return False
    rows = crowd.sizes.people * np.arange(1, len(crowd.sizes.people) + 1)
    longest = crowd.sizes.lengths(crowd.repeats)[Sizes(rows).quantile(MOST_ROWS) - 1]
    scale = math.sqrt(len(domain)) * float(longest) / price
    cells = len(size.starts) * sum(domain.values()) / max(1, len(domain))
    return scale * cells < PRECISE * max(1.0, crowd.sizes.rows)


def summed(measured: Measurement, classes: int) -> Measurement:
    """Return a column's counts, whatever the size class."""
    values = measured.values.reshape(-1, classes).sum(axis=1)
    return replace(
        measured, clique=measured.clique[:1], values=values, scale=measured.scale * classes**0.5
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SizeBias:
    """The size classes of people behind every code, and what is left of each class."""

    sizes: Sizes
    parts: Parts
    """The classes, each in parts: P(S|…) and what is left are by part."""
    off: Floats
    """By class, the share that was counted over the one that its sizes suggest."""
    error: Floats
    """By class, the relative error of its number of rows."""
    shares: Mapping[str, Floats]
    """By column, P(S|a) for every merged code a, S being a part of a class."""
    doubts: Mapping[str, Floats]
    """By column, the variance of every class's P(S|a), relative to its square."""
    unlike: Mapping[str, float]
    """By column, how much the codes of people of different classes differ, as far as noise shows
    it, and more where noise hides it."""

    @classmethod
    def of(
        cls,
        measured: Sequence[Measurement],
        supports: Sequence[Support],
        *,
        sizes: Sizes,
        starts: tuple[int, ...],
        length: float,
        repeats: float,
        error: float,
    ) -> SizeBias:
        """Learn from columns that were measured together with the size class.

        The counts of a class deviate from what is expected by their noise, by how many rows its
        people have, whose numbers have an ``error``, and by how often rows of theirs agree, as far
        as they are clipped at all.  Each has its share of the deviation, by its variance.
        """
        parts = Parts.of(sizes, starts)
        each, ends = np.arange(1.0, len(sizes.people) + 1), np.array(starts) - 1
        rows = parts.classes
        expected, alike = (
            np.add.reduceat(sizes.kept(length, r), ends) / rows for r in (repeats, 1.0)
        )
        tables = [m.values.reshape(-1, len(starts)) for m in measured]
        trust = np.array([1 / (len(t) * m.scale**2) for t, m in zip(tables, measured, strict=True)])
        counted = np.tensordot(trust, [t.sum(axis=0) for t in tables], axes=1) / trust.sum()
        away = np.maximum(counted / (rows * expected), LEAST) - 1
        noise = (trust.sum() ** -0.5 / (rows * expected)) ** 2
        # Above some size people were counted in classes that grow by a ratio.
        width = np.where(each > EXACT, (1 - 1 / RATIO) * each, 1.0)
        of_rows = error**2 * np.add.reduceat(each**2 / width * (sizes.people > 0), ends) / rows**2
        # Of people with more rows than anybody was seen to have there may be a few.
        beyond = np.arange(len(each) + 1.0, RATIO**BEYOND * len(each) + 1)
        of_rows[-1] += error**2 * float((beyond / (1 - 1 / RATIO)).sum()) / float(rows[-1]) ** 2
        # Of people whose rows agree more often than most people's, less is left.
        of_left = (UNSURE * np.maximum(np.maximum(1 - expected, expected - alike), 0.0)) ** 2
        whole = noise + of_rows + of_left
        off, parts = 1 + away * of_left / whole, parts.times(1 + away * of_rows / whole)
        shares, doubts, unlike = {}, {}, {}
        for support, table, m in zip(supports, tables, measured, strict=True):
            merged = np.stack([support.sums(column) for column in table.T], axis=1)
            noises = m.scale * np.sqrt(np.bincount(support.codes, minlength=support.size))
            told = learned(merged, noises, off * expected, parts.classes / parts.classes.sum())
            shares[support.column] = parts.tilted(told.rows, told.shares)
            doubts[support.column], unlike[support.column] = told.doubts, told.unlike
        return cls(
            sizes=sizes,
            parts=parts,
            off=off,
            error=np.minimum(np.sqrt(of_rows), MOST_ERROR),
            shares=shares,
            doubts=doubts,
            unlike=unlike,
        )

    @property
    def mix(self) -> Floats:
        """P(S), by rows."""
        shares: Floats = self.parts.rows / self.parts.rows.sum()
        return shares

    def left(self, length: float, repeats: float) -> Floats:
        """Return the share of each part's rows that is left if norms are clipped to a length."""
        kept = self.parts.shares(self.sizes.kept(length, repeats), self.sizes)
        return np.maximum(kept * np.repeat(self.off, self.parts.counts), LEAST)

    def clipped(self, measured: Sequence[Measurement], *, price: float, repeats: float) -> Floats:
        """Return the share of each part's rows that a round under `Norm` counts."""
        return self.left(clipping_norm(measured, price=price), repeats)

    def capped(self, cap: int) -> Floats:
        """Return the share of each part's rows that is left if people count for ``cap`` rows."""
        return self.parts.shares(self.sizes.kept(cap), self.sizes)

    def over(self, clique: Clique, left: Floats, expected: Floats) -> Floats:
        """Return what is left of each cell over what is left of all, for a table as expected."""
        found: Floats = (self._chance(clique) @ left).reshape(-1)
        mean = float(found @ expected) / max(float(expected.sum()), 1e-9)
        return found / mean if mean > 0 else np.ones_like(found)

    def unsure(self, clique: Clique, left: Floats) -> Floats:
        """Return how unsure it is, for every cell, what was left of it to what was left of others.

        How many rows people of a class have is known as well as their noisy numbers are.  Values of
        which one class has more than its share are off by as much, and those that mostly people of
        very many rows have by more, since within a class they are of its largest.  And whose values
        they are is known as well as columns by size class are.
        """
        chance, ends = self._chance(clique), self.parts.firsts
        away = np.add.reduceat(chance - self.mix, ends, axis=-1)
        mean = (chance @ left)[..., None]
        tilt = np.add.reduceat(chance * (left - mean) / mean, ends, axis=-1)
        doubt = np.zeros_like(self.error)
        for name in clique:
            doubt = doubt[..., None, :] + self.doubts[name]
        # What is left of a cell is between the least and the most that is left of anybody.
        most = np.ptp(left) ** 2 / 12 / mean[..., 0] ** 2
        off = np.sqrt(np.minimum((tilt**2 * doubt).sum(axis=-1), most))
        # Where less is left than it seems, what is divided by it is off by more than it is itself.
        off /= 1 - np.minimum(off, HALF)
        found: Floats = np.sqrt(LARGER**2 * (away**2 @ self.error**2) + off**2)
        return found.reshape(-1)

    def _chance(self, clique: Clique) -> Floats:
        """Return P(S|…) for every cell."""
        mix = self.mix
        chance = mix
        for name in clique:
            chance = chance[..., None, :] * (self.shares[name] / mix)
        found: Floats = chance / np.maximum(chance.sum(axis=-1, keepdims=True), 1e-300)
        return found

    def remains(self, clique: Clique, left: Floats) -> float:
        """Return how biased a corrected cell may be, by how much what is left of classes varies."""
        remains = REMAINS[len(clique) - 1]
        if len(clique) == 1:
            # A pair may depend on sizes where no column of it does; a column is no more biased.
            remains = min(remains, self.unlike[clique[0]])
        return remains * spread(left, self.parts.rows)


def with_left(m: Measurement, left: Floats, remains: float, unsure: Floats) -> Measurement:
    """Return a measurement that says what bounding left of its cells, for a release."""
    return replace(m, group=None, left=left, bias=remains, unsure=unsure)


def with_unknown_bias(
    measured: Sequence[Measurement], crowd: Crowd, domain: Domain
) -> list[Measurement]:
    """Return measurements that say how biased they may be, where only sizes are known.

    How many rows a group counts shows how far people are clipped.
    """
    if crowd.sizes is None or crowd.rows is None:
        return list(measured)
    read = totals(domain, [m for m in measured if m.group is not None and not m.bias])
    whole = max(1.0, crowd.rows)
    remains = {group: REMAINS[-1] * spread_of(rows / whole, crowd) for group, rows in read.items()}
    return [replace(m, bias=m.bias or remains.get(m.group, 0.0)) for m in measured]


def spread_of(share: float, crowd: Crowd) -> float:
    """Return how much what is left of people varies, given the share of rows that is left."""
    assert crowd.sizes is not None  # noqa: S101  the caller has looked
    lengths = crowd.sizes.lengths(crowd.repeats)
    rows = crowd.sizes.people * np.arange(1, len(lengths) + 1)
    share = min(1.0, max(LEAST, share))
    low, high = LEAST, float(lengths[-1])
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        left = np.minimum(1.0, middle / lengths)
        low, high = (middle, high) if left @ rows < share * rows.sum() else (low, middle)
    return spread(np.minimum(1.0, high / lengths), rows)


def spread(left: Floats, rows: Floats) -> float:
    """Return how much what is left of people varies, by rows: its relative standard deviation.

    >>> spread(np.array([1.0, 1.0]), np.array([5.0, 9.0]))
    0.0
    """
    mean = float(left @ rows) / float(rows.sum())
    return float(np.sqrt((left - mean) ** 2 @ rows / rows.sum())) / mean


def corrected(measured: Measurement, left: Floats) -> Measurement:
    """Return a measurement of a whole table, given the share of each cell that it counted."""
    cells = np.arange(len(left))
    rows = measured.rows or Rows(np.arange(len(left) + 1), cells)
    weights = left[rows.cells] * (1.0 if measured.weights is None else measured.weights)
    return replace(measured, rows=rows, weights=weights, group=None)
