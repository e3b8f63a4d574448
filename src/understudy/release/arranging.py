"""Arranging: rows, or people, of which exactly as many as are known have each combination.

Too many of one combination and too few of another: some of the first, drawn at random, become
copies of ones that have the second.  What all other columns are like, given the known ones, stays
as it was; so this is raking, done on whole rows.  Known totals that share columns are followed one
after the other, each within the combinations of what it shares with those before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema import Clique, Codes

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """Known counts in codes."""

    label: str
    clique: Clique
    cells: Ints
    """The codes of each cell, one line a cell."""
    counts: Ints
    """How many have them, at least 1."""
    size: int | None
    """What the counts add up to; None where only shares are known."""
    shared: Clique = ()
    """The columns that totals before this one have, all of them one total's."""


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """What was made of some items."""

    start: Ints
    """The item in each place, before any were changed."""
    source: Ints
    """The item that each place is a copy of."""
    codes: dict[str, Codes]
    """The codes of the known columns.  Where no item has a combination, the source has others."""

    @property
    def columns(self) -> set[str]:
        """The known columns."""
        return set(self.codes)


def arranged(
    codes: Mapping[str, Codes],
    totals: Sequence[Total],
    rng: np.random.Generator,
    *,
    needed: Mask | None = None,
) -> Arranged:
    """Arrange items that have these codes; those that are needed are left out last."""
    items = len(next(iter(codes.values())))
    size = next((total.size for total in totals if total.size is not None), items)
    start = _resized(items, size if items else 0, rng, needed)
    names = list(dict.fromkeys(name for total in totals for name in total.clique))
    places = {name: codes[name][start].astype(np.int32) for name in names}
    for total in totals:
        _follow(places, total, rng)
    moved = np.flatnonzero(
        np.logical_or.reduce([places[name] != codes[name][start] for name in names])
    )
    source = start.copy()
    wanted, there = _numbered(
        [places[name][moved] for name in names], [codes[name] for name in names]
    )
    order = np.argsort(there, kind="stable")
    first = np.searchsorted(there[order], wanted)
    count = np.searchsorted(there[order], wanted, side="right") - first
    some = count > 0
    turn = first[some] + np.floor(rng.random(int(some.sum())) * count[some]).astype(np.int64)
    source[moved[some]] = order[turn]
    return Arranged(start, source, places)


def _resized(items: int, size: int, rng: np.random.Generator, needed: Mask | None) -> Ints:
    """Choose a number of items: some of them, or all of them, some several times."""
    order = rng.permutation(items)
    if needed is not None:
        order = order[np.argsort(~needed[order], kind="stable")]
    return np.sort(np.resize(order, size) if items else order)


def _follow(places: dict[str, Codes], total: Total, rng: np.random.Generator) -> None:
    """Change codes so that every cell has as many places as it should, in place."""
    columns = [places[name] for name in total.clique]
    cell, listed = _numbered(columns, list(total.cells.T))
    group, groups = np.zeros_like(cell), np.zeros_like(listed)
    if total.shared:
        at = [total.clique.index(name) for name in total.shared]
        group, groups = _numbered([columns[i] for i in at], [total.cells[:, i] for i in at])
    length = 1 + max(int(each.max(initial=0)) for each in (cell, listed, group, groups))
    target = np.zeros(length, dtype=np.int64)
    target[listed] = apportioned(total.counts, groups, np.bincount(group, minlength=length))
    order = rng.permutation(len(cell))
    order = order[np.argsort(cell[order], kind="stable")]
    have = np.bincount(cell, minlength=length)
    rank = np.arange(len(order)) - (np.cumsum(have) - have)[cell[order]]
    surplus = rng.permutation(order[rank >= target[cell[order]]])
    goals = rng.permutation(np.repeat(np.arange(len(listed)), np.maximum(target - have, 0)[listed]))
    surplus = surplus[np.argsort(group[surplus], kind="stable")]
    goals = goals[np.argsort(groups[goals], kind="stable")]
    for i, name in enumerate(total.clique):
        places[name][surplus] = total.cells[goals, i]


def apportioned(counts: Ints, groups: Ints, held: Ints) -> Ints:
    """Share out how many each group holds, in proportion to counts, by largest remainders.

    >>> apportioned(np.array([1, 1, 2, 5]), np.array([0, 0, 0, 1]), np.array([7, 3])).tolist()
    [2, 2, 3, 3]
    """
    whole = np.bincount(groups, weights=counts, minlength=len(held)).astype(np.int64)
    quota = counts * held[groups]
    found: Ints = quota // whole[groups]
    left = held - np.bincount(groups, weights=found, minlength=len(held)).astype(np.int64)
    order = np.lexsort((-(quota % whole[groups]), groups))
    sizes = np.bincount(groups, minlength=len(held))
    rank = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[groups[order]]
    found[order] += rank < left[groups[order]]
    return found


def _numbered(one: Sequence[Codes | Ints], other: Sequence[Codes | Ints]) -> tuple[Ints, Ints]:
    """Number the combinations of two tables' columns, the same in both."""
    keys = np.zeros(len(one[0]) + len(other[0]), dtype=np.int64)
    for ours, theirs in zip(one, other, strict=True):
        both = np.concatenate([ours, theirs]).astype(np.int64)
        _, keys = np.unique(keys * (int(both.max(initial=0)) + 1) + both, return_inverse=True)
    return keys[: len(one[0])], keys[len(one[0]) :]
