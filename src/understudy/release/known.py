"""Known totals of a release: what is checked before anything is spent, and how rows follow them.

People follow first, each with all of their rows; then rows, which stay with their people.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import SchemaError
from understudy.public import Batches
from understudy.release.arranging import Total, arranged
from understudy.release.rows import ids_of, in_order
from understudy.schema import Timestamp
from understudy.schema.constraints import Order, UniquePerPerson
from understudy.schema.constraints.mending import completed, mended
from understudy.schema.constraints.solving import Solver, components

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.budget import ResolvedUnit
    from understudy.release.arranging import Arranged
    from understudy.schema import Codes, Schema
    from understudy.schema.known import Known

    Ints = NDArray[np.int64]


MOST_COMBINATIONS = 20_000
"""The most combinations of what is tied by constraints that are tried."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Known totals of a schema, in codes and in an order in which they can be followed."""

    schema: Schema
    rows: tuple[Total, ...] = ()
    people: tuple[Total, ...] = ()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.rows or self.people)

    def sampled(self, wanted: Mapping[str, NDArray[np.bool_]]) -> Totals:
        """Return the shares that rows with wanted values follow: those that count by these."""
        return replace(self, rows=_given(self.rows, wanted), people=_given(self.people, wanted))

    @property
    def solvers(self) -> list[Solver]:
        """What the schema's constraints say of codes, of determined columns too."""
        keeper = self.schema.keeper
        return [Solver.of(c) for c in components([*keeper.relations, *keeper.determinations])]


def totals_of(
    schema: Schema, unit: ResolvedUnit, known: Sequence[Known], *, two_tables: bool = False
) -> Totals:
    """Check known totals against a schema and each other; raise on what cannot be followed."""
    found: dict[str, list[Total]] = {"rows": [], "people": []}
    for each in known:
        cells, counts = each.coded(schema)
        size = None if each.scaled else each.total
        _check_columns(schema, each)
        of = _counted(schema, unit, each)
        found[of].append(Total(each.label, each.clique, cells, counts, size))
    totals = Totals(schema, *(_in_order(found[of]) for of in ("rows", "people")))
    _check_unique(totals, unit)
    _check_constraints(totals, own=_own(schema, unit))
    sizes = [max((t.size or 0 for t in each), default=0) for each in (totals.rows, totals.people)]
    if 0 < sizes[0] < sizes[1] and not two_tables:
        raise SchemaError(
            "known totals count fewer rows than people",
            got=f"{sizes[0]:,} rows and {sizes[1]:,} people",
            hint="people without rows need a table of their own",
        )
    return totals


def _given(totals: tuple[Total, ...], wanted: Mapping[str, NDArray[np.bool_]]) -> tuple[Total, ...]:
    """Return the shares of wanted cells, by totals that count by all of the wanted columns."""
    found = []
    for total in totals:
        if not set(wanted) <= set(total.clique):
            continue
        kept = np.ones(len(total.cells), dtype=bool)
        for name, mask in wanted.items():
            kept &= mask[total.cells[:, total.clique.index(name)]]
        if kept.any():
            found.append(
                replace(total, cells=total.cells[kept], counts=total.counts[kept], size=None)
            )
    # Without the others, what they share may be in a circle: the first is followed then.
    try:
        return _in_order(found)
    except SchemaError:
        return _in_order(found[:1])


def _own(schema: Schema, unit: ResolvedUnit) -> set[str]:
    """Return the columns that are people's own, where rows are of people."""
    return set(schema.unconstrained.own) if ids_of(schema, unit) else set()


def _counted(schema: Schema, unit: ResolvedUnit, known: Known) -> str:
    """Return what is counted: where every row is a person, rows."""
    if unit.is_row:
        return "rows"
    own = _own(schema, unit)
    strays = [name for name in known.clique if (name in own) != (known.of == "people")]
    if not strays:
        return known.of
    if known.of == "people":
        raise SchemaError(
            f"known totals {known.label!r}: people are counted by columns of their own",
            got=", ".join(map(repr, strays)),
            allowed=", ".join(sorted(own)) or 'none: the schema declares no column of = "person"',
        )
    raise SchemaError(
        f"known totals {known.label!r}: rows are not counted by people's own columns",
        got=", ".join(map(repr, strays)),
        hint='of = "people" for counts of people',
    )


def _check_columns(schema: Schema, known: Known) -> None:
    """Raise on columns whose codes follow from values in the end."""
    sums = [name for name in known.clique if schema.keeper.is_sum(name)]
    moments = {name for c in schema.constraints if isinstance(c, Order) for name in c.order}
    late = {
        part.name: c.name
        for c in schema.released_columns
        if isinstance(c, Timestamp) and c.name in moments
        for part in c.modelled[1:]
    }
    moved = [late[name] for name in known.clique if name in late]
    if sums or moved:
        name = (sums or moved)[0]
        (rule, *_) = (c.label for c in schema.constraints if name in c.columns)
        raise SchemaError(
            f"known totals {known.label!r} and the constraint {rule!r} cannot both be kept",
            got=f"counts by {name!r}, whose values are computed or put in order in the end",
        )


