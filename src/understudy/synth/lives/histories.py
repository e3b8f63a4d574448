"""Histories: the rows of people, column by column, so that rows of a person belong together.

**Marginals first.**  A column is drawn given those drawn before, from the model of rows.  Within
each cell of these the model's counts, rounded, are dealt to the rows there in the order of a
*score*.  However scores are made, every cell gets its counts: the marginals of rows are the
model's (``test_whatever_the_scores_cells_get_their_counts``).

**Shared luck.**  Rows of a person that have the same score get the same value, wherever their cells
have about the same distribution.  A row keeps the score of the row before with one probability, or
takes up the person's own with another, or has a new one; an ordered column's scores are normal
numbers instead, with a part that is the person's and a part that follows the row before.  The two
probabilities are set so that the share of rows that agree, and of those that agree with the row
before, come out as measured.

Only noisy answers enter.  Tied by ``tests/synth/lives/test_histories.py``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.graph import junction_tree, model_bytes
from understudy.graph.sampling import steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from understudy.graph import Model
    from understudy.schema import Codes, Schema
    from understudy.synth.lives.habits import Habits
    from understudy.synth.lives.persons import People
    from understudy.synth.measure.support import Support
    from understudy.synth.pairs.looks import Looks

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

TREE_LIMIT = 1 << 26
"""The most bytes of the model of rows, with what is given of a person in one clique."""
MOST_STAYS = 0.999
FINEST = 0.01
"""Differences are compared in proportion to what is wanted, and to no less than this."""
RARE = 0.1
"""Periods of less than this share of an average one's rows have none."""
RAKED, MOST_RAKED = 8, 5.0
"""How often the weights of periods are adjusted, so that each has its rows, and how far."""
TRIALS = 10
"""How often the two probabilities of a column are adjusted."""
TRIED_ON = 100_000
"""On about how many rows they are adjusted."""
SMOOTH = 1e-9
"""The share of the column's own distribution in every cell, so that none is empty."""
GOLDEN = (math.sqrt(5) - 1) / 2


