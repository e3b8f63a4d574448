"""Seconds and milliseconds since 1970: date-times that are written, and read, as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

SPANS = {"s": (1e9, 2.2e9), "ms": (1e12, 2.2e12)}
"""Seconds and milliseconds since 1970, from 2001 to 2039."""
EPOCHS = {"s": "seconds", "ms": "milliseconds"}
MOST = 0.75
"""The share of a column's edges that are such numbers if its numbers are: a few may mean none."""


def check_no_epoch(name: str, text: str | None) -> None:
    """Raise if a format is that of seconds since 1970."""
    if text is not None and "%s" in text:
        raise SchemaError(
            f"column {name!r}: seconds since 1970 have no format of a date-time",
            got=repr(text),
            hint='convert them with pandas.to_datetime(column, unit="s"), in the public table too; '
            "or declare the column numeric",
        )


def epoch_unit(edges: Sequence[float]) -> str | None:
    """Return the unit of numbers that look like the time since 1970, by the edges of their bins.

    >>> epoch_unit((1.70e9, 1.71e9, 1.72e9)), epoch_unit((-1.0, 0.0, 5.0)), epoch_unit((1e12, 2e12))
    ('s', None, 'ms')
    """
    numbers = np.array(edges)
    for unit, (low, high) in SPANS.items():
        if np.mean((low <= numbers) & (numbers <= high)) >= MOST:
            return unit
    return None
