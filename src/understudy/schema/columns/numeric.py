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
from understudy.schema.encoding import reading
from understudy.schema.encoding.expressions import double

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.schema.encoding.cell import Cell
    from understudy.schema.encoding.reading import Array, Codes

MAX_BINS = 2**16
"""The most bins that a range is cut into; each is a code, and a branch of the encoder."""


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
        """Raise on edges that do not rise or are not finite."""
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

    @classmethod
    def expanded(cls, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Allow min, max and a number of bins, or a step, in the place of edges."""
        out = dict(given)
        _expand_bins(name, out)
        return out

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def values_count(self) -> int:
        """How many bins and special values there are."""
        return self.bins + len(self.special)

    @property
    def ordered_count(self) -> int:
        """How many bins there are: special values lie in no order."""
        return self.bins

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last edge."""
        return self.edges[0], self.edges[-1]

    @property
    def disk_type(self) -> str:
        """Whole numbers of 64 bits, or floats of 64 bits."""
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
        inside = _bin(read, self.edges[1:-1], 0)
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
        # Not low + share * (high - low): the width of a long bin may be beyond float64.
        found: Array = (1 - share) * low
        share *= high
        found += share
        # Rounding may reach the next edge, which belongs to the next bin.
        beyond = (found < low) | (found >= high)
        found[beyond] = low[beyond]
        return found

    def _last_whole(self, bins: Array) -> Array:
        """Return the largest whole number of each bin; the last edge of all is inside its bin."""
        high = np.array(self.edges)[bins + 1]
        below = np.minimum(np.ceil(high) - 1, np.nextafter(high, -np.inf))
        top = np.where(bins == self.bins - 1, np.floor(high), below)
        inside: Array = np.minimum(top, np.nextafter(2.0**63, 0))
        return inside

    def value_labels(self) -> list[str]:
        """Write the bins as intervals, and the special values."""
        ends = ")" * (self.bins - 1) + "]"
        bins = [
            f"[{a:g}, {b:g}{end}" for (a, b), end in zip(pairwise(self.edges), ends, strict=True)
        ]
        return bins + [f"{value:.15g}" for value in self.special]


def _shown(value: float) -> str:
    # A whole number beyond all floats has no short form of its own.
    return f"{value:g}" if abs(value) <= 2**53 or isinstance(value, float) else "a huge number"


def _bin(number: str, edges: Sequence[float], first: int) -> str:
    """Find a bin among inner edges by halving: as exact as comparison, and not linear."""
    if not edges:
        return str(first)
    middle = len(edges) // 2
    below = _bin(number, edges[:middle], first)
    above = _bin(number, edges[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {number} < {double(edges[middle])} THEN {below} ELSE {above} END"


def _expand_bins(name: str, given: dict[str, Any]) -> None:
    """Allow ``min``, ``max`` and a number of ``bins``, or a ``step``, in the place of ``edges``."""
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
    """Cut a range into steps, up to a ``top`` from which on all is one bin, if one is given."""
    named = {k: given.pop(k, None) for k in ("min", "max", "step", "top")}
    if named["top"] is None:
        named["top"] = named["max"]
    numbers = list(named.values())
    sound = all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers)
    low, high, step, end = map(as_float, numbers) if sound else (0.0, 0.0, 0.0, 0.0)
    # As finite as 2^52 is, so that no step is lost in rounding.
    near = max(abs(low), abs(high)) < LARGEST
    if not near or not (low < end <= high and step > 0) or (end - low) / step > MAX_BINS:
        raise SchemaError(
            f"column {name!r}: steps go from min to max, or to a top below it",
            got=", ".join(map(str, numbers)),
            allowed=f"numbers, min < top <= max, a step above 0, at most {MAX_BINS} steps",
        )
    # A step of 0.3 does not meet 2.1 to the last bit, and is not to leave a sliver.
    inner = [low + i * step for i in range(max(1, math.ceil((end - low) / step - 1e-9)))]
    given["edges"] = tuple([*inner, end] if end == high else [*inner, end, high])
    if end < high:
        given["top_coded"] = True
