"""More rows or people of a release, at no privacy cost: everything used is public already.

Where rows were drawn from a model, new ones are drawn from it independently; merged codes, values
within a bin, and the number of rows per person follow the released rows.  Where they were drawn
person by person, or have no model, released people are resampled, each with all of their rows, in
the declared order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import ResolvedUnit
from understudy.errors import SchemaError, UsageError
from understudy.graph import evenly
from understudy.public import Batches, PublicTable, Within
from understudy.release.arguments import check_whole
from understudy.release.conditions import codes_with, wanted_codes
from understudy.release.known import totals_of, with_known_people, with_known_rows
from understudy.release.known_facts import known_of
from understudy.release.people import Joined, lines_of
from understudy.release.rows import Decoded
from understudy.release.unique import with_unique
from understudy.schema.constraints import Never

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.graph import Model
    from understudy.release.contents import Contents
    from understudy.schema import Array, Codes, Schema

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Wanted = Mapping[str, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much is drawn: a number of rows, or a number of people with all of their rows."""

    rows: int | None
    people: int | None = None

    def __post_init__(self) -> None:
        """Raise unless exactly one is given, a whole number that is not negative."""
        if (self.rows is None) == (self.people is None):
            raise UsageError(
                "sample draws a number of rows or a number of people",
                got=f"rows={self.rows} and people={self.people}",
                allowed="one of the two",
            )
        check_whole("rows", self.rows)
        check_whole("people", self.people)

    def drawn(self, sizes: Ints, rng: np.random.Generator) -> Ints:
        """Draw people with replacement, given how many rows each one has."""
        if self.people is not None:
            return rng.integers(len(sizes), size=self.people)
        rows, found = self.rows or 0, np.zeros(0, dtype=np.int64)
        while sizes[found].sum() < rows:
            more = rng.integers(len(sizes), size=1 + rows // int(sizes.mean() + 1))
            found = np.append(found, more)
        return found


def sampled(
    release: Contents,
    amount: Amount,
    *,
    where: Mapping[str, object],
    rng: np.random.Generator,
    alone: bool = False,
    noise: Mapping[str, Floats] | None = None,
) -> dict[str, Array]:
    """Draw rows or people like a release's that all have the wanted values.

    Rows drawn ``alone`` are drawn from the model, and are nobody's.  With the ``noise`` of codes
    that are merged they are a table as a release has, rounded; otherwise they are independent.
    """
    if amount.people is not None:
        _check_own(release, where)
    if not len(release):
        raise UsageError("cannot draw rows from a release that has none")
    wanted = wanted_codes(release.schema, where)
    ids = () if alone else release.ids
    unit = ResolvedUnit.of(*ids)
    known = PublicTable.read(release.columns, schema=release.schema.released(), unit=unit)
    if release.model is None or (release.is_by_person and not alone):
        codes, people = _again(known, amount, wanted, rng)
    else:
        people = _dealt(known, amount, rng)
        rows = len(people)
        behind = Behind(release.merged, noise)
        codes = _drawn(release.model, known, rows, behind=behind, wanted=wanted, rng=rng)
    schema = _wanting(release.schema, wanted)
    named = {name: codes_with(release.schema, name, given) for name, given in where.items()}
    person = ResolvedUnit.of(*release.ids)
    totals = totals_of(release.schema, person, known_of(release.manifest), two_tables=True)
    totals = replace(totals.sampled(named), schema=schema)
    if alone:
        totals = replace(totals, people=())
    codes = schema.keeper.kept(codes, rng)
    batches = Batches.held(codes, people if ids else None)
    lines = lines_of(batches, schema) if ids and schema.own else None
    rows_stay = amount.rows is not None
    batches, lines = with_known_people(batches, lines, totals, rng, rows_stay=rows_stay)
    batches = with_unique(batches, lines, schema, rng)
    batches = with_known_rows(batches, lines, totals, rng)
    decode = partial(Decoded, schema=schema, unit=unit, within=Within(known), rng=rng)
    if lines is not None:
        return Joined.of(batches, lines, schema, decode).columns
    return decode(batches).columns


def _check_own(release: Contents, where: Mapping[str, object]) -> None:
    """Raise on columns that are not people's own; where each row is a person, all of them are."""
    free = release.schema.unconstrained
    own = free.own if release.ids else tuple(free.domain)
    others = [name for name in where if name not in own]
    if others:
        raise UsageError(
            "people are chosen by columns of their own",
            got=", ".join(others),
            allowed=", ".join(own) or 'none: the schema declares no column of = "person"',
            hint="ask for a number of rows to choose rows by any column",
        )


def _wanting(schema: Schema, wanted: Wanted) -> Schema:
    """Return a schema whose constraints allow wanted values only, if it has constraints at all."""
    if not schema.constraints:
        return schema
    only = []
    for name, mask in wanted.items():
        others = [
            label for label, kept in zip(schema[name].labels(), mask, strict=True) if not kept
        ]
        only += [Never({name: others}, name=f"where {name}")] if others else []
    try:
        return replace(schema, constraints=(*schema.constraints, *only))
    except SchemaError:
        raise _impossible(wanted) from None


def _again(
    known: PublicTable, amount: Amount, wanted: Wanted, rng: np.random.Generator
) -> tuple[dict[str, Codes], Ints]:
    """Resample released people, with their wanted rows in order, until there are enough."""
    kept = np.ones(len(known), dtype=bool)
    for name, mask in wanted.items():
        kept &= mask[known.codes[name]]
    _check_possible(kept.sum(), wanted)
    people = np.arange(len(known)) if known.people is None else known.people
    ordered = [known.codes[name] for name in reversed(known.schema.ordering)]
    order = np.lexsort([*ordered, people])
    some = order[kept[order]]
    starts = np.flatnonzero(np.diff(people[some], prepend=-1))
    sizes = np.diff(np.append(starts, len(some)))
    turns = amount.drawn(sizes, rng)
    each = sizes[turns]
    whose = np.repeat(np.arange(len(turns)), each)
    place = np.arange(len(whose)) - np.repeat(np.cumsum(each) - each, each)
    found = some[starts[turns[whose]] + place][: amount.rows]
    return {name: codes[found] for name, codes in known.codes.items()}, whose[: amount.rows]


def _drawn(
    model: Model,
    known: PublicTable,
    rows: int,
    *,
    behind: Behind,
    wanted: Wanted,
    rng: np.random.Generator,
) -> dict[str, Codes]:
    """Draw rows from a model, given what is wanted, and split merged codes as in released rows."""
    spreads = {
        name: _Spread(
            behind.merged.get(name, np.arange(size)),
            behind.counts(name, np.bincount(known.codes[name], minlength=size), rng),
            wanted.get(name, np.ones(size, dtype=bool)),
        )
        for name, size in known.schema.domain.items()
    }
    given: dict[str, Codes] = {}
    if wanted:
        names = tuple(wanted)
        table = model.marginal(names)
        for axis, name in enumerate(names):
            shape = [-1 if i == axis else 1 for i in range(len(names))]
            table = table * spreads[name].part.reshape(shape)
        _check_possible(table.sum(), wanted)
        cells = rng.choice(table.size, size=rows, p=table.reshape(-1) / table.sum())
        codes = np.unravel_index(cells, table.shape)
        given = {n: c.astype(np.int32) for n, c in zip(names, codes, strict=True)}
    rounded = behind.noise is not None
    drawn = model.sample(rows, rng, given=given, way="rounded" if rounded else "multinomial")
    return {n: spread.of(drawn[n], rng, rounded=rounded) for n, spread in spreads.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Behind:
    """What is known of the codes behind each code of the model."""

    merged: Mapping[str, Ints]
    noise: Mapping[str, Floats] | None
    """The noise of each code's rows; None where they are as they are among released rows."""

    def counts(self, name: str, released: Ints, rng: np.random.Generator) -> Floats:
        """Return the rows of every code, as they would be counted if all were measured again.

        Codes that the release has no row of, such as *missing* where nothing is, have none.
        """
        if self.noise is None or name not in self.noise:
            return released.astype(np.float64)
        again = rng.normal(released, self.noise[name])
        return np.where(released > 0, np.maximum(0.0, again), 0.0)


class _Spread:
    """The codes behind each code of the model, with their frequencies."""

    def __init__(self, groups: Ints, counts: Floats, wanted: NDArray[np.bool_]) -> None:
        """Count released rows; the codes of a group without any are equally likely."""
        seen = np.bincount(groups, weights=counts)
        each = np.where(seen[groups] > 0, counts, 1) * 1.0
        whole = np.bincount(groups, weights=each)
        each *= wanted
        self._order = np.argsort(groups, kind="stable")
        self._ends = np.cumsum(each[self._order])
        mass = np.bincount(groups, weights=each)
        self._mass, self._first = mass, np.cumsum(mass) - mass
        self.part: NDArray[np.float64] = mass / whole
        """The share of each group that is wanted."""

    def of(self, codes: Codes, rng: np.random.Generator, *, rounded: bool) -> Codes:
        """Draw a code for each of the model's codes, in the same shares where ``rounded``."""
        luck = evenly(codes, rng) if rounded else rng.random(len(codes))
        at = self._first[codes] + (1 - luck) * self._mass[codes]
        place = np.minimum(np.searchsorted(self._ends, at), len(self._order) - 1)
        return self._order[place].astype(np.int32)


def _dealt(known: PublicTable, amount: Amount, rng: np.random.Generator) -> Ints:
    """Return whose each new row is; numbers of rows are drawn from the released people's."""
    sizes = np.ones(1, dtype=np.int64) if known.people is None else known.sizes()
    each = sizes[amount.drawn(sizes, rng)]
    return rng.permutation(np.repeat(np.arange(len(each)), each)[: amount.rows])


def _check_possible(mass: float, wanted: Wanted) -> None:
    if not mass > 0:
        raise _impossible(wanted)


def _impossible(wanted: Wanted) -> UsageError:
    return UsageError(
        "no synthetic row has these values",
        got=", ".join(wanted),
        hint="name fewer columns, or more values of each",
    )
