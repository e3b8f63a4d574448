"""Times: when each person's rows are.

Where a person has at most one row a period, as in a panel, periods follow one another as
(previous, this) period says, from the person's first on, with room for all of their rows.
Elsewhere times lie between the person's first and last one.  Either way periods are weighted so
that each has its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.synth.lives.walks import parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from understudy.schema import Codes
    from understudy.synth.lives.persons import People
    from understudy.synth.measure.support import Support

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

RARE = 0.2
"""Waves of a panel have more rows than this share of an average period's."""
RAKED, MOST_RAKED, DAMPED = 12, 10.0, 0.7
"""How often the weights of periods are adjusted, so that each has its rows, and how far."""
TRIED_ON = 100_000
"""On about how many rows they are adjusted."""
FEW = 1e-6
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

    @classmethod
    def of(cls, counts: Floats, support: Support, *, waves: bool) -> Periods:
        """Find them from the rows of every merged code; ``waves`` are few, and have many rows."""
        whole = np.maximum(np.bincount(support.codes, support.likely), 1e-300)
        likely = (counts / counts.sum() / whole)[support.codes] * support.likely
        held = np.flatnonzero(likely > (RARE * likely.mean() if waves else 0))
        return cls(held, likely[held] / likely[held].sum(), support.codes[held])

    def nearest(self, codes: Codes) -> Ints:
        """Return the places of the nearest periods at these codes or later."""
        return np.minimum(np.searchsorted(self.held, codes), len(self.held) - 1)

    def between(self, people: People, rng: np.random.Generator) -> Codes:
        """Draw every row's time between the person's first and last one, in order."""

        def drawn(some: People, luck: Floats, factors: Floats) -> Ints:
            assert some.first is not None  # noqa: S101  asked only of rows with an order
            assert some.last is not None  # noqa: S101
            first, last = self.nearest(some.first), self.nearest(some.last)
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

        return self._raked(drawn, people, rng)

    def one_each(self, people: People, follows: Floats, rng: np.random.Generator) -> Codes:
        """Draw distinct times from the person's first on; ``follows`` is of merged codes."""
        count = len(self.held)
        own = self.likely / np.bincount(self.merged, self.likely)[self.merged]
        ways = follows[np.ix_(self.merged, self.merged)] * own
        ways = np.triu(ways + UNSEEN * ways.mean() * count * self.likely, 1)
        most = min(int(people.sizes.max(initial=1)), count)

        def drawn(some: People, luck: Floats, factors: Floats) -> Ints:
            assert some.first is not None  # noqa: S101  asked only of rows with an order
            # A person with many rows is there for as many periods.
            begins = np.clip(self.nearest(some.first), 0, np.maximum(count - some.sizes, 0))
            step = ways * factors
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
                weights = room[np.minimum(left, most - 1)].astype(np.float32)
                weights[walk.first] = np.eye(count, dtype=np.float32)[begins[who]]
                found[here] = walk.draw(weights, lifts, luck[here])
            return found

        return self._raked(drawn, people, rng)

    def _raked(
        self,
        drawn: Callable[[People, Floats, Floats], Ints],
        people: People,
        rng: np.random.Generator,
    ) -> Codes:
        """Draw times with factors of periods for which each period has its rows."""
        some, factors = people.begun(TRIED_ON), np.ones(len(self.held))
        luck = rng.random(int(people.sizes.sum()))
        for _ in range(RAKED):
            times = drawn(some, luck[: int(some.sizes.sum())], factors)
            there = np.bincount(times, minlength=len(factors)) / len(times)
            factors *= ((self.likely + FEW) / (there + FEW)) ** DAMPED
            # What first and last rows have too many of, those between cannot make up for.
            factors = np.clip(factors, 1 / MOST_RAKED, MOST_RAKED)
        return self.held[drawn(people, luck, factors)].astype(np.int32)
