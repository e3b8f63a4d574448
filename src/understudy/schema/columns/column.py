"""What every modelled column has in common: its name, its rules, and where its codes lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from understudy.errors import SchemaError
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    import numpy as np

    from understudy.schema.encoding.reading import Array, Codes

Outside = Literal["nearest", "other", "drop"]

DROP = -1
MAX_CODES = 2**31 - 1
LARGEST = 2**52
"""Whole numbers nearer to 0 than this, and halves between them, are exact in float64."""
NULLS = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>")


def check_outside(name: str, outside: str, allowed: tuple[str, ...]) -> None:
    """Refuse a rule that a kind of column does not have."""
    if outside not in allowed:
        raise SchemaError(
            f"column {name!r}: unknown rule for values outside the domain",
            got=repr(outside),
            allowed=", ".join(map(repr, allowed)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What every modelled column has in common."""

    kind: ClassVar[str]
    name: str
    source: str = ""
    """The table's own column; the column's name where it is empty."""
    outside: Outside = "nearest"
    """Where a value outside the domain goes."""
    missing: bool = True
    """Whether missing values have a code of their own."""
    nulls: tuple[str, ...] = NULLS
    """Texts that mean a missing value; a declared value of the same text wins."""

    @property
    def table_column(self) -> str:
        """The name of the column in the table."""
        return self.source or self.name

    @property
    def null_keys(self) -> tuple[str, ...]:
        """The texts that mean a missing value, as a value's own text is written."""
        return tuple(reading.text(n) or "" for n in self.nulls)

    @property
    def values_count(self) -> int:
        """How many codes stand for declared values or bins."""
        raise NotImplementedError

    @property
    def missing_code(self) -> int | None:
        """The code of a missing value, where there is one."""
        return self.values_count if self.missing else None

    @property
    def other_code(self) -> int | None:
        """The code of a value outside the domain, where there is one."""
        return self.values_count + int(self.missing) if self.outside == "other" else None

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.values_count + int(self.missing) + int(self.outside == "other")

    @property
    def if_invalid(self) -> int:
        """Where something goes that is no value at all, and so has no nearest one."""
        if self.other_code is not None:
            return self.other_code
        if self.outside == "nearest" and self.missing_code is not None:
            return self.missing_code
        return DROP

    @property
    def if_missing(self) -> int:
        """Where a missing value goes."""
        return self.if_invalid if self.missing_code is None else self.missing_code

    def encode(self, values: Array) -> Codes:
        """Turn values into codes; -1 where the row is to be dropped."""
        raise NotImplementedError

    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Turn codes back into values; a bin gives a value drawn uniformly within it."""
        raise NotImplementedError

    def labels(self) -> list[str]:
        """Name every code, for people."""
        tail = (["(missing)"] if self.missing else []) + (
            ["(other)"] if self.outside == "other" else []
        )
        return [*self._value_labels(), *tail]

    def _value_labels(self) -> list[str]:
        raise NotImplementedError
