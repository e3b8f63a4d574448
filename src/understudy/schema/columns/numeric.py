"""Numeric columns: numbers cut into declared bins, with codes of their own for special ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns.column import LARGEST, Column, check_outside
from understudy.schema.columns.edges import as_float, regular_edges
from understudy.schema.columns.epochs import EPOCHS, epoch_unit
from understudy.schema.encoding import reading
from understudy.schema.encoding.expressions import bin_of, double

if TYPE_CHECKING:
    from understudy.schema.encoding.cell import Cell
    from understudy.schema.encoding.reading import Array, Codes

MAX_DIGITS = 12
MAX_BINS = 2**16
"""The most bins of a range; each is a code, and a branch of the encoder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric(Column):
    """A number cut into declared bins, each closed on the left, the last on both sides.

    >>> fare = Numeric(name="fare", edges=(0.0, 10.0, 20.0))
    >>> fare.encode(np.array([0.0, 9.99, 10.0, 20.0, 99.0, -5.0])).tolist()
    [0, 0, 1, 1, 1, 0]
    """

    kind: ClassVar[str] = "numeric"
    edges: tuple[float, ...]
    whole: bool = False
    """Whether the output has whole numbers."""
    digits: int | None = None
    """How many decimals the output has; as many as a float holds where it is None."""
    special: tuple[float, ...] = ()
    """Numbers beyond the bins that mean something else, such as 999998 for none: each has a code
    of its own, after those of the bins, and is looked for before the nearest bin."""
    top_coded: bool = False
    """Whether the last bin is open-ended: it is written as its lower edge."""

    def __post_init__(self) -> None:
        """Raise unless the edges are finite and increasing, and the special values valid."""
        check_outside(self.name, self.outside, ("nearest", "other", "drop"))
        rising = len(self.edges) >= 2 and all(a < b for a, b in pairwise(self.edges))
        if not rising or not all(map(math.isfinite, self.edges)):
            raise SchemaError(
                f"column {self.name!r}: edges must be finite and increasing",
                got=f"{len(self.edges)} edges",
                allowed="at least two edges, each above the one before",
            )
        if not self._special_apart():
            raise SchemaError(
                f"column {self.name!r}: special values must be distinct numbers outside the bins",
                got=", ".join(map(_shown, self.special)),
                allowed="numbers between -2^52 and 2^52, whole if the column is",
                hint="a special value within the range can have its own bin, by its edges",
            )
        if self.digits is not None and not (0 <= self.digits <= MAX_DIGITS and not self.whole):
            raise SchemaError(
                f"column {self.name!r}: digits are the decimals of numbers that are not whole",
                got=f"{self.digits}{' of whole numbers' if self.whole else ''}",
                allowed=f"0 to {MAX_DIGITS}",
            )
        if self.whole and not self._holds_whole():
            raise SchemaError(
                f"column {self.name!r}: a bin contains no 64-bit integer",
                allowed="bins that contain integers between -2^63 and 2^63",
            )

    def _special_apart(self) -> bool:
        within = [self.edges[0] <= value <= self.edges[-1] for value in self.special]
        sound = all(
            abs(v) < LARGEST and (float(v).is_integer() or not self.whole) for v in self.special
        )
        return sound and not any(within) and len(set(self.special)) == len(self.special)

    def _holds_whole(self) -> bool:
        inner = all(math.ceil(a) < b for a, b in pairwise(self.edges[:-1]))
        last = math.ceil(self.edges[-2]) <= self.edges[-1]
        return inner and last and self.edges[0] >= -(2.0**63) and self.edges[-1] <= 2.0**63

    @classmethod
    def expanded(cls, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Allow min, max and a number of bins, or a step, instead of edges."""
        out = dict(given)
        _expand_bins(name, out)
        return out

    @property
    def bins(self) -> int:
        """The number of bins."""
        return len(self.edges) - 1

    @property
    def values_count(self) -> int:
        """The number of bins and special values."""
        return self.bins + len(self.special)

    @property
    def ordered_count(self) -> int:
        """The number of bins: special values have no order."""
        return self.bins

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last edge."""
        return self.edges[0], self.edges[-1]

    def bounds(self) -> tuple[Array, Array]:
        """Return the smallest and the largest number of every bin; special values have none."""
        bins, edges = np.arange(self.bins), np.array(self.edges)
        low, high = edges[:-1].copy(), np.nextafter(edges[1:], -np.inf)
        high[-1] = edges[-1]
        if self.whole:
            low, high = np.ceil(low), self._last_whole(bins)
        if self.top_coded:
            high[-1] = low[-1]
        return self.with_nan(low), self.with_nan(high)

    @property
    def summary(self) -> str:
        """What happens to the column, for the comments of a drafted schema."""
        unit = epoch_unit(self.edges)
        told = super(Numeric, self).summary
        if unit is None:
            return told
        return (
            f"{told}\nThese look like {EPOCHS[unit]} since 1970. As numbers they have no weekday "
            "and no hour.\nTo have date-times, convert them in the public and the private table, "
            f'with\npandas.to_datetime(column, unit="{unit}"), and draft again.'
        )

    @property
    def disk_type(self) -> str:
        """64-bit integers or floats."""
        return "BIGINT" if self.whole else "DOUBLE"

    def encode(self, values: Array) -> Codes:
        """Find the bin of every number by exact comparison with the edges."""
        numbers, absent = reading.numbers(values, self.null_keys)
        invalid = np.isnan(numbers)
        codes = np.searchsorted(np.array(self.edges[1:-1]), numbers, side="right")
        if self.outside != "nearest":
            invalid |= (numbers < self.edges[0]) | (numbers > self.edges[-1])
        for place, value in enumerate(self.special):
            found = numbers == value
            codes, invalid = np.where(found, self.bins + place, codes), invalid & ~found
        return self.by_rule(codes, invalid=invalid, absent=absent)

    def encode_sql(self, cell: Cell) -> str:
        """Find the bin of every number by exact comparison with the edges."""
        read, absent = map(cell.take, cell.number(self.null_keys))
        low, high = map(double, self.span)
        inside = bin_of(read, self.edges[1:-1])
        code = self.in_range_sql(read, inside, low=low, high=high, last=self.bins - 1)
        if self.special:
            listed = [
                f"WHEN {read} = {double(value)} THEN {self.bins + place}"
                for place, value in enumerate(self.special)
            ]
            code = f"CASE {' '.join(listed)} ELSE {code} END"
        return self.by_rule_sql(code, invalid=f"{read} IS NULL", absent=absent)

    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw uniformly within each bin; whole numbers stay whole."""
        absent = codes >= self.values_count
        found = self._drawn(np.where(codes >= self.bins, 0, codes), rng)
        for place, value in enumerate(self.special):
            found[codes == self.bins + place] = value
        if self.whole:
            return reading.nullable(found, absent)
        found[absent] = np.nan
        return found

    def _drawn(self, bins: Codes, rng: np.random.Generator) -> Array:
        edges = np.array(self.edges)
        low, high = edges[bins], edges[bins + 1]
        share = rng.random(len(bins))
        if self.top_coded:
            share[bins == self.bins - 1] = 0
        if self.whole:
            low, top = np.ceil(low), self._last_whole(bins)
            drawn: Array = np.minimum(low + np.floor(share * (top - low + 1)), top)
            return drawn.astype(np.int64)
        # Not low + share * (high - low): the width of a long bin may overflow float64.
        found: Array = (1 - share) * low
        share *= high
        found += share
        if self.digits is not None:
            # Down, or else up, where that is below the bin; 0.0 is added to have no -0.0.
            found, tens = found * 10.0**self.digits, 10.0**self.digits
            down = np.floor(found) / tens
            found = np.where(down < low, np.ceil(found) / tens + 0.0, down)
        # Rounding may reach the next edge, which belongs to the next bin.
        beyond = (found < low) | (found >= high)
        found[beyond] = low[beyond]
        return found

    def _last_whole(self, bins: Array) -> Array:
        """Return the largest integer of each bin; the last edge belongs to the last bin."""
        high = np.array(self.edges)[bins + 1]
        below = np.minimum(np.ceil(high) - 1, np.nextafter(high, -np.inf))
        top = np.where(bins == self.bins - 1, np.floor(high), below)
        inside: Array = np.minimum(top, np.nextafter(2.0**63, 0))
        return inside

    def value_labels(self) -> list[str]:
        """Return the bins as intervals, and the special values, as text."""
        ends = ")" * (self.bins - 1) + "]"
        bins = [
            f"[{a:g}, {b:g}{end}" for (a, b), end in zip(pairwise(self.edges), ends, strict=True)
        ]
        return bins + [f"{value:.15g}" for value in self.special]


def _shown(value: float) -> str:
    # An integer beyond all floats has no short form.
    return f"{value:g}" if abs(value) <= 2**53 or isinstance(value, float) else "a huge number"


def _expand_bins(name: str, given: dict[str, Any]) -> None:
    """Allow ``min``, ``max`` and a number of ``bins``, or a ``step``, instead of ``edges``."""
    if "edges" not in given and {"min", "max", "step"} <= set(given):
        _expand_steps(name, given)
    if "edges" not in given and {"min", "max", "bins"} <= set(given):
        low, high, bins = (given.pop(k) for k in ("min", "max", "bins"))
        if not all(isinstance(n, (int, float)) for n in (low, high)) or not isinstance(bins, int):
            raise SchemaError(f"column {name!r}: min, max and bins must be numbers")
        ends = as_float(low), as_float(high)
        if not 1 <= bins <= MAX_BINS or not ends[0] < ends[1] or not all(map(math.isfinite, ends)):
            raise SchemaError(
                f"column {name!r}: bins must be positive, and min below max",
                got=f"{bins} bins, {ends[0]:g} to {ends[1]:g}",
                allowed=f"at most {MAX_BINS} bins between finite ends",
            )
        given["edges"] = regular_edges(*ends, bins)


def _expand_steps(name: str, given: dict[str, Any]) -> None:
    """Cut a range into steps; from ``top`` on, if given, all is one bin."""
    named = {k: given.pop(k, None) for k in ("min", "max", "step", "top")}
    if named["top"] is None:
        named["top"] = named["max"]
    numbers = list(named.values())
    sound = all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers)
    low, high, step, end = map(as_float, numbers) if sound else (0.0, 0.0, 0.0, 0.0)
    # Within 2^52, so that no step is lost in rounding.
    near = max(abs(low), abs(high)) < LARGEST
    if not near or not (low < end <= high and step > 0) or (end - low) / step > MAX_BINS:
        raise SchemaError(
            f"column {name!r}: steps need min < max, and a top between them if given",
            got=", ".join(map(str, numbers)),
            allowed=f"numbers, min < top <= max, a step above 0, at most {MAX_BINS} steps",
        )
    # Steps of 0.3 miss 2.1 by the last bit, and must not leave a sliver.
    inner = [low + i * step for i in range(max(1, math.ceil((end - low) / step - 1e-9)))]
    given["edges"] = tuple([*inner, end] if end == high else [*inner, end, high])
    if end < high:
        given["top_coded"] = True
