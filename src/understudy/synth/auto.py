"""Auto: a mechanism and its settings, chosen by what there is; and why, in words.

Public people stand in themselves where noise is large and would cost more than what has changed
since, as a look at the private table tells.  Elsewhere `Lives` draws people where the schema says
what is a person's own or what orders their rows, and `Pairs` draws rows where it does not.  Either
measures as much as the number of people allows, and begins from public rows where there are some
(`docs/auto.md`).

Privacy: the choice follows from the schema, the unit and the public table, and perhaps from noisy
histograms of people, which the door charges.  Then the run is that of the mechanism that was
chosen, with what is left of the budget.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from understudy.budget import scale_upper, split
from understudy.errors import QuestionError, UsageError
from understudy.public import Shapes
from understudy.synth.archetypes import Archetypes
from understudy.synth.archetypes.drift import drift
from understudy.synth.lives import Lives
from understudy.synth.measure.noise_levels import MEAN_SIZE
from understudy.synth.pairs import Pairs

if TYPE_CHECKING:
    from understudy.budget import AnyUnit
    from understudy.door import Door
    from understudy.graph import Clique
    from understudy.public import Progress, PublicTable, Synthesis
    from understudy.schema import Schema

WIDEST = 200
"""The most columns of a table for which a mechanism is chosen: it looks at all pairs of them."""
LOOK = 0.03
"""The share of the budget for a look at how much has changed since the public table, by kinds of
people; and for a second look, column by column, if they have not."""
KINDS = 5
SMALL_NOISE, CHANGED = 0.4, 0.2
"""Where noise alone would make less error than this, in total variation, of 0.5 at most, marginals
are measured, which begin from public ones; and where any column has changed by more than this."""
UNCHANGED = "in no column do many more people have other values than public ones"
UNSEEN = "there are too few people to see whether single columns have changed"
STEADY = 0.95
"""The share of equal rows from which a column counts as constant within a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A mechanism with its settings, and why it was chosen."""

    mechanism: Archetypes | Lives | Pairs
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for a manifest."""
        chosen = {"name": self.mechanism.name, "settings": asdict(self.mechanism)}
        return {"chosen": chosen, "why": self.why}


def auto(schema: Schema, *, unit: AnyUnit, public: PublicTable | None = None) -> Choice:
    """Choose a mechanism for a table, with the reason; it costs no budget.

    >>> from understudy.budget import Unit
    >>> from understudy.schema import Integer, Schema
    >>> schema = Schema("t", tuple(Integer(name=n, min=0, max=9) for n in "abc"))
    >>> auto(schema, unit=Unit("who")).mechanism.name
    'pairs'
    """
    if len(schema.domain) > WIDEST:
        raise QuestionError(
            "the table is too wide to choose a mechanism that looks at all pairs of its columns",
            got=f"{len(schema.domain):,} columns with codes",
            allowed=f"at most {WIDEST}",
            hint='declare columns that are not needed with kind = "ignored"; the mechanism '
            "independent takes any number of columns, and relates none of them",
        )
    told = f"There are {len(schema.domain)} columns"
    within: Literal["evenly", "public"] = "evenly" if public is None else "public"
    if not unit.is_row and (schema.own or schema.ordering):
        known = "what is a person's own" if schema.own else "what orders a person's rows"
        return Choice(
            mechanism=Lives(within=within),
            why=f"{told}, and the schema says {known}: people are drawn first, then their rows "
            "(lives).",
        )
    if public is None:
        return Choice(
            mechanism=Pairs(within=within),
            why=f"{told} and no public table: a tree of pairs is measured, and as many further "
            "pairs as are worth their noise (pairs).",
        )
    people = not unit.is_row and public.people is not None
    return Choice(
        mechanism=Pairs(within=within, ids_by=steady(public) if people else ()),
        why=f"{told} and a public table{' of people' if people else ''}: pairs of columns are as "
        "they are there, but for those that have changed by more than their noise, which are "
        "measured (pairs).",
    )


