"""Readings: what noisy answers say of a marginal's cells, each without bias and with its variance.

An answer is a noisy sum of cells of its clique.  It is of use for a marginal over fewer columns
where all that it sums lies within one cell of that marginal; answers that together count all of
such a cell, each part of it as often as any other, add up to it.  Sums of this kind from different
answers are put together by inverse variance.  What is chosen here depends on what was asked and on
its noise alone, never on an answer, so nothing is biased by the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Measurement

    Numbers = NDArray[np.float64]
    Whole = NDArray[np.int64]

EXACT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of some cells, named by number, in their order."""

    cells: Whole
    values: Numbers
    variances: Numbers

    def scaled(self, factor: float, spread: float) -> Known:
        """Multiply by a factor that is itself known but for a relative standard error.

        That error is taken to be a stranger to the others, though it is partly theirs: that a
        cell is part of the total that it is divided by makes the truth a little better.
        """
        values = self.values * factor
        return Known(self.cells, values, self.variances * factor**2 + (values * spread) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """The cells of a marginal: columns, and the part of each that a code belongs to."""

    sizes: Mapping[str, int]
    """The number of codes of every column of the table."""
    parts: Mapping[str, Whole]
    """Of the marginal's columns, in order, the part that each code belongs to, from 0."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of parts of each column."""
        return tuple(int(part.max()) + 1 for part in self.parts.values())


def combined(known: Sequence[Known]) -> Known:
    """Put readings that are strangers to each other together, by inverse variance."""
    cells, at = np.unique(np.concatenate([k.cells for k in known]), return_inverse=True)
    precisions = np.concatenate([1 / k.variances for k in known])
    values = np.concatenate([k.values for k in known])
    total = np.bincount(at, weights=precisions, minlength=len(cells))
    sums = np.bincount(at, weights=precisions * values, minlength=len(cells))
    return Known(cells, sums / total, 1 / total)


def readings(measured: Sequence[Measurement], space: Space, *, laplace: bool) -> Known:
    """Read all that measurements say of a marginal's cells; some cells may stay unknown."""
    families: dict[object, list[Measurement]] = {}
    for m in measured:
        merged = tuple((n, np.asarray(m.merged[n]).tobytes()) for n in sorted(m.merged))
        families.setdefault((m.clique, merged), []).append(m)
    none = Known(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    return combined([none, *(_family(ms, space, laplace=laplace) for ms in families.values())])


def _family(measured: Sequence[Measurement], space: Space, *, laplace: bool) -> Known:
    """Read measurements of the same cells: each by itself, or all in one, as is the better."""
    inside = [_within(m, space, laplace=laplace) for m in measured]
    whole = _Whole.of(measured[0], space)
    apart = combined([_read(sums, whole) for sums in inside])
    if len(inside) == 1:
        return apart
    both = [apart, _read(_together(inside), whole)]
    cells, at = np.unique(np.concatenate([k.cells for k in both]), return_inverse=True)
    values = np.concatenate([k.values for k in both])
    variances = np.concatenate([k.variances for k in both])
    # Of two readings of a cell, which share answers, the one with the smaller variance.
    order = np.lexsort((variances, at))
    first = order[np.searchsorted(at[order], np.arange(len(cells)))]
    return Known(cells, values[first], variances[first])


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Noisy sums that each lie within one cell of a marginal."""

    cells: Whole
    """The clique's cells that are summed, those of one sum together."""
    sums: Whole
    """The sum that each of these is in."""
    homes: Whole
    """The marginal's cell that each sum lies in."""
    values: Numbers
    variances: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class _Whole:
    """How many of a clique's cells there are in a cell of a marginal."""

    counts: tuple[Numbers, ...]
    """Of each of the marginal's columns, how many of the clique's codes each part has."""
    others: float
    """The cells of the clique's other columns."""

    @classmethod
    def of(cls, measured: Measurement, space: Space) -> _Whole:
        counts = tuple(
            np.bincount(inside[inside >= 0], minlength=int(part.max()) + 1).astype(np.float64)
            for part, inside in _insides(measured, space)
        )
        names = [n for n in measured.clique if n not in space.parts]
        return cls(counts, float(np.prod([_size(measured, space, n) for n in names])))

    def __call__(self, cells: Whole) -> Numbers:
        """Count, for some of the marginal's cells."""
        found = np.full(len(cells), self.others)
        if self.counts:
            codes = np.unravel_index(cells, tuple(map(len, self.counts)))
            for count, code in zip(self.counts, codes, strict=True):
                found *= count[code]
        return found


def _size(measured: Measurement, space: Space, name: str) -> int:
    merged = measured.merged.get(name)
    return space.sizes[name] if merged is None else int(np.max(merged)) + 1


def _insides(measured: Measurement, space: Space) -> list[tuple[Whole, Whole]]:
    """Give, of each of a marginal's columns, the parts and the part of each measured code.

    It is -1 where a measured code has values of several parts, and for all others that such a part
    has: what is measured does not tell that part from others.
    """
    found = []
    for name, part in space.parts.items():
        merged = measured.merged.get(name)
        if merged is None:
            found.append((part, part))
            continue
        low = np.full(int(merged.max()) + 1, np.iinfo(np.int64).max)
        high = np.full(len(low), -1)
        np.minimum.at(low, merged, part)
        np.maximum.at(high, merged, part)
        torn = np.unique(part[(low != high)[merged]])
        found.append((part, np.where((low == high) & ~np.isin(low, torn), low, -1)))
    return found


def _within(measured: Measurement, space: Space, *, laplace: bool) -> _Sums:
    """Find the answers that sum cells of one cell of a marginal, all with the same weight."""
    shape = [_size(measured, space, name) for name in measured.clique]
    rows = measured.rows
    cells = np.arange(int(np.prod(shape))) if rows is None else rows.cells
    starts = np.arange(len(cells) + 1) if rows is None else rows.starts
    codes = dict(zip(measured.clique, np.unravel_index(cells, shape) if shape else (), strict=True))
    homes, lost = np.zeros(len(cells), dtype=np.int64), np.zeros(len(cells), dtype=bool)
    for name, (part, inside) in zip(space.parts, _insides(measured, space), strict=True):
        here = inside[codes[name]]
        homes = homes * (int(part.max()) + 1) + here
        lost |= here < 0
    homes[lost] = -1
    weights = np.ones(len(cells)) if measured.weights is None else measured.weights
    first = starts[:-1]
    kept = (homes[first] >= 0) & (weights[first] != 0)
    for told in (homes, weights):
        kept &= np.minimum.reduceat(told, first) == np.maximum.reduceat(told, first)
    held = np.repeat(kept, np.diff(starts))
    sums = np.repeat(np.cumsum(kept) - 1, np.diff(starts))[held]
    weight = weights[first][kept]
    variance = measured.scale**2 * (2 if laplace else 1)
    values = measured.values[kept] / weight
    return _Sums(cells[held], sums, homes[first][kept], values, variance / weight**2)


def _together(parts: Sequence[_Sums]) -> _Sums:
    """Put sums of several measurements into one list; of a single cell, one with all that is said.

    >>> one = _Sums(np.array([7]), np.array([0]), np.array([3]), np.array([1.0]), np.array([1.0]))
    >>> _together([one, one]).variances.tolist()
    [0.5]
    """
    ends = np.cumsum([0, *(len(p.values) for p in parts)])
    cells = np.concatenate([p.cells for p in parts])
    sums = np.concatenate([p.sums + end for p, end in zip(parts, ends, strict=False)])
    homes = np.concatenate([p.homes for p in parts])
    values = np.concatenate([p.values for p in parts])
    variances = np.concatenate([p.variances for p in parts])
    single = np.bincount(sums, minlength=len(values)) == 1
    alone = single[sums]
    each = combined([Known(cells[alone], values[sums[alone]], variances[sums[alone]])])
    home = homes[sums[alone]][np.unique(cells[alone], return_index=True)[1]]
    number = np.cumsum(~single) - 1 + len(each.cells)
    return _Sums(
        np.concatenate([each.cells, cells[~alone]]),
        np.concatenate([np.arange(len(each.cells)), number[sums[~alone]]]),
        np.concatenate([home, homes[~single]]),
        np.concatenate([each.values, values[~single]]),
        np.concatenate([each.variances, variances[~single]]),
    )


def _read(sums: _Sums, whole: _Whole) -> Known:
    """Add sums up to the marginal's cells that they count all of, every part of it alike.

    Each may count by a power of its precision: where sums overlap, as in AdaGrid's queries, one of
    these may be what makes every part count alike.
    """
    homes, of_sum = np.unique(sums.homes, return_inverse=True)
    distinct, at = np.unique(sums.cells, return_inverse=True)
    of_cell = np.zeros(len(distinct), dtype=np.int64)
    of_cell[at] = of_sum[sums.sums]
    count = np.bincount(of_cell, minlength=len(homes))
    full = count == whole(homes)
    values, variances = np.zeros(len(homes)), np.full(len(homes), np.inf)
    for power in (0, 1, 2):
        weight = (sums.variances / sums.variances.min(initial=np.inf)) ** (-power / 2)
        cover = np.bincount(at, weights=weight[sums.sums], minlength=len(distinct))
        mean = np.bincount(of_cell, weights=cover, minlength=len(homes)) / count
        uneven = np.bincount(of_cell, weights=np.abs(cover - mean[of_cell]), minlength=len(homes))
        spread = np.bincount(of_sum, weights=weight**2 * sums.variances, minlength=len(homes))
        better = full & (uneven <= EXACT * mean * count) & (spread / mean**2 < variances)
        added = np.bincount(of_sum, weights=weight * sums.values, minlength=len(homes)) / mean
        values = np.where(better, added, values)
        variances = np.where(better, spread / mean**2, variances)
    known = np.isfinite(variances)
    return Known(homes[known], values[known], variances[known])
