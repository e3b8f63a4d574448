"""Sums: which public numbers are the sum of two to four others, in nearly all rows."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.constraints import Sum
from understudy.schema.constraints.constraint import CENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NEARLY_ALL, MOST_OF_THEM = 0.98, 0.6
"""The least shares of rows in which a sum must hold: within its tolerance, and to the cent."""
SMALL = 0.05
"""The largest tolerance, as a share of a usual total: for a fee that has no column of its own."""
FEWEST = 50
"""The fewest rows in which at least two parts are not 0, and each part is not 0."""
MOST_PARTS = 4
MOST_COLUMNS = 24
"""Of more columns of numbers, those with the most different values are looked at."""
LOOKED_AT = 64
"""How many rows a combination is tried on first."""
TRIED = 0.6
"""The largest share of these in which a combination that is tried on all rows may be off."""
BETTER = 0.001
"""By how much a longer sum must hold in more rows to be preferred to a shorter one."""


def find_sums(numbers: Mapping[str, Floats]) -> Iterator[tuple[Sum, str]]:
    """Yield sums, each with the share of public rows in which it holds."""
    distinct = {name: np.unique(found[~np.isnan(found)]) for name, found in numbers.items()}
    most = sorted(distinct, key=lambda name: -len(distinct[name]))[:MOST_COLUMNS]
    # What is either 0 or 1 is an answer, and no amount.
    names = [n for n in numbers if n in most and not set(distinct[n].tolist()) <= {0.0, 1.0}]
    if len(names) < 3:
        return
    values = np.stack([numbers[name] for name in names])
    for place, total in enumerate(names):
        parts = _best(values, place)
        found = None if parts is None else _told(values, place, parts)
        if parts is not None and found is not None:
            tolerance, why = found
            said = Sum(total, tuple(names[part] for part in parts), tolerance=tolerance)
            yield said, why.format(sum=f"{total} = {' + '.join(said.parts)}")


def _told(values: Floats, place: int, parts: Sequence[int]) -> tuple[float, str] | None:
    """Return the tolerance with which parts add up, None if it is large; and how often they do."""
    there = ~np.isnan(values[place])
    total = values[place][there]
    off = np.abs(np.nan_to_num(values[list(parts)])[:, there].sum(axis=0) - total)
    near = float(np.quantile(off, NEARLY_ALL, method="higher"))
    exact = f"In {_percent(np.mean(off <= CENT))} of {len(off):,} public rows {{sum}}"
    if near <= CENT:
        return CENT, f"{exact}."
    tolerance = float(np.ceil(100 * near - 1e-6) / 100)
    if tolerance > SMALL * np.median(np.abs(total[total != 0])):
        return None
    within = _percent(np.mean(off <= tolerance + CENT / 1000))
    return tolerance, f"{exact}, and in {within} to within {tolerance:g}; synthetic sums are exact."


def _percent(share: float) -> str:
    return f"{np.floor(1000 * share) / 10:g} %"


def _best(values: Floats, place: int) -> tuple[int, ...] | None:
    """Return the parts that add up to a total, to the cent, in the most rows."""
    # A missing part counts as nothing, and a total of 0 says nothing.
    there = np.flatnonzero(~np.isnan(values[place]))
    telling = there[values[place][there] != 0]
    if len(telling) < FEWEST:
        return None
    parts = np.nan_to_num(values)
    total = values[place]
    others = [i for i in range(len(values)) if i != place]
    few = telling[np.linspace(0, len(telling) - 1, LOOKED_AT).astype(np.int64)]
    best: tuple[tuple[int, ...], float] | None = None
    for size in range(2, MOST_PARTS + 1):
        for chosen in _promising(parts[:, few], total[few], others, size):
            share = _holds(parts[list(chosen)][:, there], total[there])
            if share >= MOST_OF_THEM and (best is None or share > best[1] + BETTER):
                best = chosen, share
    return None if best is None else best[0]


def _promising(
    parts: Floats, total: Floats, others: Sequence[int], size: int
) -> Iterator[tuple[int, ...]]:
    """Yield the combinations that add up in most of a few rows."""
    chosen = np.array(list(combinations(others, size)), dtype=np.int64).reshape(-1, size)
    for some in np.array_split(chosen, len(chosen) // 4096 + 1):
        off = np.abs(parts[some].sum(axis=1) - total) > CENT
        for combination in some[off.mean(axis=1) <= TRIED].tolist():
            yield tuple(combination)


def _holds(parts: Floats, total: Floats) -> float:
    """Return the share of rows that add up; 0 where hardly any of them tells."""
    several = (parts != 0).sum(axis=0) > 1
    fewest = min(int(several.sum()), int((parts != 0).sum(axis=1).min()))
    if fewest < FEWEST:
        return 0.0
    right = np.abs(parts.sum(axis=0) - total) <= CENT
    # Where one part is the whole total, the others are not tried.
    return float(min(right.mean(), right[several].mean()))
