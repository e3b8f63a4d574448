"""Mending: drawn rows take other codes, a few rows at a time, while counts come closer by it.

What is drawn has the noise of drawing, and rows of a person that depend on one another have more of
it than rows alone.  So after factors have done what they can (`lives.raking`), some rows at random
are offered another code: one that the model would draw there, between the row before and the row
after, or one that another row of the same person has.  A row takes it if all counts together come
closer to what is wanted: of pairs with the columns drawn before, of consecutive rows, and how far
apart rows of a person are.

Rows that are offered codes at once do not know of each other, so a cell counts for less the more of
them could set it right; they become fewer with time, until each decides nearly alone, and sooner
where counts come no closer.

Only noisy answers enter.  Tied by ``tests/synth/lives/test_mending.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.synth.lives.walks import Walk

    Floats = NDArray[np.float64]
    Weights = NDArray[np.float32]
    Ints = NDArray[np.int64]

SWEEPS = 8.0
"""How often a row is offered another code on average, at most."""
FEWEST_PARTS, STALLED = 8, 0.001
"""Offers are made in parts, four for each row or as many in all.  After one in which counts came
closer by less than this share of rows, half as many are offered codes at once; after two of the
fewest, none."""
FIRST, LAST = 0.02, 0.002
"""The share of rows that are offered a code at once, at first and at last."""
LEAST, FEWEST = 300, 20
"""About the fewest rows at once, unless that is more than the first share; and of a small table,
where noise is larger than what any row changes.  Fewer take as long."""
OF_PERSON = 0.5
"""The share of offers that are codes of the same person."""
RARE = 1e-3
"""How likely such a code must be there by the model, against elsewhere."""
CLOSE = 0.003
"""Where rows of a person are as far apart as wanted but for this, that counts for less."""


class Kept(NamedTuple):
    """How far apart two rows of a person should be, averaged over people."""

    distances: Floats
    """How far apart codes are."""
    apart: float
    noise: float
    """The standard error of how far apart rows should be."""


class Wanted(NamedTuple):
    """What counts of a column's rows should be."""

    pairs: Sequence[Floats]
    """With each column drawn before: a line for every code of it."""
    steps: Floats | None
    """Of (previous, this) code, first rows in the last line; None where rows have no order."""
    habits: Sequence[Kept]
    """How far apart rows of a person are; by the first of them rows that follow one another are
    close too."""


class OfferedRows(NamedTuple):
    """The rows of some people, as far as one column is concerned."""

    walk: Walk
    given: Sequence[NDArray[Any]]
    """Their codes of the columns drawn before."""
    own: Weights
    """The model's distribution of every row."""
    lifts: Weights | None
    """How much likelier a code is after each, first rows in the last line."""


