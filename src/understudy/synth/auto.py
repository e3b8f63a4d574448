"""Auto: a mechanism and its settings, chosen by what there is; and why, in words.

What can be modelled depends on how far noise is from the number of people.  Asking for two pairs a
column puts noise of about s = √(2d)/μ rows on every count of one row a person (2d/ε where noise is
Laplace's).  By *people / s* the choice is made; where the steps lie was found by trying tables of
500 to 336,776 people (`docs/auto.md`, `make bench-peers`).

Privacy: the number of people is given, or asked for with a small share of the budget; the choice
follows from it, the schema, the budget and the public table.  Then the run is that of the mechanism
that was chosen.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from understudy.budget import scale_upper, split
from understudy.errors import UsageError
from understudy.synth.adagrid import AdaGrid
from understudy.synth.aim import AIM
from understudy.synth.independent import Independent
from understudy.synth.mst import MST
from understudy.synth.settings import check_share
from understudy.synth.tworound import TwoRound

if TYPE_CHECKING:
    from understudy.budget import AnyUnit, Budget
    from understudy.door import Door
    from understudy.public import Progress, PublicTable, Synthesis
    from understudy.schema import Schema

FAINT = 10
"""Below so many people for each row of noise, pairs of columns tell nothing."""
FEW = 400
"""Below, a tree of pairs is all that can be told."""
MANY = 5000
"""From here on, what a model gets wrong can be told again and again."""
STEADY = 0.95
"""The share of rows that must be alike for people to keep to a column's value."""
MOST_COLUMNS = 40
"""With more columns there are too many pairs to look at in every round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A mechanism with its settings, and why it was chosen."""

    mechanism: Independent | TwoRound | AIM | AdaGrid | MST
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Write it as plain data, for a manifest."""
        chosen = {"name": self.mechanism.name, "settings": asdict(self.mechanism)}
        return {"chosen": chosen, "why": self.why}


def auto(
    schema: Schema,
    *,
    unit: AnyUnit,
    budget: Budget,
    people: float,
    public: PublicTable | None = None,
) -> Choice:
    """Choose a mechanism for a table of about so many people, and say why; it costs nothing.

    ``people`` must be public: known anyway, or a noisy number.

    >>> from understudy.budget import Budget, Unit
    >>> from understudy.schema import Integer, Schema
    >>> schema = Schema("t", tuple(Integer(name=n, min=0, max=9) for n in "abc"))
    >>> budget = Budget(epsilon=1.0, delta=1e-9)
    >>> auto(schema, unit=Unit("who"), budget=budget, people=20).mechanism.name
    'independent'
    """
    columns = len(schema.domain)
    pairs = 2 * columns
    noise = (math.sqrt(pairs) if budget.currency == "gdp" else pairs) / budget.price
    why = (
        f"There are about {max(people, 0):,.0f} people and {columns} columns. If two pairs are "
        f"asked for each column, every count has noise of about {noise:,.0f} rows, for each row "
        "that a person may have. "
    )
    if columns == 1 or people / noise < FAINT:
        why += "There are no pairs" if columns == 1 else "That drowns all pairs"
        why += ": every column is drawn by itself (independent)."
        return Choice(mechanism=Independent(), why=why)
    if not unit.is_row and public is not None and public.people is not None:
        grid = AdaGrid(within="public", ids_by=steady(public))
        if grid.fits(public):
            return Choice(
                mechanism=grid,
                why=f"{why}Public people show which columns go together and how many rows people "
                "have, which costs nothing: adaptive granularity (adagrid) makes the most of that.",
            )
    return _by_signal(schema, people / noise, why, public)


def steady(public: PublicTable) -> tuple[str, ...]:
    """Name the columns in which a public person's rows are nearly all alike, and people differ.

    Rows are given to people by them, so that synthetic people have one value there too.
    """
    people, names = public.known_people("what people keep to"), []
    for name, size in public.schema.domain.items():
        pairs, counts = np.unique(people * size + public.codes[name], return_counts=True)
        most = np.zeros(int(people[-1]) + 1, dtype=np.int64)
        np.maximum.at(most, pairs // size, counts)
        alike = most.sum() / len(public)
        if alike >= STEADY > public.marginal((name,)).max() / len(public):
            names.append(name)
    return tuple(names)


def _by_signal(schema: Schema, signal: float, why: str, public: PublicTable | None) -> Choice:
    """Choose by the number of people for each row of noise."""
    within: Any = "evenly" if public is None else "public"
    if signal >= MANY and len(schema.domain) <= MOST_COLUMNS:
        return Choice(
            mechanism=AIM(within=within),
            why=f"{why}That is little beside so many people: marginals are asked one by one, each "
            "the one that the model gets most wrong (aim).",
        )
    more = 0.0 if signal < FEW else 1.0
    rounds = TwoRound(weigh="by cells", more_pairs=more, within=within)
    if not rounds.fits(schema, public):
        return Choice(
            mechanism=MST(within=within),
            why=f"{why}That leaves room for a tree of pairs, which is chosen from private rows, "
            "since public ones suggest too large a model (mst).",
        )
    asked = "a tree of pairs" if more == 0 else "a tree of pairs and one more for each column"
    return Choice(
        mechanism=rounds,
        why=f"{why}That leaves room for {asked}: they are asked in one round, after one that finds "
        "the values worth telling apart (tworound).",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """The mechanism that fits the table, chosen by the number of people in it.

    The choice and the reason for it are in the release's manifest (`docs/auto.md`); `auto` gives
    them beforehand.  Where the number of people is publicly known, to say it spares its price.

    >>> Auto(people=50_000).people_share
    0.01
    """

    name: ClassVar[str] = "auto"

    people: int | None = None
    """The number of people, if it is publicly known; else a noisy one is asked for."""
    people_share: float = 0.01
    """The share of the budget for the number of people, where it has to be asked."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot be."""
        check_share(self.people_share)
        if self.people is not None and not self.people >= 0:
            raise UsageError("a number of people is 0 or more", got=self.people)

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Find the number of people, choose, and run what was chosen."""
        people = self._people(door, progress)
        choice = auto(door.schema, unit=door.unit, budget=door.budget, people=people, public=public)
        progress(f"chose {choice.mechanism.name}", 0)
        made = choice.mechanism.run(door, public=public, rng=rng, progress=progress)
        return replace(made, details={**choice.to_dict(), **made.details})

    def _people(self, door: Door, progress: Progress) -> float:
        if self.people is not None:
            return self.people
        progress("counting people", 0)
        share = self.people_share
        price, _ = split(door.grains, door.currency, [share, 1 - share])
        return door.units(scale=scale_upper(price, door.currency, bound=Fraction(1)))
