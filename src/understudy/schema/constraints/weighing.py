"""Weighing: how likely rows would be with another kind in one of their columns.

What is likely is told by the rows that are allowed: each column's counts, and the counts of each
two columns that a relation is about.  A row is as likely as its columns are, times each two
columns' lift.  All columns together would tell nothing of rows whose combination is rare.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema.constraints.conditions import Mask
    from understudy.schema.constraints.solving import Solver
    from understudy.schema.domain import Clique

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Tables = Sequence[tuple[Clique, NDArray[np.bool_] | Floats]]

HARDLY = 1e-6
"""The weight of a kind that no row has, and of two that no row has together."""
FARTHER = float(np.log(0.1))
"""Each further place of an order is a tenth as likely as the one before."""


class Weights:
    """Weighs what could become of rows."""

    def __init__(self, solver: Solver, kinds: Mapping[str, Ints]) -> None:
        """Count the kinds of rows that are allowed."""
        self._solver = solver
        counts = {n: np.bincount(kinds[n], minlength=c) for n, c in solver.counts.items()}
        self._single = {name: np.log(count + HARDLY) for name, count in counts.items()}
        pairs = {pair for scope, _ in solver.tables for pair in combinations(scope, 2)}
        self._lifts = []
        for one, other in sorted(pairs):
            shape = solver.counts[one], solver.counts[other]
            cells = np.ravel_multi_index((kinds[one], kinds[other]), shape)
            both = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
            apart = np.outer(counts[one], counts[other]) / max(1, len(cells))
            lift = np.log(both / np.maximum(apart, HARDLY) + HARDLY)
            self._lifts.append(((one, other), lift))

    def outcomes(self, now: Mapping[str, Ints], free: Sequence[str]) -> Floats:
        """Return the weights of other kinds of free columns, one column after the other.

        There is a line for each row; an outcome that is not allowed weighs 0, and one that is far
        from the row in a column's order little.
        """
        found = []
        for name in free:
            told = self._single[name] - self._single[name][now[name]][:, None]
            for scope, lift in self._lifts:
                told = told + _line(scope, lift, name, now)
            allowed = self._allowed(name, now)
            apart = np.where(allowed, self._solver.apart(name, now[name]), np.inf)
            nearest = apart.min(axis=1, keepdims=True)
            apart -= np.where(np.isfinite(nearest), nearest, 0)
            found.append(np.where(allowed, told + FARTHER * apart, -np.inf))
        weights = np.concatenate(found, axis=1)
        most = weights.max(axis=1, keepdims=True)
        likely: Floats = np.exp(weights - np.where(np.isfinite(most), most, 0))
        return likely

    def _allowed(self, name: str, now: Mapping[str, Ints]) -> Mask:
        """Return which kinds of a column are allowed beside what rows have in the others."""
        found = np.ones((len(now[name]), self._solver.counts[name]), dtype=bool)
        for scope, table in self._solver.tables:
            found &= _line(scope, table, name, now)
        return found


def _line(
    scope: Clique, table: NDArray[np.generic], name: str, now: Mapping[str, Ints]
) -> NDArray[np.generic]:
    """Return a table's line along a column for each row; its cell, if the column is not in it."""
    if name not in scope:
        return table[tuple(now[n] for n in scope)][:, None]
    at = scope.index(name)
    others = tuple(now[n] for n in scope if n != name)
    if not others:
        return np.broadcast_to(table, (len(now[name]), len(table)))
    return np.moveaxis(table, at, -1)[others]


def drawn(weights: Floats, which: Ints, rng: np.random.Generator) -> Ints:
    """Draw a column by the weights of a line, for each of some lines; every line has weights."""
    sums = np.cumsum(weights, axis=1)
    ends = sums / sums[:, -1:] + np.arange(len(sums))[:, None]
    # A draw must not be rounded up to the next line.
    at = which + rng.random(len(which)) * (1 - HARDLY)
    found: Ints = np.searchsorted(ends.reshape(-1), at, side="right") - which * weights.shape[1]
    return found
