"""Support: which codes of a column can be told from noise, and what becomes of the others.

A code is *supported* if its noisy count is at least a threshold of noise.  Codes that are not are
put together: in a list into one *other*; in an ordered column with their neighbours, so that a
rare age is still an age of about that size.  An ordered column of many supported codes is grouped
further, into so many parts of about equal noisy mass.  Where a list's values belong to groups, as
cities to states, the group of most noisy mass is supported as a whole, and no other group is.

On the way back a merged code becomes one of its own codes: a supported one by its noisy count,
one of the rest by public frequency, or by noisy counts that are moved towards their mean, the more
the less they tell.  All of this follows from noisy answers and public data, and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from understudy.budget import Currency
from understudy.door import Measurement, Merge, Rows, merged_schema
from understudy.public import PublicTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema import Codes, Column

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

Rare = Literal["neighbours", "other"]
MOST_VALUES = 250
"""The most codes of a column that are supported by themselves, where nothing else is said."""
FAINT = 1e-6
"""What a supported code counts for at least, in rows: it may be so for its group, and be empty."""
TINY = 1e-200
SQUARES = {Currency.GDP: 2.0, Currency.PURE: 5.0}
"""The variance of a squared noise, in units of the square of its variance."""
DOUBT = 0.5
"""How many standard deviations of what noise may make up are taken off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How the support of a column is found."""

    threshold: float
    """A code is supported if it is this many times its noise; 0 keeps every code by itself."""
    rare: Rare
    """Whether rare codes of an ordered column go with their neighbours, or into one *other*."""
    most: int
    """The most codes that are supported by themselves."""
    bins: int
    """Into how many groups the codes of an ordered column are put at most."""

    def most_codes(self, column: Column) -> int:
        """Return the most codes that can be left of a column, whatever its marginal is."""
        if self.threshold == 0:
            return column.size
        ordered = column.ordered_count if self.rare == "neighbours" else 0
        listed = column.size - ordered
        most = min(listed, self.most + 1)
        if column.groups:
            held = [column.groups.count(group) for group in set(column.groups) - {""}]
            free = listed - len(column.groups) + column.groups.count("")
            most = min(listed, max(held, default=0) + min(free, self.most) + 1)
        return most + min(ordered, self.bins)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Support:
    """The codes of one column as they are put together."""

    column: str
    codes: Ints
    """The merged code of each code."""
    likely: Floats
    """How likely each code is, beside the others of its merged code."""
    supported: Mask

    @property
    def merge(self) -> Merge:
        """What is told to the door."""
        return Merge(column=self.column, codes=self.codes)

    @property
    def size(self) -> int:
        """How many merged codes there are."""
        return int(self.codes.max()) + 1

    @property
    def is_whole(self) -> bool:
        """Whether every code is by itself."""
        return len(self.codes) == self.size

    def sums(self, counts: Floats) -> Floats:
        """Add up what merged codes have of some counts, one a code."""
        summed: Floats = np.bincount(self.codes, weights=counts).astype(np.float64)
        return summed

    def restated(self, measured: Measurement) -> Measurement:
        """Give the answer of a column's marginal for the merged codes, all in units of its noise.

        A sum of k answers has √k times their noise; it is weighed by 1/√k.
        """
        roots = np.sqrt(np.bincount(self.codes, minlength=self.size))
        each = Rows(np.arange(self.size + 1), np.arange(self.size))
        return Measurement(
            clique=measured.clique,
            values=self.sums(measured.values) / roots,
            scale=measured.scale,
            rows=None if self.is_whole else each,
            weights=None if self.is_whole else 1 / roots,
            group=measured.group,
        )

    def spread(self, merged: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for every merged one."""
        # Codes without a chance come first within their merged code, where no draw ends.
        order = np.lexsort((self.likely > 0, self.codes))
        ends = np.cumsum(self.likely[order])
        starts = np.searchsorted(self.codes[order], np.arange(self.codes.max() + 2))
        low = np.concatenate(([0.0], ends))[starts]
        at = low[merged] + rng.random(len(merged)) * (low[merged + 1] - low[merged])
        places = np.searchsorted(ends, at, side="right")
        # Rounding must not reach into the next merged code.
        places = np.clip(places, starts[merged], starts[merged + 1] - 1)
        drawn: Codes = order[places].astype(np.int32)
        return drawn


