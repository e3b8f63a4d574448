"""The encoder as SQL: the same codes as `understudy.schema.columns`, made in the engine.

One query encodes a table: an inner SELECT takes the readings, joins with small look-up
tables find listed values, an outer SELECT turns readings into codes.  The SQL keeps to what
DuckDB and Spark share; the few functions that differ are named in a `Dialect`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from understudy.errors import SchemaError
from understudy.schema.calendar import MONTHS, compile_format
from understudy.schema.columns import DROP, Categorical, DateTime, Integer, Numeric
from understudy.schema.reading import EXACT, NUMBER, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from understudy.schema.columns import Column, Modelled

Kind = Literal["whole", "double", "boolean", "moment", "text"]
"""What a table's column holds: whole numbers, float64, booleans, date-times, anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The functions whose names differ between engines, with ``{}`` for their argument."""

    seconds: str
    """Whole seconds since 1970 of a timestamp."""
    moment: str
    """The timestamp of whole seconds since 1970."""


def quote(name: str) -> str:
    """Quote an identifier.

    >>> print(quote('the "area" code'))
    "the ""area"" code"
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text.

    >>> literal("it's")
    "'it''s'"
    """
    if "\x00" in text:
        raise SchemaError("a declared value holds a NUL character")
    return "'" + text.replace("'", "''") + "'"


def text_of(x: str, kind: Kind) -> str:
    """Read a value as its text: trimmed, whole numbers without a decimal point."""
    if kind == "whole":
        return f"CAST({x} AS VARCHAR)"
    if kind == "boolean":
        return f"CASE WHEN {x} THEN 'true' WHEN NOT {x} THEN 'false' END"
    if kind == "double":
        return (
            f"CASE WHEN isnan({x}) THEN NULL WHEN abs({x}) < {EXACT} AND floor({x}) = {x} "
            f"THEN CAST(TRY_CAST({x} AS BIGINT) AS VARCHAR) ELSE CAST({x} AS VARCHAR) END"
        )
    t = f"trim(CAST({x} AS VARCHAR))"
    return (
        f"CASE WHEN regexp_extract({t}, '^{WHOLE}$', 0) <> '' "
        f"THEN substr({t}, 1, instr({t}, '.') - 1) ELSE {t} END"
    )


def number_of(x: str, kind: Kind) -> str:
    """Read a value as a DOUBLE, NULL where it is none."""
    if kind in ("whole", "boolean"):
        return f"CAST({x} AS DOUBLE)"
    if kind == "double":
        return f"CASE WHEN isnan({x}) THEN NULL ELSE {x} END"
    t = f"trim(CAST({x} AS VARCHAR))"
    return (
        f"CASE WHEN regexp_extract({t}, '^({NUMBER})$', 0) <> '' THEN TRY_CAST({t} AS DOUBLE) END"
    )


def seconds_of(x: str, kind: Kind, written: str | None, dialect: Dialect) -> str:
    """Read a value as whole seconds since 1970, NULL where it is no date-time."""
    if kind == "moment":
        return dialect.seconds.format(x)
    compiled = compile_format(written)
    t = text_of(x, kind)

    def field(name: str) -> str | None:
        group = compiled.group(name)
        return None if group is None else f"regexp_extract({t}, '^(?:{compiled.regex})$', {group})"

    def number(name: str) -> str:
        found = field(name)
        return "0" if found is None else f"coalesce(TRY_CAST({found} AS BIGINT), 0)"

    year = f"lpad({field('year')}, 4, '0')"
    if field("year") is None:
        y = number("short_year")
        year = f"CAST(CASE WHEN {y} >= 69 THEN 1900 + {y} ELSE 2000 + {y} END AS VARCHAR)"
    month = f"CAST({number('month')} AS VARCHAR)"
    if found := field("month_name"):
        month = _month(found)
    day = f"CAST({number('day')} AS VARCHAR)"
    date = f"{year} || '-' || lpad({month}, 2, '0') || '-' || lpad({day}, 2, '0')"
    midnight = dialect.seconds.format(f"TRY_CAST({date} AS TIMESTAMP)")
    hour, minute, second = number("hour"), number("minute"), number("second")
    sound = [f"{t} IS NOT NULL", f"regexp_extract({t}, '^(?:{compiled.regex})$', 0) <> ''"]
    sound.append(f"substr({date}, 1, 4) <> '0000'")
    if field("half_hour") is not None:
        half = number("half_hour")
        evening = f"lower({field('half')}) = 'pm'" if field("half") else "1 = 0"
        hour = f"({half} % 12 + CASE WHEN {evening} THEN 12 ELSE 0 END)"
        sound.append(f"{half} BETWEEN 1 AND 12")
    sound += [f"{hour} < 24", f"{minute} < 60", f"{second} < 60"]
    clock = f"{hour} * 3600 + {minute} * 60 + {second} - {_offset(field('offset'))}"
    return f"CASE WHEN {' AND '.join(sound)} THEN {midnight} + {clock} END"


