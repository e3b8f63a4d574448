"""Exchanging: rows out of order exchange codes with rows that have about the same ones.

Codes of two ordered columns that were drawn apart, within coarser codes, are often out of order
although each column is as it should be.  Such a row takes a code of a row whose code is near, and
gives its own for it, where both rows are then allowed.  So each column has every code as often as
before, and the mean difference of two columns stays too.  The nearest rows are tried first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from understudy.schema.constraints.conditions import Mask
    from understudy.schema.constraints.solving import Solver
    from understudy.schema.domain import Clique
    from understudy.schema.encoding.reading import Codes

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

TRIES = 16
"""How often a row looks for another one, for each column and distance."""
FEW = 0.002
"""The share of what is out of order by which a try must lower it, or no other follows."""
LEAST = 0.1
"""The share of what a row is out of order by which an exchange must lower it."""
FORBIDDEN = 1e6
"""By how many places a row is out of order that breaks what is no order."""


def exchanged(
    solver: Solver,
    codes: Mapping[str, Codes],
    rng: np.random.Generator,
    fixed: Collection[str] = (),
) -> dict[str, Codes]:
    """Return rows that break orders less; fixed columns stay, and all columns' counts."""
    free = [name for name in solver.columns if name in solver.places and name not in fixed]
    together = [free] if len(free) > 1 and len(free) < len(solver.columns) else []
    rows = _Rows(solver, {n: codes[n].copy() if n in free else codes[n] for n in solver.columns})
    longest, reach = max((len(solver.places[name]) for name in free), default=0), 1
    while reach < 2 * longest and rows.cost.any():
        for names in [*([name] for name in free), *together]:
            near = rows.near(names)
            for _ in range(TRIES):
                before = rows.cost.sum()
                rows.exchange(names, near, reach, rng)
                if before - rows.cost.sum() <= FEW * before:
                    break
        reach *= 2
    return {**codes, **rows.codes}


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """Rows by their place in a column's order."""

    rows: Ints
    """The rows, in order."""
    firsts: Ints
    """How many of them come before each place."""

    def drawn(self, places: Ints, reach: int, rng: np.random.Generator) -> Ints:
        """Draw a row for each place, at most so far from it; -1 where there is none."""
        last = len(self.firsts) - 1
        low = self.firsts[np.clip(places - reach, 0, last)]
        high = self.firsts[np.clip(places + reach + 1, 0, last)]
        at = low + np.floor(rng.random(len(places)) * (high - low)).astype(np.int64)
        return np.where(high > low, np.append(self.rows, -1)[at], -1)


class _Rows:
    """Rows, some of which are out of order."""

    def __init__(self, solver: Solver, codes: dict[str, Codes]) -> None:
        """Hold the columns of a solver; those that may change are changed in place."""
        self._solver, self.codes = solver, codes
        self._orders = [(r.scope, r.least(), r.places[1]) for r in solver.relations if r.places]
        self._others = [r for r in solver.relations if not r.places]
        self.cost = self._costs(codes)
        """By how many places each row is out of order."""

    def near(self, names: list[str]) -> _Near:
        """Return the rows in order that others may exchange some columns with."""
        places = self._solver.places[names[0]]
        here = places[self.codes[names[0]]]
        here[(self.cost > 0) | ~self._loose(names)] = np.nan
        rows = np.flatnonzero(~np.isnan(here))
        at = here[rows].astype(np.min_scalar_type(len(places)))
        counts = np.bincount(at, minlength=len(places))
        order = rows[np.argsort(at, kind="stable")]
        return _Near(order, np.append(0, np.cumsum(counts)))

    def _loose(self, names: list[str]) -> Mask:
        """Return the rows that stay in order if some columns are a place lower, or higher."""
        found = np.zeros(len(self.cost), dtype=bool)
        for scope, least, places in self._orders:
            if len({*names} & {*scope}) == 1:
                found |= ~(_slack(scope, least, places, self.codes) <= 0)
        return found

    def exchange(self, names: list[str], near: _Near, reach: int, rng: np.random.Generator) -> None:
        """Let each row out of order exchange some codes with a near one, where that helps."""
        rows = np.flatnonzero(self.cost)
        place = self._solver.places[names[0]][self.codes[names[0]][rows]]
        rows, place = rows[~np.isnan(place)], place[~np.isnan(place)]
        others = near.drawn(place.astype(np.int64), reach, rng)
        rows, others = rows[others >= 0], others[others >= 0]
        # No two rows exchange with the same one, and none is on both sides.
        others, first = np.unique(others, return_index=True)
        rows = rows[first]
        apart = ~np.isin(others, rows)
        rows, others = rows[apart], others[apart]
        mine, theirs = self._with(names, rows, others), self._with(names, others, rows)
        gain = self.cost[rows] + self.cost[others] - mine - theirs
        good = gain >= LEAST * self.cost[rows]
        rows, others = rows[good], others[good]
        for name in names:
            held = self.codes[name]
            held[rows], held[others] = held[others], held[rows]
        self.cost[rows], self.cost[others] = mine[good], theirs[good]

    def _with(self, names: list[str], rows: Ints, others: Ints) -> Floats:
        """Return the costs of rows with the codes that others have in some columns."""
        held = self.codes
        return self._costs(
            {n: held[n][others if n in names else rows] for n in self._solver.columns}
        )

    def _costs(self, codes: Mapping[str, Codes]) -> Floats:
        """Return by how many places rows are out of order."""
        found = np.zeros(len(next(iter(codes.values()))))
        for scope, least, places in self._orders:
            found += np.fmax(-_slack(scope, least, places, codes), 0)
        for relation in self._others:
            found += FORBIDDEN * relation.broken(codes)
        return found


def _slack(scope: Clique, least: Floats, places: Floats, codes: Mapping[str, Codes]) -> Floats:
    """Return how many places the second of two columns is above the least allowed; NaN for none."""
    first, second = scope
    found: Floats = places[codes[second]] - least[codes[first]]
    return found
