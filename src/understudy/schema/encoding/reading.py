"""Readings: what a raw value is taken to mean, before any domain is applied.

The same three readings (text, number, date-time) exist as SQL in `schema.encoding.cell`.
A reading never fails: what cannot be read is *invalid* (NaN), what is not there *absent*.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.encoding.calendar import MONTHS, compile_format

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.schema.encoding.calendar import Format

Scalar = str | int | float | bool
Array = NDArray[Any]
Codes = NDArray[np.int32]

NUMBER = (
    "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
)
WHOLE = "(-?[0-9]+)[.]0+"
WRITTEN_OUT = 10**16
"""Whole floats below this are written with all digits, others with an exponent."""
FIRST, LAST = -62135596800, 253402300799
"""The first and the last second of the years 1 to 9999, the range of a date-time."""
_FINER = {unit: 1000**power for power, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))}
_LONG = {"m": 60, "h": 3600, "D": 86400, "W": 604800}
_DAYS = ("D", "W", "M", "Y")
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
"""The spellings of a boolean; as a number it is 1 or 0."""
STAMP = "[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?"
"""What the text of a date, or of a moment, looks like."""
_MOST_DIGITS = 80
"""The most digits of any engine's decimals."""
_REMEMBERED = frozenset((str, int, float, bool, bytes, type(None)))


def text(value: object) -> str | None:
    """Return the canonical text of a value, None where it is absent.

    Every other reading follows from this text, so that a typed value and its text are read
    alike: docs/schema.md has the rules as a table.

    >>> [text(v) for v in (1, "1", 1.0, " 1.0", True, None, float("nan"))]
    ['1', '1', '1', '1', 'true', None, None]
    >>> [text(v) for v in (date(2020, 2, 3), timedelta(minutes=1.5), b"red")]
    ['2020-02-03', '90', 'red']
    """
    if value is None or _is_absent(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (np.datetime64, np.timedelta64)):
        written: str | None = texts(np.array([value]))[0]
        return written
    if isinstance(value, (float, np.floating)):
        exact = float(value if isinstance(value, float) else widened(np.array([value]))[0])
        return str(int(exact)) if exact.is_integer() and abs(exact) < WRITTEN_OUT else str(exact)
    if isinstance(value, (date, time, timedelta)):
        return _calendar_text(value)
    return _whole(_plain(value))


def _is_absent(value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    try:
        return bool(value != value)  # noqa: PLR0124  NaN, NaT and their kin
    except Exception:  # noqa: BLE001  a value may be any object, and must never be an error
        # pandas' NA has no truth value; nor has an array, which is a value.
        return type(value).__name__ == "NAType"


def _calendar_text(value: date | time | timedelta) -> str | None:
    """Write a date, a moment in UTC to its second, a time of day, or a duration in seconds."""
    try:
        if isinstance(value, timedelta):
            return text(_seconds_long(value))
        if isinstance(value, datetime):
            # Not isoformat: that of pandas has nanoseconds, and may lie outside the calendar.
            moment = value if value.utcoffset() is None else value.astimezone(UTC)
            day = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
            clock = f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
            return f"{day} {clock}" if 1 <= moment.year <= 9999 else None
        if isinstance(value, date):
            return value.isoformat()
    except (OverflowError, ValueError):  # a moment outside the calendar in UTC
        return None
    return value.strftime("%H:%M:%S")


def _seconds_long(value: timedelta) -> float:
    return ((value.days * 86400 + value.seconds) * 10**6 + value.microseconds) / 10**6


def _plain(value: object) -> str:
    try:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return _of_bytes(bytes(value))
        # A column of decimals writes all digits; one number alone may come with an exponent.
        if isinstance(value, Decimal) and abs(value.adjusted()) < _MOST_DIGITS:
            return f"{value:f}"
        plain = str(value)
    except Exception:  # noqa: BLE001  a value may be any object, and must never be an error
        return ""
    # An engine cannot store half a surrogate pair.
    return plain if plain.isascii() else plain.encode("utf-8", "backslashreplace").decode()


def _of_bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.hex().upper()


def _whole(plain: str) -> str:
    trimmed = plain.strip(" ")
    found = re.fullmatch(WHOLE, trimmed)
    whole = trimmed if found is None else found[1]
    return "0" if whole == "-0" else whole


def prefix(plain: str, length: int) -> str:
    """Return the first characters of a value's text, read as a text of their own.

    >>> prefix("E11.9", 3), prefix("ab c", 3), prefix("2.01", 3), prefix("E", 3)
    ('E11', 'ab', '2', 'E')
    """
    return _whole(plain[:length])


def texts(values: Array) -> Array:
    """Read a column as texts, None where a value is absent."""
    if values.dtype.kind in "iu":
        return values.astype(str).astype(object)
    if values.dtype.kind == "M":
        return _moment_texts(values)
    values = durations(values) if values.dtype.kind == "m" else widened(values)
    known: dict[object, str | None] = {}
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values.tolist()):
        # Only for these types do equal values have equal texts: Decimal("1.5") equals
        # Decimal("1.50"), and how one row is read must not depend on another.
        if type(value) in _REMEMBERED:
            key = (type(value), value)
            if key not in known:
                known[key] = text(value)
            out[i] = known[key]
        else:
            out[i] = text(value)
    return out


