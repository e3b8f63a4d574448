"""Lives: people are drawn first, with what is their own, then their rows, in order.

Neighbours differ by whole people, so what is computed from a person's own rows is a column like any
other, and a marginal that counts each person once has sensitivity 1 (`understudy.door.views`).  A
model of *people* has their own columns, their number of rows, and the times of their first and last
row.  *Habits* are one or two numbers of every other column, averaged over people: how often two
rows of a person differ, and how far apart they are.  A model of *rows* is that of `Pairs`; and
*transitions* say what follows what.  Then people are drawn from the first model, and their rows
from the second, given what is the person's own, so that habits and transitions come out too
(`lives.histories`).  `docs/lives.md` has the derivation.

Privacy: people and habits are measured with each person counted once, rows as in `Pairs`; all of it
composes adaptively, by the ledger.

The config, the plan, the run.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from understudy.budget import price_grains, split
from understudy.door import View, ViewDoor
from understudy.errors import UsageError
from understudy.public import Batches, Synthesis, Within
from understudy.synth.generate.rounding import check_rows
from understudy.synth.lives.habits import Habits
from understudy.synth.lives.histories import Histories
from understudy.synth.lives.persons import Persons
from understudy.synth.lives.transitions import Transitions
from understudy.synth.measure.population import bound_notes, check_public
from understudy.synth.pairs import Pairs
from understudy.synth.settings import check_shares

if TYPE_CHECKING:
    import numpy as np

    from understudy.door import Door
    from understudy.public import Progress, PublicTable
    from understudy.synth.pairs.looks import Looks


class Told(NamedTuple):
    """What was measured."""

    habits: Habits
    persons: Persons
    looks: Looks
    transitions: Transitions | None
    """None where rows have no order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lives(Pairs):
    """Synthetic people with constant own columns, and rows that follow one another.

    Declare ``of = "person"`` for what is a person's own, and ``order_by`` for what orders their
    rows (`docs/lives.md`).  Where each row is a person, it is `Pairs`.

    >>> Lives(persons_share=0.1).persons_share
    0.1
    """

    name: ClassVar[str] = "lives"

    persons_share: float = 0.08
    """The share of the budget for the model of people."""
    habits_share: float = 0.05
    """The share of the budget for how often rows of a person agree."""
    transitions_share: float = 0.13
    """The share of the budget for what follows what, where rows have an order."""

    def __post_init__(self) -> None:
        """Raise on settings out of bounds."""
        # Dataclasses with slots are made anew, so that super() without arguments is of another.
        super(Lives, self).__post_init__()
        check_shares(self, "persons_share", "habits_share", "transitions_share")
        if self.ids_by:
            raise UsageError(
                "ids_by is for rows that are assigned to people; lives draws each person's rows",
                got=self.ids_by,
                hint='declare of = "person" for columns that are a person\'s own',
            )

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Measure people, their habits and their rows; draw people, then their rows."""
        rows = Pairs(**{f.name: getattr(self, f.name) for f in fields(Pairs)})
        events = [name for name in door.schema.domain if name not in door.schema.own]
        if door.unit.is_row or not events:
            return rows.run(door, public=public, rng=rng, progress=progress)
        check_public(public, self)
        told = self._ask(door, rows, public, progress)
        door.close()
        looks, of_rows = told.looks, told.looks.columns
        model = looks.settle(progress)
        if not check_rows(model.total):
            return of_rows.synthesis(model, looks.measured, settings=self, rng=rng)
        progress("drawing people and their rows", 0)
        histories = Histories(looks, model, schema=door.schema, habits=told.habits)
        crowd = told.persons.counted(of_rows.crowd)
        most = min((m for m in (self.most_each, histories.most_each) if m), default=None)
        count = check_rows(model.total if crowd.rows is None else max(1.0, crowd.rows))
        each = crowd.each(count, door, public=public, most=most)
        people = told.persons.draw(each, of_rows, rng, progress)
        follows, gaps = {}, None
        if told.transitions is not None:
            follows = told.transitions.tables(model, told.habits, sizes=people.sizes)
            gaps = told.transitions.gaps
        codes, who = histories.draw(people, follows, gaps, rng)
        return Synthesis(
            batches=Batches.held(codes, who),
            people=people.everyone or None,
            measurements=(*of_rows.published(), *looks.published()),
            notes=(*(() if looks.coarser is None else (looks.coarser,)), *bound_notes(door)),
            within=None if public is None or self.within == "evenly" else Within(public),
            details={
                **looks.to_dict(),
                **of_rows.to_dict(looks.measured),
                "people": told.persons.to_dict(),
                "habits": told.habits.to_dict(),
            },
            model=model,
            by_person=True,
            merged={s.column: s.merge.codes for s in of_rows.supports},
        )

    def _ask(self, door: Door, rows: Pairs, public: PublicTable | None, progress: Progress) -> Told:
        """Ask for habits, people, rows and, where rows have an order, what follows what."""
        prices = self._prices_of_people(door)
        progress("measuring habits", 0)
        habits = Habits.ask(door, price=prices["habits"]).beside(public, door.schema)
        # Periods of a panel follow one another; distinct dates are some gap apart.
        waves = habits.distinct and door.schema.clock is None
        persons = Persons.ask(
            door, rows, public, distinct=waves, price=prices["persons"], progress=progress
        )
        transitions, kept = None, 0
        if door.schema.ordering:
            kept = price_grains(prices["transitions"], door.currency)
        looks = rows.look(ViewDoor(door, View(), reserve=kept), public, progress)
        if door.schema.ordering:
            progress("measuring what follows what", 0)
            price = prices["transitions"]
            transitions = Transitions.ask(door, looks, price=price, distinct=waves)
        return Told(habits, persons, looks, transitions)

    def _prices_of_people(self, door: Door) -> dict[str, float]:
        shares = {"persons": self.persons_share, "habits": self.habits_share}
        if door.schema.ordering:
            shares["transitions"] = self.transitions_share
        left = 1 - sum(shares.values())
        prices = split(door.grains, door.currency, [*shares.values(), left])
        return dict(zip(shares, prices, strict=False))
