"""Times: when each person's rows are.

Where a person has at most one row a period, as in a panel, periods follow one another as
(previous, this) period says, from the person's first on, with room for all of their rows.
Elsewhere times lie between the person's first and last one (`lives.stays`).  Either way periods are
weighted so that each has its rows, and gaps so that there are as many of each length as was
measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.synth.lives.bridges import Bridges, hardly, most_rows
from understudy.synth.lives.stays import PARTS, Stays
from understudy.synth.lives.walks import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from understudy.schema import Codes, Timestamp
    from understudy.synth.lives.gaps import Gaps
    from understudy.synth.lives.persons import People
    from understudy.synth.measure.support import Support

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

RARE = 0.2
"""Waves of a panel have more rows than this share of an average period's."""
RAKED, MOST_RAKED, DAMPED = 12, 10.0, 0.7
"""How often the weights of periods are adjusted, so that each has its rows, and how far."""
SPACED, DAMPING, HALVED = 36, (0.8, 0.3), 8
"""How often those of periods and gaps together, and how far at first and at last: rows a gap apart
move together.  It is begun with some people, with twice as many every so often."""
MOST_WEIGHT, HELD = 1e4, 0.5
"""How far weights of gaps go, and rows that are added to counts of these before they are compared.
"""
SELDOM = 1e-3
"""The first weight of gaps of which there are hardly any."""
TRIED_ON, TRIED_CELLS, MOST_CELLS = 100_000, 1 << 25, 1 << 28
"""On about how many rows weights are adjusted, and on how many of rows by periods; of more of
these, in all, gaps are as they come."""
FEW = 1e-6
CLOSE, BETTER = 0.01, 0.8
"""How far periods may be from having their rows, and to what part of that people are moved."""
MOST_LEAN = 1e3
"""How much likelier, or less likely, a period may be for people of a kind."""
UNSEEN = 1e-4
"""The share of periods that follow one another in no known way."""