def _month(name: str) -> str:
    place = f"instr('{MONTHS}', lower({name}))"
    return (
        f"CASE WHEN {place} % 3 = 1 THEN CAST(CAST(({place} + 2) / 3 AS BIGINT) AS VARCHAR) "
        f"ELSE '0' END"
    )


def _offset(found: str | None) -> str:
    if found is None:
        return "0"
    hours = f"coalesce(TRY_CAST(substr({found}, 2, 2) AS BIGINT), 0)"
    minutes = f"coalesce(TRY_CAST(substr(replace({found}, ':', ''), 4, 2) AS BIGINT), 0)"
    sign = f"CASE WHEN substr({found}, 1, 1) = '-' THEN -1 ELSE 1 END"
    return f"({sign}) * ({hours} * 3600 + {minutes} * 60)"


def part_of(s: str, name: str, dialect: Dialect) -> str:
    """Take one part of a date-time given in seconds."""
    moment = dialect.moment.format(s)
    year = f"extract(year FROM {moment})"
    days = f"floor({s} / 86400.0)"
    return {
        "year": year,
        "quarter": f"extract(quarter FROM {moment})",
        "month": f"extract(month FROM {moment})",
        "day": f"extract(day FROM {moment})",
        "weekday": f"({days} + 3) - 7 * floor(({days} + 3) / 7.0)",
        "hour": f"floor({s} / 3600.0) - 24 * {days}",
        "minute": f"floor({s} / 60.0) - 60 * floor({s} / 3600.0)",
        "date": days,
        "week": f"floor(({days} + 3) / 7.0)",
        "month_index": f"({year} - 1970) * 12 + extract(month FROM {moment}) - 1",
    }[name]


def _absent(column: Column, x: str, r: str, kind: Kind) -> str:
    """Say when a value is absent."""
    tests = [f"{x} IS NULL"]
    if isinstance(column, Categorical):
        texts = [n for n in column.nulls if n not in column.keys]
        return " OR ".join([f"{r} IS NULL", _in(r, texts)])
    if kind == "double":
        tests.append(f"isnan({x})")
    if kind == "text":
        tests.append(_in(text_of(x, kind), column.nulls))
    if not isinstance(column, DateTime):
        numeric = [repr(float(n)) for n in column.nulls if re.fullmatch(NUMBER, n)]
        tests += [f"coalesce({r} IN ({', '.join(numeric)}), FALSE)"] if numeric else []
    return " OR ".join(tests)


def _in(x: str, texts: Iterable[str]) -> str:
    listed = ", ".join(literal(t) for t in texts)
    return f"coalesce({x} IN ({listed}), FALSE)" if listed else "FALSE"