def find_support(
    column: Column,
    measured: Measurement,
    rule: Rule,
    public: PublicTable | None,
    *,
    currency: Currency = Currency.GDP,
) -> Support:
    """Find the support of a column from its noisy marginal."""
    noisy, size = measured.values, column.size
    if rule.threshold == 0:
        kept = np.ones(size, dtype=bool)
        return Support(
            column=column.name, codes=np.arange(size), likely=np.ones(size), supported=kept
        )
    supported = _largest(noisy, noisy >= rule.threshold * measured.scale, rule.most)
    if column.groups:
        supported = _by_group(column, noisy, supported)
    ordered = column.ordered_count if rule.rare == "neighbours" else 0
    parts = _neighbours(noisy[:ordered], supported[:ordered], measured.scale * rule.threshold)
    parts = _grouped(parts, np.maximum(noisy[:ordered], 0), rule.bins)
    codes = _with_lists(column, noisy, supported, parts)
    found = Support(column=column.name, codes=codes, likely=np.ones(size), supported=supported)
    return reconsidered(found, column, measured, public, currency=currency)


def reconsidered(
    support: Support,
    column: Column,
    measured: Measurement,
    public: PublicTable | None,
    *,
    currency: Currency,
) -> Support:
    """Put the same codes together, and let them share by an answer and public frequency."""
    codes, noisy, supported = support.codes, measured.values, support.supported
    if public is None:
        rare = ~supported & _values(column)
        frequency = _shrunk(noisy, codes, rare, scale=measured.scale, currency=currency)
    else:
        frequency = public.marginal((column.name,)).astype(np.float64)
    return replace(support, likely=_likely(column, codes, noisy, supported, frequency))


def _values(column: Column) -> Mask:
    """Say which codes are values, and not *missing* or the like."""
    return np.arange(column.size) < column.values_count


def _shrunk(noisy: Floats, codes: Ints, rare: Mask, *, scale: float, currency: Currency) -> Floats:
    """Move noisy counts of rare codes towards the mean of their merged code.

    If counts lie around their mean m with variance φ·m², noisy ones do with φ·m² + σ².  So φ is
    read off all rare codes of the column, and m + φm²/(φm² + σ²)·(y − m) is the linear guess at a
    count with the least expected square (James and Stein).  Squares of noise are off by √2·σ² each
    (√5·σ² if it is Laplace's): a part of what that may make up is taken off φ, so that codes of
    which there is only noise to be seen are much alike.
    """
    variance, fourth = currency.deviation(scale) ** 2, SQUARES[currency]
    held = np.maximum(np.bincount(codes, weights=rare), 1.0)
    mean = np.maximum(np.bincount(codes, weights=np.where(rare, noisy, 0.0)), 0.0) / held
    mean, free = mean[codes], rare * (1 - 1 / held)[codes]
    away = np.where(rare, noisy - mean, 0.0)
    # φ is over / base.
    made_up = DOUBT * variance * np.sqrt(fourth * float(free.sum()))
    over = max(0.0, float((away**2 - free * variance).sum()) - made_up)
    base = float((free * mean**2).sum())
    told = over * mean**2 / np.maximum(over * mean**2 + base * variance, TINY)
    shrunk: Floats = np.where(rare, np.maximum(mean + told * away, 0.0), 0.0)
    return shrunk


def _with_lists(column: Column, noisy: Floats, supported: Mask, parts: Ints) -> Ints:
    """Number the codes after those that lie in an order: supported ones each, others together.

    Where all of the others are no values, such as *missing*, and noise would make up rows of them,
    they go with the most common code, and never come out again.
    """
    first, ordered = int(parts.max(initial=-1)) + 1, len(parts)
    listed = supported[ordered:]
    rest = np.where(listed, np.cumsum(listed) - 1, listed.sum())
    codes = np.concatenate((parts, first + rest))
    rare = np.arange(len(codes)) >= ordered
    rare[ordered:] &= ~listed
    if supported.any() and not rare[: column.values_count].any():
        common = int(np.argmax(np.where(supported, noisy, -np.inf)))
        codes[rare] = codes[common]
    return codes


