"""Draft columns from a public table: lists, ranges and bins that anyone may see."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

import numpy as np

from understudy.errors import MissingColumnError, SchemaError
from understudy.schema.columns import (
    LARGEST,
    NULLS,
    Categorical,
    Id,
    Ignored,
    Integer,
    Numeric,
    Timestamp,
)
from understudy.schema.columns.timestamp import RESOLUTIONS, check_format
from understudy.schema.encoding import reading
from understudy.schema.encoding.calendar import compile_format
from understudy.schema.importers.bins import cut, for_single, single_places

if TYPE_CHECKING:
    from understudy.schema.columns import Declaration
    from understudy.schema.encoding.reading import Array

LISTED = 256
"""A column with at most this many distinct values becomes categorical."""
DIGITS = 6
"""The most decimals that are taken for how a number is written."""
DAYS = ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%m-%d-%Y")
TIMES = ("", " %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p")
WRITTEN = tuple(day + time for day in DAYS for time in TIMES)
"""Common formats of moments besides ISO 8601; American dates before British ones."""
NUMBERED = "%Y%m%d"
"""The format of dates that are whole numbers."""
WRITTEN_OFF = 1e-14
"""By what part a 32-bit float may be off that a file has with fifteen digits."""
LOOKED_AT = 1000
"""About how many values are examined to find the formats that all may have."""
ROW_NAME = re.compile(
    r"(?i:(?:^|[\W_])(?:id|uuid|guid|key|index|rowid|row|rownames?)$|^unnamed: 0$)|[a-z]I[dD]$"
)
"""The names of columns that tell rows apart, where their values do so too."""
CODE = re.compile("0[0-9]+")
"""A text of digits that loses some of them if it is read as a number."""
CALENDAR = {"month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59)}
"""The ranges of integer columns with these names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is known of a public table's columns beforehand."""

    written: str | None
    """The format of date-times."""
    kind: str | None
    days: tuple[str, str] | None
    taken: frozenset[str]
    """The table's column names, in lower case."""


def draft(
    table: Mapping[str, Array],
    *,
    ids: tuple[str, ...],
    written: str | None = None,
    kind: str | None = None,
    days: tuple[str, str] | None = None,
) -> tuple[Declaration, ...]:
    """Draft a declaration for every column of a public table, the ids as ids.

    ``kind`` may be "categorical", "numerical" or "datetime" where it is known, and ``days``
    the first and the last day of the table that is meant, where it is not this one.
    """
    for name in ids:
        if name not in table:
            raise MissingColumnError(f"no id column {name!r} in the public table")
    known = _Known(written=written, kind=kind, days=days, taken=frozenset(map(str.lower, table)))
    return tuple(
        Id(name=name)
        if name in ids
        else _zoned(_column(name, np.asarray(values), known), _type_of(values))
        for name, values in table.items()
    )


def columns_of(table: object) -> dict[str, Array]:
    """Return the columns of a public table: a mapping, or a data frame of any library.

    >>> list(columns_of({"age": np.arange(3), 7: np.arange(3)}))
    ['age', '7']
    """
    if hasattr(table, "collect"):
        table = table.collect()  # a lazy frame of polars
    names = list(table) if isinstance(table, Mapping) else None
    for listing in ("column_names", "columns"):
        names = getattr(table, listing, None) if names is None else names
    if names is None or not hasattr(table, "__getitem__"):
        raise SchemaError(
            "a public table must have named columns",
            got=type(table).__name__,
            allowed="a mapping of arrays, or a data frame of pandas, polars or Arrow",
        )
    return {str(name): table[name] for name in names}


def _zoned(column: Declaration, dtype: object) -> Declaration:
    """Give a date-time the time zone of a data frame's type, if that has a name."""
    zone = str(getattr(dtype, "tz", None) or getattr(dtype, "time_zone", None))
    if not isinstance(column, Timestamp) or zone not in available_timezones():
        return column
    return replace(column, zone=zone)


