"""Breaking: which rows of a table break each constraint of a schema.

The table may be anybody's: public rows, released ones, or, for its custodian, private ones.  Its
codes are those of all columns, of computed ones too (`Schema.unconstrained`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.constraints.constraint import ConstantPerPerson, UniquePerPerson
from understudy.schema.constraints.ordering import numbers_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.schema.columns import Column
    from understudy.schema.constraints.conditions import Mask
    from understudy.schema.encoding.reading import Array, Codes
    from understudy.schema.schema import Schema

    Ints = NDArray[np.int64]


def broken_rows(
    schema: Schema, codes: Mapping[str, Codes], values: Mapping[str, Array]
) -> dict[str, Mask]:
    """Return which rows break each constraint, by its label; none those on people.

    ``values`` are those of columns whose codes are bins, or may be those of values outside.
    """
    numbers = {
        column.name: _numbers(column, codes[column.name], values.get(column.name))
        for column in schema.unconstrained.modelled
        if column.name in codes and column.bounds() is not None
    }
    return schema.keeper.broken(codes, {**values, **numbers})


def broken_among(schema: Schema, codes: Mapping[str, Codes], people: Ints) -> dict[str, Mask]:
    """Return which rows break each constraint on what is unique or constant per person."""
    found = {}
    for constraint in schema.constraints:
        if isinstance(constraint, UniquePerPerson):
            column = schema.unconstrained[constraint.column]
            code = codes[column.name]
            found[constraint.label] = _repeated(code, people) & (code != column.missing_code)
        elif isinstance(constraint, ConstantPerPerson):
            (declared,) = (c for c in schema.columns if c.name == constraint.column)
            cells = np.stack([codes[part.name] for part in declared.modelled])
            _, cell = np.unique(cells, axis=1, return_inverse=True)
            found[constraint.label] = _unusual(cell.reshape(-1), people)
    return found


def _numbers(column: Column, codes: Codes, values: Array | None) -> Array:
    """Return numbers, NaN where a code has none; of a code without a value, its lower end."""
    low, _ = column.bounds() or (np.zeros(0), np.zeros(0))
    ends: Array = low[codes]
    if values is None or column.span is None:
        return ends
    return np.where(np.isnan(ends), np.nan, numbers_of(values))


def _repeated(values: Codes, people: Ints) -> Mask:
    """Return the rows whose person has the value in an earlier row."""
    order = np.lexsort((values, people))
    same = (np.diff(people[order]) == 0) & (np.diff(values[order]) == 0)
    found = np.zeros(len(people), dtype=bool)
    found[order[1:][same]] = True
    return found


def _unusual(cells: Ints, people: Ints) -> Mask:
    """Return the rows in which a person has another cell than in the most of their rows."""
    keys = np.stack([people, cells])
    pairs, which, count = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    order = np.lexsort((-count, pairs[0]))
    first = order[np.flatnonzero(np.diff(pairs[0][order], prepend=-1))]
    usual = np.zeros(len(count), dtype=bool)
    usual[first] = True
    found: Mask = ~usual[which.reshape(-1)]
    return found
