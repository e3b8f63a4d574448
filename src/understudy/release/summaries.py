"""Summaries: counts, shares, means, totals, ratios and quantiles of noisy cells, with errors.

The noise of different cells is independent, so the variance of a sum Σ u·n is Σ u²·var(n).  What
is left of the bias of bounding may go together among cells in any way, so its standard deviation
is at most Σ b·|u|·n.  A ratio R of two sums Σ u·n and Σ v·n is tested by Σ (u - R·v)·n = 0, and all
R that the test accepts are its interval (Fieller): unbounded where the divisor may be 0.  In the
same way the q-quantile is at most t where Σ (a(t) - q)·n >= 0, with a(t) the part of a cell at or
below t (Woodruff).  An error of the scale, which all cells share, matters to sums alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from understudy.release.code_values import CodeValues

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Counts:
    """Noisy counts, a line for each group; what is known of their errors."""

    values: Floats
    variances: Floats
    bias: Floats
    """The relative standard deviation of the bias that remains in each cell."""
    shared: float
    """The relative error that all cells share."""
    reach: float
    """The number of standard errors on either side of an estimate that are its interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Estimates with their errors and intervals."""

    estimate: Floats
    standard_error: Floats
    low: Floats
    high: Floats

    @property
    def unknown(self) -> int:
        """The number of estimates that the noise leaves open."""
        return int(np.isinf(self.standard_error).sum())


def summed(counts: Counts, weights: Floats) -> Summary:
    """Sum the cells of each group with some weights."""
    found = counts.values @ weights
    off = (counts.bias * counts.values) @ np.abs(weights)
    error = np.sqrt(counts.variances @ weights**2 + off**2 + (counts.shared * found) ** 2)
    return Summary(found, error, found - counts.reach * error, found + counts.reach * error)


def divided(counts: Counts, top: Floats, bottom: Floats) -> Summary:
    """Divide one weighted sum of each group by another."""
    values, variances = counts.values, counts.variances
    above, below = values @ top, values @ bottom
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.abs(top - np.outer(above / below, bottom))
    return _ratio(
        (above, below),
        (variances @ top**2, variances @ (top * bottom), variances @ bottom**2),
        off=(away * counts.bias * values).sum(axis=1),
        reach=counts.reach,
    )


def shares(counts: Counts) -> Summary:
    """Divide every cell by its group, one group after another."""
    values, variances = counts.values, counts.variances
    whole = np.broadcast_to(values.sum(axis=1, keepdims=True), values.shape)
    noise = np.broadcast_to(variances.sum(axis=1, keepdims=True), values.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = values / whole
    # Of |u - R·v|: 1 - R for the cell itself, and R for all others.
    each = counts.bias * values
    off = np.abs(1 - share) * each + np.abs(share) * (each.sum(axis=1, keepdims=True) - each)
    flat = [np.ravel(each) for each in (values, whole, variances, variances, noise, off)]
    return _ratio((flat[0], flat[1]), (flat[2], flat[3], flat[4]), off=flat[5], reach=counts.reach)


def _ratio(
    sums: tuple[Floats, Floats],
    variances: tuple[Floats, Floats, Floats],
    *,
    off: Floats,
    reach: float,
) -> Summary:
    """Divide sums; the variances are of the first one, of both together, and of the second."""
    (top, bottom), (own, both, other) = sums, variances
    slack = bottom**2 - reach**2 * other
    known = slack > 0
    bottom, slack = np.where(known, bottom, 1.0), np.where(known, slack, 1.0)
    found = top / bottom
    spread = np.maximum(own - 2 * found * both + found**2 * other, 0.0) + off**2
    # All d with d²·bottom² <= reach²·(the variance at found + d).
    lean = reach**2 * (both - found * other)
    width = np.sqrt(lean**2 + slack * reach**2 * spread)
    return Summary(
        np.where(known, found, np.nan),
        np.where(known, np.sqrt(spread) / np.abs(bottom), np.inf),
        np.where(known, found - (lean + width) / slack, -np.inf),
        np.where(known, found + (width - lean) / slack, np.inf),
    )


def quantiles(counts: Counts, level: float, values: CodeValues, part: Ints, used: Ints) -> Summary:
    """Find the quantile of each group, with numbers spread evenly within a bin."""
    curve = _Curve.of(values, part, used)
    above = curve.sums(counts.values * curve.numbers, lambda a: a - level)
    noise = curve.sums(counts.variances * curve.numbers**2, lambda a: (a - level) ** 2)
    biased = counts.bias * counts.values * curve.numbers
    off = curve.sums(biased, lambda a: np.abs(a - level))
    reach = counts.reach * np.sqrt(np.maximum(noise, 0.0) + off**2)
    low = np.array([_first(curve.at, line) for line in above + reach])
    high = np.maximum(low, [_last(curve.at, line) for line in above - reach])
    middle = np.array([(_first(curve.at, g) + _last(curve.at, g)) / 2 for g in above])
    whole = counts.values @ curve.numbers
    known = whole > counts.reach * np.sqrt(counts.variances @ curve.numbers**2)
    return Summary(
        np.where(known, middle, np.nan),
        np.where(known, (high - low) / (2 * counts.reach), np.inf),
        np.where(known, low, curve.at[0]),
        np.where(known, high, curve.at[-1]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """The codes in the order of their numbers: the lower and the upper end of each."""

    at: Floats
    """The numbers at the two ends of every code."""
    place: Ints
    """The place of each code's part among those in use."""
    before: Floats
    """The part of its part that is below each code."""
    after: Floats
    numbers: Floats
    """The share of each part's rows that have a number."""

    @classmethod
    def of(cls, values: CodeValues, part: Ints, used: Ints) -> _Curve:
        codes = np.flatnonzero(values.has_numbers & np.isin(part, used))
        codes = codes[np.argsort(values.low[codes], kind="stable")]
        place = np.searchsorted(used, part[codes])
        rows = values.rows[codes]
        each = rows / np.bincount(place, weights=rows)[place]
        # The running sum within each part.
        order = np.argsort(place, kind="stable")
        total = np.cumsum(each[order])
        first = np.searchsorted(place[order], np.arange(len(used)))
        start = (total - each[order])[first]
        after = np.empty(len(codes))
        after[order] = total - start[place[order]]
        at = np.stack([values.low[codes], values.high[codes]], axis=1).reshape(-1)
        return cls(at, place, after - each, after, values.merged(part, used)[1])

    def sums(self, weights: Floats, shape: Callable[[Floats], Floats]) -> Floats:
        """Sum weights × shape(the part at or below) over all parts, at every end of a code."""
        step = shape(self.after) - shape(self.before)
        done = np.cumsum(weights[:, self.place] * step, axis=1)
        start = weights.sum(axis=1, keepdims=True) * shape(np.zeros(1))
        ends = np.concatenate([np.zeros((len(weights), 1)), done], axis=1) + start
        found: Floats = np.stack([ends[:, :-1], ends[:, 1:]], axis=2).reshape(len(weights), -1)
        return found


def _first(at: Floats, line: Floats) -> float:
    """Return where a line through some points is 0 or more for the first time.

    >>> _first(np.array([0.0, 10.0, 20.0]), np.array([-1.0, 1.0, 3.0]))
    5.0
    """
    up = np.flatnonzero(line >= 0)
    if not len(up):
        return float(at[-1])
    here = int(up[0])
    if here == 0:
        return float(at[0])
    part = line[here - 1] / (line[here - 1] - line[here])
    return float(at[here - 1] + part * (at[here] - at[here - 1]))


def _last(at: Floats, line: Floats) -> float:
    """Return where a line through some points is 0 or less for the last time."""
    return -_first(-at[::-1], -line[::-1])
