"""Support: which codes of a column stand out of the noise, and how the others are merged.

A code is *supported* if its noisy count is at least a threshold times its noise.  Codes that are
not are merged: in a list into one *other*; in an ordered column with their neighbours, so that a
rare age is still an age of about that size.  An ordered column of many supported codes is grouped
further, into ``bins`` parts, so that the largest noisy mass that is merged is least.  Where a
list's values belong to groups, as cities to states, the group of most noisy mass is supported as a
whole, and no other group is.

On the way back a merged code becomes one of its own codes: a supported one by its noisy count,
one of the rest by public frequency, or by what noisy counts say of it (`measure.rare_codes`).  All
of this follows from noisy answers and public data, and costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from understudy.budget import Currency
from understudy.door import Measurement, Merge, Rows, merged_schema
from understudy.graph import evenly
from understudy.public import PublicTable
from understudy.synth.measure.rare_codes import rare_codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema import Codes, Column
    from understudy.synth.measure.rare_codes import RareCodes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

Rare = Literal["neighbours", "other"]
MOST_VALUES = 250
"""The default for the maximum number of supported codes of a column."""
FEWEST_SEEN = 20
"""What no more public people have, one of them may have often, and others not at all."""
FAINT = 1e-6
"""The minimum count of a supported code, in rows: one supported for its group may be empty."""
TINY = 1e-200
HALVINGS = 50
"""The number of halvings by which the largest mass of a group is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How the support of a column is found."""

    threshold: float
    """A code is supported if it is at least this many times its noise; 0 keeps every code."""
    rare: Rare
    """Whether rare codes of an ordered column are merged with their neighbours or into *other*."""
    most: int
    """The maximum number of supported codes."""
    bins: int
    """The maximum number of groups of an ordered column."""
    seen: float = 1.0
    """A code that more than this share of public rows have is supported too."""
    evenly: bool = False
    """Whether rare codes share their merged code evenly, whatever is known of them."""

    def most_codes(self, column: Column) -> int:
        """Return the maximum number of merged codes of a column, whatever its marginal is."""
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
    """How the codes of one column are merged."""

    column: str
    codes: Ints
    """The merged code of each code."""
    likely: Floats
    """The relative likelihood of each code within its merged code."""
    supported: Mask
    rare: RareCodes | None = None
    """What noisy counts say of rare codes, where no public frequency does."""

    @property
    def merge(self) -> Merge:
        """The merge as the door takes it."""
        return Merge(column=self.column, codes=self.codes)

    @property
    def size(self) -> int:
        """The number of merged codes."""
        return int(self.codes.max()) + 1

    @property
    def is_whole(self) -> bool:
        """Whether no codes are merged."""
        return len(self.codes) == self.size

    def sums(self, counts: Floats) -> Floats:
        """Sum counts of codes into counts of merged codes."""
        summed: Floats = np.bincount(self.codes, weights=counts).astype(np.float64)
        return summed

    def restated(self, measured: Measurement) -> Measurement:
        """Return a column's measurement for the merged codes, in units of its noise.

        A sum of k answers has √k times their noise; it is weighted by 1/√k.
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
        """Draw a code for every merged one, in about the likely shares."""
        return self.placed(merged, evenly(merged, rng))

    def placed(self, merged: Codes, shares: NDArray[np.float64]) -> Codes:
        """Return the code at a share, from 0 to 1, of every merged one's likely codes."""
        # Codes of probability 0 come first within their merged code, where no draw ends.
        order = np.lexsort((self.likely > 0, self.codes))
        ends = np.cumsum(self.likely[order])
        starts = np.searchsorted(self.codes[order], np.arange(self.codes.max() + 2))
        low = np.concatenate(([0.0], ends))[starts]
        at = low[merged] + shares * (low[merged + 1] - low[merged])
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
    missing: bool | None = None,
) -> Support:
    """Find the support of a column from its noisy marginal.

    ``missing`` is whether rows without a value stand out, where other columns tell it too.
    """
    noisy, size = measured.values, column.size
    if rule.threshold == 0:
        kept = np.ones(size, dtype=bool)
        return Support(
            column=column.name, codes=np.arange(size), likely=np.ones(size), supported=kept
        )
    stands_out = noisy >= rule.threshold * measured.scale
    if missing is not None and column.missing_code is not None:
        stands_out[column.missing_code] = missing
    if public is not None:
        often = public.marginal((column.name,)) > rule.seen * len(public)
        if often.any():
            stands_out |= often & (public.people_with(column.name) > FEWEST_SEEN)
    supported = _largest(noisy, stands_out, rule.most)
    if column.groups:
        supported = _by_group(column, noisy, supported)
    ordered = column.ordered_count if rule.rare == "neighbours" else 0
    parts = _neighbours(noisy[:ordered], supported[:ordered], measured.scale * rule.threshold)
    parts = _grouped(parts, np.maximum(noisy[:ordered], 0), rule.bins)
    codes = _with_lists(column, noisy, supported, parts)
    found = Support(column=column.name, codes=codes, likely=np.ones(size), supported=supported)
    if rule.evenly:
        return replace(found, likely=_likely(column, codes, noisy, supported, np.zeros(size)))
    return reconsidered(found, column, measured, public, currency=currency)


