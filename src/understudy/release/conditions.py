"""Conditions by which rows are chosen: the codes that have the wanted values.

A code is wanted as a whole or not at all, since nothing finer was measured or modelled.  So a
number within a bin is refused, as a range that cuts one is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import SchemaError, UsageError
from understudy.release.display import named, shortened
from understudy.schema.constraints import Condition
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.schema import Column, Schema

    Mask = NDArray[np.bool_]

MOST_LABELS, WIDE = 10, 40


def wanted_codes(schema: Schema, where: Mapping[str, object]) -> dict[str, Mask]:
    """Return whether each code of the columns is wanted; a determined one goes by its source."""
    released = schema.released()
    wanted: dict[str, Mask] = {}
    for name, given in where.items():
        if released.keeper.is_sum(name):
            raise UsageError(
                "rows cannot be chosen by a column that is a sum",
                got=repr(name),
                hint="choose them by its parts",
            )
        source, mask = released.keeper.source(name, codes_with(schema, name, given))
        wanted[source] = wanted.get(source, np.ones_like(mask)) & mask
    for source, mask in wanted.items():
        if not mask.any():
            raise UsageError(
                f"no value of column {source!r} satisfies the condition",
                got=conditions_text(where),
                allowed=_labels(released.unconstrained[source]),
            )
    return wanted


def codes_with(schema: Schema, name: str, given: object) -> Mask:
    """Return whether each code of a column is wanted; raise if only a part of one is."""
    column = schema.released().unconstrained[name]
    try:
        condition = Condition.of(name, given)
        found: Mask = condition.codes(column)
    except SchemaError as error:
        raise UsageError(
            error.what, got=error.got, allowed=error.allowed, hint=error.hint
        ) from None
    if column.span is not None:
        labels = column.labels()
        for value in condition.values:
            if str(value) not in labels:
                _check_number(column, value)
    return found


def conditions_text(where: Mapping[str, object]) -> str:
    """Return conditions in words, such as in the title of an estimate."""
    return ", ".join(f"{name} = {shortened(value)}" for name, value in where.items())


def _check_number(column: Column, value: object) -> None:
    """Raise unless a number, which a column can read, is the only one of its code."""
    cell = np.array([value], dtype=object)
    code, number = int(column.encode(cell)[0]), reading.numbers(cell, column.null_keys)[0][0]
    low, high = (ends[code] for ends in column.bounds() or (cell, cell))
    # A special value has a code of its own, and lies in no bin.
    if np.isnan(low) or low == high == number:
        return
    if low == high:
        raise UsageError(
            f"column {column.name!r} has no such value", got=repr(value), allowed=_labels(column)
        )
    label = column.labels()[code]
    raise UsageError(
        f"column {column.name!r}: a single value must not cut a bin in two",
        got=f"{value!r}, which is a part of {label}",
        allowed=_labels(column),
        hint=f"choose whole bins: by a range from edge to edge, or by a label such as {label!r}",
    )


def _labels(column: Column) -> str:
    return named(column.labels(), MOST_LABELS, width=WIDE)
