"""Histories: the rows of people, column by column, so that rows of a person belong together.

First come the times of rows (`lives.times`).  Then columns are drawn one after the other from the
model of rows, each given the person's own columns, the time and those drawn before it, so that it
agrees with what is known of rows and of consecutive rows (`lives.raking`).

Only noisy answers enter.  Tied by ``tests/synth/lives/test_mechanism.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.graph import junction_tree, model_bytes
from understudy.graph.sampling import steps
from understudy.synth.lives.kinds import Kinds
from understudy.synth.lives.raking import TRIED_ROWS, Raked
from understudy.synth.lives.times import Periods

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.graph import Model
    from understudy.schema import Codes, Schema, Timestamp
    from understudy.synth.lives.gaps import Gaps
    from understudy.synth.lives.habits import Habits
    from understudy.synth.lives.persons import People
    from understudy.synth.pairs.looks import Looks

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

TREE_LIMIT = 1 << 26
"""The most bytes of the model of rows, with what is given of a person in one clique."""


class Histories:
    """Draws the rows of people."""

    def __init__(self, looks: Looks, model: Model, *, schema: Schema, habits: Habits) -> None:
        """Prepare the model of rows for drawing, given what is a person's own."""
        self._schema, self._habits = schema, habits
        self._supports = {s.column: s for s in looks.columns.supports}
        self._time = schema.ordering[0] if schema.ordering else None
        first = list(schema.told_by_clock or schema.ordering[:1])
        tied = {n for pair in looks.chosen for n in pair if not set(pair) <= set(schema.own)}
        own = sorted((n for n in schema.own if n in tied), key=lambda n: model.tree.domain[n])
        domain, cliques = model.tree.domain, list(model.tree.cliques)
        later = list(schema.ordering[1:])
        while own and model_bytes(domain, [*cliques, (*first, *own, *later)]) > TREE_LIMIT:
            own.pop()
        if model_bytes(domain, [*cliques, (*first, *later)]) > TREE_LIMIT:
            later = []
        self._later = later
        self.given = (*first, *own, *later)
        """What rows are drawn given: their time, and the person's own columns that matter."""
        tree = junction_tree(domain, [*cliques, self.given] if self.given else cliques)
        self._model = model.on(tree)
        self._periods, self._kinds = None, None
        if self._time is not None:
            self._kinds = Kinds.of(self._model, tuple(first), own)
        if schema.dated is not None and self._kinds is not None:
            months, weekdays = (self._supports[name] for name in first)
            self._periods = Periods.dated(schema.dated, self._kinds.counts, months, weekdays)
        elif self._time is not None and self._kinds is not None:
            self._periods = Periods.of(
                self._kinds.counts,
                self._supports[self._time],
                waves=habits.distinct,
                ordered=schema[self._time].ordered_count,
            )

    @property
    def most_each(self) -> int | None:
        """The most rows of a person, where nobody has two of the same time."""
        if self._periods is None or not self._habits.distinct:
            return None
        return len(self._periods.held)

    def draw(
        self,
        people: People,
        follows: Mapping[str, Floats],
        gaps: Gaps | None,
        rng: np.random.Generator,
    ) -> tuple[dict[str, Codes], Ints]:
        """Draw the rows of people; return their codes, and each row's person, in order.

        ``follows`` are the counts of (previous, this) code, where rows have an order, and ``gaps``
        how far their times are apart.
        """
        who = np.repeat(np.arange(len(people.sizes)), people.sizes)
        codes = {name: own[who] for name, own in people.own.items()}
        if self._time is not None and self._periods is not None:
            people = self._of_kinds(people)
            if self._time in follows:
                times = self._periods.one_each(people, follows[self._time], rng, gaps)
            else:
                placed = self._periods.placed(people, rng)
                times = self._periods.between(placed, rng, gaps, distinct=self._habits.distinct)
            codes[self._time] = times
            # Who has no time comes last.
            codes[self._time] = codes[self._time][self._order(codes, who)]
        if self._schema.dated is not None and self._time is not None:
            codes |= self._on_dates(self._schema.dated, codes[self._time], rng)
        there = [name for name in codes if name in self._supports]
        seen = {n: self._supports[n].codes[codes[n]].astype(np.int32) for n in there}
        domain = self._model.tree.domain
        for known, new, table in (*self._ties(), *self._columns()):
            if new in codes:
                continue
            others = self._others(new, [n for n in seen if n not in known], rows=len(who))
            column = Raked(
                table=table,
                shape=domain.shape(known),
                others=tuple(others.values()),
                steps=follows.get(new),
                habit=self._habits.columns[new],
                support=self._supports[new],
                size=self._schema[new].size,
            )
            given = [seen[n] for n in (*known, *others)]
            seen[new], codes[new] = column.draw(people.sizes, given, rng)
            if new in self._later:
                # Of rows that tie so far, none is before the one before it.
                order = self._order(codes, who)
                seen[new], codes[new] = seen[new][order], codes[new][order]
        order = self._order(codes, who)
        return {column.name: codes[column.name][order] for column in self._schema.encoded}, who

    def _of_kinds(self, people: People) -> People:
        """Return people of whom it is said which kind they are of."""
        assert self._kinds is not None  # noqa: S101  rows have an order
        merged = {n: self._supports[n].codes[people.own[n]] for n in self._kinds.columns}
        return replace(people, kind=self._kinds.among(merged, len(people.sizes)))

    def _on_dates(
        self, stamp: Timestamp, times: Codes, rng: np.random.Generator
    ) -> dict[str, Codes]:
        """Return the codes of months and weekdays of dates; of what is no date, likely ones."""
        found = {name: part[times] for name, part in stamp.on_dates().items()}
        month, weekday = stamp.part_names[:2]
        none = np.flatnonzero(times >= len(stamp.is_declared) - stamp.undated)
        if len(none):
            by, of = self._supports[month], self._supports[weekday]
            counts = self._model.marginal((month, weekday)).reshape(by.size, of.size)
            ends = np.cumsum(counts[by.codes[found[month][none]]], axis=1)
            at = rng.random(len(none)) * ends[:, -1]
            merged = np.minimum((ends <= at[:, None]).sum(axis=1), of.size - 1)
            found[weekday][none] = of.spread(merged.astype(np.int32), rng)
        return found

    def _order(self, codes: Mapping[str, Codes], who: Ints) -> Ints:
        """Return the order of rows by person and by what is drawn of the schema's order."""
        keys: list[NDArray[Any]] = [codes[n] for n in self._schema.ordering if n in codes]
        return np.lexsort([*keys[::-1], who])

    def _ties(self) -> Iterator[tuple[tuple[str, ...], str, Floats]]:
        """Walk the columns that order rows of one time, before all that happens in them."""
        for name in self._later:
            known = self.given[: self.given.index(name)]
            table = self._model.marginal((*known, name))
            yield known, name, table.reshape(self._model.tree.domain.cells(known), -1)

    def _others(self, new: str, before: Sequence[str], *, rows: int) -> dict[str, Floats]:
        """Return the model's tables of a column with others that it is not drawn given.

        Tables with more cells than there are rows could not come out as they say; of very many
        rows too few are offered other codes to make a difference.
        """
        domain, most = self._model.tree.domain, rows if rows <= TRIED_ROWS else 0
        pairs = [(n, new) for n in before if domain.cells((n, new)) <= most]
        found = self._model.marginals(pairs)
        return {pair[0]: found[pair] for pair in pairs}

    def _columns(self) -> Iterator[tuple[tuple[str, ...], str, Floats]]:
        """Walk the model: each new column, those it depends on, and its table given these."""
        domain = self._model.tree.domain
        for known, new, table in steps(self._model.tree, self._model.tables, self.given):
            left = table.reshape(len(table), *domain.shape(new))
            for i, name in enumerate(new):
                rest = tuple(range(i + 2, left.ndim))
                held = left.sum(axis=rest) if rest else left
                yield (*known, *new[:i]), name, held.reshape(-1, held.shape[-1])