@dataclass(frozen=True, slots=True, eq=False)
class Periods:
    """The periods that people have rows of, such as the years of a panel's waves."""

    held: Ints
    """Their codes, without years between two waves."""
    likely: Floats
    """Their shares of the rows."""
    merged: Ints
    """Their merged codes."""
    none: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The codes of rows that have no time."""
    missing: Floats = field(default_factory=lambda: np.zeros(0))
    """The shares of all rows that have each."""
    lean: Floats = field(default_factory=lambda: np.ones((1, 1)))
    """How much likelier periods are for people of each kind than for all, a line for each kind."""

    @classmethod
    def of(
        cls, counts: Floats, support: Support, *, waves: bool, ordered: int | None = None
    ) -> Periods:
        """Find them from the rows of every merged code; ``waves`` are few, and have many rows.

        There may be a line of counts for each kind of people.  Codes from ``ordered`` on are of no
        time.
        """
        whole = np.maximum(np.bincount(support.codes, support.likely), 1e-300)
        each = (np.atleast_2d(counts) / counts.sum() / whole)[:, support.codes] * support.likely
        times = each.sum(axis=0)[:ordered]
        held = np.flatnonzero(times > (RARE * times.mean() if waves else 0))
        return cls._apart(each, held, support.codes[held], len(times))

    @classmethod
    def _apart(cls, each: Floats, held: Ints, merged: Ints, ordered: int) -> Periods:
        """Return periods, and the codes of no time apart from them, from each kind's rows."""
        likely = each.sum(axis=0)
        missing = likely[ordered:] / likely.sum()
        if not len(held):
            # Nobody is known to have a time: any may be.
            held, merged = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        shares = np.maximum(likely[held], 1e-300)
        shares /= shares.sum()
        none = np.arange(ordered, len(likely))
        own = each[:, held] / np.maximum(each[:, held].sum(axis=1, keepdims=True), 1e-300)
        lean = np.clip(own / shares, 1 / MOST_LEAN, MOST_LEAN) if len(each) > 1 else np.ones((1, 1))
        return cls(held, shares, merged, none, missing, lean)

    @classmethod
    def dated(cls, stamp: Timestamp, counts: Floats, months: Support, weekdays: Support) -> Periods:
        """Find the dates between the declared ends, from the rows by merged month and weekday.

        There may be such rows for each kind of people, one after the other.  Dates of the same
        month and weekday are as likely as one another.  What is no date may have a weekday all the
        same, as those beyond the ends have.
        """
        both = (months, weekdays)
        likely = np.maximum(counts, 0.0).reshape(-1, months.size, weekdays.size) / counts.sum()
        parts = [stamp.on_dates()[support.column] for support in both]
        merged = [support.codes[part] for support, part in zip(both, parts, strict=True)]
        own = [support.likely / support.sums(support.likely)[support.codes] for support in both]
        cells = np.unique(np.stack(parts), axis=1, return_inverse=True)[1]
        there = stamp.is_declared.astype(np.float64)
        each = likely[:, merged[0], merged[1]] * (own[0][parts[0]] * own[1][parts[1]] * there)
        each /= np.maximum(np.bincount(cells, there)[cells], 1.0)
        none = np.arange(each.shape[1]) >= each.shape[1] - stamp.undated
        each[:, none] = (likely.sum(axis=2)[:, merged[0]] * own[0][parts[0]])[:, none]
        held = np.flatnonzero(each[:, ~none].sum(axis=0) > 0)
        return cls._apart(each, held, merged[0][held], int((~none).sum()))

    def nearest(self, codes: Codes) -> Ints:
        """Return the places of the nearest periods at these codes or later."""
        return np.minimum(np.searchsorted(self.held, codes), len(self.held) - 1)

    def placed(self, people: People, rng: np.random.Generator) -> People:
        """Return people of whom some are there when others are, so that periods have their rows.

        Where periods have their rows as people are, or hardly more of them otherwise, all stay.
        """
        if people.first is None or people.last is None:
            return people
        off = self._off(people, rng)
        # Few rows are that far away by chance.
        if off < max(CLOSE, (PARTS / max(1.0, float(people.sizes.sum()))) ** 0.5 / 2):
            return people
        first, last = self._ends(people)
        whose = np.arange(len(people.sizes))
        for lean, mine in self._kinds(people):
            likely = self.likely * lean
            ends = np.concatenate(([0.0], np.cumsum(likely / likely.sum())))
            low, high = ends[first[mine]], ends[np.maximum(first, last)[mine] + 1]
            whose[mine] = whose[mine][Stays(low, high, people.sizes[mine]).evened(rng)]
        moved = replace(people, first=people.first[whose], last=people.last[whose])
        return moved if self._off(moved, rng) < BETTER * off else people

    def _off(self, people: People, rng: np.random.Generator) -> float:
        """Return how far periods, a few together, are from having their rows."""
        times = self._raked(self._of_kinds(self._even), people.begun(TRIED_ON), rng)
        part = (PARTS * (np.cumsum(self.likely) - self.likely / 2)).astype(np.int64)
        there = np.bincount(part[times], minlength=PARTS) / max(1, len(times))
        return float(np.abs(there - np.bincount(part, self.likely, PARTS)).sum() / 2)

    def _kinds(self, people: People) -> Iterator[tuple[Floats, Bools]]:
        """Walk the kinds of people: how they lean, and who is of the kind."""
        kinds = np.zeros(len(people.sizes)) if people.kind is None else people.kind
        for kind, lean in enumerate(self.lean):
            mine = kinds == kind
            if mine.any():
                yield lean, mine

    def _of_kinds(self, drawn: Callable[..., Ints]) -> Callable[..., Ints]:
        """Return what draws times of people, so that periods are as likely as for their kind."""

        def of_each(some: People, luck: Floats, factors: Floats, *more: Floats) -> Ints:
            found = np.empty(len(luck), dtype=np.int64)
            for lean, mine in self._kinds(some):
                rows = np.repeat(mine, some.sizes)
                found[rows] = drawn(some.only(mine), luck[rows], factors * lean, *more)
            return found

        return of_each

    def between(
        self,
        people: People,
        rng: np.random.Generator,
        gaps: Gaps | None = None,
        *,
        distinct: bool = False,
    ) -> Codes:
        """Draw every row's time between the person's first and last one, in order.

        Where a person has very many rows, their gaps are as they come.  If times are ``distinct``,
        hardly any gap is 0.
        """

        def bridged(some: People, luck: Floats, factors: Floats, weights: Floats) -> Ints:
            bridges = Bridges(self.held, *self._ends(some), some.sizes, unlikely=unlikely)
            return bridges.draw(weights * seldom, self.likely * factors, luck)

        times = self._raked(self._of_kinds(self._even), people, rng)
        if gaps is not None and len(times) * len(self.held) <= MOST_CELLS:
            few = people.sizes <= most_rows(len(gaps.classes))
            mine, found = np.repeat(few, people.sizes), self.held[times]
            others = gaps.counts(found[~mine], people.sizes[~few])
            wanted = gaps.wanted(gaps.counts(found, people.sizes)) - others
            wanted[0] *= not distinct
            if few.any():
                most = max(1, int(people.sizes[few].max()) - 1)
                never = gaps.never(wanted)
                unlikely, seldom = hardly(never, most), np.where(never, SELDOM, 1.0)
                drawn = self._of_kinds(bridged)
                times[mine] = self._spaced(drawn, people.only(few), gaps, wanted, rng)
        return self._or_none(times, people, rng)

    def one_each(
        self, people: People, follows: Floats, rng: np.random.Generator, gaps: Gaps | None = None
    ) -> Codes:
        """Draw distinct times from the person's first on; ``follows`` is of merged codes."""
        count = len(self.held)
        own = self.likely / np.bincount(self.merged, self.likely)[self.merged]
        ways = follows[np.ix_(self.merged, self.merged)] * own
        ways = np.triu(ways + UNSEEN * ways.mean() * count * self.likely, 1)
        most = min(int(people.sizes.max(initial=1)), count)
        apart = np.maximum(self.held - self.held[:, None], 0)

        def drawn(
            some: People, luck: Floats, factors: Floats, weights: Floats | None = None
        ) -> Ints:
            # A person with many rows is there for as many periods.
            begins = np.clip(self._ends(some)[0], 0, np.maximum(count - some.sizes, 0))
            step = ways * factors
            if weights is not None:
                step *= weights[apart]
            step /= max(float(step.max()), 1e-300)
            # In how many ways as many more rows can follow.
            room = np.ones((most, count))
            for more in range(1, most):
                room[more] = step @ room[more - 1]
                room[more] /= max(float(room[more].max()), 1e-300)
            lifts = np.vstack([step, np.ones(count)]).astype(np.float32)
            found = np.empty(int(some.sizes.sum()), dtype=np.int64)
            for who, here, walk in parts(some.sizes, count):
                left = np.repeat(np.cumsum(walk.sizes), walk.sizes) - np.arange(len(walk.rows)) - 1
                weights_here = room[np.minimum(left, most - 1)].astype(np.float32)
                weights_here[walk.first] = np.eye(count, dtype=np.float32)[begins[who]]
                found[here] = walk.draw(weights_here, lifts, luck[here])
            return found

        times = self._raked(self._of_kinds(drawn), people, rng)
        if gaps is not None and len(times) * count <= MOST_CELLS:
            wanted = gaps.wanted(gaps.counts(self.held[times], people.sizes))
            wanted[0] = 0.0
            times = self._spaced(self._of_kinds(drawn), people, gaps, wanted, rng)
        return self._or_none(times, people, rng)

    def _even(self, some: People, luck: Floats, factors: Floats) -> Ints:
        """Draw times that are spread evenly between first and last ones, but for factors."""
        first, last = self._ends(some)
        who = np.repeat(np.arange(len(some.sizes)), some.sizes)
        ends = np.concatenate(([0.0], np.cumsum(self.likely * factors)))
        low, high = ends[first], ends[last + 1]
        times = np.searchsorted(ends, low[who] + (high - low)[who] * luck, side="right") - 1
        times = np.clip(times, first[who], last[who])
        times = times[np.lexsort((times, who))]
        starts, several = np.cumsum(some.sizes) - some.sizes, some.sizes > 1
        times[starts] = first
        times[(starts + some.sizes - 1)[several]] = last[several]
        return times

    def _or_none(self, times: Ints, people: People, rng: np.random.Generator) -> Codes:
        """Return the codes of times, but for as many rows as have none.

        They are those of people who have no time at all, and then of anybody.
        """
        found: Codes = self.held[times].astype(np.int32)
        counts = np.rint(self.missing * len(found)).astype(np.int64)
        turn = rng.random(len(found))
        if people.timeless is not None:
            turn -= np.repeat(people.timeless, people.sizes)
        some = rng.permutation(np.argsort(turn)[: int(counts.sum())])
        found[some] = np.repeat(self.none, counts)[: len(some)]
        return found

    def _ends(self, people: People) -> tuple[Ints, Ints]:
        """Return the places of first and last rows; of last ones only where these are drawn."""
        assert people.first is not None  # noqa: S101  asked only of rows with an order
        last = people.first if people.last is None else people.last
        return self.nearest(people.first), self.nearest(last)

    def _raked(
        self,
        drawn: Callable[[People, Floats, Floats], Ints],
        people: People,
        rng: np.random.Generator,
    ) -> Ints:
        """Draw places of times with factors for which each period has its rows."""
        some, factors = people.begun(TRIED_ON), np.ones(len(self.held))
        luck = rng.random(int(people.sizes.sum()))
        for _ in range(RAKED):
            times = drawn(some, luck[: int(some.sizes.sum())], factors)
            factors = self._moved(factors, times, DAMPED)
        return drawn(people, luck, factors)

    def _spaced(
        self,
        drawn: Callable[[People, Floats, Floats, Floats], Ints],
        people: People,
        gaps: Gaps,
        wanted: Floats,
        rng: np.random.Generator,
    ) -> Ints:
        """Draw places of times with factors of periods and of gaps, for which both have their rows.

        ``wanted`` are the rows of each class of gaps.  Where people are not there for as long as
        that takes, more trials do not come closer: the best of them counts.
        """
        best, found = math.inf, (np.ones(len(self.held)), np.ones(len(wanted)))
        factors, weights = np.ones(len(self.held)), np.ones(len(wanted))
        luck, wanted = rng.random(int(people.sizes.sum())), np.maximum(wanted, 0.0)
        most = min(TRIED_ON, TRIED_CELLS // len(self.held))
        for trial, damped in enumerate(np.geomspace(*DAMPING, SPACED)):
            some = people.begun(most >> (SPACED - 1 - trial + HALVED - 1) // HALVED)
            lengths = weights[gaps.classes]
            times = drawn(some, luck[: int(some.sizes.sum())], factors, lengths)
            seen = gaps.counts(self.held[times], some.sizes)
            asked = wanted * (seen.sum() / max(1.0, wanted.sum()))
            there = np.bincount(times, minlength=len(factors)) / max(1, len(times))
            off = float(np.abs(seen - asked).sum() / max(1.0, seen.sum()))
            off += float(np.abs(there - self.likely).sum())
            if off < best:
                best, found = off, (factors, weights)
            factors = self._moved(factors, times, damped)
            weights *= ((asked + HELD) / (seen + HELD)) ** damped
            weights = np.clip(weights, 1 / MOST_WEIGHT, MOST_WEIGHT)
        return drawn(people, luck, found[0], found[1][gaps.classes])

    def _moved(self, factors: Floats, times: Ints, damped: float) -> Floats:
        """Return the factors of periods moved towards those for which each has its rows."""
        there = np.bincount(times, minlength=len(factors)) / len(times)
        factors = factors * ((self.likely + FEW) / (there + FEW)) ** damped
        # What first and last rows have too many of, those between cannot make up for.
        return np.clip(factors, 1 / MOST_RAKED, MOST_RAKED)
