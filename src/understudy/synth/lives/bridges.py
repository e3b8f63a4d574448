"""Bridges: times between a person's first and last row, with weights of the gaps between them.

Times are drawn one after the other.  Each is weighted by its gap since the one before and by all
ways from it to the last row, in as many steps as are still to come: the messages of a chain.  How
far the first and the last row are apart is known roughly only, and visits on Mondays need both on a
Monday, so each is drawn anew, less than half of the person's mean gap away.  Where noise has put
them so close, or so far apart, that hardly any way of as many steps is as long, they go further.

Tied by ``tests/synth/lives/test_bridges.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.synth.lives.walks import Walk, parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Weights = NDArray[np.float32]

STEPS = 1 << 27
"""About how many steps are added up for the ways to the last row."""
BLOCK = 1 << 22
"""How many weights, of rows by periods, are held at once."""
LEAST = 1e-300
"""The smallest weight of ways, to that of the likeliest: less is as good as none."""
NOWAY = 1e-9
"""The weight of a step that is hardly ever made."""
AWAY, WIDE = 3.0, 0.35
"""How much less likely than another a way must be, in logarithms, for the last row to be elsewhere;
and by what factor that is further away, about, or nearer."""
RARELY = 0.01
"""The part of an average period's rows that one has where people hardly ever come."""
FAR = 60.0
"""Ways less likely than the usual ones by this, in logarithms, are as good as none."""


def most_rows(size: int) -> int:
    """Return the most rows of a person whose ways are added up, for a time with so many codes."""
    return 2 + STEPS // size**2


def ways(weights: Floats, most: int) -> Floats:
    """Return the logarithms of the weights of all ways to come as far, in 0, 1, … ``most`` steps.

    ``weights`` are of a step by its length; all of them are positive.

    >>> np.exp(ways(np.array([1.0, 2.0, 1.0]), 2)).round(1).tolist()
    [[1.0, 0.0, 0.0], [1.0, 2.0, 1.0], [1.0, 4.0, 6.0]]
    """
    size = len(weights)
    found = np.full((most + 1, size), -np.inf)
    found[0, 0], found[1:2] = 0.0, np.log(weights)
    for steps in range(2, most + 1):
        before = found[steps - 1]
        largest = before.max()
        more = np.convolve(np.exp(before - largest), weights)[:size]
        found[steps] = largest + np.log(np.maximum(more, LEAST))
    return found


def hardly(never: Bools, most: int) -> Floats:
    """Return how unlikely it is, in logarithms, to come as far in 0, 1, … ``most`` steps.

    ``never`` are the lengths of steps that hardly anybody makes; all ways without one are as good.

    >>> hardly(np.array([True, False, False]), 2).round(1).tolist()[1:]
    [[-20.7, 0.0, 0.0], [-41.4, -20.0, 0.0]]
    """
    found: Floats = np.minimum(0.0, ways(np.where(never, NOWAY, 1.0), most))
    return found