class Mending:
    """The codes of one column of some rows, which are brought closer to what is wanted."""

    def __init__(self, wanted: Wanted, rows: OfferedRows, codes: Ints) -> None:
        """Count what there is."""
        self._wanted, self._rows, self.codes = wanted, rows, codes.copy()
        sizes, count = rows.walk.sizes, rows.own.shape[1]
        self._sizes, self._starts = sizes, np.cumsum(sizes) - sizes
        self._who = np.repeat(np.arange(len(sizes)), sizes)
        nth = np.arange(len(codes)) - self._starts[self._who]
        self._first, self._last = nth == 0, nth == sizes[self._who] - 1
        self._turns = np.flatnonzero(nth % 2 == 0), np.flatnonzero(nth % 2)
        """Rows that are offered codes by turns: no two of them are consecutive."""
        self._common = rows.own.mean(axis=0)
        self._pairs = Cells(wanted.pairs)
        self._lines = self._pairs.lines(rows.given)
        for lines in self._lines.T:
            self._pairs.enter(lines + codes)
        self._steps = None
        if wanted.steps is not None:
            self._steps = Cells([wanted.steps])
            self._steps.enter(self._before(np.arange(len(codes))) + codes)
        self._had = np.zeros((len(sizes), count), dtype=np.float32)
        np.add.at(self._had, (self._who, codes), 1)
        self._far = [each.distances.astype(np.float32) for each in wanted.habits]
        self._weight = (sizes > 1) * 2.0 / np.maximum(1, sizes * (sizes - 1))
        self._weight /= max(1, int((sizes > 1).sum()))
        self._apart = []
        """How far apart rows of a person are, by each habit."""
        for far in self._far:
            within = ((self._had @ far) * self._had).sum(axis=1, dtype=np.float64)
            self._apart.append(float(within @ self._weight) / 2)

    def run(self, rng: np.random.Generator, *, sweeps: float = SWEEPS) -> Ints:
        """Offer rows other codes; return what they have in the end."""
        count = max(1, len(self.codes))
        first = share = min(0.5, max(FIRST, FEWEST / count))
        last, parts = min(first, max(LAST, LEAST / count)), max(FEWEST_PARTS, math.ceil(4 * sweeps))
        off, stalled = self._off(), False
        for part in range(1, parts + 1):
            self._offer_some(sweeps * len(self.codes) / parts, share, rng)
            before, off = off, self._off()
            if before - off >= STALLED * count:
                stalled = False
            elif share > last:
                share /= 2
            elif stalled:
                break
            else:
                stalled = True
            share = max(last, min(share, first * (last / first) ** (part / parts)))
        return self.codes

    def _off(self) -> float:
        """Return by how much counts are off, in rows, as far as offers look at them."""
        off = self._pairs.total / math.sqrt(self._lines.shape[1])
        for habit, apart in zip(self._wanted.habits, self._apart, strict=True):
            off += 2 * len(self.codes) * abs(apart - habit.apart)
        return off if self._steps is None else off + self._steps.total

    def _offer_some(self, offers: float, share: float, rng: np.random.Generator) -> None:
        """Make so many offers, to a share of rows at a time."""
        made = 0
        while made < offers:
            for rows in self._turns:
                size = math.ceil(share * len(rows))
                if size:
                    self._offer(np.unique(rows[rng.integers(len(rows), size=size)]), share, rng)
                made += size

    def _offer(self, some: Ints, share: float, rng: np.random.Generator) -> None:
        new = self._offers(some, rng)
        other = new != self.codes[some]
        some, new = some[other], new[other]
        takes = self._more(some, new, share) < 0
        self._move(some[takes], new[takes])

    def _offers(self, some: Ints, rng: np.random.Generator) -> Ints:
        """Return a code for each row: the model's, or one of the person's."""
        rows, weights = self._rows, self._rows.own[some]
        if rows.lifts is not None:
            weights = weights * rows.lifts[self._before(some) // weights.shape[1]]
            follows = ~self._last[some]
            weights[follows] *= rows.lifts.T[self.codes[some[follows] + 1], :-1]
        ends = np.cumsum(weights, axis=1)
        luck = rng.random(len(some), dtype=np.float32) * ends[:, -1]
        drawn: Ints = np.minimum((ends <= luck[:, None]).sum(axis=1), ends.shape[1] - 1)
        who = self._who[some]
        held = self.codes[self._starts[who] + rng.integers(self._sizes[who])]
        likely = rows.own[some, held] > RARE * self._common[held]
        found: Ints = np.where(likely & (rng.random(len(some)) < OF_PERSON), held, drawn)
        return found

    def _more(self, some: Ints, new: Ints, share: float) -> Floats:
        """Return by how much more counts would be off if rows took other codes."""
        old, lines = self.codes[some], self._lines[some]
        more = self._pairs.more(lines + old[:, None], lines + new[:, None], share)
        found: Floats = more.sum(axis=1)
        # A column's own counts are part of all its pairs.
        found /= math.sqrt(lines.shape[1])
        if self._steps is not None:
            before = self._before(some)
            found += self._steps.more(before + old, before + new, share)
            follows = ~self._last[some]
            left, came = self._after(some[follows], old[follows], new[follows])
            found[follows] += self._steps.more(left, came, share)
            off = self._steps.off(self._wanted.habits[0].distances) / CLOSE
            found += 2 * min(1.0, max(-1.0, off)) * self._stepping(some, new)
        for habit, apart, far in zip(self._wanted.habits, self._apart, self._far, strict=True):
            off = (apart - habit.apart) / max(CLOSE, habit.noise)
            strength = 2 * len(self.codes) * min(1.0, max(-1.0, off))
            found += strength * self._further(some, new, far)
        return found

    def _stepping(self, some: Ints, new: Ints) -> Floats:
        """Return by how much further rows would be from those before and after them."""
        old, follows = self.codes[some], ~self._last[some]
        far = self._wanted.habits[0].distances
        before = self.codes[some - 1]
        found = np.where(self._first[some], 0.0, far[before, new] - far[before, old])
        after = self.codes[some[follows] + 1]
        found[follows] += far[new[follows], after] - far[old[follows], after]
        return found

    def _further(self, some: Ints, new: Ints, far: Weights) -> Floats:
        """Return by how much further apart rows of people would be, averaged over people."""
        who, old = self._who[some], self.codes[some]
        others = (self._had[who] * (far[new] - far[old])).sum(axis=1) - far[new, old]
        found: Floats = others * self._weight[who]
        return found

    def _together(self, who: Ints, old: Ints, new: Ints, far: Weights) -> float:
        """Return what is still missing where several rows of a person took codes at once.

        By itself, each of them saw the others' old codes.  Rows are in the order of people.
        """
        same = who[1:] == who[:-1]
        several = np.append(same, False) | np.append(False, same)
        if not several.any():
            return 0.0
        people, at = np.unique(who[several], return_inverse=True)
        old, new = old[several], new[several]
        change = np.zeros((len(people), far.shape[1]), dtype=np.float32)
        np.add.at(change, (at, new), 1)
        np.add.at(change, (at, old), -1)
        both = ((change @ far) * change).sum(axis=1, dtype=np.float64) / 2
        both += np.bincount(at, weights=far[new, old])
        return float(both @ self._weight[people])

    def _before(self, some: Ints) -> Ints:
        """Return where the lines of the codes before begin, first rows having one of their own."""
        count = self._rows.own.shape[1]
        found: Ints = count * np.where(self._first[some], count, self.codes[some - 1])
        return found

    def _after(self, some: Ints, old: Ints, new: Ints) -> tuple[Ints, Ints]:
        """Return the cells of the rows after, after these codes."""
        count, after = self._rows.own.shape[1], self.codes[some + 1]
        return count * old + after, count * new + after

    def _move(self, some: Ints, new: Ints) -> None:
        old, who = self.codes[some], self._who[some]
        for i, far in enumerate(self._far):
            self._apart[i] += float(self._further(some, new, far).sum())
            self._apart[i] += self._together(who, old, new, far)
        lines = self._lines[some]
        self._pairs.move(lines + old[:, None], lines + new[:, None])
        if self._steps is not None:
            before, follows = self._before(some), ~self._last[some]
            self._steps.move(before + old, before + new)
            self._steps.move(*self._after(some[follows], old[follows], new[follows]))
        np.add.at(self._had, (who, old), -1)
        np.add.at(self._had, (who, new), 1)
        self.codes[some] = new


class Cells:
    """Tables of counts, one after the other, and by how much each cell is too many."""

    def __init__(self, tables: Sequence[Floats]) -> None:
        """Take what is wanted; no row is there yet."""
        self._shapes = [table.shape for table in tables]
        self._wanted = np.concatenate([table.reshape(-1) for table in tables])
        self._over = -self._wanted

    def lines(self, given: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return where the line of each row begins in every table."""
        # There are as many as rows times tables, so half of the bytes matter.
        kind = np.int32 if len(self._over) <= np.iinfo(np.int32).max else np.int64
        found = np.empty((len(given[0]), len(given)), dtype=kind)
        begun = 0
        for i, (each, (lines, codes)) in enumerate(zip(given, self._shapes, strict=True)):
            found[:, i] = begun + codes * each.astype(np.int64)
            begun += lines * codes
        return found

    def more(self, left: Ints, came: Ints, share: float) -> Floats:
        """Return by how much more counts would be off if rows went from a cell to another.

        A share of rows is asked at once; cells that these could set right count for less.
        """
        less = (self._over[left] - 0.5) / (0.5 + share * self._wanted[left])
        more = (self._over[came] + 0.5) / (0.5 + share * self._wanted[came])
        found: Floats = np.clip(more, -1, 1) - np.clip(less, -1, 1)
        return found

    @property
    def total(self) -> float:
        """By how much all cells are too many or too few."""
        return float(np.abs(self._over).sum())

    def off(self, distances: Floats) -> float:
        """Return by how much lines and codes are too far from each other, averaged over rows."""
        count = self._shapes[0][1]
        rows = max(1.0, float(self._wanted[:-count].sum()))
        return float(self._over[:-count] @ distances.reshape(-1)) / rows

    def enter(self, cells: Ints) -> None:
        """Put rows into cells."""
        self._over += np.bincount(cells, minlength=len(self._over))

    def move(self, left: Ints, came: Ints) -> None:
        """Move rows from cells to others."""
        np.subtract.at(self._over, left, 1)
        np.add.at(self._over, came, 1)
