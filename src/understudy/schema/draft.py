"""Draft columns from a public table: lists, ranges and bins that anyone may see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import MissingColumnError
from understudy.schema import reading
from understudy.schema.columns import (
    LARGEST,
    NULLS,
    Categorical,
    DateTime,
    Id,
    Ignored,
    Integer,
    Numeric,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.schema.columns import Declaration
    from understudy.schema.reading import Array

LISTED = 256
"""A column with at most this many different values becomes a list."""
BINS = 20
MOMENT_PARTS = ("month", "weekday", "hour")


def draft(
    table: Mapping[str, Array],
    *,
    ids: tuple[str, ...],
    written: str | None = None,
    kind: str | None = None,
) -> tuple[Declaration, ...]:
    """Draft a declaration for every column of a public table, the ids as ids.

    ``kind`` may say "categorical", "numerical" or "datetime" where it is known.
    """
    for name in ids:
        if name not in table:
            raise MissingColumnError(f"no id column {name!r} in the public table")
    columns: list[Declaration] = []
    for name, given in table.items():
        if name in ids:
            columns.append(Id(name=name))
        else:
            drafted = _column(name, np.asarray(given), written, kind)
            columns += [_renamed(c, {n.lower() for n in table if n != name}) for c in drafted]
    return tuple(columns)


def _renamed(column: Declaration, taken: set[str]) -> Declaration:
    """Give a part of a date-time a name that no column of the table has."""
    while column.name.lower() in taken:
        column = replace(column, name=column.name + "_")
    return column


def _column(name: str, values: Array, written: str | None, kind: str | None) -> list[Declaration]:
    if kind not in {"categorical", "numerical"}:
        read, absent = reading.seconds(values, written, NULLS)
        if kind == "datetime" or values.dtype.kind == "M" or _mostly(read, absent):
            return _moments(name, read[~np.isnan(read)], written)
    if kind != "categorical":
        read, absent = reading.numbers(values, NULLS)
        if _mostly(read, absent) and values.dtype.kind != "b":
            return [_number(name, read[~absent & np.isfinite(read)])]
    texts = reading.texts(values)
    counted: dict[str, int] = {}
    for text in texts.tolist():
        if text is not None and text not in NULLS:
            counted[text] = counted.get(text, 0) + 1
    if not counted or (kind is None and len(counted) > max(LISTED, len(texts) // 2)):
        return [Ignored(name=name)]
    common = sorted(counted, key=lambda t: (-counted[t], t))[:LISTED]
    return [Categorical(name=name, values=tuple(sorted(common)))]


def _mostly(read: Array, absent: Array) -> bool:
    present = int((~absent).sum())
    return present > 0 and bool((~np.isnan(read) & ~absent).sum() == present)


def _number(name: str, read: Array) -> Declaration:
    if not len(read):
        return Ignored(name=name)
    low, high = float(read.min()), float(read.max())
    whole = bool(np.all(read == np.floor(read)))
    far = max(abs(low), abs(high))
    if whole and high - low < LISTED and far < LARGEST:
        return Integer(name=name, min=int(low), max=int(high))
    if low == high:
        low, high = sorted((low, low / 2 if far >= LARGEST else low + 1))
    # Edges are values of the table, so that nothing is computed that may overflow.
    inner = np.quantile(read, np.linspace(0, 1, BINS + 1)[1:-1], method="lower")
    inside = [float(e) for e in np.unique(inner) if low < e < high]
    return Numeric(name=name, edges=(low, *inside, high), whole=whole and far <= 2.0**63)


def _moments(name: str, read: Array, written: str | None) -> list[Declaration]:
    if not len(read):
        return [Ignored(name=name)]
    years = reading.part(read, "year")
    ends = int(years.min()), int(years.max())
    year = DateTime(
        name=f"{name}_year", source=name, part="year", format=written, min=ends[0], max=ends[1]
    )
    parts: list[Declaration] = [
        DateTime(name=f"{name}_{part}", source=name, part=part, format=written)
        for part in MOMENT_PARTS
    ]
    return [year, *parts]