def durations(values: Array) -> Array:
    """Read NumPy's durations as seconds, to the microsecond; NaN where there is none.

    A month or a year has no fixed length, and so is invalid.
    """
    unit, count = np.datetime_data(values.dtype)
    if unit not in _LONG and unit not in _FINER:
        return np.full(len(values), np.nan)
    absent, whole = np.isnat(values), values.astype(np.int64) * count
    step = _FINER.get(unit, 1)
    if step > 10**6:
        # Towards zero, as engines truncate.
        whole = np.sign(whole) * (np.abs(whole) // (step // 10**6))
    read = whole * float(_LONG.get(unit, 1)) / min(step, 10**6)
    return np.where(absent, np.nan, read)


def widened(values: Array) -> Array:
    """Convert other floats to float64; a fraction in a float32 keeps its seven digits.

    So 0.1 is 0.1, and not the 0.10000000149011612 that a float32 holds.
    """
    if values.dtype.kind != "f" or values.dtype == np.float64:
        return values
    with np.errstate(over="ignore"):
        wide = values.astype(np.float64)
    if values.dtype.itemsize > 4:
        return wide
    fraction = np.isfinite(wide) & (np.floor(wide) != wide)
    distinct, place = np.unique(wide[fraction], return_inverse=True)
    wide[fraction] = np.array([float(f"{x:.6e}") for x in distinct.tolist()])[place]
    return wide


def _stamps(values: Array) -> tuple[Array, Array]:
    """Return NumPy date-times in whole seconds, and whether they lie in the years 1 to 9999.

    Others are absent, as NaT is: an engine may have no number for them.
    """
    unit, _ = np.datetime_data(values.dtype)
    if unit in _FINER:
        # NumPy's own conversion from finer units overflows near their ends.
        count = values.astype(f"datetime64[{unit}]").astype(np.int64)
        # What engines call infinity is not a moment either.
        infinite = (count == 2**63 - 1) | (count == 1 - 2**63)
        whole = np.where(infinite, LAST + 1, count // _FINER[unit])
    else:
        years = values.astype("datetime64[Y]").astype(np.int64) + 1970
        near = np.where((years >= 1) & (years <= 9999), values, np.datetime64("NaT"))
        whole = near.astype("datetime64[s]").astype(np.int64)
    sound = ~np.isnat(values) & (whole >= FIRST) & (whole <= LAST)
    return np.where(sound, whole, 0).astype("datetime64[s]"), sound


def _moment_texts(values: Array) -> Array:
    """Write moments to the second, and units of days or longer as dates."""
    stamps, sound = _stamps(values)
    if np.datetime_data(values.dtype)[0] in _DAYS:
        stamps = stamps.astype("datetime64[D]")
    written = np.char.replace(np.datetime_as_string(stamps), "T", " ").astype(object)
    written[~sound] = None
    return written


def numbers(values: Array, nulls: Iterable[str]) -> tuple[Array, Array]:
    """Read a column as numbers: (float64 with NaN where invalid, where absent)."""
    numeric_nulls = null_numbers(nulls)
    if values.dtype.kind in "iu":
        read = values.astype(np.float64)
        absent = np.zeros(len(values), dtype=bool)
    elif values.dtype.kind in "fm":
        read = durations(values) if values.dtype.kind == "m" else widened(values)
        absent = np.isnan(read)
    else:
        plain = texts(values)
        null_texts = {None, *nulls}
        table = {t: _number(t) for t in set(plain.tolist())}
        read = np.fromiter((table[t] for t in plain.tolist()), np.float64, len(plain))
        absent = np.fromiter((t in null_texts for t in plain.tolist()), bool, len(plain))
    if numeric_nulls:
        absent = absent | np.isin(read, numeric_nulls)
    return read, absent


def null_numbers(nulls: Iterable[str]) -> list[float]:
    """Return the numbers among the texts that mean a missing value."""
    return sorted({float(n) for n in nulls if re.fullmatch(NUMBER, n)})


def _number(plain: str | None) -> float:
    if plain in TRUE or plain in FALSE:
        return float(plain in TRUE)
    return float(plain) if plain is not None and re.fullmatch(NUMBER, plain) else np.nan


def seconds(values: Array, written: str | None, nulls: Iterable[str]) -> tuple[Array, Array]:
    """Read a column as date-times: (seconds with NaN where invalid, where absent).

    A text is read in the format ``written``, or else as ISO 8601.
    """
    null_texts = {None, *nulls}
    if values.dtype.kind == "M":
        stamps, sound = _stamps(values)
        read = np.where(sound, stamps.astype(np.int64), np.nan)
        named = [t for t in null_texts if t is not None and re.fullmatch(STAMP, t)]
        return read, ~sound | np.isin(_moment_texts(values), named) if named else ~sound
    plain = texts(values)
    formats = [compile_format(w) for w in dict.fromkeys((written, None))]
    table = {t: _first(_moment(t, f) for f in formats) for t in set(plain.tolist())}
    read = np.fromiter((table[t] for t in plain.tolist()), np.float64, len(plain))
    return read, np.fromiter((t in null_texts for t in plain.tolist()), bool, len(plain))


def misread(written: str | None) -> str | None:
    """Return a text of a typed date-time that this format reads as another one, if any.

    >>> misread("%Y-%d-%m"), misread("%d/%m/%Y")
    ('1950-02-03', None)
    """
    for year in ("1950", "2001", "2071"):
        for plain in (f"{year}-02-03", f"{year}-02-03 04:05:06"):
            read, meant = (_moment(plain, compile_format(w)) for w in (written, None))
            if not math.isnan(read) and read != meant:
                return plain
    return None


def _first(read: Iterable[float]) -> float:
    return next((r for r in read if not math.isnan(r)), np.nan)


def _moment(plain: str | None, written: Format) -> float:
    match = None if plain is None else re.fullmatch(written.regex, plain)
    if match is None:
        return np.nan
    field = dict(zip(written.fields, match.groups(), strict=True))
    year = int(field.get("year") or 0)
    if short := field.get("short_year"):
        year = int(short) + (1900 if int(short) >= 69 else 2000)
    month = int(field.get("month") or 0)
    if name := field.get("month_name"):
        place = MONTHS.find(name.lower())
        month = place // 3 + 1 if place >= 0 and place % 3 == 0 else 0
    hour = int(field.get("hour") or 0)
    if half := field.get("half_hour"):
        if not 1 <= int(half) <= 12:
            return np.nan
        hour = int(half) % 12 + (12 if (field.get("half") or "").lower() == "pm" else 0)
    minute, second = int(field.get("minute") or 0), int(field.get("second") or 0)
    try:
        moment = datetime(year, month, int(field["day"] or 0), hour, minute, second, tzinfo=UTC)
    except ValueError:
        return np.nan
    return moment.timestamp() - _offset(field.get("offset"))


def _offset(plain: str | None) -> int:
    if not plain or plain == "Z":
        return 0
    digits = plain[1:].replace(":", "")
    span = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -span if plain[0] == "-" else span


def part(read: Array, name: str) -> Array:
    """Extract one part of date-times given in seconds; NaN stays NaN."""
    valid = ~np.isnan(read)
    whole = np.where(valid, read, 0).astype(np.int64)
    days = whole // 86400
    stamps = days.astype("datetime64[D]")
    months = stamps.astype("datetime64[M]").astype(np.int64)
    match name:
        case "year":
            taken = months // 12 + 1970
        case "quarter":
            taken = months % 12 // 3 + 1
        case "month":
            taken = months % 12 + 1
        case "day":
            taken = (stamps - stamps.astype("datetime64[M]")).astype(np.int64) + 1
        case "weekday":
            taken = (days + 3) % 7
        case "hour":
            taken = whole // 3600 % 24
        case "minute":
            taken = whole // 60 % 60
        case "date":
            taken = days
        case "week":
            taken = (days + 3) // 7
        case _:
            taken = months
    return np.where(valid, taken, np.nan)


def nullable(values: Array, absent: Array) -> Array:
    """Put None where an integer is absent; return the array unchanged if none is."""
    if not absent.any():
        return values
    out = values.astype(object)
    out[absent] = None
    return out


def narrow(shown: list[Scalar | None], codes: Codes) -> Array:
    """Map each code to its value, as an array of the values' common type if they have one."""
    whole = all(v is None or (type(v) is int and -(2**63) <= v < 2**63) for v in shown)
    absent = np.array([v is None for v in shown])
    if whole and not absent[codes].any():
        return np.array([v or 0 for v in shown], dtype=np.int64)[codes]
    table = np.empty(len(shown), dtype=object)
    table[:] = shown
    picked: Array = table[codes]
    return picked