class Bridges:
    """People's first and last rows, and how many rows they have."""

    def __init__(
        self, held: Ints, first: Ints, last: Ints, sizes: Ints, *, unlikely: Floats | None = None
    ) -> None:
        """Take the periods' codes, the places of people's first and last rows, and `hardly`."""
        self._held, self._first, self._last, self._sizes = held, first, last, sizes
        self._unlikely = unlikely
        self._about = (held[last] - held[first]) / np.maximum(1, sizes - 1) / 2
        """Half of each person's mean gap."""

    def draw(self, weights: Floats, likely: Floats, luck: Floats) -> Ints:
        """Draw the places of all rows with weights of gaps and of periods."""
        table = ways(weights, max(1, int(self._sizes.max(initial=1)) - 1))
        unlikely = np.zeros_like(table) if self._unlikely is None else self._unlikely
        apart = self._held - self._held[:, None]
        steps = np.where(apart < 0, 0.0, weights[np.maximum(apart, 0)] * likely)
        lifts = np.vstack([steps / steps.max(), np.ones(len(likely))]).astype(np.float32)
        found = np.empty(len(luck), dtype=np.int64)
        most = max(1, BLOCK // len(self._held))
        for who, here, walk in parts(self._sizes, len(self._held), first=most, others=most):
            mine, begun = luck[here], np.cumsum(walk.sizes) - walk.sizes
            first = self._begin(who, unlikely, likely, mine[begun])
            ends = mine[begun + walk.sizes - 1]
            last = self._end(who, first, table, unlikely, likely=likely, luck=ends)
            found[here] = walk.draw(self._to_last(walk, first, last, table), lifts, mine)
        person = np.repeat(np.arange(len(self._sizes)), self._sizes)
        return found[np.lexsort((found, person))]

    def _begin(self, who: slice, unlikely: Floats, likely: Floats, luck: Floats) -> Ints:
        """Draw the places of first rows, near where they were, with room for all steps."""
        room = np.argmax(unlikely >= -AWAY, axis=1)[self._sizes[who] - 1]
        begins = np.minimum(self._held[self._first[who]], np.maximum(self._held[-1] - room, 0))
        begins = self._held[np.searchsorted(self._held, begins)]
        far = np.abs(self._held - begins[:, None])
        near = far <= self._reach(who, begins, likely)
        return _drawn(np.where(near, likely, 0.0), luck)

    def _end(
        self,
        who: slice,
        first: Ints,
        table: Floats,
        unlikely: Floats,
        *,
        likely: Floats,
        luck: Floats,
    ) -> Ints:
        """Draw the places of last rows, near where they were, by the ways to them."""
        steps, last = self._sizes[who] - 1, self._held[self._last[who]]
        far = np.abs(self._held - last[:, None])
        near = far <= self._reach(who, last, likely)
        apart = self._held - self._held[first][:, None]
        usual = np.maximum(last - self._held[first], 0)[:, None]
        at = np.maximum(steps, 1)[:, None], np.maximum(apart, 0)
        away = np.log((at[1] + 1) / (usual + 1)) / WIDE
        score = np.where(near, 0.0, -AWAY - away**2 / 2) + unlikely[at]
        near = score >= score.max(axis=1, keepdims=True) - AWAY / 2
        told = table[at]
        told -= np.where(near, told, -np.inf).max(axis=1, keepdims=True)
        found = _drawn(np.where(near, np.exp(np.maximum(told, -FAR)) * likely, 0.0), luck)
        return np.where(steps > 0, found, first)

    def _reach(self, who: slice, codes: Ints, likely: Floats) -> Floats:
        """Return how far from there people's ends may be: where rows are not rare, at least."""
        usual = self._held[likely > RARELY * likely.mean()]
        after = np.minimum(np.searchsorted(usual, codes), len(usual) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.minimum(np.abs(usual[after] - codes), np.abs(usual[before] - codes))
        # Less than half of the mean gap.
        found: Floats = np.maximum(np.ceil(self._about[who]) - 1, nearest)[:, None]
        return found

    def _to_last(self, walk: Walk, first: Ints, last: Ints, table: Floats) -> Weights:
        """Return each row's weights of places: those of all ways from there to the last row."""
        person = np.repeat(np.arange(len(walk.sizes)), walk.sizes)
        left = np.repeat(np.cumsum(walk.sizes), walk.sizes) - np.arange(len(person)) - 1
        to_go = self._held[last][person][:, None] - self._held
        within = (to_go >= 0) & (self._held >= self._held[first][person][:, None])
        whole = (self._held[last] - self._held[first])[person]
        usual = np.where(left > 0, whole * left // np.maximum(1, walk.sizes[person] - 1), 0)
        told = table[left[:, None], np.maximum(to_go, 0)] - table[left, usual][:, None]
        found = np.where(within, np.exp(np.clip(told, -FAR, FAR)), 0.0).astype(np.float32)
        ends = left == 0
        found[ends] = 0.0
        found[np.flatnonzero(ends), last[person[ends]]] = 1.0
        found[walk.first] = 0.0
        found[np.flatnonzero(walk.first), first] = 1.0
        return found


def _drawn(weights: Floats, luck: Floats) -> Ints:
    """Draw a place for each line of weights."""
    ends = np.cumsum(weights, axis=1)
    below = (ends <= luck[:, None] * ends[:, -1:]).sum(axis=1)
    found: Ints = np.minimum(below, weights.shape[1] - 1)
    return found
