"""Screened: whether a cell can be read as its column declares it, and no more than that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from understudy.schema.columns.column import Column
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from understudy.schema.encoding.cell import Cell
    from understudy.schema.encoding.reading import Array, Codes

READ, ABSENT, UNREAD = range(3)
"""The codes: a declared value, a null, and a value that is not declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened(Column):
    """A column as its readability: 0 for a declared value, 1 for a null, 2 for any other value.

    A value beyond a declared range is not declared, whatever becomes of it later.  It is made by
    `Schema.screened` and never declared.

    >>> from understudy.schema.columns.integer import Integer
    >>> age = Screened(name="age", column=Integer(name="age", min=0, max=99))
    >>> age.encode(np.array(["34", "", "x34", "120"], dtype=object)).tolist()
    [0, 1, 2, 2]
    """

    kind: ClassVar[str] = "screened"
    column: Column
    """The column as it is declared."""

    @property
    def values_count(self) -> int:
        """All codes: rows are never dropped, and the codes need no rule."""
        return UNREAD + 1

    @property
    def size(self) -> int:
        """The number of codes."""
        return UNREAD + 1

    @property
    def if_invalid(self) -> int:
        """The code of a value that is not declared."""
        return UNREAD

    @property
    def if_missing(self) -> int:
        """The code of a null."""
        return ABSENT

    @property
    def disk_type(self) -> str:
        """Text."""
        return "VARCHAR"

    def encode(self, values: Array) -> Codes:
        """Read every value as its column does, and tell what became of it."""
        strict = self.column.strict()
        codes = strict.encode(values)
        found = np.where(codes == strict.other_code, UNREAD, READ)
        return np.where(codes == strict.missing_code, ABSENT, found).astype(np.int32)

    def encode_sql(self, cell: Cell) -> str:
        """Read the cell as its column does, and tell what became of it."""
        strict = self.column.strict()
        return (
            f"CASE {strict.encode_sql(cell)} WHEN {strict.missing_code} THEN {ABSENT} "
            f"WHEN {strict.other_code} THEN {UNREAD} ELSE {READ} END"
        )

    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Return the codes' names."""
        del rng
        return reading.narrow(list(self.value_labels()), codes)

    def value_labels(self) -> list[str]:
        """Return the codes' names."""
        return ["read", "missing", "not read"]

    def labels(self) -> list[str]:
        """Return the codes' names."""
        return self.value_labels()
