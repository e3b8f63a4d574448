"""The encoder as SQL: the same codes as `understudy.schema.columns`, made in the engine.

One query encodes a table: nested SELECTs take texts, then fields, then readings, each
once however many columns use it; listed values are found by their place in a list that the
engine is told of, and the outermost SELECT turns readings into codes.  The SQL keeps to what
DuckDB and Spark share; the few functions that differ are named in a `Dialect`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from understudy.schema.columns import DROP, Categorical, DateTime, Integer, Numeric, Remainder
from understudy.schema.encoding.calendar import compile_format
from understudy.schema.encoding.dialect import literal, quote
from understudy.schema.encoding.expressions import (
    STAMPED,
    double,
    group,
    number_of,
    part_of,
    seconds_at,
    seconds_in,
    text_of,
)
from understudy.schema.encoding.reading import STAMP, null_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from understudy.schema.columns import Modelled
    from understudy.schema.encoding.dialect import Dialect, Kind

    Measured = Integer | Numeric | Remainder | DateTime
    """Columns whose codes follow from a number."""

SHORT = 4
"""How many texts are listed in one IN."""


def _absent(column: Measured, read: _Read, kind: Kind) -> str:
    """Say when a value is absent."""
    dated = isinstance(column, DateTime)
    tests = [f"{read.x} IS NULL"]
    if dated and kind in STAMPED:
        # One out of the calendar is absent too: an engine may have no number for it.
        tests.append(f"{read.r} IS NULL")
    if dated or kind not in ("whole", "double", "float", "duration"):
        tests += [f"{read.t} IS NULL", _in(read.t, column.null_keys)] if read.t else []
    elif kind in ("double", "float"):
        tests.append(f"isnan({read.x})")
    listed = ", ".join(map(double, null_numbers(column.null_keys)))
    if listed and not dated:
        tests.append(f"coalesce({read.r} IN ({listed}), FALSE)")
    return " OR ".join(tests)


def _in(x: str, texts: Iterable[str]) -> str:
    # In short lists: DuckDB makes a join of a long one, which for many columns is many joins.
    listed = [literal(t) for t in texts]
    parts = [", ".join(listed[i : i + SHORT]) for i in range(0, len(listed), SHORT)]
    found = " OR ".join(f"{x} IN ({part})" for part in parts)
    return f"coalesce({found}, FALSE)" if found else "FALSE"


def _bin(r: str, edges: Sequence[float], first: int) -> str:
    """Find a bin among inner edges by halving: as exact as comparison, and not linear."""
    if not edges:
        return str(first)
    middle = len(edges) // 2
    below, above = _bin(r, edges[:middle], first), _bin(r, edges[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {r} < {double(edges[middle])} THEN {below} ELSE {above} END"


def _code(column: Measured, r: str, absent: str) -> str:
    """Turn a reading into a code."""
    head = f"CASE WHEN {absent} THEN {column.if_missing} WHEN {r} IS NULL THEN {column.if_invalid} "
    if isinstance(column, Numeric):
        low, high = double(column.edges[0]), double(column.edges[-1])
        inside, last = _bin(r, column.edges[1:-1], 0), column.bins - 1
        for place, value in enumerate(column.special):
            head += f"WHEN {r} = {double(value)} THEN {column.bins + place} "
    elif isinstance(column, Remainder):
        low, high = str(column.min), str(column.max)
        above_low = f"(floor({r}) - {low})"
        inside = f"{above_low} - {column.step} * floor({above_low} / CAST({column.step} AS DOUBLE))"
        last = (column.max - column.min) % column.step
        for value in column.special:
            head += f"WHEN {r} = {double(value)} THEN {column.step} "
    else:
        low, high = str(column.min), str(column.max)
        inside, last = f"CAST({r} - {low} AS BIGINT)", column.values_count - 1
    if column.outside == "nearest":
        below, above = "0", str(last)
    else:
        below = above = str(column.if_invalid)
    return head + f"WHEN {r} < {low} THEN {below} WHEN {r} > {high} THEN {above} ELSE {inside} END"


@dataclass(slots=True)
class _Layers:
    """Nested SELECTs: an expression is put on a floor once, and known by a name above it."""

    floors: list[dict[str, str]] = field(default_factory=lambda: [{} for _ in range(5)])

    def put(self, floor: int, sql: str) -> str:
        """Give the name of an expression on a floor, new or already there."""
        return self.floors[floor].setdefault(sql, f"v{floor}_{len(self.floors[floor])}")

    def select(self, table: str, extra: dict[str, str]) -> str:
        """Compose the query; ``extra`` columns are taken from the table and passed on."""
        ground = [f"{sql} AS {quote(name)}" for name, sql in extra.items()]
        ground += [f"{sql} AS {name}" for sql, name in self.floors[0].items()]
        query = f"SELECT {', '.join(ground)} FROM {table} AS s"
        for made in filter(None, self.floors[1:]):
            listed = ", ".join(f"{sql} AS {name}" for sql, name in made.items())
            query = f"SELECT p.*, {listed} FROM ({query}) AS p"
        return query


@dataclass(frozen=True, slots=True)
class _Read:
    """The names of a column's raw value, its text and its reading before any rounding."""

    x: str
    t: str
    r: str


