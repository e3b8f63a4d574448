"""Split: a number modelled as two columns, its steps and what is left within a step.

An income in dollars has thousands of values, of which most are round.  As hundreds and remainder
it has fifty and a hundred, and both can be modelled.  On the way out the two are put together
again: encode(decode(codes)) is the codes, for all that a number can have
(``tests/schema/columns/test_split.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns.column import LARGEST, Column, Compound, check_outside
from understudy.schema.columns.numeric import Numeric
from understudy.schema.encoding import reading
from understudy.schema.encoding.expressions import double

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.schema.columns.column import Draw
    from understudy.schema.encoding.cell import Cell
    from understudy.schema.encoding.reading import Array, Codes

MOST_STEPS = 2**16


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder(Column):
    """The remainder of an integer above the last multiple of a step, counted from ``min``.

    A special value has no remainder: all of them share one extra code.  It is part of a split and
    never declared alone.

    >>> cents = Remainder(name="cents", step=100, min=0, max=999, special=(1777,))
    >>> cents.encode(np.array([5, 205, 1777, 1200])).tolist()
    [5, 5, 100, 99]
    """

    kind: ClassVar[str] = "remainder"
    step: int
    min: int
    max: int
    special: tuple[int, ...] = ()

    @property
    def values_count(self) -> int:
        """The number of remainders, plus one for special values."""
        return self.step + bool(self.special)

    @property
    def ordered_count(self) -> int:
        """The number of remainders."""
        return self.step

    @property
    def disk_type(self) -> str:
        """64-bit integers."""
        return "BIGINT"

    def encode(self, values: Array) -> Codes:
        """Take the remainder of every number, rounded down."""
        numbers, absent = reading.numbers(values, self.null_keys)
        invalid = np.isnan(numbers)
        held = np.clip(np.where(invalid, self.min, numbers), self.min, self.max)
        codes = np.mod(np.floor(held) - self.min, self.step)
        if self.outside != "nearest":
            invalid |= (numbers < self.min) | (numbers > self.max)
        special = np.isin(numbers, self.special)
        codes = np.where(special, self.step, codes)
        return self.by_rule(codes, invalid=invalid & ~special, absent=absent)

    def encode_sql(self, cell: Cell) -> str:
        """Take the remainder of every number, rounded down."""
        number, absent = map(cell.take, cell.number(self.null_keys))
        above_low = f"(floor({number}) - {self.min})"
        left = f"{above_low} - {self.step} * floor({above_low} / CAST({self.step} AS DOUBLE))"
        low, high, last = str(self.min), str(self.max), (self.max - self.min) % self.step
        code = self.in_range_sql(number, left, low=low, high=high, last=last)
        if self.special:
            listed = ", ".join(map(double, self.special))
            code = f"CASE WHEN {number} IN ({listed}) THEN {self.step} ELSE {code} END"
        return self.by_rule_sql(code, invalid=f"{number} IS NULL", absent=absent)

    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Return remainders, None for missing, other and special values."""
        del rng
        return reading.nullable(codes.astype(np.int64), codes >= self.step)

    def value_labels(self) -> list[str]:
        """Return the remainders as text."""
        special = ["(special)"] if self.special else []
        return [str(v) for v in range(self.step)] + special


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Compound):
    """A column of integers that is modelled as two: its steps, and the remainder.

    >>> wage = Split(
    ...     name="wage", parts=("hundreds", "rest"), step=100, top=300, max=9997, special=(9998,)
    ... )
    >>> high, low = wage.modelled
    >>> high.labels()
    ['[0, 100)', '[100, 200)', '[200, 300)', '[300, 9997]', '9998', '(missing)']
    """

    kind: ClassVar[str] = "split"
    parts: tuple[str, str]
    """The names of the two modelled columns."""
    step: int
    max: int
    min: int = 0
    top: int | None = None
    """From here up to ``max`` all is one step, which is written as values near its lower end."""
    special: tuple[int, ...] = ()
    """Numbers that mean something else; they are looked up before any step."""

    def __post_init__(self) -> None:
        """Raise on invalid parts, steps and ends."""
        check_outside(self.name, self.outside, ("nearest", "other", "drop"))
        if len(self.parts) != 2 or self.parts[0] == self.parts[1] or not all(self.parts):
            raise SchemaError(
                f"column {self.name!r}: parts must be two different names", got=self.parts
            )
        top = self.max + 1 if self.top is None else self.top
        far = max(abs(self.min), abs(self.max)) >= LARGEST
        sound = 2 <= self.step <= MOST_STEPS and self.min < top <= self.max + 1
        if far or not sound or self._steps > MOST_STEPS:
            raise SchemaError(
                f"column {self.name!r}: a split needs a step of at least 2, and min < top <= max",
                got=f"step {self.step}, {self.min} to {top} to {self.max}"[:90],
                allowed=f"at most {MOST_STEPS} steps, each of at most {MOST_STEPS}, "
                "and ends between -2^52 and 2^52",
            )
        if self.top is not None and (self.top - self.min) % self.step:
            raise SchemaError(
                f"column {self.name!r}: top must lie on a step",
                got=self.top,
                allowed=f"{self.min} plus a multiple of {self.step}",
            )
        if self.top in (None, self.max) and (self.max - self.min) % self.step == 0:
            raise SchemaError(
                f"column {self.name!r}: max must not be the first number of a step",
                got=self.max,
                hint=f"take {self.max - 1} or {self.max + self.step - 1} for max",
            )
        # The column of steps checks the rest.
        _ = self.modelled

    @property
    def _steps(self) -> int:
        top = self.max if self.top is None else self.top
        return -(-(top - self.min) // self.step)

    @property
    def disk_type(self) -> str:
        """64-bit integers."""
        return "BIGINT"

    @property
    def modelled(self) -> tuple[Numeric, Remainder]:
        """The two columns with codes."""
        inner = [self.min + i * self.step for i in range(self._steps)]
        top_coded = self.top is not None and self.top < self.max
        edges = [*inner, self.top, self.max] if top_coded else [*inner, self.max]
        common = {"source": self.table_column, "missing": self.missing, "nulls": self.nulls}
        return (
            Numeric(
                name=self.parts[0],
                edges=tuple(float(e) for e in edges if e is not None),
                whole=True,
                special=tuple(_float(value) for value in self.special),
                top_coded=top_coded,
                outside=self.outside,
                **common,  # type: ignore[arg-type]
            ),
            Remainder(
                name=self.parts[1],
                step=self.step,
                min=self.min,
                max=self.max,
                special=self.special,
                outside=self.outside,
                **common,  # type: ignore[arg-type]
            ),
        )

    def joined(self, codes: Mapping[str, Codes], draw: Draw, rng: np.random.Generator) -> Array:
        """Combine the two: values drawn for the steps' codes, and the remainders' codes.

        Where the codes contradict each other, the step is kept, and a remainder drawn.
        """
        first, rest = self.modelled
        high, low = codes[first.name], codes[rest.name]
        drawn = draw(first, high)
        bins = high < first.bins
        left = np.where(low < self.step, low, rng.integers(0, self.step, len(low)))
        held = np.where(bins, drawn, self.min).astype(np.int64)
        near = self.min + (held - self.min) // self.step * self.step + left
        # A remainder may lead past the end; then the step before, if that has the same code.
        whole = np.where(near <= self.max, near, near - self.step)
        whole = np.where((whole >= self.min) & (first.encode(whole) == high), whole, held)
        out: Array = np.where(bins, whole, drawn)
        return out if drawn.dtype == object else out.astype(np.int64)


def _float(number: int) -> float:
    # An integer beyond all floats is rejected as infinite, not by Python's OverflowError.
    return float(number) if abs(number) < LARGEST else np.inf
