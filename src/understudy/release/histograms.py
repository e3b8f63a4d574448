"""Histograms: counts of synthetic rows by some columns, as a table with the columns' own values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.release.release import Release
    from understudy.schema import Array, Codes, Column

MOST_LINES = 5_000_000
COUNT = "rows"


def histogram_columns(
    release: Release, by: Sequence[str], across: str | None = None
) -> dict[str, Array]:
    """Count synthetic rows: a line for each cell of ``by``, zeros included.

    The counts are in the column ``rows``, or in a column for each value of ``across``.
    """
    schema = release.schema.unconstrained
    named = [*by, *([] if across is None else [across])]
    unknown = [name for name in named if name not in schema.domain]
    if not by or unknown or len(set(named)) < len(named):
        raise UsageError(
            "a histogram needs one or more distinct columns",
            got=", ".join(map(str, named)) or "none",
            allowed=", ".join(schema.domain),
        )
    lines = schema.domain.cells(tuple(by))
    if lines > MOST_LINES:
        raise UsageError(
            "the histogram has too many lines", got=f"{lines:,}", allowed=f"at most {MOST_LINES:,}"
        )
    places = np.indices([schema.domain[n] for n in by], dtype=np.int32).reshape(len(by), -1)
    down = {n: _values(schema[n], codes) for n, codes in zip(by, places, strict=True)}
    counts = release.histogram(*named).reshape(lines, -1)
    if across is None:
        return down | {COUNT + "_" * (COUNT in down): counts[:, 0]}
    return down | dict(zip(schema[across].labels(), counts.T, strict=True))


def _values(column: Column, codes: Codes) -> Array:
    """Return the values of codes, or the labels of bins."""
    if column.codes_are_values:
        return column.decode(codes, np.random.default_rng(0))
    return np.array(column.labels(), dtype=object)[codes]
