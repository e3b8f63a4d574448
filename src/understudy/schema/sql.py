"""The encoder as SQL: the same codes as `understudy.schema.columns`, made in the engine.

One query encodes a table: nested SELECTs take texts, then fields, then readings, each
once however many columns use it; listed values are found by their place in a list that the
engine is told of, and the outermost SELECT turns readings into codes.  The SQL keeps to what
DuckDB and Spark share; the few functions that differ are named in a `Dialect`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from understudy.schema.calendar import MONTHS, compile_format
from understudy.schema.columns import DROP, Categorical, DateTime, Integer, Numeric, Remainder
from understudy.schema.dialect import literal, quote
from understudy.schema.reading import FIRST, LAST, NUMBER, WHOLE, WRITTEN_OUT, null_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from understudy.schema.calendar import Format
    from understudy.schema.columns import Modelled
    from understudy.schema.dialect import Dialect, Kind

    Measured = Integer | Numeric | Remainder | DateTime
    """Columns whose codes follow from a number."""

SHORT = 4
"""How many texts are listed in one IN."""
END = r"\z"
"""The very end of a text in a regular expression; Java's $ also stands before a last line break."""


def text_of(x: str, kind: Kind, dialect: Dialect) -> str:
    """Read a value as its text: trimmed, whole numbers without a decimal point."""
    if kind == "whole":
        return f"CAST({x} AS STRING)"
    if kind == "boolean":
        return f"CASE WHEN {x} THEN 'true' WHEN NOT {x} THEN 'false' END"
    if kind == "double":
        return _double_text(x, dialect)
    if kind == "moment":
        return _moment_text(x)
    t = _trimmed(x)
    # Most texts have no point in them, and need no closer look.
    return (
        f"CASE WHEN {_is_short(x)} THEN {_double_text(_widened(x), dialect)} "
        f"WHEN instr({t}, '.') = 0 THEN {t} "
        f"WHEN regexp_extract({t}, '^(?:{WHOLE}){END}', 0) <> '' "
        f"THEN substr({t}, 1, instr({t}, '.') - 1) ELSE {t} END"
    )


def _double_text(x: str, dialect: Dialect) -> str:
    written = dialect.double_text.format(x=x)
    return (
        f"CASE WHEN isnan({x}) THEN NULL WHEN abs({x}) < {WRITTEN_OUT} AND floor({x}) = {x} "
        f"THEN CAST(TRY_CAST({x} AS BIGINT) AS STRING) ELSE {written} END"
    )


def _trimmed(x: str) -> str:
    # DuckDB's plain trim() takes every kind of space away, Spark's and Python's only this one.
    return f"trim(BOTH ' ' FROM CAST({x} AS STRING))"


def _is_short(x: str) -> str:
    """Say whether a column holds float32; engines know as they plan, and drop the branch."""
    return f"lower(typeof({x})) = 'float'"


def _widened(x: str) -> str:
    """Make a DOUBLE of a FLOAT; a fraction in it is known by its seven digits.

    It goes by way of a text so that columns of every type have a plan, if one never run.
    """
    wide = f"TRY_CAST(TRY_CAST(CAST({x} AS STRING) AS FLOAT) AS DOUBLE)"
    digits = f"TRY_CAST(printf('%.6e', {wide}) AS DOUBLE)"
    return f"CASE WHEN floor({wide}) = {wide} OR isnan({wide}) THEN {wide} ELSE {digits} END"


def _clock(x: str) -> str:
    """Take a timestamp to its whole second, NULL where it is out of range.

    A TIMESTAMP_NS cast to TIMESTAMP would be rounded, and the last nanosecond of a day be
    the next day's.
    """
    return (
        f"CASE WHEN typeof({x}) = 'TIMESTAMP_NS' "
        f"THEN TRY_CAST(substr(CAST({x} AS STRING), 1, 19) AS TIMESTAMP) "
        f"ELSE date_trunc('second', TRY_CAST({x} AS TIMESTAMP)) END"
    )


def _moment_text(x: str) -> str:
    t = _clock(x)
    return f"CASE WHEN extract(year FROM {t}) BETWEEN 1 AND 9999 THEN CAST({t} AS STRING) END"


def number_of(x: str, t: str, kind: Kind) -> str:
    """Read a value ``x`` of text ``t`` as a DOUBLE, NULL where it is none."""
    if kind in ("whole", "boolean"):
        return f"CAST({x} AS DOUBLE)"
    if kind == "double":
        return f"CASE WHEN isnan({x}) THEN NULL ELSE {x} END"
    if kind == "moment":
        return "CAST(NULL AS DOUBLE)"
    found = f"regexp_extract({t}, '^({NUMBER}){END}', 0)"
    return f"CASE WHEN {found} <> '' THEN TRY_CAST({t} AS DOUBLE) END"


def seconds_of(x: str, kind: Kind, written: str | None, dialect: Dialect) -> str:
    """Read a value as whole seconds since 1970, NULL where it is no date-time."""
    if kind == "moment":
        return _seconds_at(x, dialect)
    compiled, t = compile_format(written), text_of(x, kind, dialect)
    groups = [_group(t, compiled, n) for n in range(len(compiled.fields) + 1)]
    return _seconds_in(groups, compiled, dialect)


def _seconds_at(x: str, dialect: Dialect) -> str:
    read = dialect.seconds.format(_clock(x))
    return f"CASE WHEN {read} BETWEEN {FIRST} AND {LAST} THEN {read} END"


