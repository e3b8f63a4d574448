"""Histories: the rows of people, column by column, so that rows of a person belong together.

First come the times of rows (`lives.times`).  Then columns are drawn in turn (`lives.turns`) from
the model of rows, each given the person's own columns, the time and those drawn before it, so that
it agrees with what is known of rows and of consecutive rows (`lives.raking`).

Only noisy answers enter.  Tied by ``tests/synth/lives/test_mechanism.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.synth.lives.raking import Raked
from understudy.synth.lives.times import Periods
from understudy.synth.lives.turns import kept, turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.graph import Model
    from understudy.schema import Codes, Schema
    from understudy.synth.lives.habits import Habits
    from understudy.synth.lives.persons import People
    from understudy.synth.pairs.looks import Looks

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_CELLS = 1 << 23
"""The most cells of all columns' tables, each with what it is drawn given."""


class Histories:
    """Draws the rows of people."""

    def __init__(self, looks: Looks, model: Model, *, schema: Schema, habits: Habits) -> None:
        """Prepare the model of rows for drawing, given what is a person's own."""
        self._schema, self._habits, self._model = schema, habits, model
        self._supports = {s.column: s for s in looks.columns.supports}
        self._time = schema.ordering[0] if schema.ordering else None
        first = [] if self._time is None else [self._time]
        tied = {n for pair in looks.chosen for n in pair if not set(pair) <= set(schema.own)}
        domain = model.tree.domain
        own = sorted((n for n in schema.own if n in tied), key=lambda n: domain[n])
        events = [n for n in schema.domain if n not in schema.own and n != self._time]
        kept_ = {n: kept(model.marginal((n,)), habits.columns[n]) for n in events}
        # What orders rows comes first, so that others follow the order of rows.
        loyal = sorted(events, key=lambda n: (n not in schema.ordering, -kept_[n]))
        self._turns = turns(domain, looks.chosen, [*first, *own], loyal, most=MOST_CELLS)

    def draw(
        self, people: People, follows: Mapping[str, Floats], rng: np.random.Generator
    ) -> tuple[dict[str, Codes], Ints]:
        """Draw the rows of people; return their codes, and each row's person, in order.

        ``follows`` are the counts of (previous, this) code, where rows have an order.
        """
        who = np.repeat(np.arange(len(people.sizes)), people.sizes)
        codes = {name: own[who] for name, own in people.own.items()}
        if self._time is not None:
            counts, support = self._model.marginal((self._time,)), self._supports[self._time]
            periods = Periods.of(counts, support, waves=self._habits.distinct)
            codes[self._time] = (
                periods.one_each(people, follows[self._time], rng)
                if self._habits.distinct
                else periods.between(people, rng)
            )
        seen = {n: self._supports[n].codes[each].astype(np.int32) for n, each in codes.items()}
        domain = self._model.tree.domain
        for known, new in self._turns:
            if new in codes:
                continue
            table = self._model.marginal((*known, new)).reshape(-1, domain[new])
            column = Raked(
                table=table,
                shape=domain.shape(known),
                steps=follows.get(new),
                habit=self._habits.columns[new],
                support=self._supports[new],
                size=self._schema[new].size,
            )
            seen[new], codes[new] = column.draw(people.sizes, [seen[n] for n in known], rng)
            if new in self._schema.ordering:
                self._put_in_order(who, codes, seen)
        return {n: codes[n] for n in self._schema.domain}, who

    def _put_in_order(self, who: Ints, codes: dict[str, Codes], seen: dict[str, Codes]) -> None:
        """Put each person's rows in order, as far as their times are drawn."""
        drawn: list[NDArray[Any]] = [codes[n] for n in self._schema.ordering[::-1] if n in codes]
        order = np.lexsort([*drawn, who])
        for each in (codes, seen):
            each |= {name: column[order] for name, column in each.items()}