def _read(column: Measured, kind: Kind, layers: _Layers, dialect: Dialect) -> _Read:
    x = layers.put(0, f"s.{quote(column.table_column)}")
    dated = isinstance(column, DateTime)
    if dated and kind in STAMPED:
        # Its text is needed only where a text of its kind means a missing value.
        named = any(re.fullmatch(STAMP, key) for key in column.null_keys)
        t = layers.put(1, text_of(x, kind, dialect)) if named else ""
        return _Read(x, t, layers.put(3, seconds_at(x, dialect)))
    t = layers.put(1, text_of(x, kind, dialect))
    if not isinstance(column, DateTime):
        return _Read(x, t, layers.put(3, number_of(x, t, kind, dialect)))
    read = []
    for form in dict.fromkeys((column.format, None)):
        written = compile_format(form)
        groups = [layers.put(2, group(t, written, n)) for n in range(len(written.fields) + 1)]
        read.append(seconds_in(groups, written, dialect))
    return _Read(x, t, layers.put(3, f"coalesce({', '.join(read)})"))


def _listed(column: Categorical, kind: Kind, name: str, layers: _Layers, dialect: Dialect) -> str:
    """Turn a text into the code of its place in a list.

    Most texts are listed as they stand; only of others is more read.  What is listed reads as
    itself, so that both ways lead to the same place.
    """
    x = layers.put(0, f"s.{quote(column.table_column)}")
    if kind == "text":
        written = f"CAST({x} AS STRING)"
        q = layers.put(1, dialect.place.format(written, name=name))
        t = layers.put(2, f"CASE WHEN {q} IS NULL THEN {text_of(x, kind, dialect)} END")
        again = f"CASE WHEN {t} <> {written} THEN {dialect.place.format(t, name=name)} END"
        place = layers.put(4, f"coalesce({q}, {again})")
    else:
        t = layers.put(1, text_of(x, kind, dialect))
        place = layers.put(4, dialect.place.format(t, name=name))
    nulls = [n for n in column.null_keys if n not in column.spellings]
    absent = layers.put(4, f"{t} IS NULL OR {_in(t, nulls)}")
    found = _found(column, f"r.{place}")
    return (
        f"CASE WHEN r.{place} IS NOT NULL THEN {found} "
        f"WHEN r.{absent} THEN {column.if_missing} ELSE {column.if_invalid} END"
    )


def _taken(column: Measured, r: str, dialect: Dialect) -> str:
    """Take from a reading what is compared with the domain."""
    if isinstance(column, DateTime):
        return part_of(r, column.part, dialect)
    return f"floor({r} + 0.5)" if isinstance(column, Integer) else r


def _found(column: Categorical, place: str) -> str:
    """Turn a text's place among all spellings into a code; the first are the values themselves."""
    again = list(column.spellings.values())[len(column.values) :]
    if not again:
        return place
    other = " ".join(f"WHEN {len(column.values) + i} THEN {c}" for i, c in enumerate(again))
    return f"CASE {place} {other} ELSE {place} END"


@dataclass(frozen=True, slots=True)
class Encoder:
    """A query that encodes a table, and the lists that it looks texts up in."""

    sql: str
    lists: dict[str, list[str]]
    """Name → the texts that an engine is to know by it."""


def encoder(
    columns: Sequence[Modelled],
    kinds: dict[str, Kind],
    *,
    table: str,
    dialect: Dialect,
    extra: dict[str, str] | None = None,
    prefix: str = "list",
) -> Encoder:
    """Compose the query whose columns are each column's code, by name, and ``extra`` ones.

    Rows of which any code is to be dropped are left out.
    """
    layers = _Layers()
    outer, lists = [f"r.{quote(name)}" for name in extra or {}], {}
    for i, column in enumerate(columns):
        kind = kinds[column.table_column]
        if isinstance(column, Categorical):
            name = f"{prefix}_{i}"
            lists[name] = list(column.spellings)
            code = _listed(column, kind, name, layers, dialect)
        else:
            read = _read(column, kind, layers, dialect)
            taken = layers.put(4, _taken(column, read.r, dialect))
            code = _code(column, f"r.{taken}", f"r.{layers.put(4, _absent(column, read, kind))}")
        outer.append(f"CAST({code} AS INTEGER) AS {quote(column.name)}")
    codes = f"SELECT {', '.join(outer)} FROM ({layers.select(table, extra or {})}) AS r"
    # Only where rows may be left out: Spark works a code out twice that it is to look at first.
    dropping = [c.name for c in columns if DROP in {c.if_missing, c.if_invalid}]
    sound = " AND ".join(f"{quote(name)} <> {DROP}" for name in dropping) or "TRUE"
    return Encoder(f"SELECT * FROM ({codes}) AS e WHERE {sound}", lists)