def _bin(r: str, edges: Sequence[float], first: int) -> str:
    """Find a bin among inner edges by halving: as exact as comparison, and not linear."""
    if not edges:
        return str(first)
    middle = len(edges) // 2
    below, above = _bin(r, edges[:middle], first), _bin(r, edges[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {r} < {_double(edges[middle])} THEN {below} ELSE {above} END"


def _double(value: float) -> str:
    return f"CAST({literal(repr(float(value)))} AS DOUBLE)"


def _code(column: Modelled, r: str, absent: str, found: str) -> str:
    """Turn a reading into a code."""
    head = f"CASE WHEN {absent} THEN {column.if_missing} WHEN {r} IS NULL THEN {column.if_invalid} "
    if isinstance(column, Categorical):
        return (
            f"CASE WHEN {found} IS NOT NULL THEN {found} "
            f"WHEN {absent} THEN {column.if_missing} ELSE {column.if_invalid} END"
        )
    if isinstance(column, Numeric):
        low, high = _double(column.edges[0]), _double(column.edges[-1])
        inside = _bin(r, column.edges[1:-1], 0)
    else:
        low, high = str(column.min), str(column.max)
        inside = f"CAST({r} - {low} AS BIGINT)"
    if column.outside == "nearest":
        below, above = "0", str(column.values_count - 1)
    else:
        below = above = str(column.if_invalid)
    return head + f"WHEN {r} < {low} THEN {below} WHEN {r} > {high} THEN {above} ELSE {inside} END"


def _reading(column: Modelled, x: str, kind: Kind, dialect: Dialect) -> str:
    if isinstance(column, Categorical):
        return text_of(x, kind)
    if isinstance(column, DateTime):
        return seconds_of(x, kind, column.format, dialect)
    number = number_of(x, kind)
    return f"floor({number} + 0.5)" if isinstance(column, Integer) else number


@dataclass(frozen=True, slots=True)
class Encoder:
    """A query that encodes a table, and the look-up tables it joins with."""

    sql: str
    lookups: dict[str, tuple[list[str], list[int]]]
    """Look-up table name → its texts (column ``t``) and codes (column ``c``)."""


def encoder(
    columns: Sequence[Modelled],
    kinds: dict[str, Kind],
    *,
    table: str,
    dialect: Dialect,
    extra: dict[str, str] | None = None,
    prefix: str = "lookup",
) -> Encoder:
    """Compose the query whose columns are each column's code, by name, and ``extra`` ones.

    Rows of which any code is to be dropped are left out.
    """
    inner, outer, joins, lookups = [], [], [], {}
    for i, column in enumerate(columns):
        x, kind = f"s.{quote(column.table_column)}", kinds[column.table_column]
        r, found = f"r{i}", f"f{i}"
        inner.append(f"{_reading(column, x, kind, dialect)} AS {r}")
        inner.append(f"{_absent(column, x, _reading(column, x, kind, dialect), kind)} AS a{i}")
        if isinstance(column, Categorical):
            name = f"{prefix}_{i}"
            lookups[name] = (list(column.keys), list(range(len(column.keys))))
            joins.append(f"LEFT JOIN {name} AS l{i} ON l{i}.t = r.{r}")
            found = f"l{i}.c"
        taken = (
            f"r.{r}"
            if not isinstance(column, DateTime)
            else part_of(f"r.{r}", column.part, dialect)
        )
        outer.append(
            f"CAST({_code(column, taken, f'r.a{i}', found)} AS INTEGER) AS {quote(column.name)}"
        )
    passed = [f"{sql} AS {quote(name)}" for name, sql in (extra or {}).items()]
    kept = [f"r.{quote(name)}" for name in extra or {}]
    readings = f"SELECT {', '.join([*passed, *inner])} FROM {table} AS s"
    codes = f"SELECT {', '.join([*kept, *outer])} FROM ({readings}) AS r {' '.join(joins)}"
    sound = " AND ".join(f"{quote(c.name)} <> {DROP}" for c in columns) or "TRUE"
    return Encoder(f"SELECT * FROM ({codes}) AS e WHERE {sound}", lookups)
