"""Histograms: counts of synthetic rows by some columns, by code or with the columns' own values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import UsageError
from understudy.release.display import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.release.contents import Contents
    from understudy.schema import Array, Codes, Column, Schema

MOST_LINES = 5_000_000
MOST_CELLS = 50_000_000
"""The most cells of an array: 400 MB of counts."""
COUNT = "rows"


def histogram(release: Contents, columns: Sequence[str]) -> Array:
    """Count synthetic rows in every cell of some columns, or of all, by code."""
    free = release.schema.unconstrained
    names = tuple(columns) or tuple(release.schema.domain)
    _check_columns(free, names)
    shape, cells = free.domain.shape(names), free.domain.cells(names)
    if cells > MOST_CELLS:
        raise UsageError(
            "the histogram has too many cells",
            got=f"{cells:,} of {len(names)} columns",
            allowed=f"at most {MOST_CELLS:,}",
            hint="name fewer columns, or count release.rows, of which few cells have any",
        )
    counts = np.zeros(cells, dtype=np.int64)
    # What constraints compute is counted too.
    schema = release.schema.released().unconstrained
    for batch in release.decoded:
        codes, _ = schema.encode(batch)
        places = np.ravel_multi_index([codes[name] for name in names], shape)
        counts += np.bincount(places, minlength=cells)
    return counts.reshape(shape)


def histogram_columns(
    release: Contents, by: Sequence[str], across: str | None = None
) -> dict[str, Array]:
    """Count synthetic rows: a line for each cell of ``by``, zeros included.

    The counts are in the column ``rows``, or in a column for each value of ``across``.
    """
    schema = release.schema.unconstrained
    every = [*by, *([] if across is None else [across])]
    _check_columns(schema, every if by else ())
    lines = schema.domain.cells(tuple(by))
    if lines > MOST_LINES:
        raise UsageError(
            "the histogram has too many lines", got=f"{lines:,}", allowed=f"at most {MOST_LINES:,}"
        )
    places = np.indices([schema.domain[n] for n in by], dtype=np.int32).reshape(len(by), -1)
    down = {n: _values(schema[n], codes) for n, codes in zip(by, places, strict=True)}
    counts = histogram(release, every).reshape(lines, -1)
    if across is None:
        return down | {COUNT + "_" * (COUNT in down): counts[:, 0]}
    return down | dict(zip(schema[across].labels(), counts.T, strict=True))


def _check_columns(schema: Schema, columns: Sequence[str]) -> None:
    known = schema.domain
    named_right = all(isinstance(name, str) and name in known for name in columns)
    if not columns or not named_right or len(set(columns)) < len(columns):
        raise UsageError(
            "a histogram needs one or more distinct columns",
            got=", ".join(map(str, columns)) or "none",
            allowed=named(list(known), most=20),
        )


def _values(column: Column, codes: Codes) -> Array:
    """Return the values of codes, or the labels of bins."""
    if column.codes_are_values:
        return column.decode(codes, np.random.default_rng(0))
    return np.array(column.labels(), dtype=object)[codes]
