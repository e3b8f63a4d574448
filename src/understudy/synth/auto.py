"""Auto: a mechanism and its settings, chosen by what there is; and why, in words.

Public people show, at no privacy cost, which columns are correlated and how large users'
contributions are: then adaptive granularity makes the most of them.  Without them `Lives` draws
people where the schema says what is a person's own or what orders their rows; and elsewhere `Pairs`
measures as much as the number of people allows, which both decide from their own noisy answers
(`docs/auto.md`).

Privacy: the choice follows from the schema, the unit and the public table.  Then the run is that of
the mechanism that was chosen.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from understudy.errors import QuestionError
from understudy.synth.adagrid import AdaGrid
from understudy.synth.lives import Lives
from understudy.synth.pairs import Pairs

if TYPE_CHECKING:
    from understudy.budget import AnyUnit
    from understudy.door import Door
    from understudy.public import Progress, PublicTable, Synthesis
    from understudy.schema import Schema

WIDEST = 200
"""The most columns of a table for which a mechanism is chosen: it looks at all pairs of them."""
STEADY = 0.95
"""The share of equal rows from which a column counts as constant within a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A mechanism with its settings, and why it was chosen."""

    mechanism: AdaGrid | Pairs
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
    if not unit.is_row and public is not None and public.people is not None:
        grid = AdaGrid(within="public", ids_by=steady(public))
        if grid.fits(public):
            return Choice(
                mechanism=grid,
                why=f"{told} and a public table of people, which shows at no privacy cost which "
                "columns are correlated and which are constant within a person: adaptive "
                "granularity makes the most of that (adagrid).",
            )
        told += ", and the public table suggests a model of them that is too large"
    elif public is None:
        told += " and no public table"
    else:
        told += ", and the public table does not show people with several rows"
    if not unit.is_row and (schema.own or schema.ordering):
        known = "what is a person's own" if schema.own else "what orders a person's rows"
        return Choice(
            mechanism=Lives(within=within),
            why=f"{told}, and the schema says {known}: people are drawn first, then their rows "
            "(lives).",
        )
    return Choice(
        mechanism=Pairs(within=within),
        why=f"{told}: a tree of pairs is measured, and as many further pairs as are worth their "
        "noise (pairs).",
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
        progress(f"chose {choice.mechanism.name}", 0)
        made = choice.mechanism.run(door, public=public, rng=rng, progress=progress)
        return replace(made, details={**choice.to_dict(), **made.details})