class Histories:
    """Draws the rows of people."""

    def __init__(self, looks: Looks, model: Model, *, schema: Schema, habits: Habits) -> None:
        """Prepare the model of rows for drawing, given what is a person's own."""
        self._schema, self._habits = schema, habits
        self._supports = {s.column: s for s in looks.columns.supports}
        self._time = schema.ordering[0] if schema.ordering else None
        first = [] if self._time is None else [self._time]
        tied = {n for pair in looks.chosen for n in pair if not set(pair) <= set(schema.own)}
        own = sorted((n for n in schema.own if n in tied), key=lambda n: model.tree.domain[n])
        domain, cliques = model.tree.domain, list(model.tree.cliques)
        while own and model_bytes(domain, [*cliques, (*first, *own)]) > TREE_LIMIT:
            own.pop()
        self.given = (*first, *own)
        """What rows are drawn given: their time, and the person's own columns that matter."""
        tree = junction_tree(domain, [*cliques, self.given] if self.given else cliques)
        self._model = model.on(tree)

    def draw(self, people: People, rng: np.random.Generator) -> tuple[dict[str, Codes], Ints]:
        """Draw the rows of people; return their codes, and each row's person, in order."""
        who = np.repeat(np.arange(len(people.sizes)), people.sizes)
        first = np.concatenate(([True], who[1:] != who[:-1]))
        codes = {name: own[who] for name, own in people.own.items()}
        if self._time is not None:
            codes[self._time] = self._times(people, who, rng)
        seen = {n: self._supports[n].codes[codes[n]].astype(np.int64) for n in self.given}
        domain = self._model.tree.domain
        for known, new, table in self._columns():
            if new in people.own:
                # Too much to be given from the beginning; what comes after it depends on it.
                seen[new] = self._supports[new].codes[codes[new]].astype(np.int64)
                continue
            group = np.zeros(len(who), dtype=np.int64)
            if known:
                group = np.ravel_multi_index([seen[n] for n in known], domain.shape(known))
            column = Dealer(group, table, self._supports[new])
            scores = self._calibrated(new, column, first, rng)
            seen[new], codes[new] = column.deal(scores, rng)
        keys: list[NDArray[Any]] = [codes[n] for n in reversed(self._schema.ordering)]
        order = np.lexsort([*keys, who])
        return {n: codes[n][order] for n in self._schema.domain}, who

    def _columns(self) -> Iterator[tuple[tuple[str, ...], str, Floats]]:
        """Walk the model: each new column, those it depends on, and its table given these."""
        domain = self._model.tree.domain
        for known, new, table in steps(self._model.tree, self._model.tables, self.given):
            left = table.reshape(len(table), *domain.shape(new))
            for i, name in enumerate(new):
                rest = tuple(range(i + 2, left.ndim))
                held = left.sum(axis=rest) if rest else left
                yield (*known, *new[:i]), name, held.reshape(-1, held.shape[-1])

    def _times(self, people: People, who: Ints, rng: np.random.Generator) -> Codes:
        """Draw every row's time between the person's first and last one, in order."""
        assert self._time is not None  # noqa: S101  asked only of rows with an order
        assert people.first is not None  # noqa: S101
        assert people.last is not None  # noqa: S101
        support = self._supports[self._time]
        wanted = self._model.marginal((self._time,))
        whole = np.maximum(np.bincount(support.codes, support.likely), 1e-300)
        likely = (wanted / wanted.sum() / whole)[support.codes] * support.likely
        distinct = self._habits.distinct
        # Periods that hardly anybody has, such as years between two waves of a panel, are left out.
        held = np.flatnonzero(likely > RARE * likely.mean())
        nearest = np.clip(np.searchsorted(held, np.arange(len(likely))), 0, len(held) - 1)
        likely = likely[held] / likely[held].sum()
        first, last = nearest[people.first], nearest[people.last]
        if distinct:
            # A person with many rows is there for as many periods.
            last = np.clip(first + people.sizes - 1, last, len(held) - 1)
            first = np.clip(last - people.sizes + 1, 0, first)
        people = replace(people, first=first, last=last)
        weights, times = likely.copy(), np.zeros(0, dtype=np.int32)
        for _ in range(RAKED):
            times = _between(people, who, weights, rng, distinct=distinct)
            there = np.bincount(times, minlength=len(likely)) / len(who)
            # What first and last rows have too many of, those between cannot make up for.
            weights *= np.sqrt((likely + 1e-6) / (there + 1e-6))
            weights = np.clip(weights, likely / MOST_RAKED, likely * MOST_RAKED)
        return held[times].astype(np.int32)

    def _calibrated(
        self, name: str, column: Dealer, first: Bools, rng: np.random.Generator
    ) -> Floats:
        """Make scores with which rows of a person agree as often as measured."""
        habit, size = self._habits.columns[name], self._schema[name].size
        make = _normal_scores if habit.ordered else _urn_scores
        ends = np.flatnonzero(first)
        enough = int(np.searchsorted(ends, TRIED_ON))
        some = slice(0, int(ends[enough]) if enough < len(ends) else len(first))
        sample, seed = column.of(some), int(rng.integers(2**63))
        kept, stays, best = 0.5, 0.0 if habit.step is None else 0.5, (math.inf, 0.0, 0.0)
        for _ in range(TRIALS):
            trial = np.random.default_rng(seed)
            _, codes = sample.deal(make(first[some], kept, stays, trial), trial)
            found = habit.of_rows(first[some], codes, size)
            # Shares that differ as they are, differences in proportion.
            far = (found.apart - habit.apart) / (max(habit.apart, FINEST) if habit.ordered else 1)
            jump = 0.0
            if habit.step is not None and found.step is not None:
                jump = (found.step - habit.step) / (max(habit.step, FINEST) if habit.ordered else 1)
            best = min(best, (abs(far) + abs(jump), kept, stays))
            kept = min(1.0, max(0.0, kept + 0.8 * far))
            if habit.step is not None:
                stays = min(MOST_STAYS, max(0.0, stays + 0.8 * jump - 0.4 * far))
        return make(first, best[1], best[2], rng)


class Dealer:
    """Deals the codes of a column to rows, cell by cell, in the order of their scores."""

    def __init__(self, group: Ints, table: Floats, support: Support) -> None:
        """Take each row's cell, and every cell's distribution."""
        whole = table.sum(axis=0)
        shares = table + SMOOTH * max(float(table.sum()), 1e-300) * whole / max(whole.sum(), 1e-300)
        ends = np.cumsum(shares, axis=1)
        self._ends = ends / ends[:, -1:]
        self._group, self._support = group, support

    def of(self, rows: slice) -> Dealer:
        """Deal to some of the rows only."""
        found = object.__new__(Dealer)
        found._ends, found._group = self._ends, self._group[rows]
        found._support = self._support
        return found

    def deal(self, scores: Floats, rng: np.random.Generator) -> tuple[Ints, Codes]:
        """Return merged codes and codes: those of each cell's distribution, by rank of the score.

        The k-th of n rows of a cell is at (k + w)/n of its distribution; w is one number a cell,
        evenly spread over cells.  A row alone in its cell is at its score.
        """
        group, cells = self._group, len(self._ends)
        order = np.lexsort((scores, group))
        cell, counts = group[order], np.bincount(group, minlength=cells)
        rank = np.arange(len(group)) - (np.cumsum(counts) - counts)[cell]
        even = (rng.random() + GOLDEN * np.arange(cells)) % 1.0
        at = np.where(counts[cell] == 1, scores[order], (rank + even[cell]) / counts[cell])
        at = np.minimum(at, 1 - 1e-9)
        line = (np.arange(cells)[:, None] + self._ends).reshape(-1)
        place = np.searchsorted(line, cell + at, side="right")
        code = np.clip(place - cell * self._ends.shape[1], 0, self._ends.shape[1] - 1)
        low = np.where(code > 0, self._ends[cell, np.maximum(code, 1) - 1], 0.0)
        wide = np.maximum(self._ends[cell, code] - low, 1e-12)
        share = np.clip((at - low) / wide, 0.0, 1 - 1e-9)
        merged = np.empty(len(group), dtype=np.int64)
        merged[order] = code
        within = np.empty(len(group))
        within[order] = share
        return merged, self._support.placed(merged.astype(np.int32), within)


