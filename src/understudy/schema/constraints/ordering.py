"""Ordering: numbers and moments that never fall from one column to the next, within bins too.

A number keeps its bin.  Columns are taken in order; each lies between those below it, as drawn, and
the largest number that the bins of those above allow.  Bins that leave nothing are forbidden before
(`constraint.ordered`).  Proof sketch: with a ≤ b for all pairs of an ordered chain, least(a's bin)
≤ most(b's bin); so what is drawn for the first column is at most the most of every later bin, and
the interval of each later column is not empty (``test_numbers_within_bins_are_in_order``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.columns.timestamp import RESOLUTIONS
from understudy.schema.constraints.moments import (
    FIRST,
    LAST,
    NOT,
    between,
    coarser,
    not_after,
    not_before,
    out_of_order,
    seconds_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema.columns import Column, Timestamp
    from understudy.schema.constraints.conditions import Mask
    from understudy.schema.encoding.reading import Array, Codes

    Floats = NDArray[np.float64]


def numbers_of(values: Array) -> Floats:
    """Return decoded numbers as floats, NaN where they are missing."""
    if values.dtype == object:
        return np.array([np.nan if v is None else float(v) for v in values.tolist()])
    return values.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Ordering:
    """Columns in order: for each one, all that are above it."""

    above: Mapping[str, set[str]]
    columns: Mapping[str, Column]
    """The columns of numbers."""
    moments: Mapping[str, Timestamp]

    def put(
        self,
        values: dict[str, Array],
        codes: Mapping[str, Codes],
        rng: np.random.Generator,
        fixed: Collection[str],
    ) -> None:
        """Put values in order, in place; columns whose codes are fixed stay."""
        # Those with the most above them come first.
        there = sorted(
            (name for name in self.above if name in values), key=lambda n: -len(self.above[n])
        )
        numbers = [name for name in there if name in self.columns]
        read = {name: numbers_of(values[name]) for name in numbers}
        for name in numbers:
            if name not in fixed:
                self._put_number(name, read, values, codes, rng=rng, fixed=fixed)
        moments = [name for name in there if name in self.moments]
        stays = [name for name in moments if self.moments[name].modelled[0].name in fixed]
        for name in moments:
            if name not in stays:
                self._put_moment(name, moments, values, codes, rng=rng, fixed=stays)

    def _put_number(
        self,
        name: str,
        numbers: dict[str, Floats],
        values: dict[str, Array],
        codes: Mapping[str, Codes],
        *,
        rng: np.random.Generator,
        fixed: Collection[str],
    ) -> None:
        least, most = (np.full(len(numbers[name]), end) for end in (-np.inf, np.inf))
        for other, held in numbers.items():
            if name in self.above[other]:
                least = np.fmax(least, held)
            elif other in self.above[name]:
                most = np.fmin(most, held if other in fixed else self._ends(other, codes)[1])
        wrong = np.flatnonzero((numbers[name] < least) | (numbers[name] > most))
        if not len(wrong):
            return
        low, high = (ends[wrong] for ends in self._ends(name, codes))
        least, most = least[wrong], most[wrong]
        whole = self.columns[name].disk_type == "BIGINT"
        if whole:
            least, most = np.ceil(least), np.floor(most)
        low, high = np.maximum(low, least), np.minimum(high, most)
        # What is fixed may leave nothing of a bin: the number nearest to it is taken.
        high = np.maximum(high, least)
        low = np.minimum(low, high)
        share = rng.random(len(wrong))
        new = low + (np.floor(share * (high - low + 1)) if whole else share * (high - low))
        digits = getattr(self.columns[name], "digits", None)
        if digits is not None:
            new = np.floor(new * 10.0**digits) / 10.0**digits
        numbers[name][wrong] = np.clip(new, low, high)
        changed = values[name].copy()
        changed[wrong] = numbers[name][wrong].astype(np.int64 if whole else np.float64)
        values[name] = changed

    def _ends(self, name: str, codes: Mapping[str, Codes]) -> tuple[Floats, Floats]:
        bounds = self.columns[name].bounds()
        assert bounds is not None  # noqa: S101  an order is of numbers
        low, high = bounds
        return low[codes[name]], high[codes[name]]

    def _put_moment(
        self,
        name: str,
        there: Sequence[str],
        values: dict[str, Array],
        codes: Mapping[str, Codes],
        *,
        rng: np.random.Generator,
        fixed: Sequence[str],
    ) -> None:
        """Draw a moment that is not before those below it, nor after fixed ones above it."""
        column, own = self.moments[name], seconds_of(values[name])
        least, most = np.full(len(own), FIRST), np.full(len(own), LAST)
        soon = np.zeros(len(own), dtype=bool)
        for other in there:
            held = seconds_of(values[other])
            if name in self.above[other]:
                least = np.where(held == NOT, least, np.maximum(least, held))
                # Of one row, the first moment that fits; somebody's birth may be long before.
                soon |= (held != NOT) & (other not in fixed)
            elif other in self.above[name] and other in fixed:
                # The last second of a day, where only the day is known.
                end = held + RESOLUTIONS[self.moments[other].resolution] - 1
                most = np.where(held == NOT, most, np.minimum(most, end))
        step = RESOLUTIONS[column.resolution]
        first = least // step * step
        for draw, end, rows in (
            (not_before, least, np.flatnonzero((own != NOT) & (soon | (own < first)))),
            (not_after, most, np.flatnonzero((own != NOT) & (own > most))),
        ):
            some = {part.name: codes[part.name][rows] for part in column.modelled}
            own[rows] = draw(column, some, end[rows], rng)
        rows = np.flatnonzero((own != NOT) & ((own < first) | (own > most)))
        own[rows] = between(first[rows], np.maximum(most, first)[rows], step, rng)
        changed = own.astype("datetime64[s]").astype(values[name].dtype)
        changed[own == NOT] = np.datetime64("NaT")
        values[name] = changed

    def broken(self, order: Sequence[str], values: Mapping[str, Array]) -> Mask:
        """Return which rows have values of some columns out of order."""
        found = np.zeros(len(values[order[0]]), dtype=bool)
        for low, high in combinations(order, 2):
            if low in self.moments:
                step = coarser(self.moments[low], self.moments[high])
                found |= out_of_order(seconds_of(values[low]), seconds_of(values[high]), step)
            else:
                found |= numbers_of(values[low]) > numbers_of(values[high])
        return found