def reconsidered(
    support: Support,
    column: Column,
    measured: Measurement,
    public: PublicTable | None,
    *,
    currency: Currency,
) -> Support:
    """Keep the merge, and update how codes share it by an answer and public frequency."""
    codes, noisy, supported = support.codes, measured.values, support.supported
    rare = ~supported & _values(column)
    known = rare_codes(noisy, codes, rare, scale=measured.scale, currency=currency)
    frequency = known.counts
    if public is not None:
        # Where none of a merged code's are values, those that are not count too.
        alone = (np.bincount(codes, weights=_values(column)) == 0)[codes]
        rare |= ~supported & alone
        frequency = _seen(frequency, codes, rare, public, column.name)
    likely = _likely(column, codes, noisy, supported, frequency)
    return replace(support, likely=likely, rare=None if public is not None else known)


def _seen(noisy: Floats, codes: Ints, rare: Mask, public: PublicTable, column: str) -> Floats:
    """Return the frequency of rare codes by public people, as far as there are enough of them.

    Within each merged code, public counts are spread around what noisy counts say as Gamma-Poisson
    variables; how much the rates vary is seen from how far counts are apart beyond chance.  So few
    people change little, and many decide.  A person's rows count as one for each of their codes.
    """
    if not rare.any():
        return noisy
    rows, people = public.marginal((column,)), public.people_with(column)
    counts = np.where(rare, rows * (people.sum() / max(1, len(public))), 0.0)
    shares = np.where(rare, noisy + TINY, 0.0)
    shares /= np.maximum(np.bincount(codes, weights=shares), TINY)[codes]
    means = shares * np.bincount(codes, weights=counts)[codes]
    beyond = float(((counts - means) ** 2 - counts).sum())
    vary = max(0.0, beyond) / max(TINY, float((means**2).sum()))
    found: Floats = means * (1 + vary * counts) / (1 + vary * means)
    return found


def _values(column: Column) -> Mask:
    """Return which codes are values, rather than *missing* or the like."""
    return np.arange(column.size) < column.values_count


def _with_lists(column: Column, noisy: Floats, supported: Mask, parts: Ints) -> Ints:
    """Number the codes after the ordered ones: supported ones each, the others merged.

    Where all of the others are not values, such as *missing*, and noise would invent rows of them,
    they are merged with the most common code, and never drawn.
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
    """Keep the ``most`` largest supported codes."""
    if supported.sum() <= most:
        return supported
    kept = np.zeros(len(noisy), dtype=bool)
    kept[np.argsort(np.where(supported, -noisy, np.inf), kind="stable")[:most]] = True
    return kept


def _by_group(column: Column, noisy: Floats, supported: Mask) -> Mask:
    """Support the whole group of most noisy mass, no other group, and the rest by threshold."""
    names = np.array([*column.groups, *[""] * (column.size - len(column.groups))])
    mass = {name: float(noisy[names == name].sum()) for name in sorted({*column.groups} - {""})}
    if not mass:
        return supported
    best = max(mass, key=lambda name: mass[name])
    held: Mask = (names == best) | (supported & (names == ""))
    return held


def _neighbours(noisy: Floats, supported: Mask, least: float) -> Ints:
    """Number supported codes each, and merge rare neighbours until they stand out of the noise."""
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
    """Merge neighbouring parts where there are more than ``bins``, so that as many are left.

    The largest mass that is merged is as small as it can be, so a code of much mass is by itself.
    """
    if not len(parts) or parts[-1] < bins:
        return parts
    each = np.bincount(parts, weights=mass).tolist()
    low, high, groups = 0.0, sum(each), [list(range(len(each)))]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        tried = _packed(each, middle)
        if len(tried) > bins:
            low = middle
        else:
            groups, high = tried, middle
    # Where masses are equal, one more step may have merged more than one pair.
    while len(groups) < bins:
        several = [i for i, group in enumerate(groups) if len(group) > 1]
        most = max(several, key=lambda i: math.fsum(each[part] for part in groups[i]))
        half = len(groups[most]) // 2
        groups[most : most + 1] = [groups[most][:half], groups[most][half:]]
    return np.repeat(np.arange(bins), [len(group) for group in groups])[parts]


def _packed(each: Sequence[float], most: float) -> list[list[int]]:
    """Return groups of neighbours, which have at most so much mass where they are several."""
    groups, held = [[0]], each[0]
    for part, mass in enumerate(each[1:], start=1):
        held += mass
        if held > most:
            groups.append([])
            held = mass
        groups[-1].append(part)
    return groups


def _likely(
    column: Column, codes: Ints, noisy: Floats, supported: Mask, frequency: Floats
) -> Floats:
    """Return how codes share their merged code: by noisy counts, and the remainder by frequency.

    Rare codes share their total by some frequency, or evenly where it is 0; a rare code that is
    not a value gets none of it beside one that is a value or supported.
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
    """Return a public table with merged codes."""
    found: Mapping[str, Support] = {s.column: s for s in supports}
    return PublicTable(
        schema=merged_schema(public.schema, [s.merge for s in supports]),
        codes={n: found[n].codes[c] if n in found else c for n, c in public.codes.items()},
        people=public.people,
        numbers={},
    )