def _urn_scores(first: Bools, kept: float, stays: float, rng: np.random.Generator) -> Floats:
    """Make uniform scores: that of the row before, or the person's own, or a new one."""
    person = np.cumsum(first) - 1
    own = rng.random(int(person[-1]) + 1)
    new = first | (rng.random(len(first)) >= stays)
    span = np.cumsum(new) - 1
    its = person[new]
    scores = np.where((rng.random(len(its)) < kept) | first[new], own[its], rng.random(len(its)))
    found: Floats = scores[span]
    return found


def _normal_scores(first: Bools, kept: float, stays: float, rng: np.random.Generator) -> Floats:
    """Make scores of normal numbers: a part that is the person's, a part like the row before's."""
    person = np.cumsum(first) - 1
    own, new = rng.standard_normal(int(person[-1]) + 1), rng.standard_normal(len(first))
    nth = np.arange(len(first)) - np.flatnonzero(first)[person]
    order = np.argsort(nth, kind="stable")
    ends = np.cumsum(np.bincount(nth))
    fresh = math.sqrt(1 - stays**2)
    for i in range(1, len(ends)):
        rows = order[ends[i - 1] : ends[i]]
        new[rows] = stays * new[rows - 1] + fresh * new[rows]
    return _uniform(math.sqrt(kept) * own[person] + math.sqrt(1 - kept) * new)


def _uniform(normal: Floats) -> Floats:
    """Return about the share of normal numbers below each (Abramowitz and Stegun, 26.2.17)."""
    x = np.abs(normal)
    t = 1 / (1 + 0.2316419 * x)
    terms = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    above = np.zeros_like(x)
    for term in reversed(terms):
        above = t * (term + above)
    above *= np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return np.where(normal > 0, 1 - above, above)


def _between(
    people: People, who: Ints, weights: Floats, rng: np.random.Generator, *, distinct: bool
) -> Codes:
    """Draw times between each person's first and last, these two among them, in order."""
    assert people.first is not None  # noqa: S101
    assert people.last is not None  # noqa: S101
    ends = np.concatenate(([0.0], np.cumsum(weights / weights.sum())))
    low, high = ends[people.first], ends[people.last + 1]
    starts = np.cumsum(people.sizes) - people.sizes
    nth, sizes = np.arange(len(who)) - starts[who], people.sizes[who]
    part = (nth + rng.random(len(people.sizes))[who]) / sizes if distinct else rng.random(len(who))
    times = np.searchsorted(ends, low[who] + (high - low)[who] * part, side="right") - 1
    times = np.clip(times, people.first[who], people.last[who])
    times = times[np.lexsort((times, who))]
    times[starts] = people.first
    several = people.sizes > 1
    times[(starts + people.sizes - 1)[several]] = people.last[several]
    return (_apart(times, who, nth, sizes) if distinct else times).astype(np.int32)


def _apart(times: Ints, who: Ints, nth: Ints, sizes: Ints) -> Ints:
    """Move times that are in order, and equal, to later or earlier ones, where there is room.

    >>> who, nth = np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0])
    >>> _apart(np.array([3, 3, 5, 3]), who, nth, np.array([3, 3, 3, 1])).tolist()
    [3, 4, 5, 3]
    """
    wide = int(times.max()) + len(times) + 1
    later = np.maximum.accumulate(times - nth + who * wide) - who * wide + nth
    last = times[np.cumsum(np.bincount(who)) - 1][who]
    first = times[nth == 0][who]
    moved: Ints = np.maximum(np.minimum(later, last - (sizes - 1 - nth)), first)
    return moved