def steady(public: PublicTable) -> tuple[str, ...]:
    """Return the columns that are nearly constant within a public person, but differ among people.

    Rows are assigned to people by them, so that synthetic people have one value there too.
    """
    people, names = public.known_people("which columns are constant within a person"), []
    for name, size in public.schema.domain.items():
        pairs, counts = np.unique(people * size + public.codes[name], return_counts=True)
        most = np.zeros(int(people[-1]) + 1, dtype=np.int64)
        np.maximum.at(most, pairs // size, counts)
        alike = most.sum() / len(public)
        if alike >= STEADY > public.marginal((name,)).max() / len(public):
            names.append(name)
    return tuple(names)


def resembling(door: Door, public: PublicTable) -> Choice | None:
    """Choose `Archetypes` if noise would cost more than what has changed since the public table.

    How much has changed is asked, for a small share of the budget, unless noise is small anyway:
    how many people are of each public kind; and if as many are, what people mostly have in every
    column, since kinds say nothing of most.  None stands for the choice that was made before.
    Of two tables people may have no rows, as public people of this mechanism never do.
    """
    # Kinds of so few people would be the people.
    few = len(public.sizes()) <= KINDS
    if few or find_spec("sklearn") is None or door.unit.is_row or door.two_tables:
        return None
    kinds = Archetypes(attribute=next(iter(steady(public)), None))
    try:
        features = kinds.features_of(door.schema.domain)
    except UsageError:
        return None
    rest = [n for n in door.schema.domain if n not in {*features, kinds.attribute}]
    # Given all that is before it, a column is that of a whole public row.
    told = tuple((name, (*features, *rest[:i])) for i, name in enumerate(rest))
    kinds = replace(kinds, conditionals=told)
    pairs: list[Clique] = [*combinations(features, 2)] or [features]
    if kinds.noise(door, public, pairs) < SMALL_NOISE:
        return None
    price = split(door.grains, door.currency, [LOOK, 1 - LOOK])[0]
    scale = scale_upper(price, door.currency, bound=Fraction(1))
    deviation = door.currency.deviation(scale)
    shapes = Shapes.of(public, features, KINDS, deviation=deviation)
    counts = door.unit_mode(features, scale=scale, labels=shapes.labels)
    counts = np.append(counts, np.zeros(shapes.count - len(counts)))
    people = max(float(counts.sum()), 1.0)
    apart = 0.5 * float(np.abs(counts / people - shapes.people / shapes.people.sum()).sum())
    changed = max(0.0, apart - MEAN_SIZE / 2 * deviation * shapes.count / people)
    # There may be many more people, or fewer, than public ones.
    noise = kinds.noise(door, public, pairs, larger=people / len(public.sizes()))
    if noise < SMALL_NOISE or changed >= noise:
        return None
    columns = drift(door, public, people=people, price=price)
    if max(columns.values(), default=0.0) >= CHANGED:
        return None
    seen = UNCHANGED if columns else UNSEEN
    return Choice(
        mechanism=kinds,
        why="A public table of people shows kinds of them, and the private table has about as many "
        f"of each: about {100 * changed:.0f} % of its people would have to be of another kind, "
        f"where noise would change about {100 * noise:.0f} % of the rows of a pair of columns; and "
        f"{seen}. So public people stand in, as many of each kind as there are (archetypes).",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Choose the mechanism that fits the table.

    The choice and the reason for it are in the release's manifest (`docs/auto.md`); `auto` returns
    them beforehand.

    >>> Auto()
    Auto()
    """

    name: ClassVar[str] = "auto"

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Choose a mechanism and run it."""
        choice = auto(door.schema, unit=door.unit, public=public)
        if public is not None and public.people is not None:
            progress("comparing with the public table", 0)
            choice = resembling(door, public) or choice
        progress(f"chose {choice.mechanism.name}", 0)
        made = choice.mechanism.run(door, public=public, rng=rng, progress=progress)
        return replace(made, details={**choice.to_dict(), **made.details})
