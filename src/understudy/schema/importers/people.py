"""Propose what is a person's own and what orders their rows, from a public table with people.

Conservative: nothing is proposed unless enough public people have several rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.columns import NULLS, Released, Timestamp
from understudy.schema.encoding.reading import seconds as seconds_of
from understudy.schema.encoding.reading import texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema.columns import Declaration
    from understudy.schema.encoding.reading import Array

    Ints = NDArray[np.int64]

FEWEST = 100
"""The fewest people with several rows that anything is proposed from."""
ENOUGH_PEOPLE, ENOUGH_ROWS = 300, 100_000
"""Of a larger table, the first people are looked at that are as many, and have as many rows."""
OFTEN = 0.1
"""The least share of people that must have several rows: a few may be mistakes."""
NEARLY_ALL = 0.99
"""The least share of people with one value of a column that is their own."""
BY_CHANCE = 0.1
"""The most people with several values, as a share of those that there would be by chance."""
DISTINCT = 0.8
"""The least share of a person's rows that differ in what orders them, averaged over people."""
FINER = 0.02
"""By how much that share must rise for another column to be worth its place in the order."""
TIMES = ("wave", "round", "period", "year", "yr", "quarter", "month", "week", "date", "day", "time")
"""Words in the names of numbers that may order rows, the coarsest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The columns that may be a person's own, those that may order their rows, and why."""

    own: dict[str, str] = field(default_factory=dict)
    """The reason for each own column."""
    order_by: tuple[str, ...] = ()
    why_order: str = ""


def numbered(table: Mapping[str, Array], ids: Sequence[str]) -> Ints:
    """Return the number of each row's person; -1 for rows without an id.

    >>> numbered({"a": np.array([7, 7, 8]), "b": np.array(["x", "x", ""])}, ["a", "b"]).tolist()
    [0, 0, -1]
    """
    nobody = {None, *NULLS}
    known: dict[tuple[str, ...], int] = {}
    rows = zip(*(texts(np.asarray(table[name])).tolist() for name in ids), strict=True)
    return np.array(
        [known.setdefault(row, len(known)) if nobody.isdisjoint(row) else -1 for row in rows],
        dtype=np.int64,
    )


def joined(
    people: Mapping[str, Array], rows: Mapping[str, Array], ids: Sequence[str]
) -> dict[str, Array]:
    """Join public rows with what is their people's own; rows of nobody are dropped.

    >>> table = joined(
    ...     {"id": np.array([1, 2]), "sex": np.array(["f", "m"])},
    ...     {"id": np.array([2, 2, 3, 1]), "day": np.array([5, 6, 7, 8])},
    ...     ["id"],
    ... )
    >>> {name: values.tolist() for name, values in table.items()}
    {'id': [2, 2, 1], 'sex': ['m', 'm', 'f'], 'day': [5, 6, 8]}
    """
    both = {n: [*texts(np.asarray(people[n])), *texts(np.asarray(rows[n]))] for n in ids}
    who = numbered({n: np.array(values, dtype=object) for n, values in both.items()}, ids)
    lines, of_rows = who[: len(who) - len(rows[ids[0]])], who[len(who) - len(rows[ids[0]]) :]
    first = np.full(int(who.max(initial=-1)) + 2, -1)
    # Backwards, so that of a person's lines the first stays; nobody is the last place.
    first[lines[::-1]] = np.arange(len(lines))[::-1]
    first[-1] = -1
    at = first[of_rows]
    own = {n: np.asarray(values)[at[at >= 0]] for n, values in people.items()}
    return own | {n: np.asarray(v)[at >= 0] for n, v in rows.items() if n not in people}


def propose(table: Mapping[str, Array], columns: Sequence[Declaration], people: Ints) -> Proposal:
    """Propose from a public table, its drafted columns, and whose each row is."""
    sizes = np.bincount(people[people >= 0], minlength=1)
    enough = max(ENOUGH_PEOPLE, 1 + int(np.searchsorted(np.cumsum(sizes), ENOUGH_ROWS)))
    some = (people >= 0) & (people < enough)
    people, sizes = people[some], sizes[:enough]
    several = int((sizes > 1).sum())
    if several < max(FEWEST, OFTEN * len(sizes)):
        return Proposal()
    drafted = [c for c in columns if isinstance(c, Released) and c.table_column in table]
    table = {c.table_column: np.asarray(table[c.table_column])[some] for c in drafted}
    own = {}
    for column in drafted:
        constant, count = _constant(table[column.table_column], people)
        if constant is not None:
            own[column.name] = (
                f"{_percent(constant)} of {count:,} public people with several rows have one value."
            )
    rest = [c for c in drafted if c.name not in own]
    order_by, distinct = _order(table, rest, people)
    why_order = (
        f"{_percent(distinct)} of a public person's rows differ in it, on average over "
        f"{several:,} people with several rows."
    )
    return Proposal(own=own, order_by=order_by, why_order=why_order if order_by else "")


