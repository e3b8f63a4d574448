"""The readings as SQL: expressions for what a cell is taken to mean, before any domain is applied.

They are those of `schema.encoding.reading`, cell by cell, for every kind of column that an
engine may have.  A kind is only a shorter way to the same reading: what a typed cell reads as is
what its text reads as (``tests/schema/encoding/test_one_reading.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.schema.encoding.calendar import MONTHS, compile_format
from understudy.schema.encoding.dialect import literal
from understudy.schema.encoding.reading import FALSE, FIRST, LAST, NUMBER, TRUE, WHOLE, WRITTEN_OUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.schema.encoding.calendar import Format
    from understudy.schema.encoding.dialect import Dialect, Kind

STAMPED = ("moment", "date")
"""Kinds that are already date-times."""
END = r"\z"
"""The very end of a text in a regular expression; Java's $ also matches before a final newline."""


def text_of(x: str, kind: Kind, dialect: Dialect) -> str:
    """Read a value as its text, by the rules of `understudy.schema.encoding.reading.text`."""
    if kind in ("double", "float", "duration"):
        return _double_text(_wide(x, kind, dialect), dialect)
    if kind in ("text", "bytes"):
        return _plain_text(x if kind == "text" else f"coalesce({dialect.utf8.format(x)}, hex({x}))")
    return {
        "whole": f"CAST({x} AS STRING)",
        "boolean": f"CASE WHEN {x} THEN 'true' WHEN NOT {x} THEN 'false' END",
        "moment": _moment_text(x),
        "date": f"CASE WHEN {_in_calendar(x)} THEN CAST({x} AS STRING) END",
        "time": f"substr(CAST({x} AS STRING), 1, 8)",
    }[kind]


def prefix_of(t: str, length: int) -> str:
    """Read the first characters of a text as a text, as `understudy.schema.encoding.reading` does.

    A text that is no longer than that is its own prefix.
    """
    return _plain_text(f"substr({t}, 1, {length})")


def _plain_text(x: str) -> str:
    t = _trimmed(x)
    # Most texts have no decimal point, and need no more work.
    return (
        f"CASE WHEN instr({t}, '.') = 0 AND {t} <> '-0' THEN {t} "
        f"WHEN regexp_extract({t}, '^-0([.]0+)?{END}', 0) <> '' THEN '0' "
        f"ELSE coalesce(nullif(regexp_extract({t}, '^{WHOLE}{END}', 1), ''), {t}) END"
    )


def _wide(x: str, kind: Kind, dialect: Dialect) -> str:
    """Read floats, and what is measured in floats, as a DOUBLE; NaN stays NaN."""
    if kind == "duration":
        return f"(CAST({dialect.duration.format(x)} AS DOUBLE) / CAST(1000000 AS DOUBLE))"
    return _widened(x) if kind == "float" else x


def _double_text(x: str, dialect: Dialect) -> str:
    written = dialect.double_text.format(x=x)
    return (
        f"CASE WHEN isnan({x}) THEN NULL WHEN abs({x}) < {WRITTEN_OUT} AND floor({x}) = {x} "
        f"THEN CAST(TRY_CAST({x} AS BIGINT) AS STRING) ELSE {written} END"
    )


def _trimmed(x: str) -> str:
    # DuckDB's plain trim() strips every kind of space, Spark's and Python's only this one.
    return f"trim(BOTH ' ' FROM CAST({x} AS STRING))"


def _widened(x: str) -> str:
    """Convert a FLOAT to a DOUBLE; a fraction keeps its seven digits."""
    wide = f"CAST({x} AS DOUBLE)"
    digits = f"TRY_CAST(printf('%.6e', {wide}) AS DOUBLE)"
    return f"CASE WHEN floor({wide}) = {wide} OR isnan({wide}) THEN {wide} ELSE {digits} END"