def _largest(noisy: Floats, supported: Mask, most: int) -> Mask:
    """Keep the largest of what is supported, where it is too much."""
    if supported.sum() <= most:
        return supported
    kept = np.zeros(len(noisy), dtype=bool)
    kept[np.argsort(np.where(supported, -noisy, np.inf), kind="stable")[:most]] = True
    return kept


def _by_group(column: Column, noisy: Floats, supported: Mask) -> Mask:
    """Support all of the group of most noisy mass, none of others, and by threshold the rest."""
    names = np.array([*column.groups, *[""] * (column.size - len(column.groups))])
    mass = {name: float(noisy[names == name].sum()) for name in sorted({*column.groups} - {""})}
    if not mass:
        return supported
    best = max(mass, key=lambda name: mass[name])
    held: Mask = (names == best) | (supported & (names == ""))
    return held


def _neighbours(noisy: Floats, supported: Mask, least: float) -> Ints:
    """Number supported codes each, and rare ones together until they are told from noise."""
    parts = np.zeros(len(noisy), dtype=np.int64)
    part, held, mass = -1, 0, 0.0
    for code, (count, alone) in enumerate(zip(noisy, supported, strict=True)):
        if alone or held == 0:
            part += 1
            held, mass = 0, 0.0
        parts[code] = part
        if not alone:
            held, mass = held + 1, mass + float(count)
            if mass >= least * np.sqrt(held):
                held, mass = 0, 0.0
    return parts


def _grouped(parts: Ints, mass: Floats, bins: int) -> Ints:
    """Put neighbouring parts together into groups of about equal mass, where there are many."""
    if not len(parts) or parts[-1] < bins:
        return parts
    each = np.bincount(parts, weights=mass)
    middle = np.cumsum(each) - each / 2
    groups = np.minimum((bins * middle / max(each.sum(), 1e-9)).astype(np.int64), bins - 1)
    numbered: Ints = np.unique(groups, return_inverse=True)[1]
    return numbered[parts]


def _likely(
    column: Column, codes: Ints, noisy: Floats, supported: Mask, frequency: Floats
) -> Floats:
    """Say how codes of one merged code share it: by noisy counts, and what is left among the rest.

    Rare codes share what they have in all by some frequency, or evenly where it is 0; a rare code
    that is no value gets none of it beside any that is one, or is supported.
    """
    size = int(codes.max()) + 1
    likely = np.where(supported, np.maximum(noisy, FAINT), 0.0)
    share, values = np.where(supported, 0.0, 1.0), _values(column)
    some = np.bincount(codes, weights=values | supported, minlength=size)
    share = np.where(some[codes] > 0, share * values, share)
    known = np.bincount(codes, weights=share * frequency, minlength=size)
    share = np.where(known[codes] > TINY, share * frequency, share)
    rare = np.where(supported, 0.0, noisy)
    left = np.maximum(np.bincount(codes, weights=rare, minlength=size), 0)
    alone = np.bincount(codes, weights=likely, minlength=size) == 0
    left[alone] = np.maximum(left[alone], 1.0)
    total = np.bincount(codes, weights=share, minlength=size)
    found: Floats = likely + share * left[codes] / np.maximum(total, TINY)[codes]
    return found


def merged_public(public: PublicTable, supports: Sequence[Support]) -> PublicTable:
    """See a public table with merged codes."""
    found: Mapping[str, Support] = {s.column: s for s in supports}
    return PublicTable(
        schema=merged_schema(public.schema, [s.merge for s in supports]),
        codes={n: found[n].codes[c] if n in found else c for n, c in public.codes.items()},
        people=public.people,
        numbers={},
    )
