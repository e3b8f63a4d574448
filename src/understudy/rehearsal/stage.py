"""What `check` rehearses on: the public table, people made up as declared, or plain rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Norm, Unit, Weights
from understudy.errors import UsageError
from understudy.public import Batches, PublicTable, moved
from understudy.release.rows import Decoded
from understudy.schema.columns.screened import ABSENT, READ
from understudy.schema.columns.screened import UNREAD as UNREADABLE
from understudy.session import open_session

if TYPE_CHECKING:
    from pathlib import Path

    from understudy.budget import Bounding
    from understudy.public import Progress
    from understudy.release import Release
    from understudy.schema import Array, Schema
    from understudy.schema.columns import Released
    from understudy.schema.encoding.reading import Codes
    from understudy.session import Session
    from understudy.synth import Mechanism

PEOPLE = 10_000
"""How many people are drawn where nothing is known of them."""
MOST_ROWS = 1_000_000
CANNOT_TELL = (
    "nothing says how many people there are and how many rows they have, so that this cannot tell "
    "how much noise a bounding needs, or which one is best: --people-count 20000 --rows-per-person "
    "10 rehearses on people made up like that"
)
UNREAD = 0.5
"""A column of which a larger share of the public values is not declared gets a warning."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """What is declared of people: how many there are, and how many rows they have on average."""

    people: int
    rows_per_person: float

    @classmethod
    def of(cls, people: int | None, rows_per_person: float | None) -> Crowd | None:
        """Return what the options declare, None if they declare nothing."""
        if people is None and rows_per_person is None:
            return None
        if people is None or rows_per_person is None:
            raise UsageError(
                "people are made up from both their number and their rows",
                allowed="--people-count N --rows-per-person R",
            )
        if people < 1 or rows_per_person < 1 or people * rows_per_person > MOST_ROWS:
            raise UsageError(
                "cannot make up such people",
                got=f"{people:,} people with {rows_per_person:g} rows each",
                allowed=f"at least 1 of each, and at most {MOST_ROWS:,} rows together",
            )
        return cls(people, rows_per_person)

    def boundings(self, session: Session) -> list[Bounding]:
        """Return the boundings to compare the session's with."""
        caps = [round(self.rows_per_person * part) for part in (0.5, 1)]
        others: list[Bounding] = [Weights(cap) for cap in dict.fromkeys(caps) if cap > 0]
        if session.budget.delta:
            others.append(Norm())
        return [bounding for bounding in others if bounding != session.bounding]

    def rows(self, schema: Schema, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
        """Make up rows: sizes differ as much as a geometric law's, common values are common."""
        sizes = rng.geometric(1 / self.rows_per_person, self.people)
        person = np.repeat(np.arange(self.people), sizes)
        codes = {}
        for name, size in schema.domain.items():
            chance = 1 / np.arange(1.0, size + 1)
            drawn = rng.choice(
                size, self.people if name in schema.own else len(person), p=chance / chance.sum()
            )
            codes[name] = (drawn[person] if name in schema.own else drawn).astype(np.int32)
        return codes, person


@dataclass(frozen=True, slots=True)
class Stage:
    """The table that a rehearsal runs on."""

    data: object
    schema: Schema
    public: PublicTable | None
    people: int | None
    """The number of people of the public table; None where rows are drawn instead."""
    told: str
    crowd: Crowd | None = None
    """What the rows were made up from."""

    @classmethod
    def of(cls, session: Session, crowd: Crowd | None, progress: Progress) -> Stage:
        """Use the public table if it identifies the units; make people or rows up otherwise."""
        read = None
        if session.public is not None and crowd is None:
            progress("reading the public table", 0)
            read = PublicTable.read(session.public, schema=session.schema, unit=session.unit)
            if session.unit.is_row or read.people is not None:
                people = len(read) if read.people is None else int(read.people[-1]) + 1
                told = f"the public table, {len(read):,} rows of {people:,} people"
                own = moved(session.public, session.schema)
                return cls(session.public, own, read, people, told)
        rng = np.random.default_rng(0)
        codes, person = (crowd or Crowd(PEOPLE, 1)).rows(session.schema, rng)
        batches = Batches.held(codes, person)
        rows = Decoded(batches, schema=session.schema, unit=session.person, within=None, rng=rng)
        own = session.schema.released()
        if crowd is None:
            told = f"{PEOPLE:,} rows made up, one a person: nothing says what people are like"
            return cls(rows.columns, own, read, None, told)
        told = (
            f"{crowd.people:,} people made up, with {crowd.rows_per_person:g} rows each on average"
        )
        return cls(rows.columns, own, None, crowd.people, told, crowd)

    def rehearsed(
        self, session: Session, mechanism: Mechanism, ledger: Path, progress: Progress
    ) -> Release:
        """Run the mechanism on this table as if it were the private one."""
        known = all(column.part is None for column in session.person.parts)
        rehearsal = open_session(
            private=self.data,
            public=self.public,
            schema=self.schema,
            unit=session.unit if known or self.people is not None else Unit.each_row(),
            bounding=session.bounding,
            budget=session.budget,
            ledger=ledger,
        )
        return rehearsal.run(mechanism, progress=lambda s, d: progress(f"rehearsal: {s}", d))

    def warnings(self, session: Session) -> list[str]:
        """Warn of what the rehearsal cannot tell, and of public values that are not declared."""
        if self.people is None:
            return [CANNOT_TELL]
        if self.public is None:
            return []
        doubtful = [c for c in self.public.schema.released_columns if _is_doubtful(c, self.public)]
        if not doubtful:
            return []
        # Read once more, each cell as whether it can be read, to tell nulls from other values.
        screened = self.schema.screened
        read = PublicTable.read(self.data, schema=screened, unit=session.unit)
        return [told for c in doubtful for told in _of_unread(c, read.codes[c.name])]


def _is_doubtful(column: Released, public: PublicTable) -> bool:
    """Whether few public rows have a value or a bin of a column: the others may be nulls."""
    return any(
        np.mean(public.codes[part.name] >= part.values_count) > UNREAD
        for part in column.modelled
        if part.name in public.codes
    )


def _of_unread(column: Released, codes: Codes) -> list[str]:
    """Warn if most public values are not declared; of a column that may be missing, no null is."""
    counts = np.bincount(codes, minlength=UNREADABLE + 1)
    wrong = counts[UNREADABLE] + (0 if column.missing else counts[ABSENT])
    share = wrong / max(1, wrong + counts[READ])
    if share <= UNREAD:
        return []
    told = f"have no value of {column.name} that the schema declares"
    if column.missing and counts[ABSENT]:
        told = f"with a value of {column.name} have one that the schema does not declare"
    return [f"{share:.0%} of the public rows {told}: are its values, range or format right?"]
