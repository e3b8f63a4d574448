"""Transitions: how often each code follows each, column by column, where rows have an order.

The code of the previous row is a column like any other (`understudy.door.views`), so (previous,
this) is a marginal of rows.  Most of it is known before: a code's own frequency, and from habits
about how often it stays, and how far it moves.  So a table is begun as these and sums of the noisy
answer say, and follows the answer itself only as far as that stands out of its noise.  Where public
people are like private ones, it is begun as theirs, for codes as frequent as here.  Tied by
``tests/synth/lives/test_transitions.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from understudy.budget import Norm
from understudy.door import Derived, Merge, MergedDoor, View, ViewDoor
from understudy.synth.lives.gaps import GAP, WIDEST, Gaps, follow, gap_classes
from understudy.synth.measure.population import clipping_norm
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round
from understudy.synth.pairs.precision import pair_weight
from understudy.synth.pairs.prior import adjusted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from understudy.door import Clique, Door, Measurement
    from understudy.graph import Model
    from understudy.public import PublicTable
    from understudy.synth.lives.habits import Habit, Habits
    from understudy.synth.measure.support import Support
    from understudy.synth.pairs.looks import Looks

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

RAKED, MIXED = 50, 3
"""How often a table is adjusted to its counts, and how often a step to what stays."""
MOST_STAY = 1 - 1e-6
CLOSER, OFTENER, GUESSED = 0.7, 0.6, 0.25
"""A row and the one before are closer than two rows of a person, by this factor, and agree oftener,
by this power; about how far off that is, in proportion, on panels."""
FAR_BELOW = -8.0
"""Below so many standard deviations the mean of what is above 0 is as good as its limit."""
NEXT_TO_NOTHING = 1e-6
"""The least share of an average cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Transitions:
    """Noisy tables of (previous, this) merged code; the last line is of first rows."""

    measured: Mapping[str, Measurement]
    deviations: Mapping[str, float]
    """The noise of each table's cells."""
    supports: Mapping[str, Support]
    time: str
    public: Mapping[str, Floats] = field(default_factory=dict)
    """The same tables of public people."""
    gaps: Gaps | None = None
    """How far times are apart; None if that was not asked."""

    @classmethod
    def ask(cls, door: Door, looks: Looks, *, price: float, distinct: bool) -> Transitions:
        """Measure every column that is not a person's own, in one round.

        Of times only gaps are asked, unless a person has at most one row of each.
        """
        schema, time = door.schema, door.schema.ordering[0]
        known = {*schema.own, *schema.told_by_clock, *(() if distinct else (time,))}
        events = [name for name in schema.domain if name not in known]
        supports = {s.column: s for s in looks.columns.supports}
        classes = gap_classes(schema[time].size)
        spaced = len(classes) <= WIDEST
        small = _door(door, {n: supports[n].codes for n in events}, time, classes, spaced=spaced)
        cliques: list[Clique] = [(_previous(name), name) for name in events]
        cliques += [(GAP,)] if spaced else []
        domain = small.schema.domain
        asked = [
            WeightedMarginal(clique=c, weight=pair_weight(small, domain.cells(c))) for c in cliques
        ]
        found = weighted_round(small, asked, price=price, crowd=looks.crowd, public=None)
        noise = [door.currency.deviation(m.scale) for m in found]
        public, gaps = None if looks.prior.doubted else looks.columns.public, None
        if spaced:
            if isinstance(door.bounding, Norm):
                crowd = looks.crowd.told(found, price=price)
                weighed = clipping_norm(found, price=price), crowd.repeats
            else:
                weighed = door.bounding.cap, 1.0
            ordered = schema[time].ordered_count
            gaps = Gaps(classes, found[-1].values[:-1], noise[-1], *weighed, ordered=ordered)
            gaps = gaps.beside(public, time)
        return cls(
            dict(zip(events, found, strict=False)),
            dict(zip(events, noise, strict=False)),
            supports,
            time,
            public_steps(public, looks.columns.small_public(), events),
            gaps,
        )

    def tables(self, model: Model, habits: Habits, *, sizes: Ints) -> dict[str, Floats]:
        """Return about the counts of (previous, this) code, for the model's rows.

        ``sizes`` are the numbers of rows of people.
        """
        return {
            name: self._table(name, model.marginal((name,)), habits.columns[name], sizes)
            for name in self.measured
        }

    def _table(self, name: str, counts: Floats, habit: Habit, sizes: Ints) -> Floats:
        """Settle a table between what is known before and the noisy answer."""
        m, codes, rows = self.measured[name], len(counts), max(1.0, float(counts.sum()))
        people = min(float(len(sizes)), rows)
        shares = np.maximum(counts, 0) / rows + NEXT_TO_NOTHING / codes
        shares /= shares.sum()
        factor = rows / max(1.0, float(m.values.sum()))
        answer = factor * m.values.reshape(codes + 1, codes)
        told = Told(answer[:-1], factor * self.deviations[name], rows - people)
        staying, far, step, seen = None, None, 0.0, self.public.get(name)
        if habit.apart is None or (self.supports[name].is_whole and name != self.time):
            often, error = 1 - (1 - habit.differ) ** OFTENER, habit.noise
            if seen is not None:
                often, error = 1 - float(np.trace(seen) / max(1.0, seen[:-1].sum())), 0.0
            staying = 1 - told.closer(often, error, 1 - np.eye(codes))
        if habit.apart is not None:
            far = self._distances(name)
            step = told.closer(CLOSER * habit.apart, habit.apart_noise, far)
        known, first = _known(shares, staying, far, step), shares
        if seen is not None:
            known, first = _as_public(seen, shares)
        if name == self.time:
            # Rows are in the order of time.
            known = np.triu(known) / np.triu(known).sum()
        table = np.vstack([known * (rows - people), first[None] * people])
        table += NEXT_TO_NOTHING * rows / table.size * (table > 0)
        follow(table, answer, told.noise)
        return _raked(table, rows * shares, staying, people, longest=int(sizes.max(initial=1)))

    def _distances(self, name: str) -> Floats:
        """Return how far apart the merged codes of an ordered column are."""
        support = self.supports[name]
        mass = support.sums(support.likely)
        places = support.sums(support.likely * np.arange(len(support.codes)))
        places /= np.maximum(mass, 1e-300)
        far: Floats = np.abs(places[:, None] - places) / max(1, len(support.codes) - 1)
        return far


