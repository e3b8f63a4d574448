"""Raking: a column of people's rows whose pairs come out as the model and the habits say.

A row's code is drawn from the model's distribution given the columns drawn before, times factors:
of every pair of the column with one of these, of the code before (`lives.walks`), and of what the
person had before.  What the model says of rows and what is known of consecutive rows are two
statements about the same codes; each alone would spoil the other.  So the column is drawn again and
again with the same luck, and every factor is multiplied by what was wanted over what came out, as
in iterative proportional fitting, until both are as asked.  Drawn counts are compared, not expected
ones, so that most of the noise of drawing goes too.  Pairs with columns that the code is not drawn
given are as the model says but for that noise; they are mended only (`lives.mending`).

Only noisy answers enter.  Tied by ``tests/synth/lives/test_raking.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.synth.lives.habits import apart, differing
from understudy.synth.lives.mending import SWEEPS, Kept, Mending, OfferedRows, Wanted
from understudy.synth.lives.walks import parts, shared_luck
from understudy.synth.pairs.prior import adjusted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.schema import Codes
    from understudy.synth.lives.habits import Habit
    from understudy.synth.lives.walks import Walk
    from understudy.synth.measure.support import Support

    Floats = NDArray[np.float64]
    Weights = NDArray[np.float32]
    Ints = NDArray[np.int64]

TRIALS, MORE_TRIALS = 8, 4
"""How often a column is drawn for the first people, and for others, with the factors found."""
MOST_ROWS, MANY_PEOPLE = 100_000, 2000
"""About how many rows are drawn at once; after the first ones those of as many people, where these
are more: all people take a step at once, and steps of few people take as long."""
TRIED_ROWS = 2_000_000
"""How many rows in all are drawn again or offered codes."""
HELD = 0.3
"""Rows that are added to counts before they are compared: a cell of few rows says little."""
MOST_STEP = 4.0
"""The most by which a trial multiplies a factor."""
MOST_FACTOR = 1e3
"""A factor grows no further, nor falls below its inverse: what is wanted may be impossible."""
DAMPED = 1.5
"""The power of what was wanted over what came out, shared by all pairs of a column."""
MOST_LUCK = 0.95
URN_STEP, CALMER = 5.0, 0.5
"""The first gain of the urn, and what it is multiplied by when the urn was too much or too little
by turns: how much a code is likelier depends on all other factors."""
FINEST = 0.01
"""Differences of ordered codes are compared in proportion, and to no less than this."""
LOOSE = 0.02
"""Of ordered codes that are as far apart as wanted, how often they differ counts for less."""
SMOOTH = 1e-9
"""The share of the column's own distribution in every cell, so that none is empty."""


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """What the model's distribution of a row is multiplied by."""

    pairs: tuple[Floats, ...]
    """Of the pair with each column drawn before; of the column itself, where there is none."""
    lifts: Floats | None
    """Of the code before, and in the last line of first rows."""
    urn: float = 0.0
    """How much likelier codes are that the person had before."""
    luck: float = 0.0
    """The share of a row's luck that is the person's."""
    gain: float = URN_STEP
    """How fast the urn grows with the share of rows of a person that should agree and do not."""
    differ: float = 0.0
    """By how much too often rows of a person differed at last."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Raked:
    """One column, to be drawn for the rows of people."""

    table: Floats
    """The model's counts: a line for every cell of the columns drawn before."""
    shape: tuple[int, ...]
    """Their sizes."""
    steps: Floats | None
    """The wanted counts of (previous, this) code, first rows in the last line; None if unknown."""
    habit: Habit
    support: Support
    size: int
    """The number of the column's codes, before they were merged."""
    others: tuple[Floats, ...] = ()
    """The model's tables with further columns drawn before, a line for every code of them."""

    def draw(
        self, sizes: Ints, given: Sequence[Codes], rng: np.random.Generator
    ) -> tuple[Codes, Codes]:
        """Draw merged codes and codes for the rows of people, given the columns before.

        Those of ``others`` come last.
        """
        rows, factors, base = int(sizes.sum()), None, self._base()
        trials = max(1, min(MORE_TRIALS, TRIED_ROWS // max(1, rows)))
        sweeps = min(SWEEPS, TRIED_ROWS / max(1, rows))
        others = max(MOST_ROWS, MANY_PEOPLE * rows // max(1, len(sizes)))
        merged, codes = np.empty((2, rows), dtype=np.int32)
        for _, here, walk in parts(sizes, self.table.shape[1], first=MOST_ROWS, others=others):
            before = [each[here] for each in given]
            some = Some(self, base, walk, before, rng)
            factors, drawn = _fitted(some, factors, trials)
            drawn = some.mended(factors, drawn, rng, sweeps)
            merged[here], codes[here] = drawn, self._placed(walk, drawn, rng)
        return merged, codes

    @property
    def same(self) -> Floats | None:
        """How often codes agree that are placed anew in a merged code; None if they never are."""
        if self.habit.apart is None or self.support.is_whole:
            return None
        likely, mass = self.support.likely, self.support.sums(self.support.likely)
        found: Floats = self.support.sums(likely**2) / np.maximum(mass, 1e-150) ** 2
        return found

    def differ(self, first: NDArray[np.bool_], drawn: Ints) -> tuple[float, float]:
        """Return how often merged codes of a person differ, and how often they should.

        Where codes may be placed anew, there is a range of how often they should.
        """
        found, wanted = differing(first, drawn), self.habit.differ
        if self.same is not None:
            anew = differing(first, drawn, self.same)
            most = 1 - (1 - wanted) * (1 - found) / max(1e-9, 1 - anew)
            wanted = min(wanted, max(found, most))
        return found, wanted

    def middle(self, merged: NDArray[Any]) -> Codes:
        """Return the code in the middle of every merged one's likely codes."""
        return self.support.placed(merged.astype(np.int32), np.full(len(merged), 0.5))

    def _base(self) -> Weights:
        """Return the distribution of every cell."""
        whole = self.table.sum(axis=0)
        total = max(float(whole.sum()), 1e-300)
        shares = self.table + SMOOTH * (whole + total / whole.size)
        found: Weights = (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)
        return found

    def _placed(self, walk: Walk, drawn: Ints, rng: np.random.Generator) -> Codes:
        """Return codes for merged ones.

        A person who has a merged code of an unordered column twice has the same code twice; of an
        ordered column as often as it takes for rows to agree as often as they should.
        """
        if self.support.is_whole:
            # Merged codes may have another order: a single rare one comes last.
            return self.middle(drawn)
        who = np.repeat(np.arange(len(walk.sizes)), walk.sizes)
        shares = rng.random((len(walk.sizes), self.support.size))[who, drawn]
        if self.same is not None:
            least, most = differing(walk.first, drawn), differing(walk.first, drawn, self.same)
            once = (most - self.habit.differ) / max(1e-9, most - least)
            anew = rng.random((len(walk.sizes), self.support.size))[who, drawn] >= once
            shares[anew] = rng.random(int(anew.sum()))
        return self.support.placed(drawn.astype(np.int32), shares)


def _fitted(some: Some, start: Factors | None, trials: int) -> tuple[Factors, Ints]:
    """Find factors with which some rows come out as wanted; return these rows' codes too.

    After ``start`` there are as many trials, and the last one's factors go on: from part to part
    they keep to what is wanted.
    """
    factors = start or some.begun()
    best, found = math.inf, (factors, np.zeros(0, dtype=np.int64))
    for _ in range(TRIALS if start is None else trials):
        drawn = some.drawn(factors)
        off, better = some.adjusted(factors, drawn)
        if off < best:
            best, found = off, (factors, drawn)
        factors = better
    return (found[0] if start is None else factors), found[1]


class Some:
    """The rows of some people, for which a column is drawn again and again with the same luck."""

    def __init__(
        self,
        column: Raked,
        base: Weights,
        walk: Walk,
        given: Sequence[Codes],
        rng: np.random.Generator,
    ) -> None:
        """Find out what is wanted of them; ``base`` is the distribution of every cell."""
        self._column, self._walk, self._first = column, walk, walk.first
        rows = len(walk.rows)
        known = [each.astype(np.int64) for each in given[: len(column.shape)]]
        further = given[len(column.shape) :]
        cells = np.zeros(rows, dtype=np.int64)
        if known:
            cells = np.ravel_multi_index(known, column.shape).astype(np.int64)
        self._given = known or [cells]
        self._own, counts = base[cells], np.bincount(cells, minlength=len(base))[:, None] * base
        self._common = np.maximum(counts.sum(axis=0, dtype=np.float64) / max(1, rows), 1e-6)
        whole = counts.reshape(*(column.shape or (1,)), -1)
        axes = range(whole.ndim - 1)
        self._wanted = [
            whole.sum(axis=tuple(a for a in axes if a != own), dtype=np.float64) for own in axes
        ]
        self._others = [
            (_between(table, np.bincount(codes, minlength=len(table)), rows * self._common), codes)
            for table, codes in zip(column.others, further, strict=True)
        ]
        self._steps = None
        if column.steps is not None:
            self._steps = column.steps * (rows / max(float(column.steps.sum()), 1e-300))
            self._steps *= rows * self._common / np.maximum(self._steps.sum(axis=0), 1e-9)
        self._damped = DAMPED / (1 + len(self._given) + (self._steps is not None))
        self._luck = rng.standard_normal(len(walk.sizes)), rng.standard_normal(rows)

    def begun(self) -> Factors:
        """Return the factors that are tried first."""
        habit, lifts, urn = self._column.habit, None, 0.0
        if habit.apart is None:
            chance = float(self._common @ self._common)
            more = (1 - habit.differ - chance) / max(1e-9, 1 - chance)
            urn = min(MOST_LUCK, max(0.0, more))
            urn /= 1 - urn
        if self._steps is not None:
            shares = self._steps / np.maximum(self._steps.sum(axis=1, keepdims=True), 1e-9)
            lifts = shares / self._common
            codes = np.arange(len(self._common))
            lifts[codes, codes] = shares[codes, codes] / (self._common + urn)
            # What noise leaves no row of may yet have to be drawn.
            lifts = np.maximum(lifts, 1 / MOST_FACTOR)
        return Factors(
            pairs=tuple(np.ones_like(each) for each in self._wanted),
            lifts=lifts,
            urn=urn,
            luck=0.0 if habit.apart is None else 0.2,
        )

    def mended(
        self, factors: Factors, drawn: Ints, rng: np.random.Generator, sweeps: float
    ) -> Ints:
        """Return codes with which counts are closer to what is wanted."""
        column, codes = self._column, np.arange(len(self._common), dtype=np.int32)
        habit, habits = column.habit, []
        if habit.apart is not None:
            places = column.middle(codes).astype(np.float64)
            far = np.abs(places[:, None] - places) / max(1, column.size - 1)
            habits.append(Kept(far, habit.apart, habit.apart_noise))
        _, differ = column.differ(self._first, drawn)
        noise = habit.noise if habit.apart is None else max(LOOSE, habit.noise)
        habits.append(Kept(1.0 - np.eye(len(codes)), differ, noise))
        pairs = [*self._wanted, *(table for table, _ in self._others)]
        given: list[NDArray[Any]] = [*self._given, *(codes for _, codes in self._others)]
        wanted = Wanted(pairs=pairs, steps=self._steps, habits=habits)
        lifts = None if factors.lifts is None else factors.lifts.astype(np.float32)
        rows = OfferedRows(self._walk, given, self._own, lifts)
        return Mending(wanted, rows, drawn).run(rng, sweeps=sweeps)

    def drawn(self, factors: Factors) -> Ints:
        """Draw a code for every row."""
        weights = self._own.copy()
        for factor, codes in zip(factors.pairs, self._given, strict=True):
            weights *= factor.astype(np.float32)[codes]
        # Factors of many pairs together may be very large or small.
        weights /= np.maximum(weights.max(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return self._walk.draw(
            weights,
            None if factors.lifts is None else factors.lifts.astype(np.float32),
            shared_luck(self._walk, factors.luck, *self._luck),
            urn=factors.urn,
            common=self._common.astype(np.float32),
        )

    def adjusted(self, factors: Factors, drawn: Ints) -> tuple[float, Factors]:
        """Return how far off the codes are, and factors with which they should be less so."""
        codes, off, pairs = len(self._common), 0.0, []
        for factor, wanted, before in zip(factors.pairs, self._wanted, self._given, strict=True):
            got = np.bincount(before * codes + drawn, minlength=wanted.size)
            off += _apart(got.reshape(wanted.shape), wanted)
            pairs.append(_stepped(factor, wanted, got.reshape(wanted.shape), self._damped))
        lifts = factors.lifts
        if self._steps is not None and lifts is not None:
            before = np.where(self._first, codes, np.concatenate(([0], drawn[:-1])))
            got = np.bincount(before * codes + drawn, minlength=lifts.size).reshape(lifts.shape)
            off += _apart(got, self._steps)
            lifts = _stepped(lifts, self._steps, got, self._damped)
        column, habit = self._column, self._column.habit
        better = replace(factors, pairs=tuple(pairs), lifts=lifts)
        differ, should = column.differ(self._first, drawn)
        better, off = _alike(better, differ - should), off + abs(differ - should)
        if habit.apart is not None:
            far = apart(self._first, column.middle(drawn)) / max(1, column.size - 1) - habit.apart
            luck = factors.luck + 0.8 * far / max(habit.apart, FINEST)
            better, off = replace(better, luck=min(MOST_LUCK, max(0.0, luck))), off + abs(far)
        return off, better


def _alike(factors: Factors, differ: float) -> Factors:
    """Let rows of a person agree more if they differ too often, less if too seldom."""
    gain = factors.gain * (CALMER if differ * factors.differ < 0 else 1.0)
    more = factors.urn * (1 + max(gain * differ, -MOST_LUCK)) + gain * max(0.0, differ)
    return replace(factors, urn=min(more, MOST_FACTOR), gain=gain, differ=differ)


def _between(table: Floats, lines: NDArray[Any], columns: Floats) -> Floats:
    """Return a table with as many rows in its lines and columns, by proportional fitting.

    A line without rows has the distribution of columns.

    >>> _between(np.array([[9.0, 1.0], [0.0, 0.0]]), np.array([4, 6]), np.array([5.0, 5.0])).sum(1)
    array([4., 6.])
    """
    some = np.where(table.sum(axis=1, keepdims=True) > 0, table, columns)
    # Lines come last, so that they are exact.
    found: Floats = adjusted(some.T, columns, lines.astype(np.float64)).T
    return found


def _apart(got: NDArray[Any], wanted: Floats) -> float:
    """Return the total variation distance of counts."""
    return float(np.abs(got - wanted).sum()) / (2 * max(1.0, float(wanted.sum())))


def _stepped(factor: Floats, wanted: Floats, got: NDArray[Any], power: float) -> Floats:
    """Multiply factors by what was wanted over what came out, within bounds."""
    ratio = np.clip((wanted + HELD) / (got + HELD), 1 / MOST_STEP, MOST_STEP) ** power
    low, high = np.minimum(factor, 1 / MOST_FACTOR), np.maximum(factor, MOST_FACTOR)
    found: Floats = np.clip(factor * ratio, low, high)
    return found