def _constant(values: Array, people: Ints) -> tuple[float | None, int]:
    """Return the share of people with one value, None if it may be chance; and their number.

    People with several rows that have a value are counted.  Who has one in some rows and none in
    others has two: a person's own column has one value, or none, in all of them.
    """
    number: dict[str | None, int] = {}
    cells = np.array([number.setdefault(text, len(number)) for text in texts(values).tolist()])
    kept = ~np.isin(cells, [number.get(text, -1) for text in (None, *NULLS)])
    known = np.bincount(people[kept], minlength=int(people.max(initial=-1)) + 1) > 0
    rows, all_kinds = _counts(people, [np.where(kept, cells, len(number))])
    counted = known & (rows > 1)
    count = int(counted.sum())
    who, cells = people[kept], cells[kept]
    sizes, kinds = _counts(who, [cells])
    several = sizes > 1
    told = int(several.sum())
    if told < FEWEST:
        return None, count
    share = float((all_kinds[counted] == 1).mean())
    apart = float((kinds[several] > 1).mean())
    # By chance, a person of n rows has one value with probability Σ pⁿ.
    each, times = np.unique(sizes[several], return_counts=True)
    p = np.bincount(cells) / len(cells)
    chance = float(np.dot([(p**n).sum() for n in each], times) / told)
    is_own = chance < 1 and share >= NEARLY_ALL and apart <= BY_CHANCE * (1 - chance)
    return (share if is_own else None), count


def _order(
    table: Mapping[str, Array], columns: Sequence[Released], people: Ints
) -> tuple[tuple[str, ...], float]:
    """Return the columns in which most of a person's rows differ, and how many of them do."""
    for column in columns:
        if column.kind == "timestamp":
            distinct = _distinct(table, [column], people)
            if distinct >= DISTINCT:
                return (column.name,), distinct
    timed = [(rank, c) for c in columns if (rank := time_rank(c)) is not None]
    taken: list[Released] = []
    best = 0.0
    for _, column in sorted(timed, key=lambda found: found[0]):
        distinct = _distinct(table, [*taken, column], people)
        if distinct >= best + FINER:
            taken, best = [*taken, column], distinct
    return (tuple(c.name for c in taken), best) if best >= DISTINCT else ((), best)


def time_rank(column: Declaration) -> int | None:
    """Return how coarse a time a column of numbers is named after; None if it is not.

    >>> from understudy.schema.columns import Integer
    >>> names = ("birth_yr", "year", "yearly_income")
    >>> [time_rank(Integer(name=name, min=0, max=9)) for name in names]
    [4, 3, None]
    """
    if column.kind not in {"integer", "numeric"}:
        return None
    words = re.split(r"[^a-z]+", column.name.lower())
    return next((rank for rank, word in enumerate(TIMES) if word in words), None)


def _distinct(table: Mapping[str, Array], columns: Sequence[Released], people: Ints) -> float:
    """Return the share of distinct values among a person's rows, averaged over people.

    Date-times are compared as they are, since months, weekdays and hours come again, and numbers by
    their codes.  Rows without a value do not count.
    """
    codes: list[Array] = []
    kept = np.ones(len(people), dtype=bool)
    for column in columns:
        if isinstance(column, Timestamp):
            moments = column.modelled[0]
            seconds, _ = seconds_of(table[column.table_column], column.format, moments.null_keys)
            known = ~np.isnan(seconds)
            kept &= known
            codes.append(np.unique(np.where(known, seconds, 0.0), return_inverse=True)[1])
            continue
        for part in column.modelled:
            code = part.encode(table[part.table_column])
            kept &= (code >= 0) & (code < part.values_count)
            codes.append(code)
    sizes, kinds = _counts(people[kept], [code[kept] for code in codes])
    several = sizes > 1
    return float((kinds[several] / sizes[several]).mean()) if several.sum() >= FEWEST else 0.0


def _counts(people: Ints, codes: Sequence[Array]) -> tuple[Ints, Ints]:
    """Count every person's rows, and the different codes among them."""
    cells = people
    for code in codes:
        cells = np.unique(cells * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1]
    first = np.unique(cells, return_index=True)[1]
    least = int(people.max(initial=-1)) + 1
    return np.bincount(people, minlength=least), np.bincount(people[first], minlength=least)


def _percent(share: float) -> str:
    """Return a share in words, rounded down."""
    return f"{np.floor(1000 * share) / 10:g} %"
