"""Conditions: some values of a column, as a list or as a range, and the codes that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.schema.columns import Column
    from understudy.schema.encoding.reading import Scalar

    Mask = NDArray[np.bool_]

ENDS = ("min", "max", "above", "below")
"""The ends of a range: at least, at most, more than, less than."""
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Condition:
    """A column, and the values or the range of numbers that are meant."""

    column: str
    values: tuple[Scalar, ...] = ()
    ends: tuple[tuple[str, float], ...] = ()
    """The ends of a range, by name."""

    @classmethod
    def of(cls, column: str, given: object) -> Condition:
        """Read a value, several values, or a range such as ``{"min": 0, "below": 15}``.

        >>> Condition.of("age", {"below": 15}).ends, Condition.of("sex", "M").values
        ((('below', 15),), ('M',))
        """
        if isinstance(given, Condition):
            return given
        if isinstance(given, Mapping):
            numbers = all(
                isinstance(end, (int, float)) and not isinstance(end, bool)
                for end in given.values()
            )
            if not given or set(given) - set(ENDS) or not numbers:
                raise SchemaError(
                    f"column {column!r}: a range has numbers for its ends",
                    got=", ".join(f"{name} = {end!r}" for name, end in given.items()) or "none",
                    allowed=", ".join(ENDS),
                )
            return cls(column, ends=tuple(given.items()))
        values: Any = given if isinstance(given, (list, tuple, set, frozenset)) else (given,)
        return cls(column, values=tuple(values))

    def to_plain(self) -> Any:  # noqa: ANN401  what TOML can hold
        """Write the condition as plain data."""
        if self.ends:
            return dict(self.ends)
        return self.values[0] if len(self.values) == 1 else list(self.values)

    def codes(self, column: Column) -> Mask:
        """Return whether each code of the column is meant; a missing value only if it is named."""
        if self.ends:
            return self._in_range(column)
        found = np.zeros(column.size, dtype=bool)
        for value in self.values:
            found[code_of(column, value)] = True
        return found

    def _in_range(self, column: Column) -> Mask:
        """Return the codes whose numbers all lie in the range; raise if it cuts a bin in two."""
        bounds = column.bounds()
        if bounds is None:
            raise SchemaError(
                f"column {self.column!r}: a range needs a column of numbers",
                got=f"a {column.kind} column",
                hint="list the values instead",
            )
        low, high = bounds
        inside, outside = ~np.isnan(low), np.isnan(low)
        for name, end in self.ends:
            more, strict = name in {"min", "above"}, name in {"above", "below"}
            near, far = (low, high) if more else (-high, -low)
            limit = end if more else -end
            inside &= near > limit if strict else near >= limit
            outside |= far <= limit if strict else far < limit
        if not np.all(inside | outside):
            cut = column.labels()[int(np.flatnonzero(~(inside | outside))[0])]
            told = ", ".join(f"{name} = {end:g}" for name, end in self.ends)
            raise SchemaError(
                f"column {self.column!r}: a range must not cut a bin in two",
                got=f"{told}, which cuts {cut}",
                hint="add the end to the column's edges, or choose an edge as the end",
            )
        return inside


def code_of(column: Column, value: object) -> int:
    """Return the code of a value, or of a label; raise if the column declares neither."""
    labels = column.labels()
    if str(value) in labels:
        return labels.index(str(value))
    # Only an exact match counts: not the nearest value, and not (other).
    code = int(replace(column, outside="drop").encode(np.array([value], dtype=object))[0])
    if 0 <= code < column.values_count:
        return code
    shown = ", ".join(labels[:SHOWN]) + (", …" if len(labels) > SHOWN else "")
    raise SchemaError(f"column {column.name!r} has no such value", got=repr(value), allowed=shown)
