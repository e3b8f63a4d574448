"""Relations: which codes of some columns can occur together.

A relation's columns are cut into classes of codes that it does not tell apart, and a small table
over the classes says what is allowed.  "No pregnant men" has two classes a column, whatever the
number of codes; an order has one for each bin.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from understudy.schema.columns import Column
    from understudy.schema.constraints.conditions import Mask
    from understudy.schema.domain import Clique
    from understudy.schema.encoding.reading import Codes

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """Which classes of codes of some columns can occur together."""

    name: str
    """The constraint that asks for it."""
    scope: Clique
    classes: tuple[Ints, ...]
    """The class of each code, for each column of the scope."""
    allowed: Mask
    """Whether classes can occur together, with one axis a column."""
    moves: bool = False
    """Whether a row that breaks it is moved to the nearest code of the last column."""
    places: tuple[Floats, ...] = ()
    """For an order, the place of each code among those of its column, NaN for none."""

    @classmethod
    def banning(cls, name: str, masks: Mapping[str, Mask], *, moves: bool = False) -> Relation:
        """Return the relation that forbids the codes of all masks together."""
        allowed = np.ones((2,) * len(masks), dtype=bool)
        allowed[(1,) * len(masks)] = False
        classes = tuple(mask.astype(np.int64) for mask in masks.values())
        return cls(name, tuple(masks), classes, allowed, moves)

    def broken(self, codes: Mapping[str, Codes]) -> Mask:
        """Return whether each row breaks it."""
        cells = tuple(c[codes[n]] for n, c in zip(self.scope, self.classes, strict=True))
        found: Mask = ~self.allowed[cells]
        return found

    def least(self) -> Floats:
        """Return the least place of an order's second column that each code of the first allows."""
        places = np.where(self.allowed, self.places[1], len(self.places[1]))
        found: Floats = np.fmin.reduce(places, axis=1)
        return found

    def table(self) -> Mask:
        """Return whether codes can occur together, with one axis a column of the scope."""
        found: Mask = self.allowed[np.ix_(*self.classes)]
        return found

    def merged(self, groups: Mapping[str, Ints]) -> Mask:
        """Return the table over merged codes: allowed where any of their codes are."""
        found = self.table()
        for axis, name in enumerate(self.scope):
            group = groups[name]
            wide = np.zeros((int(group.max()) + 1, *np.delete(found.shape, axis)), dtype=bool)
            np.logical_or.at(wide, group, np.moveaxis(found, axis, 0))
            found = np.moveaxis(wide, 0, axis)
        return found

    def broken_sql(self, code: Mapping[str, str]) -> str:
        """Compose the test that a row of codes breaks it."""
        *others, last = (code[name] for name in self.scope)
        tests = []
        for cell, codes in self._banned():
            masks = zip(others, self.classes[:-1], cell, strict=True)
            listed = [among(name, classes == at) for name, classes, at in masks]
            tests.append(" AND ".join([*listed, among(last, codes)]))
        return " OR ".join(f"({test})" for test in tests) or "1 = 0"

    def moved_sql(self, code: Mapping[str, str], ordered: int) -> str:
        """Compose the last column's code, the nearest allowed one where a row breaks it.

        The first ``ordered`` codes are ordered; what has no order, or no nearest code, becomes the
        last allowed code, which is that of a missing value where there is one.
        """
        *others, last = (code[name] for name in self.scope)
        branches = []
        for cell, banned in self._banned():
            free = np.flatnonzero(~banned)
            if not len(free):
                continue
            masks = zip(others, self.classes[:-1], cell, strict=True)
            here = [among(name, classes == at) for name, classes, at in masks]
            goals = _nearest(np.flatnonzero(banned), free, ordered)
            for goal in dict.fromkeys(goals.values()):
                come = np.zeros(len(banned), dtype=bool)
                come[[start for start, end in goals.items() if end == goal]] = True
                branches.append(f"WHEN {' AND '.join([*here, among(last, come)])} THEN {goal}")
        return f"CASE {' '.join(branches)} ELSE {last} END" if branches else last

    def _banned(self) -> Iterator[tuple[tuple[int, ...], Mask]]:
        """Yield the classes of all columns but the last, and the last one's codes they forbid."""
        for cell in product(*(range(size) for size in self.allowed.shape[:-1])):
            barred = ~self.allowed[cell][self.classes[-1]]
            if barred.any():
                yield cell, barred


def ordered(first: Column, second: Column, *, name: str, moves: bool) -> Relation:
    """Return the relation of bins that hold two numbers in order; NaN is in any order."""
    for column in (first, second):
        if column.bounds() is None:
            raise SchemaError(
                f"constraint {name!r}: an order is of numbers",
                got=f"{column.name!r}, a {column.kind} column",
            )
    low, _ = first.bounds() or (np.zeros(0), np.zeros(0))
    _, high = second.bounds() or (np.zeros(0), np.zeros(0))
    allowed = ~(low[:, None] > high[None, :])
    classes = np.arange(first.size), np.arange(second.size)
    places = tuple(_places((column.bounds() or (low, high))[0]) for column in (first, second))
    return Relation(name, (first.name, second.name), classes, allowed, moves, places)


def _places(low: Floats) -> Floats:
    """Return the place of each code by the least number of its bin.

    >>> _places(np.array([7.0, 2.0, 7.0, np.nan])).tolist()
    [1.0, 0.0, 1.0, nan]
    """
    found, there = np.full(len(low), np.nan), ~np.isnan(low)
    found[there] = np.unique(low[there], return_inverse=True)[1]
    return found


def _nearest(banned: Ints, free: Ints, ordered: int) -> dict[int, int]:
    near = free[free < ordered]
    goals = {}
    for code in banned.tolist():
        if code < ordered and len(near):
            goals[code] = int(near[np.abs(near - code).argmin()])
        else:
            goals[code] = int(free[-1])
    return goals


def among(name: str, codes: Mask) -> str:
    """Compose the test that a code is one of some, by runs of successive codes.

    >>> among("c0", np.array([True, True, True, False, True]))
    '(c0 BETWEEN 0 AND 2 OR c0 = 4)'
    """
    at = np.flatnonzero(codes)
    if not len(at):
        return "(1 = 0)"
    ends = np.flatnonzero(np.diff(at) > 1)
    starts, stops = at[np.append(0, ends + 1)], at[np.append(ends, len(at) - 1)]
    tests = [
        f"{name} = {a}" if a == b else f"{name} BETWEEN {a} AND {b}"
        for a, b in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    return f"({' OR '.join(tests)})"
