"""Integer: whole numbers between two ends, each of them a code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns.column import LARGEST, MAX_CODES, Column, check_outside
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from understudy.schema.encoding.cell import Cell
    from understudy.schema.encoding.reading import Array, Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(Column):
    """An integer in a declared range, with one code per value.

    >>> Integer(name="age", min=0, max=9).encode(np.array([3.0, 12, np.nan])).tolist()
    [3, 9, 10]
    """

    kind: ClassVar[str] = "integer"
    codes_are_values: ClassVar[bool] = True
    min: int
    max: int
    ordered: bool = True
    """Whether the numbers have an order; if not, they are codes that happen to be numbers."""

    def __post_init__(self) -> None:
        """Raise on an empty or over-long range."""
        check_outside(self.name, self.outside, ("nearest", "other", "drop"))
        far = max(abs(self.min), abs(self.max)) >= LARGEST
        if far or not self.min <= self.max or self.size > MAX_CODES:
            raise SchemaError(
                f"column {self.name!r}: the range is empty, too long or too far from 0",
                got=f"{self.min} to {self.max}",
                allowed="min <= max, fewer than 2^31 codes, and ends between -2^52 and 2^52",
                hint="for a long range, declare a numeric column with bins",
            )

    @property
    def values_count(self) -> int:
        """The number of integers in the range."""
        return self.max - self.min + 1

    @property
    def ordered_count(self) -> int:
        """All integers, unless they are only codes."""
        return self.values_count if self.ordered else 0

    @property
    def span(self) -> tuple[float, float]:
        """The two ends."""
        return self.min, self.max

    def bounds(self) -> tuple[Array, Array]:
        """Return every integer twice: a code has one number."""
        found = self.with_nan(np.arange(self.min, self.max + 1))
        return found, found

    @property
    def disk_type(self) -> str:
        """64-bit integers."""
        return "BIGINT"

    def encode(self, values: Array) -> Codes:
        """Round to the nearest integer, halves up, and count from the lower end."""
        numbers, absent = reading.numbers(values, self.null_keys)
        return self.from_whole(np.floor(numbers + 0.5), absent)

    def from_whole(self, whole: Array, absent: Array) -> Codes:
        """Count integers from the lower end; NaN is invalid."""
        invalid = np.isnan(whole)
        clipped = np.clip(np.where(invalid, self.min, whole), self.min, self.max) - self.min
        if self.outside != "nearest":
            invalid |= (whole < self.min) | (whole > self.max)
        return self.by_rule(clipped.astype(np.int64), invalid=invalid, absent=absent)

    def encode_sql(self, cell: Cell) -> str:
        """Round to the nearest integer, halves up, and count from the lower end."""
        number, absent = cell.number(self.null_keys)
        return self.from_whole_sql(cell.take(f"floor({number} + 0.5)"), cell.take(absent))

    def from_whole_sql(self, whole: str, absent: str) -> str:
        """Count integers from the lower end; NULL is invalid."""
        low, high, last = str(self.min), str(self.max), self.values_count - 1
        counted = f"CAST({whole} - {low} AS BIGINT)"
        code = self.in_range_sql(whole, counted, low=low, high=high, last=last)
        return self.by_rule_sql(code, invalid=f"{whole} IS NULL", absent=absent)

    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Return integers, None for missing and other."""
        del rng
        return reading.nullable(codes.astype(np.int64) + self.min, codes >= self.values_count)

    def value_labels(self) -> list[str]:
        """Return the integers as text."""
        return [str(v) for v in range(self.min, self.max + 1)]
