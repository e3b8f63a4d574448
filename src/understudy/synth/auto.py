"""Auto: a mechanism and its settings, chosen by what there is; and why, in words.

Public people show which columns go together and how long people are, for nothing: then adaptive
granularity makes the most of them.  Without them `Pairs` asks for as much as there are people for,
and decides that from its own noisy answers (`docs/auto.md`).

Privacy: the choice follows from the schema, the unit and the public table.  Then the run is that of
the mechanism that was chosen.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from understudy.synth.adagrid import AdaGrid
from understudy.synth.pairs import Pairs

if TYPE_CHECKING:
    from understudy.budget import AnyUnit
    from understudy.door import Door
    from understudy.public import Progress, PublicTable, Synthesis
    from understudy.schema import Schema

STEADY = 0.95
"""The share of rows that must be alike for people to keep to a column's value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A mechanism with its settings, and why it was chosen."""

    mechanism: AdaGrid | Pairs
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Write it as plain data, for a manifest."""
        chosen = {"name": self.mechanism.name, "settings": asdict(self.mechanism)}
        return {"chosen": chosen, "why": self.why}


def auto(schema: Schema, *, unit: AnyUnit, public: PublicTable | None = None) -> Choice:
    """Choose a mechanism for a table, and say why; it costs nothing.

    >>> from understudy.budget import Unit
    >>> from understudy.schema import Integer, Schema
    >>> schema = Schema("t", tuple(Integer(name=n, min=0, max=9) for n in "abc"))
    >>> auto(schema, unit=Unit("who")).mechanism.name
    'pairs'
    """
    told = f"There are {len(schema.domain)} columns"
    within: Literal["evenly", "public"] = "evenly" if public is None else "public"
    if not unit.is_row and public is not None and public.people is not None:
        grid = AdaGrid(within="public", ids_by=steady(public))
        if grid.fits(public):
            return Choice(
                mechanism=grid,
                why=f"{told} and a public table of people, which shows for nothing which columns "
                "go together and what people keep to: adaptive granularity makes the most of that "
                "(adagrid).",
            )
        told += ", and public people suggest too large a model of them"
    elif public is None:
        told += " and no public table"
    else:
        told += ", and the public table does not tell of people with several rows"
    return Choice(
        mechanism=Pairs(within=within),
        why=f"{told}: a tree of pairs is asked for, and as many pairs more as are worth their "
        "noise (pairs).",
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """The mechanism that fits the table.

    The choice and the reason for it are in the release's manifest (`docs/auto.md`); `auto` gives
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
        """Choose, and run what was chosen."""
        choice = auto(door.schema, unit=door.unit, public=public)
        progress(f"chose {choice.mechanism.name}", 0)
        made = choice.mechanism.run(door, public=public, rng=rng, progress=progress)
        return replace(made, details={**choice.to_dict(), **made.details})