def _clock(x: str) -> str:
    """Truncate a timestamp to its second, NULL where it is out of range.

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
    return f"CASE WHEN {_in_calendar(t)} THEN CAST({t} AS STRING) END"


def _in_calendar(x: str) -> str:
    return f"extract(year FROM {x}) BETWEEN 1 AND 9999"


def number_of(x: str, t: str, kind: Kind, dialect: Dialect) -> str:
    """Read a value ``x`` with text ``t`` as a DOUBLE, NULL where it is not a number."""
    if kind in ("whole", "boolean"):
        return f"CAST({x} AS DOUBLE)"
    if kind in ("double", "float", "duration"):
        wide = _wide(x, kind, dialect)
        return f"CASE WHEN isnan({wide}) THEN NULL ELSE {wide} END"
    if kind not in ("text", "bytes"):
        return "CAST(NULL AS DOUBLE)"
    found = f"regexp_extract({t}, '^({NUMBER}){END}', 0)"
    truth = " ".join(
        f"WHEN {t} IN ({', '.join(map(literal, spelled))}) THEN {double(value)}"
        for spelled, value in ((TRUE, 1.0), (FALSE, 0.0))
    )
    return f"CASE WHEN {found} <> '' THEN TRY_CAST({t} AS DOUBLE) {truth} END"


def seconds_of(x: str, kind: Kind, written: str | None, dialect: Dialect) -> str:
    """Read a value as whole seconds since 1970, NULL where it is not a date-time."""
    if kind in STAMPED:
        return seconds_at(x, dialect)
    return seconds_written(text_of(x, kind, dialect), written, dialect)


def seconds_written(t: str, written: str | None, dialect: Dialect) -> str:
    """Read a text as whole seconds since 1970, in the format ``written`` or else as ISO 8601."""
    read = []
    for form in dict.fromkeys((written, None)):
        compiled = compile_format(form)
        groups = [group(t, compiled, n) for n in range(len(compiled.fields) + 1)]
        read.append(seconds_in(groups, compiled, dialect))
    return f"coalesce({', '.join(read)})"


def seconds_at(x: str, dialect: Dialect) -> str:
    """Read a date or a moment as whole seconds, NULL outside the calendar's years."""
    read = dialect.seconds.format(_clock(x))
    return f"CASE WHEN {read} BETWEEN {FIRST} AND {LAST} THEN {read} END"


def group(t: str, written: Format, number: int) -> str:
    """Extract a group of a format's regular expression, an empty text where there is no match."""
    return f"regexp_extract({t}, {literal(f'^(?:{written.regex}){END}')}, {number})"


def seconds_in(groups: Sequence[str], written: Format, dialect: Dialect) -> str:
    """Read the groups of a match as seconds; fields that the format lacks are zero."""

    def text(name: str) -> str | None:
        group = written.group(name)
        return None if group is None else groups[group]

    def number(name: str) -> str:
        found = text(name)
        return "0" if found is None else _count(found)

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


def _count(digits: str) -> str:
    """Read a text of digits as a whole number, an empty one as zero."""
    # Spark makes an exception of an empty text, and then a NULL: most of the work of a date.
    return f"coalesce(TRY_CAST(nullif({digits}, '') AS BIGINT), 0)"


def _month(name: str) -> str:
    place = f"instr('{MONTHS}', lower({name}))"
    return (
        f"CASE WHEN {place} % 3 = 1 THEN CAST(CAST(({place} + 2) / 3 AS BIGINT) AS STRING) "
        f"ELSE '0' END"
    )


def _offset(found: str | None) -> str:
    if found is None:
        return "0"
    hours = _count(f"substr({found}, 2, 2)")
    minutes = _count(f"substr(replace({found}, ':', ''), 4, 2)")
    sign = f"CASE WHEN substr({found}, 1, 1) = '-' THEN -1 ELSE 1 END"
    return f"({sign}) * ({hours} * 3600 + {minutes} * 60)"


def part_of(s: str, name: str, dialect: Dialect) -> str:
    """Extract one part of a date-time given in seconds."""
    moment = dialect.moment.format(s)
    year = f"extract(year FROM {moment})"
    # As DOUBLE: a plain 86400.0 is a decimal, with which Spark divides digit by digit.
    days, hours = _whole(s, 86400), _whole(s, 3600)
    return {
        "year": year,
        "quarter": f"extract(quarter FROM {moment})",
        "month": f"extract(month FROM {moment})",
        "day": f"extract(day FROM {moment})",
        "weekday": f"({days} + 3) - 7 * {_whole(f'({days} + 3)', 7)}",
        "hour": f"{hours} - 24 * {days}",
        "minute": f"{_whole(s, 60)} - 60 * {hours}",
        "date": days,
        "week": _whole(f"({days} + 3)", 7),
        "month_index": f"({year} - 1970) * 12 + extract(month FROM {moment}) - 1",
    }[name]


def _whole(s: str, divisor: int) -> str:
    """Divide whole numbers below 2⁵³, rounding down: no quotient is that near to the next."""
    return f"floor({s} / {double(divisor)})"


def double(value: float) -> str:
    """Return the SQL literal of a DOUBLE."""
    return f"CAST({literal(repr(float(value)))} AS DOUBLE)"


def bin_of(number: str, edges: Sequence[float], first: int = 0) -> str:
    """Compose a binary search for the bin of a number among inner edges, by exact comparison."""
    if not edges:
        return str(first)
    middle = len(edges) // 2
    below = bin_of(number, edges[:middle], first)
    above = bin_of(number, edges[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {number} < {double(edges[middle])} THEN {below} ELSE {above} END"