def _in_order(totals: list[Total]) -> tuple[Total, ...]:
    """Order totals so that what each shares with those before is all in one of them."""
    for one, other in combinations(totals, 2):
        _check_agreement(one, other)
    left, found = list(totals), list[Total]()
    while left:
        seen = {name for total in found for name in total.clique}
        near = [max((len(set(t.clique) & set(f.clique)) for f in found), default=0) for t in left]
        following = left.pop(int(np.argmax(near)))
        shared = tuple(name for name in following.clique if name in seen)
        if shared and not any(set(shared) <= set(total.clique) for total in found):
            raise SchemaError(
                "known totals share columns in a circle",
                got=", ".join(repr(total.label) for total in totals),
                hint="leave one of them out, or count by all of these columns at once",
            )
        found.append(replace(following, shared=shared))
    return tuple(found)


def _check_agreement(one: Total, other: Total) -> None:
    """Raise unless two totals say the same of the columns that they share."""
    shared = [name for name in one.clique if name in other.clique]
    ours, theirs = (_margin(total, shared) for total in (one, other))
    whole = sum(ours.values()), sum(theirs.values())
    exact = one.size is not None and other.size is not None
    agree = all(ours[cell] * whole[1] == theirs[cell] * whole[0] for cell in {*ours, *theirs})
    if not agree or (exact and whole[0] != whole[1]):
        what = f"by {', '.join(shared)}" if shared else "in total"
        raise SchemaError(
            "known totals contradict each other",
            got=f"{one.label!r} and {other.label!r}, {what}",
            hint="scaled = true where only the shares are known" if not shared else None,
        )


def _margin(total: Total, columns: Sequence[str]) -> Counter[tuple[int, ...]]:
    """Add counts up over all columns but some."""
    at = [total.clique.index(name) for name in columns]
    found: Counter[tuple[int, ...]] = Counter()
    for cell, count in zip(total.cells[:, at].tolist(), total.counts.tolist(), strict=True):
        found[tuple(cell)] += count
    return found


def _check_unique(totals: Totals, unit: ResolvedUnit) -> None:
    """Raise where rows would be moved to, or repeated with, a value that their person has."""
    if not ids_of(totals.schema, unit):
        return
    for rule in (c for c in totals.schema.constraints if isinstance(c, UniquePerPerson)):
        for total in totals.rows:
            if total.size is not None or rule.column in total.clique:
                raise SchemaError(
                    f"known totals {total.label!r} and the constraint {rule.label!r} cannot both "
                    "be kept",
                    hint=f"scaled = true, and no counts by {rule.column!r}",
                )


def _check_constraints(totals: Totals, own: set[str]) -> None:
    """Raise on counts of what constraints forbid, and on what could not be followed by itself."""
    unique = {c.column for c in totals.schema.constraints if isinstance(c, UniquePerPerson)}
    for solver in totals.solvers:
        for each, stays in ((totals.rows, own | unique if own else set()), (totals.people, set())):
            about = [total for total in each if set(total.clique) & set(solver.columns)]
            cells = [_kinds(solver, total) for total in about]
            for total, kinds in zip(about, cells, strict=True):
                if any(solver.nearest(kind, {}) is None for kind in kinds):
                    raise SchemaError(
                        f"known totals {total.label!r} count what constraints forbid",
                        got=f"a combination that {_rules(solver)} do not allow",
                    )
            fixed = sorted(stays & set(solver.columns))
            if about and len(about) + len(fixed) > 1 and not _independent(solver, cells, fixed):
                known = ", ".join(repr(total.label) for total in about)
                others = f", and {', '.join(fixed)} of each person," if fixed else ""
                raise SchemaError(
                    "known totals and constraints that tie their columns to others cannot be kept "
                    "together",
                    got=f"{known}{others} and {_rules(solver)}",
                    hint=None if fixed else "count by all of these columns at once",
                )


def _rules(solver: Solver) -> str:
    return ", ".join(dict.fromkeys(repr(r.name) for r in solver.relations))


def _kinds(solver: Solver, total: Total) -> list[dict[str, int]]:
    """Return the kinds of a total's cells, in the columns that a solver knows."""
    names = [name for name in total.clique if name in solver.columns]
    at = [total.clique.index(name) for name in names]
    kinds = [solver.kinds[name][total.cells[:, i]] for name, i in zip(names, at, strict=True)]
    each = np.unique(np.stack(kinds, axis=1), axis=0).tolist()
    return [dict(zip(names, kind, strict=True)) for kind in each]


