"""What columns have in common: a name, rules for what is read, and codes.

A kind of column is one class, which answers for itself: how a cell becomes a code in NumPy and in
SQL, how a code becomes a value again, what type the value has on disk.  `Column` is the base of a
kind that has codes, `Compound` of one that is modelled as several columns and released as one.
`understudy.schema.columns.KINDS` lists them; no other module asks what kind a column is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.encoding import reading
from understudy.schema.encoding.reading import Array, Codes

if TYPE_CHECKING:
    from understudy.schema.encoding.calendar import DatePart
    from understudy.schema.encoding.cell import Cell

Outside = Literal["nearest", "other", "drop"]
Of = Literal["row", "person"]

DROP = -1
MAX_CODES = 2**31 - 1
LARGEST = 2**52
"""Integers below this in magnitude, and halves between them, are exact in float64."""
NULLS = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>")


def check_outside(name: str, outside: str, allowed: tuple[str, ...]) -> None:
    """Raise unless a kind of column supports this rule."""
    if outside not in allowed:
        raise SchemaError(
            f"column {name!r}: unknown rule for values outside the domain",
            got=repr(outside),
            allowed=", ".join(map(repr, allowed)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration(ABC):
    """A column of a schema, whether it is modelled or not."""

    kind: ClassVar[str]
    """Its name in schema files."""
    name: str

    @classmethod
    def expanded(cls, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return the keys of a schema file as the kind's fields, with shorthands expanded."""
        del name
        return given

    @property
    def table_column(self) -> str:
        """The name of the column in the table."""
        return self.name

    @property
    def modelled(self) -> tuple[Column, ...]:
        """The columns with codes: none, itself, or several."""
        return ()

    @property
    def date_part(self) -> DatePart | None:
        """The part of a date-time that it holds, if any."""
        return None

    @property
    @abstractmethod
    def summary(self) -> str:
        """What happens to the column, for the comments of a drafted schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Declaration):
    """A column that is read, and that is part of the synthetic rows."""

    source: str = ""
    """The column's name in the table; the same as here where it is empty."""
    outside: Outside = "nearest"
    """What happens to a value outside the domain."""
    missing: bool = True
    """Whether missing values have a code of their own."""
    nulls: tuple[str, ...] = NULLS
    """Strings that mean a missing value; a declared value with the same text takes precedence."""
    of: Of = "row"
    """Whose the value is: a row's, or the person's, who then has one value in all of their rows."""

    @property
    def table_column(self) -> str:
        """The name of the column in the table, which may differ."""
        return self.source or self.name

    @property
    @abstractmethod
    def disk_type(self) -> str:
        """The SQL type of its values on disk, whether or not some are missing."""

    @property
    def summary(self) -> str:
        """What happens to the column, for the comments of a drafted schema."""
        return f"{self.kind}."

    @abstractmethod
    def joined(self, codes: Mapping[str, Codes], draw: Draw, rng: np.random.Generator) -> Array:
        """Decode the codes of its modelled columns.

        ``draw`` decodes one of these columns, and may have better values for a bin than `decode`.
        """

    def released(self) -> Declaration:
        """Return the declaration with which to read the released column."""
        return replace(self, source="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compound(Released):
    """A column that is modelled as several columns, and released as one."""

    @property
    @abstractmethod
    def modelled(self) -> tuple[Column, ...]:
        """The columns with codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Released):
    """A column with codes."""

    codes_are_values: ClassVar[bool] = False
    """Whether a code is a value of the table itself, not a bin or a part."""

    @property
    def modelled(self) -> tuple[Column, ...]:
        """The column itself."""
        return (self,)

    @property
    def summary(self) -> str:
        """What happens to the column, for the comments of a drafted schema."""
        return f"{self.kind}, {self.size} codes."

    # What a kind must define.

    @property
    @abstractmethod
    def values_count(self) -> int:
        """The number of codes of declared values or bins."""

    @abstractmethod
    def encode(self, values: Array) -> Codes:
        """Encode values; -1 where the row is to be dropped."""

    @abstractmethod
    def encode_sql(self, cell: Cell) -> str:
        """Compose the SQL of a cell's code: the same as that of `encode`."""

    @abstractmethod
    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Decode codes; the value of a bin is drawn uniformly within it."""

    @abstractmethod
    def value_labels(self) -> list[str]:
        """Return readable labels of the declared values or bins."""

    # What a kind may define.

    @property
    def ordered_count(self) -> int:
        """The number of codes, from the first, that are ordered; 0 for an unordered column."""
        return self.values_count

    @property
    def span(self) -> tuple[float, float] | None:
        """The smallest and the largest number, for a column with a range of numbers."""
        return None

    def bounds(self) -> tuple[Array, Array] | None:
        """Return the smallest and the largest number of each code, NaN where a code has none.

        None for a column that is not of numbers.
        """
        return None

    @property
    def groups(self) -> tuple[str, ...]:
        """The group of each value, if declared."""
        return ()

    # What follows.

    @property
    def is_binned(self) -> bool:
        """Whether a code stands for a range of numbers."""
        return self.span is not None and not self.codes_are_values

    @property
    def null_keys(self) -> tuple[str, ...]:
        """The strings that mean a missing value, normalised like the text of a value."""
        return tuple(reading.text(n) or "" for n in self.nulls)

    @property
    def missing_code(self) -> int | None:
        """The code of a missing value, if there is one."""
        return self.values_count if self.missing else None

    @property
    def other_code(self) -> int | None:
        """The code of a value outside the domain, if there is one."""
        return self.values_count + int(self.missing) if self.outside == "other" else None

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.values_count + int(self.missing) + int(self.outside == "other")

    @property
    def if_invalid(self) -> int:
        """The code of an invalid value, which has no nearest one."""
        if self.other_code is not None:
            return self.other_code
        if self.outside == "nearest" and self.missing_code is not None:
            return self.missing_code
        return DROP

    @property
    def if_missing(self) -> int:
        """The code of a missing value, or of the row to be dropped."""
        return self.if_invalid if self.missing_code is None else self.missing_code

    def by_rule(self, codes: Array, *, invalid: Array, absent: Array) -> Codes:
        """Keep the codes of valid values, and assign those of the others."""
        codes = np.where(invalid, self.if_invalid, codes)
        return np.where(absent, self.if_missing, codes).astype(np.int32)

    def by_rule_sql(self, code: str, *, invalid: str, absent: str) -> str:
        """Compose the SQL of `by_rule`."""
        return (
            f"CASE WHEN {absent} THEN {self.if_missing} "
            f"WHEN {invalid} THEN {self.if_invalid} ELSE {code} END"
        )

    def in_range_sql(self, number: str, code: str, *, low: str, high: str, last: int) -> str:
        """Compose the code of a number; beyond the range, that of the first or last value."""
        below, above = (0, last) if self.outside == "nearest" else 2 * (self.if_invalid,)
        return (
            f"CASE WHEN {number} < {low} THEN {below} "
            f"WHEN {number} > {high} THEN {above} ELSE {code} END"
        )

    def joined(self, codes: Mapping[str, Codes], draw: Draw, rng: np.random.Generator) -> Array:
        """Decode its codes."""
        del rng
        return draw(self, codes[self.name])

    def with_nan(self, numbers: Array) -> Array:
        """Return the numbers of the first codes as those of all codes, NaN for the others."""
        found = np.full(self.size, np.nan)
        found[: len(numbers)] = numbers
        return found

    def labels(self) -> list[str]:
        """Return a readable label for every code."""
        tail = (["(missing)"] if self.missing else []) + (
            ["(other)"] if self.outside == "other" else []
        )
        return [*self.value_labels(), *tail]

    def readable(self) -> list[str]:
        """Return what every code is called in reports: its label, unless it has a name."""
        return self.labels()


Draw = Callable[[Column, Codes], Array]
"""Decodes the codes of a modelled column."""