def _previous(name: str) -> str:
    return f"(previous {name})"


def _door(
    door: Door, events: Mapping[str, Ints], time: str, classes: Ints, *, spaced: bool
) -> MergedDoor:
    """Return a door to merged codes, to those of the rows before, and perhaps to gaps by class."""
    derived, merged = [], []
    for name, codes in events.items():
        derived.append(Derived(name=_previous(name), kind="previous", column=name))
        merged.append(Merge(column=name, codes=codes))
        merged.append(Merge(column=_previous(name), codes=np.append(codes, codes.max() + 1)))
    if spaced:
        derived.append(Derived(name=GAP, kind="gap", column=time))
        merged.append(Merge(column=GAP, codes=np.append(classes, classes.max() + 1)))
    return MergedDoor(ViewDoor(door, View(derived=tuple(derived))), merged)


class Told(NamedTuple):
    """What a noisy answer tells of rows after the first."""

    later: Floats
    noise: float
    """The standard error of a cell."""
    rows: float

    def closer(self, guess: float, error: float, far: Floats) -> float:
        """Return how far a row is from the one before: a guess, and what the answer says of it.

        Both are weighted by precision.  It is never 0: noise alone may say that nothing ever
        changes, and then no row could be drawn that does.
        """
        guessed = (GUESSED * guess) ** 2 + error**2 + 1e-12
        rows = max(1.0, self.rows)
        found = guess + float((self.later * (far - guess)).sum()) / rows
        noise = (self.noise / rows) ** 2 * float(((far - guess) ** 2).sum()) + 1e-12
        mean = (guess / guessed + found / noise) / (1 / guessed + 1 / noise)
        return min(1.0, above_zero(mean, (1 / guessed + 1 / noise) ** -0.5))


