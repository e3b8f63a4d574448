"""Adaptive granularity: fine where counts can be large, coarse elsewhere.

For a clique q with children C(q), the largest of its proper subsets that were measured:

- a cell is *plausible* if it is in every child; without children all are.  After its
  measurement a cell stays plausible if its noisy count is at least a threshold of noise;
- fine rows: the identity on plausible cells;
- coarse rows: every child's own matrix lifted to q, restricted to implausible cells, times
  1/√|C(q)|.

**Every column has L2 norm 1.**  A plausible cell has one fine row of weight 1.  An implausible
one has, through each of n children, that child's column times 1/√n, and by induction these have
norm 1: n·(1/n) = 1.  `Grid.norms` adds the squares up as fractions, and nothing is asked of a
grid for which they are not all 1 (``tests/synth/measure/test_granularity.py``, for any pattern).

A row of coefficient 1/√m is asked as the plain sum of its cells, with noise √m times as large.
For Laplace noise coefficients are 1/m, and it is the L1 norm of every column that is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.door import Query, Rows
from understudy.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.budget import Currency
    from understudy.door import Clique, Measurement

    Places = NDArray[np.int32]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Disjoint rows, each of them the fine row of some smaller clique, or of this one.

    A lifted row keeps only the implausible cells.
    """

    origin: Clique
    cells: NDArray[np.int64]
    """The cell of the origin clique that each row stands for."""
    places: Places
    """The row of each cell, -1 for none."""
    square: int
    """1/coefficient²."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.cells)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The query rows of one clique."""

    clique: Clique
    shape: tuple[int, ...]
    plausible: Mask
    families: tuple[Family, ...]
    """The families of rows, the fine rows first if there are any."""

    @classmethod
    def of(cls, clique: Clique, shape: tuple[int, ...], children: Sequence[Grid]) -> Grid:
        """Build the rows of a clique, from what its children found plausible."""
        size = math.prod(shape)
        plausible = np.ones(size, dtype=bool)
        for child in children:
            plausible &= child.plausible[_projected(clique, shape, child)]
        families = [_fine(clique, plausible)]
        coarse = ~plausible
        for child in children if coarse.any() else ():
            at = _projected(clique, shape, child)
            families += [_lifted(f, at, coarse, len(children)) for f in child.families]
        grid = cls(clique, shape, plausible, tuple(f for f in families if f.count))
        grid.check()
        return grid

    @property
    def squares(self) -> tuple[int, ...]:
        """The distinct values of 1/coefficient², the fine rows' 1 first."""
        return tuple(sorted({f.square for f in self.families}))

    @property
    def rows(self) -> int:
        """The total number of rows."""
        return sum(f.count for f in self.families)

    def norms(self) -> tuple[NDArray[np.int64], int]:
        """Return the squared L2 norm of every column, over a common denominator."""
        common = math.lcm(*(f.square for f in self.families))
        total = np.zeros(len(self.plausible), dtype=np.int64)
        for f in self.families:
            total += np.where(f.places >= 0, common // f.square, 0)
        return total, common

    def norm(self) -> float:
        """Return the L2 norm of all columns."""
        total, common = self.norms()
        return math.sqrt(int(total.max()) / common)

    def check(self) -> None:
        """Raise unless every column has norm 1."""
        total, common = self.norms()
        if not np.all(total == common):
            raise InternalError(
                f"a column of the queries on {' × '.join(self.clique)} does not have norm 1"
            )

    def queries(self, scale: float, currency: Currency) -> list[Query]:
        """Return the rows as queries with noise of a scale, one query per coefficient."""
        if self.plausible.all():
            return [Query(clique=self.clique, scale=scale)]
        return [
            Query(
                clique=self.clique,
                scale=widened(scale, Fraction(square), currency),
                rows=self._rows(square),
            )
            for square in self.squares
        ]

    def _rows(self, square: int) -> Rows:
        """List the cells of all rows of one coefficient."""
        starts, cells, first = [np.zeros(1, dtype=np.int64)], [], 0
        for f in (f for f in self.families if f.square == square):
            held = np.flatnonzero(f.places >= 0)
            order = np.argsort(f.places[held], kind="stable")
            cells.append(held[order])
            ends = first + np.cumsum(np.bincount(f.places[held], minlength=f.count))
            starts.append(ends)
            first = int(ends[-1])
        return Rows(np.concatenate(starts), np.concatenate(cells))

    def after(self, measured: Sequence[Measurement], threshold: float) -> Grid:
        """Keep as plausible the cells that were measured finely and found large enough."""
        left = np.zeros(len(self.plausible), dtype=bool)
        if self.plausible.any():
            fine = measured[0]
            left[self.plausible] = fine.values >= threshold * fine.scale
        return Grid(self.clique, self.shape, left, self.families)


def widened(scale: float, square: Fraction, currency: Currency) -> float:
    """Return scale·√square in ``gdp`` and scale·square in ``pure``, rounded up.

    >>> from understudy.budget import Currency
    >>> widened(2.0, Fraction(9), Currency.GDP), widened(2.0, Fraction(9), Currency.PURE)
    (6.0, 18.0)
    """
    power = currency.power
    near = scale * currency.root(float(square))
    while Fraction(near) ** power < Fraction(scale) ** power * square:
        near = math.nextafter(near, math.inf)
    return near


def _projected(clique: Clique, shape: tuple[int, ...], child: Grid) -> NDArray[np.int64]:
    """Return the child's cell of every cell of a clique."""
    sizes = dict(zip(clique, shape, strict=True))
    numbers = np.arange(len(child.plausible)).reshape([sizes[n] for n in child.clique])
    order = [child.clique.index(n) for n in clique if n in child.clique]
    spread = [sizes[n] if n in child.clique else 1 for n in clique]
    return np.broadcast_to(numbers.transpose(order).reshape(spread), shape).reshape(-1)


def _fine(clique: Clique, plausible: Mask) -> Family:
    places = np.full(len(plausible), -1, dtype=np.int32)
    cells = np.flatnonzero(plausible)
    places[cells] = np.arange(len(cells))
    return Family(clique, cells, places, 1)


def _lifted(family: Family, at: NDArray[np.int64], coarse: Mask, children: int) -> Family:
    """Lift a child's rows to a clique's coarse cells, dropping rows without any."""
    places = np.where(coarse, family.places[at], -1)
    kept = np.flatnonzero(np.bincount(places[places >= 0], minlength=family.count))
    numbers = np.full(family.count + 1, -1, dtype=np.int32)
    numbers[kept] = np.arange(len(kept))
    return Family(family.origin, family.cells[kept], numbers[places], family.square * children)


def closure(cliques: Sequence[Clique]) -> list[Clique]:
    """Return all non-empty subsets of some cliques, the smallest first.

    >>> closure([("a", "b")])
    [('a',), ('b',), ('a', 'b')]
    """
    found: dict[frozenset[str], Clique] = {}
    for clique in cliques:
        for number in range(1, 2 ** len(clique)):
            part = tuple(n for i, n in enumerate(clique) if number >> i & 1)
            found.setdefault(frozenset(part), part)
    return sorted(found.values(), key=lambda c: (len(c), [*c]))


def children(clique: Clique, measured: Mapping[Clique, Grid]) -> list[Grid]:
    """Return the largest proper subsets of a clique that were measured."""
    within = [c for c in measured if set(c) < set(clique)]
    outer = [c for c in within if not any(set(c) < set(other) for other in within)]
    return [measured[c] for c in outer]