def _group(t: str, written: Format, number: int) -> str:
    """Take a group of a format's regular expression, the empty text where there is no match."""
    return f"regexp_extract({t}, {literal(f'^(?:{written.regex}){END}')}, {number})"


def _seconds_in(groups: Sequence[str], written: Format, dialect: Dialect) -> str:
    """Read the groups of a match as seconds; fields that the format lacks are zero."""

    def text(name: str) -> str | None:
        group = written.group(name)
        return None if group is None else groups[group]

    def number(name: str) -> str:
        found = text(name)
        return "0" if found is None else f"coalesce(TRY_CAST({found} AS BIGINT), 0)"

    year = text("year")
    if year is None:
        y = number("short_year")
        year = f"CAST(CASE WHEN {y} >= 69 THEN 1900 + {y} ELSE 2000 + {y} END AS STRING)"
    name = text("month_name")
    month = f"CAST({number('month')} AS STRING)" if name is None else _month(name)
    day = f"CAST({number('day')} AS STRING)"
    date = f"{year} || '-' || lpad({month}, 2, '0') || '-' || lpad({day}, 2, '0')"
    midnight = dialect.seconds.format(f"TRY_CAST({date} AS TIMESTAMP)")
    hour, minute, second = number("hour"), number("minute"), number("second")
    sound = [f"{groups[0]} <> ''", f"{year} <> '0000'"]
    if text("half_hour") is not None:
        half = number("half_hour")
        evening = f"lower({text('half')}) = 'pm'" if text("half") else "1 = 0"
        hour = f"({half} % 12 + CASE WHEN {evening} THEN 12 ELSE 0 END)"
        sound.append(f"{half} BETWEEN 1 AND 12")
    sound += [f"{hour} < 24", f"{minute} < 60", f"{second} < 60"]
    clock = f"{hour} * 3600 + {minute} * 60 + {second} - {_offset(text('offset'))}"
    return f"CASE WHEN {' AND '.join(sound)} THEN {midnight} + {clock} END"


def _month(name: str) -> str:
    place = f"instr('{MONTHS}', lower({name}))"
    return (
        f"CASE WHEN {place} % 3 = 1 THEN CAST(CAST(({place} + 2) / 3 AS BIGINT) AS STRING) "
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


def _absent(column: Measured, read: _Read, kind: Kind) -> str:
    """Say when a value is absent."""
    dated = isinstance(column, DateTime)
    tests = [f"{read.x} IS NULL"]
    if dated and kind == "moment":
        # One out of the calendar is absent too: an engine may have no number for it.
        tests.append(f"{read.r} IS NULL")
    elif dated or kind in ("text", "moment"):
        tests += [f"{read.t} IS NULL", _in(read.t, column.null_keys)]
    elif kind == "double":
        tests.append(f"isnan({read.x})")
    listed = ", ".join(map(_double, null_numbers(column.null_keys)))
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
    return f"CASE WHEN {r} < {_double(edges[middle])} THEN {below} ELSE {above} END"


def _double(value: float) -> str:
    return f"CAST({literal(repr(float(value)))} AS DOUBLE)"


def _code(column: Measured, r: str, absent: str) -> str:
    """Turn a reading into a code."""
    head = f"CASE WHEN {absent} THEN {column.if_missing} WHEN {r} IS NULL THEN {column.if_invalid} "
    if isinstance(column, Numeric):
        low, high = _double(column.edges[0]), _double(column.edges[-1])
        inside, last = _bin(r, column.edges[1:-1], 0), column.bins - 1
        for place, value in enumerate(column.special):
            head += f"WHEN {r} = {_double(value)} THEN {column.bins + place} "
    elif isinstance(column, Remainder):
        low, high = str(column.min), str(column.max)
        above_low = f"(floor({r}) - {low})"
        inside = f"{above_low} - {column.step} * floor({above_low} / CAST({column.step} AS DOUBLE))"
        last = (column.max - column.min) % column.step
        for value in column.special:
            head += f"WHEN {r} = {_double(value)} THEN {column.step} "
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
    if dated and kind == "moment":
        return _Read(x, "", layers.put(3, _seconds_at(x, dialect)))
    t = layers.put(1, text_of(x, kind, dialect))
    if not isinstance(column, DateTime):
        return _Read(x, t, layers.put(3, number_of(x, t, kind)))
    written = compile_format(column.format)
    groups = [layers.put(2, _group(t, written, n)) for n in range(len(written.fields) + 1)]
    return _Read(x, t, layers.put(3, _seconds_in(groups, written, dialect)))


def _listed(column: Categorical, kind: Kind, name: str, layers: _Layers, dialect: Dialect) -> str:
    """Turn a text into the code of its place in a list.

    Most texts are listed as they stand; only of others is more read.  What is listed reads as
    itself, so that both ways lead to the same place.
    """
    x = layers.put(0, f"s.{quote(column.table_column)}")
    if kind == "text":
        written = f"CAST({x} AS STRING)"
        at_once = dialect.place.format(written, name=name)
        q = layers.put(1, f"CASE WHEN {_is_short(x)} THEN NULL ELSE {at_once} END")
        t = layers.put(2, f"CASE WHEN {q} IS NULL THEN {text_of(x, kind, dialect)} END")
        other = f"{_is_short(x)} OR {t} <> {written}"
        again = f"CASE WHEN {other} THEN {dialect.place.format(t, name=name)} END"
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