def _type_of(values: object) -> object:
    """Return the type that a column of a data frame has in its own library."""
    dtype = getattr(values, "dtype", getattr(values, "type", None))
    return getattr(dtype, "pyarrow_dtype", dtype)


def _apart(column: Timestamp, taken: frozenset[str]) -> Timestamp:
    """Rename the parts of a date-time if the table has columns of those names."""
    names = list(column.part_names)
    for i in range(len(names)):
        while names[i].lower() in taken:
            names[i] += "_"
    return column if tuple(names) == column.part_names else replace(column, parts=tuple(names))


def _column(name: str, values: Array, known: _Known) -> Declaration:
    kind = known.kind
    check_format(name, known.written)
    if kind not in {"categorical", "numerical"}:
        written = _written(values) if known.written is None else known.written
        read, absent = reading.seconds(values, written, NULLS)
        if kind == "datetime" or values.dtype.kind == "M" or _mostly(read, absent):
            return _moment(name, read[~np.isnan(read)], written, known)
    texts = reading.texts(values)
    if kind is None and {*texts.tolist()} - {None, *NULLS} <= {*reading.TRUE, *reading.FALSE}:
        return _truth(name, texts)
    if kind != "categorical" and not _are_codes(texts):
        read, absent = reading.numbers(values, NULLS)
        if _mostly(read, absent):
            present = read[~absent & np.isfinite(read)]
            return (
                Ignored(name=name) if _tells_rows_apart(name, present) else _number(name, present)
            )
    counted: dict[str, int] = {}
    for text in texts.tolist():
        if text is not None and text not in NULLS:
            counted[text] = counted.get(text, 0) + 1
    if not counted or (kind is None and len(counted) > max(LISTED, len(texts) // 2)):
        return Ignored(name=name)
    common = sorted(counted, key=lambda t: (-counted[t], t))[:LISTED]
    return Categorical(name=name, values=tuple(sorted(common)))


def _are_codes(texts: Array) -> bool:
    """Whether digits are codes, such as zip codes: some begin with a 0 that a number has not.

    >>> [_are_codes(np.array(texts)) for texts in (["02139", "10001"], ["0", "0.5", "10"])]
    [True, False]
    """
    return any(text is not None and CODE.fullmatch(text) for text in texts.tolist())


def _truth(name: str, texts: Array) -> Declaration:
    """Draft a column of nothing but true and false, or of nothing at all."""
    empty = all(text is None or text in NULLS for text in texts.tolist())
    return Ignored(name=name) if empty else Categorical(name=name, values=(False, True))


def _written(values: Array) -> str | None:
    """Find the format of a column's moments, the first that all have; None for ISO 8601.

    >>> _written(np.array(["01/25/2024 08:37:06 PM", "12/01/2024 01:00:00 AM"], dtype=object))
    '%m/%d/%Y %I:%M:%S %p'
    """
    places = np.random.default_rng(0).permutation(len(values))[:LOOKED_AT]
    some = values[np.sort(places)]
    texts = [text for text in reading.texts(some).tolist() if text is not None]
    numbers = [NUMBERED] if all(len(text) == len("20240131") for text in texts) else []
    iso = reading.seconds(some, None, NULLS)
    if _mostly(*iso):
        return None
    # Most columns are none of date-times: a format that no text has need not be tried on them.
    distinct = set(texts)
    had = [w for w in (*WRITTEN, *numbers) if any(map(_pattern(w).fullmatch, distinct))]
    tried = {None: iso} | {w: reading.seconds(some, w, NULLS) for w in had}
    # Few days of a table may be after the twelfth, and tell an American date from a British one.
    fits = (w for w in tried if _mostly(*tried[w]))
    whole = (w for w in fits if _mostly(*reading.seconds(values, w, NULLS)))
    most = max(tried, key=lambda w: int(np.isfinite(tried[w][0]).sum()))
    return next(whole, most)


def _pattern(written: str) -> re.Pattern[str]:
    return re.compile(compile_format(written).regex)


def _mostly(read: Array, absent: Array) -> bool:
    present = int((~absent).sum())
    return present > 0 and bool((~np.isnan(read) & ~absent).sum() == present)


def _number(name: str, read: Array) -> Declaration:
    if not len(read):
        return Ignored(name=name)
    whole = bool(np.all(read == np.floor(read)))
    digits = None if whole else _digits(read)
    single = None if whole or digits is not None else _single_digits(read)
    if single is not None:
        read, digits = np.round(read, single), single
    low, high = float(read.min()), float(read.max())
    far = max(abs(low), abs(high))
    if whole and high - low < LISTED and far < LARGEST:
        least, most = _calendar(name, int(low), int(high))
        return Integer(name=name, min=least, max=most)
    if low == high:
        low, high = sorted((low, low / 2 if far >= LARGEST else low + 1))
    whole = whole and far <= 2.0**63
    exact = digits is not None and far * 10.0**digits < LARGEST
    edges = cut(read, low, high, whole=whole, digits=digits if exact else None)
    if single is not None:
        edges = for_single(edges, read)
    return Numeric(name=name, edges=edges, whole=whole, digits=digits)


def _digits(read: Array) -> int | None:
    """Return the most decimals that a number is written with, None if there are very many.

    >>> _digits(np.array([12.83, 4.5])), _digits(np.array([1 / 3]))
    (2, None)
    """
    if np.abs(read).max() >= LARGEST:
        return None
    return next((d for d in range(1, DIGITS + 1) if np.array_equal(np.round(read, d), read)), None)


def _single_digits(read: Array) -> int | None:
    """Return the most decimals that numbers have which were 32-bit floats, None if very many.

    Such floats have some seven digits, and a file may have more: 1.4029999971389771 was 1.403.

    >>> _single_digits(np.array([1.4029999971389771, 0.5])), _single_digits(np.array([1.4029]))
    (3, None)
    """
    if np.abs(read).max() >= LARGEST:
        return None
    short = read.astype(np.float32)
    if np.any(np.abs(short - read) > WRITTEN_OFF * np.abs(read)):
        return None
    most = min(DIGITS, single_places(read) - 1)
    same = (np.array_equal(np.round(read, d).astype(np.float32), short) for d in range(1, most + 1))
    return next((d for d, each in enumerate(same, start=1) if each), None)


def _tells_rows_apart(name: str, read: Array) -> bool:
    """Whether a column is named as the rows' numbers or ids, which hardly occur twice.

    >>> [_tells_rows_apart(n, np.arange(99.0)) for n in ("visit_id", "visitID", "rownames", "age")]
    [True, True, True, False]
    >>> _tells_rows_apart("shop_id", np.arange(99.0) % 9)
    False
    """
    return ROW_NAME.search(name) is not None and len(np.unique(read)) > len(read) / 2


def _calendar(name: str, low: int, high: int) -> tuple[int, int]:
    """Widen a part of a date to its full range, whatever part of a year is public.

    >>> _calendar("pickup_month", 1, 6), _calendar("months_at_sea", 1, 6)
    ((1, 12), (1, 6))
    """
    least, most = CALENDAR.get(name.lower().rpartition("_")[2], (low, high))
    return (least, most) if least <= low <= high <= most else (low, high)


def _moment(name: str, read: Array, written: str | None, known: _Known) -> Declaration:
    if not len(read):
        return Ignored(name=name)
    # An offset may lead outside the calendar.
    years = np.clip(reading.part(read, "year"), 1, 9999)
    # Every value is a whole second.
    fitting = [r for r, seconds in RESOLUTIONS.items() if not np.any(read % seconds)]
    ends = f"{int(years.min()):04}-01-01", f"{int(years.max()):04}-12-31"
    first, last = known.days or ends
    drafted = Timestamp(name=name, min=first, max=last, resolution=fitting[0], format=written)
    return _apart(drafted, known.taken)