def above_zero(mean: float, deviation: float) -> float:
    """Return the mean of a normal number given that it is above 0.

    >>> round(above_zero(0.0, 1.0), 3), round(above_zero(5.0, 1.0), 3), above_zero(-9.0, 1.0) > 0
    (0.798, 5.0, True)
    """
    z = mean / deviation
    if z < FAR_BELOW:
        # The first terms of its expansion there.
        return -deviation / z
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return mean + deviation * density / (math.erfc(-z / math.sqrt(2)) / 2)


def public_steps(
    public: PublicTable | None, merged: PublicTable | None, names: Iterable[str]
) -> dict[str, Floats]:
    """Count (previous, this) merged codes of public people's rows, in order; none if unknown."""
    if public is None or merged is None or public.people is None:
        return {}
    times = [public.codes[name] for name in reversed(public.schema.ordering)]
    order = np.lexsort([*times, public.people])
    first, found = np.diff(public.people[order], prepend=-1) != 0, {}
    for name in names:
        codes, size = merged.codes[name][order].astype(np.int64), merged.schema.domain[name]
        before = np.where(first, size, np.concatenate(([0], codes[:-1])))
        counts = np.bincount(before * size + codes, minlength=(size + 1) * size)
        found[name] = counts.reshape(size + 1, size).astype(np.float64)
    return found


def _as_public(seen: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return public shares of (previous, this) code, and of first rows, for codes of such shares.

    What nobody there has done may be as likely as one row in all.
    """
    later = seen[:-1] + np.outer(shares, shares)
    first = seen[-1] + shares
    wanted = shares * later.sum()
    table = adjusted(later, wanted, wanted)
    return table / table.sum(), first / first.sum()


def _known(shares: Floats, staying: float | None, far: Floats | None, step: float) -> Floats:
    """Return a table of shares in which codes stay as often, and are a step apart on average."""
    table, stays = np.outer(shares, shares), 0.0
    for _ in range(1 if far is None else MIXED):
        if far is not None:
            table = _reaching(shares, far, step / (1 - stays))
        if staying is not None:
            chance = float(np.trace(table))
            stays = min(MOST_STAY, max(0.0, (staying - chance) / max(1e-9, 1 - chance)))
    found: Floats = stays * np.diag(shares) + (1 - stays) * table
    return found


def _reaching(shares: Floats, far: Floats, step: float) -> Floats:
    """Return a table of shares whose cells fall with the distance, which is a step on average."""
    low, high = 1e-4, 1e2
    for _ in range(25):
        reach = math.sqrt(low * high)
        table = _decaying(shares, far / reach)
        low, high = (low, reach) if float((table * far).sum()) > step else (reach, high)
    found: Floats = table / table.sum()
    return found


def _decaying(shares: Floats, far: Floats) -> Floats:
    """Return a table with these margins whose cells fall with the distance."""
    table: Floats = np.outer(shares, shares) * np.exp(-far)
    for _ in range(20):
        table *= (shares / np.maximum(table.sum(axis=1), 1e-300))[:, None]
        table *= shares / np.maximum(table.sum(axis=0), 1e-300)
    return table


def _raked(
    table: Floats, counts: Floats, staying: float | None, people: float, *, longest: int
) -> Floats:
    """Adjust a table to the codes' counts, the number of people, and how often codes stay.

    Who has a code has come to it, and stays for ``longest`` rows at most: where a code is come to
    more seldom than that allows, more people begin with it.
    """
    later, same = table[:-1], np.eye(len(counts), dtype=np.bool_)
    rows = float(counts.sum())
    for _ in range(RAKED):
        came = table.sum(axis=0) - np.diag(later)
        table[-1] += np.maximum(counts / longest - came, 0.0)
        table *= counts / np.maximum(table.sum(axis=0), 1e-9)
        if staying is None:
            later *= (rows - people) / max(float(later.sum()), 1e-9)
        else:
            stayed = staying * (rows - people)
            later[same] *= _within(stayed, later[same].sum())
            later[~same] *= _within(rows - people - stayed, later[~same].sum())
        table[-1] *= people / max(float(table[-1].sum()), 1e-9)
    table *= counts / np.maximum(table.sum(axis=0), 1e-9)
    return table


def _within(wanted: float, got: float) -> float:
    return min(5.0, max(0.2, wanted / max(float(got), 1e-9)))
