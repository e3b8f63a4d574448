"""Numeric columns: numbers cut into declared bins, with codes of their own for special ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns.column import LARGEST, Column, check_outside
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from understudy.schema.encoding.reading import Array, Codes


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
    """Whether values are whole numbers on the way out."""
    special: tuple[float, ...] = ()
    """Numbers beyond the bins that mean something else, such as 999998 for none: each has a code
    of its own, after those of the bins, and is looked for before the nearest bin."""
    top_coded: bool = False
    """Whether the last bin stands for all above: it comes out as its floor."""

    def __post_init__(self) -> None:
        """Refuse edges that do not rise or are not finite."""
        check_outside(self.name, self.outside, ("nearest", "other", "drop"))
        rising = len(self.edges) >= 2 and all(a < b for a, b in pairwise(self.edges))
        if not rising or not all(map(math.isfinite, self.edges)):
            raise SchemaError(
                f"column {self.name!r}: edges must be finite and rise",
                got=f"{len(self.edges)} edges",
                allowed="at least two, each above the one before",
            )
        if not self._special_apart():
            raise SchemaError(
                f"column {self.name!r}: special values are different numbers beyond the bins",
                got=", ".join(map(_shown, self.special)),
                allowed="between -2^52 and 2^52, whole ones where the column is",
                hint="one within a bin can have a bin of its own, by its edges",
            )
        if self.whole and not self._holds_whole():
            raise SchemaError(
                f"column {self.name!r}: a bin holds no whole number of 64 bits",
                allowed="bins with whole numbers between -2^63 and 2^63",
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

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def values_count(self) -> int:
        """How many bins and special values there are."""
        return self.bins + len(self.special)

    def encode(self, values: Array) -> Codes:
        """Find the bin of every number by exact comparison with the edges."""
        numbers, absent = reading.numbers(values, self.null_keys)
        invalid = np.isnan(numbers)
        codes = np.searchsorted(np.array(self.edges[1:-1]), numbers, side="right")
        if self.outside != "nearest":
            inside = (numbers >= self.edges[0]) & (numbers <= self.edges[-1])
            codes = np.where(inside, codes, self.if_invalid)
        for place, value in enumerate(self.special):
            codes = np.where(numbers == value, self.bins + place, codes)
        codes = np.where(invalid, self.if_invalid, codes)
        return np.where(absent, self.if_missing, codes).astype(np.int32)

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
        # Not low + share * (high - low): the width of a long bin may be beyond float64.
        found: Array = (1 - share) * low
        share *= high
        found += share
        # Rounding may reach the next edge, which belongs to the next bin.
        beyond = (found < low) | (found >= high)
        found[beyond] = low[beyond]
        return found

    def _last_whole(self, bins: Array) -> Array:
        """Give the largest whole number of each bin; the last edge of all is inside its bin."""
        high = np.array(self.edges)[bins + 1]
        below = np.minimum(np.ceil(high) - 1, np.nextafter(high, -np.inf))
        top = np.where(bins == self.bins - 1, np.floor(high), below)
        inside: Array = np.minimum(top, np.nextafter(2.0**63, 0))
        return inside

    def _value_labels(self) -> list[str]:
        ends = ")" * (self.bins - 1) + "]"
        bins = [
            f"[{a:g}, {b:g}{end}" for (a, b), end in zip(pairwise(self.edges), ends, strict=True)
        ]
        return bins + [f"{value:.15g}" for value in self.special]


def _shown(value: float) -> str:
    # A whole number beyond all floats has no short form of its own.
    return f"{value:g}" if abs(value) <= 2**53 or isinstance(value, float) else "a huge number"
