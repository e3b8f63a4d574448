"""Readings: what noisy answers say of a marginal's cells, each without bias and with its variance.

An answer is a noisy sum of cells of its clique.  It is of use for a marginal over fewer columns
where all that it sums lies within one cell of that marginal; answers that together count all of
such a cell, each part of it as often as any other, add up to it.  Sums of this kind from different
answers are combined by inverse variance.  What is chosen here depends on the queries and their
noise alone, never on an answer, so nothing is biased by the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Measurement

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

EXACT = 1e-9
ALIKE = 0.4
"""The part of a corrected cell's bias that is of all cells in a sum, as a column's is of pairs'."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Estimates of some cells, by cell number, in ascending order."""

    cells: Ints
    values: Floats
    variances: Floats

    def scaled(self, factor: float, spread: float) -> Known:
        """Multiply by a factor that has a relative standard error itself.

        That error is treated as independent of the others, though the total that a cell is
        divided by includes the cell itself: the true error is a little smaller.
        """
        values = self.values * factor
        return Known(self.cells, values, self.variances * factor**2 + (values * spread) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class MarginalDomain:
    """A marginal's domain, perhaps compressed: its columns, each partitioned into parts."""

    sizes: Mapping[str, int]
    """The number of codes of every column of the table."""
    parts: Mapping[str, Ints]
    """The part that each code belongs to, from 0, by column of the marginal, in order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of parts of each column."""
        return tuple(int(part.max()) + 1 for part in self.parts.values())


def combined(known: Sequence[Known]) -> Known:
    """Combine independent readings by inverse variance."""
    cells, at = np.unique(np.concatenate([k.cells for k in known]), return_inverse=True)
    precisions = np.concatenate([1 / k.variances for k in known])
    values = np.concatenate([k.values for k in known])
    total = np.bincount(at, weights=precisions, minlength=len(cells))
    sums = np.bincount(at, weights=precisions * values, minlength=len(cells))
    return Known(cells, sums / total, 1 / total)


def readings(measured: Sequence[Measurement], domain: MarginalDomain, *, laplace: bool) -> Known:
    """Estimate a marginal's cells from all measurements; some cells may remain unknown."""
    families: dict[object, list[Measurement]] = {}
    for m in measured:
        merged = tuple((n, np.asarray(m.merged[n]).tobytes()) for n in sorted(m.merged))
        families.setdefault((m.clique, merged), []).append(m)
    none = Known(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    return combined([none, *(_family(ms, domain, laplace=laplace) for ms in families.values())])


def _family(measured: Sequence[Measurement], domain: MarginalDomain, *, laplace: bool) -> Known:
    """Read measurements of the same cells: separately or pooled, whichever is better."""
    inside = [_within(m, domain, laplace=laplace) for m in measured]
    whole = _Whole.of(measured[0], domain)
    apart = combined([_read(sums, whole) for sums in inside])
    if len(inside) == 1:
        return apart
    both = [apart, _read(_together(inside), whole)]
    cells, at = np.unique(np.concatenate([k.cells for k in both]), return_inverse=True)
    values = np.concatenate([k.values for k in both])
    variances = np.concatenate([k.variances for k in both])
    # The two readings of a cell share answers: keep the one with the smaller variance.
    order = np.lexsort((variances, at))
    first = order[np.searchsorted(at[order], np.arange(len(cells)))]
    return Known(cells, values[first], variances[first])


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Noisy sums that each lie within one cell of a marginal."""

    cells: Ints
    """The clique's cells that are summed, grouped by sum."""
    sums: Ints
    """The sum that each of these belongs to."""
    homes: Ints
    """The marginal's cell that each sum lies in."""
    values: Floats
    variances: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Whole:
    """The number of a clique's cells within each cell of a marginal."""

    counts: tuple[Floats, ...]
    """The number of the clique's codes in each part, for each of the marginal's columns."""
    others: float
    """The number of cells of the clique's other columns."""

    @classmethod
    def of(cls, measured: Measurement, domain: MarginalDomain) -> _Whole:
        counts = tuple(
            np.bincount(inside[inside >= 0], minlength=int(part.max()) + 1).astype(np.float64)
            for part, inside in _insides(measured, domain)
        )
        names = [n for n in measured.clique if n not in domain.parts]
        return cls(counts, float(np.prod([_size(measured, domain, n) for n in names])))

    def __call__(self, cells: Ints) -> Floats:
        """Return the number for some of the marginal's cells."""
        found = np.full(len(cells), self.others)
        if self.counts:
            codes = np.unravel_index(cells, tuple(map(len, self.counts)))
            for count, code in zip(self.counts, codes, strict=True):
                found *= count[code]
        return found


def _size(measured: Measurement, domain: MarginalDomain, name: str) -> int:
    merged = measured.merged.get(name)
    return domain.sizes[name] if merged is None else int(np.max(merged)) + 1


def _insides(measured: Measurement, domain: MarginalDomain) -> list[tuple[Ints, Ints]]:
    """Return, for each of a marginal's columns, the parts and the part of each measured code.

    It is -1 where a measured code has values of several parts, and for all other codes of those
    parts: the measurement does not distinguish them.
    """
    found = []
    for name, part in domain.parts.items():
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


def remaining(measured: Measurement, domain: MarginalDomain) -> Floats:
    """Return the variance of the bias of bounding that remains in each of a marginal's cells.

    A cell is a sum of answers, each by what it counts.  They are alike in how unsure it is what
    bounding left of them; what bias remains of answers that were corrected is their own, but for a
    part that is of all in a cell.
    """
    size = int(np.prod(domain.shape))
    _, starts, homes = _homes(measured, domain)
    home = homes[starts[:-1]]
    kept = home >= 0
    home, counted = home[kept], np.maximum(measured.values, EXACT)[kept]
    counted /= np.maximum(np.bincount(home, weights=counted, minlength=size), EXACT)[home]
    found = np.full(size, measured.bias**2)
    if measured.left is not None:
        found *= np.maximum(np.bincount(home, weights=counted**2, minlength=size), ALIKE**2)
    if measured.unsure is not None:
        found += np.bincount(home, weights=measured.unsure[kept] * counted, minlength=size) ** 2
    return found


def _homes(measured: Measurement, domain: MarginalDomain) -> tuple[Ints, Ints, Ints]:
    """Return the cells that answers sum, where each answer begins, and the marginal's cell of each.

    It is -1 for cells that the measurement does not distinguish.
    """
    shape = [_size(measured, domain, name) for name in measured.clique]
    rows = measured.rows
    cells = np.arange(int(np.prod(shape))) if rows is None else rows.cells
    starts = np.arange(len(cells) + 1) if rows is None else rows.starts
    codes = dict(zip(measured.clique, np.unravel_index(cells, shape) if shape else (), strict=True))
    homes, lost = np.zeros(len(cells), dtype=np.int64), np.zeros(len(cells), dtype=bool)
    for name, (part, inside) in zip(domain.parts, _insides(measured, domain), strict=True):
        here = inside[codes[name]]
        homes = homes * (int(part.max()) + 1) + here
        lost |= here < 0
    homes[lost] = -1
    return cells, starts, homes


def _within(measured: Measurement, domain: MarginalDomain, *, laplace: bool) -> _Sums:
    """Find the answers that sum cells within one cell of a marginal, with equal weights."""
    cells, starts, homes = _homes(measured, domain)
    weights = np.ones(len(cells)) if measured.weights is None else measured.weights
    first = starts[:-1]
    kept = (homes[first] >= 0) & (weights[first] != 0)
    for told in (homes, weights):
        kept &= np.minimum.reduceat(told, first) == np.maximum.reduceat(told, first)
    held = np.repeat(kept, np.diff(starts))
    sums = np.repeat(np.cumsum(kept) - 1, np.diff(starts))[held]
    weight = weights[first][kept]
    if measured.left is not None:
        weight = weight * measured.left[kept]
    variance = measured.scale**2 * (2 if laplace else 1)
    values = measured.values[kept] / weight
    return _Sums(cells[held], sums, homes[first][kept], values, variance / weight**2)


def _together(parts: Sequence[_Sums]) -> _Sums:
    """Concatenate sums of several measurements; those of the same single cell are combined.

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
    """Add sums up to the marginal's cells that they cover completely and evenly.

    Each is weighted by a power of its precision: where sums overlap, as in AdaGrid's queries, one
    of these powers may make the cover even.
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