def _independent(
    solver: Solver, cells: Sequence[Sequence[dict[str, int]]], fixed: Sequence[str]
) -> bool:
    """Whether all cells of totals can be had together, whatever the fixed columns are."""
    choices = [*cells, *([{name: k} for k in range(solver.counts[name])] for name in fixed)]
    if math.prod(map(len, choices)) > MOST_COMBINATIONS:
        return False
    for combination in product(*choices):
        there = {name: kind for part in combination[len(cells) :] for name, kind in part.items()}
        wanted = there | {name: kind for part in combination for name, kind in part.items()}
        # Cells that differ in what they share are of different rows.
        alike = all(part.items() <= wanted.items() for part in combination)
        if alike and solver.nearest(wanted, {}) is None and solver.nearest(there, {}) is not None:
            return False
    return True


def with_first_rows(
    batches: Batches, totals: Totals, rng: np.random.Generator, *, people: int
) -> Batches:
    """Return rows to begin with, of uniform codes, where there are none but some are known.

    They are ``people``'s, if there are any of these, and otherwise each is a person's.
    """
    sizes = [total.size for total in (*totals.rows, *totals.people) if total.size is not None]
    if batches.rows or not sizes:
        return batches
    each = {
        name: rng.integers(0, size, sizes[0]).astype(np.int32)
        for name, size in totals.schema.domain.items()
    }
    whose = rng.integers(0, people, sizes[0]) if people else np.arange(sizes[0])
    return Batches.held(each, None if batches.whole().people is None else whose)


def with_known_people(
    batches: Batches,
    lines: Batches | None,
    totals: Totals,
    rng: np.random.Generator,
    *,
    two_tables: bool = False,
    rows_stay: bool = False,
) -> tuple[Batches, Batches | None]:
    """Return rows and people of whom as many as are known have each of the known values.

    Who is needed in place of another comes with all of their rows, unless these stay.  People
    without rows count only where they have a table of their own.
    """
    if not totals.people or lines is None:
        return batches, lines
    people, rows = lines.whole(), batches.whole()
    assert people.people is not None  # noqa: S101  they are people
    assert rows.people is not None  # noqa: S101  they are of people
    there = np.arange(len(people.people))
    if not two_tables:
        there = np.searchsorted(people.people, np.unique(rows.people))
    codes = totals.schema.keeper.filled({n: c[there] for n, c in people.codes.items()})
    found = arranged(codes, totals.people, rng)
    new = {name: held[found.source] for name, held in codes.items()} | found.codes
    for solver in totals.solvers:
        new = completed(solver, new, rng, found.columns)
    come = found.start if rows_stay else found.source
    kept, whose = _rows_of(rows.people, people.people[there][come])
    return (
        Batches.held({name: held[kept] for name, held in rows.codes.items()}, whose),
        Batches.held(totals.schema.keeper.filled(new), np.arange(len(found.source))),
    )


def _rows_of(people: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Return the rows of each wanted person, in turn, and the place of that person."""
    order = np.argsort(people, kind="stable")
    first = np.searchsorted(people[order], wanted)
    count = np.searchsorted(people[order], wanted, side="right") - first
    whose = np.repeat(np.arange(len(wanted)), count)
    place = np.arange(len(whose)) - np.repeat(np.cumsum(count) - count, count)
    return order[first[whose] + place], whose


def with_known_rows(
    batches: Batches, lines: Batches | None, totals: Totals, rng: np.random.Generator
) -> Batches:
    """Return rows of which as many as are known have each of the known values.

    A row in place of another stays that one's person's.
    """
    if not totals.rows:
        return batches
    schema, rows = totals.schema, batches.whole()
    owned = _owned(rows.people, lines)
    codes = schema.keeper.kept({**rows.codes, **owned}, rng, fixed=owned)
    needed = None
    if rows.people is not None:
        needed = np.zeros(len(rows.people), dtype=bool)
        needed[np.unique(rows.people, return_index=True)[1]] = True
    found = arranged(codes, totals.rows, rng, needed=needed)
    unique = [c.column for c in schema.constraints if isinstance(c, UniquePerPerson)]
    stays = {*owned, *(unique if rows.people is not None else ())}
    new = _replaced(codes, found, stays)
    for solver in totals.solvers:
        if all(name in new for name in solver.columns):
            new = mended(solver, new, rng, stays | found.columns)
    people = None if rows.people is None else rows.people[found.start]
    order: Ints | slice = slice(None)
    if people is not None and schema.order_by and np.all(people[1:] >= people[:-1]):
        order = in_order(schema, new, people)
    return Batches.held(
        {name: new[name][order] for name in rows.codes}, None if people is None else people[order]
    )


def _replaced(codes: Mapping[str, Codes], found: Arranged, stays: set[str]) -> dict[str, Codes]:
    """Copy rows from their sources, but for what stays."""
    new = {n: held[found.start if n in stays else found.source] for n, held in codes.items()}
    return new | found.codes


def _owned(people: Ints | None, lines: Batches | None) -> dict[str, Codes]:
    """Return the own codes of each row's person."""
    if people is None or lines is None:
        return {}
    known = lines.whole()
    assert known.people is not None  # noqa: S101  they are people
    whose = np.searchsorted(known.people, people)
    return {name: codes[whose] for name, codes in known.codes.items()}
