"""Readings: what a raw value is taken to mean, before any domain is applied.

The same three readings (text, number, date-time) exist as SQL in `understudy.schema.sql`.
A reading never fails: what cannot be read is *invalid* (NaN), what is not there *absent*.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.calendar import MONTHS, compile_format

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.schema.calendar import Format

Scalar = str | int | float | bool
Array = NDArray[Any]
Codes = NDArray[np.int32]

NUMBER = (
    "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
)
WHOLE = "-?[0-9]+[.]0+"
EXACT = 2**53


def text(value: object) -> str | None:
    """Write a value as the text it is known by; a whole number has no decimal point.

    >>> [text(v) for v in (1, "1", 1.0, " 1.0", True, None, float("nan"))]
    ['1', '1', '1', '1', 'true', None, None]
    """
    if value is None or value != value:  # noqa: PLR0124  NaN, NaT and their kin
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        exact = float(value)
        return str(int(exact)) if exact.is_integer() and abs(exact) < EXACT else str(value)
    if isinstance(value, np.datetime64):
        return str(value).replace("T", " ")
    if isinstance(value, bytes):
        return _whole(value.decode("utf-8", "replace"))
    return _whole(_plain(value))


def _plain(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  a value may be any object, and must never be an error
        return ""


def _whole(plain: str) -> str:
    trimmed = plain.strip(" ")
    return trimmed.split(".")[0] if re.fullmatch(WHOLE, trimmed) else trimmed


def texts(values: Array) -> Array:
    """Read a column as texts, None where a value is absent."""
    if values.dtype.kind in "iu":
        return values.astype(str).astype(object)
    if values.dtype.kind == "f" and values.dtype != np.float64:
        # A short float is known by its own shortest text, not by that of its float64.
        short = values.astype(str).astype(object)
        short[np.isnan(values)] = None
        values = short
    distinct: dict[object, str | None] = {}
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values.tolist() if values.dtype.kind != "M" else values):
        key = (type(value), value)
        try:
            if key not in distinct:
                distinct[key] = text(value)
            out[i] = distinct[key]
        except TypeError:  # a value that cannot be hashed is read on its own
            out[i] = text(value)
    return out


def numbers(values: Array, nulls: Iterable[str]) -> tuple[Array, Array]:
    """Read a column as numbers: (float64 with NaN where invalid, where absent)."""
    numeric_nulls = {float(n) for n in nulls if re.fullmatch(NUMBER, n)}
    if values.dtype.kind in "iub":
        read = values.astype(np.float64)
        absent = np.zeros(len(values), dtype=bool)
    elif values.dtype == np.float64:
        read, absent = values, np.isnan(values)
    else:
        plain = texts(values)
        null_texts = {None, *nulls}
        table = {t: _number(t) for t in set(plain.tolist())}
        read = np.fromiter((table[t] for t in plain.tolist()), np.float64, len(plain))
        absent = np.fromiter((t in null_texts for t in plain.tolist()), bool, len(plain))
    if numeric_nulls:
        absent = absent | np.isin(read, list(numeric_nulls))
    return read, absent


def _number(plain: str | None) -> float:
    return float(plain) if plain is not None and re.fullmatch(NUMBER, plain) else np.nan


def seconds(values: Array, written: str | None, nulls: Iterable[str]) -> tuple[Array, Array]:
    """Read a column as date-times: (seconds with NaN where invalid, where absent)."""
    if values.dtype.kind == "M":
        absent = np.isnat(values)
        stamps = np.where(absent, np.datetime64(0, "s"), values.astype("datetime64[s]"))
        return np.where(absent, np.nan, stamps.astype(np.int64)), absent
    plain = texts(values)
    compiled = compile_format(written)
    table = {t: _moment(t, compiled) for t in set(plain.tolist())}
    read = np.fromiter((table[t] for t in plain.tolist()), np.float64, len(plain))
    null_texts = {None, *nulls}
    return read, np.fromiter((t in null_texts for t in plain.tolist()), bool, len(plain))


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
    """Take one part of date-times given in seconds; NaN stays NaN."""
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
    """Put None where a whole number is absent, and leave the array alone where none is."""
    if not absent.any():
        return values
    out = values.astype(object)
    out[absent] = None
    return out


def narrow(shown: list[Scalar | None], codes: Codes) -> Array:
    """Give each code its value, as an array of the values' own type where they share one."""
    kinds = {type(v) for v in shown if v is not None}
    absent = np.array([v is None for v in shown])
    if kinds == {int} and not absent[codes].any():
        return np.array([0 if v is None else v for v in shown])[codes]
    table = np.empty(len(shown), dtype=object)
    table[:] = shown
    picked: Array = table[codes]
    return picked
