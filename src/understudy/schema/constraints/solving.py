"""Solving: whether relations can hold together, and the codes nearest to given ones that do.

Codes that no relation tells apart are of one *kind*.  A search over kinds, column by column, finds
an allowed combination if there is one; it tries the kinds that a row has already first, so that
what it finds is near.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema.constraints.relations import Relation
    from understudy.schema.domain import Clique
    from understudy.schema.encoding.reading import Codes

    Ints = NDArray[np.int64]

MOST_STEPS = 200_000
"""The most steps of a search, far more than any schema that a person has written needs."""


@dataclass(frozen=True, slots=True, eq=False)
class Solver:
    """Relations over kinds of codes."""

    relations: Sequence[Relation]
    columns: Clique
    """The columns of the relations."""
    kinds: dict[str, Ints]
    """The kind of each code."""
    counts: dict[str, int]
    """The number of kinds of each column."""
    tables: list[tuple[Clique, NDArray[np.bool_]]] = field(repr=False)
    """What is allowed, over kinds."""
    places: dict[str, NDArray[np.float64]]
    """The place of each code in its column's order, NaN for none, where a relation is an order."""

    @classmethod
    def of(cls, relations: Sequence[Relation]) -> Solver:
        """Find the kinds of codes that the relations tell apart."""
        seen: dict[str, list[Ints]] = {}
        for relation in relations:
            for name, classes in zip(relation.scope, relation.classes, strict=True):
                seen.setdefault(name, []).append(classes)
        kinds, firsts = {}, {}
        for name, all_classes in seen.items():
            _, firsts[name], found = np.unique(
                np.stack(all_classes), axis=1, return_index=True, return_inverse=True
            )
            kinds[name] = found.reshape(-1)
        tables = []
        for relation in relations:
            at = [c[firsts[n]] for n, c in zip(relation.scope, relation.classes, strict=True)]
            tables.append((relation.scope, relation.allowed[np.ix_(*at)]))
        counts = {name: len(first) for name, first in firsts.items()}
        columns = tuple(sorted(counts, key=lambda name: (counts[name], name)))
        # Relations other than orders have no places.
        places = {n: p for r in relations for n, p in zip(r.scope, r.places, strict=False)}
        return cls(relations, columns, kinds, counts, tables, places)

    def obeyed(self, codes: Mapping[str, Codes]) -> NDArray[np.bool_]:
        """Return which rows of codes are allowed."""
        return self.allowed({name: self.kinds[name][codes[name]] for name in self.columns})

    def allowed(self, cells: Mapping[str, Ints]) -> NDArray[np.bool_]:
        """Return whether combinations of kinds, one array a column, are allowed."""
        length = len(next(iter(cells.values())))
        found = np.ones(length, dtype=bool)
        for scope, table in self.tables:
            found &= table[tuple(cells[name] for name in scope)]
        return found

    def nearest(self, fixed: Mapping[str, int], wished: Mapping[str, int]) -> dict[str, int] | None:
        """Find an allowed combination with the fixed kinds, and with the wished ones if it can be.

        None if there is none.
        """
        order = [*(n for n in self.columns if n in fixed)]
        order += [n for n in self.columns if n not in fixed]
        choices = {name: self._choices(name, fixed, wished) for name in order}
        ready = {
            name: [
                (scope, table)
                for scope, table in self.tables
                if name in scope and all(order.index(n) <= order.index(name) for n in scope)
            ]
            for name in order
        }
        taken: dict[str, int] = {}
        steps = 0

        def search(depth: int) -> bool:
            nonlocal steps
            if depth == len(order):
                return True
            name = order[depth]
            for kind in choices[name]:
                steps += 1
                if steps > MOST_STEPS:
                    raise SchemaError(
                        "the constraints are too entangled to be checked",
                        got=", ".join(sorted({r.name for r in self.relations})),
                    )
                taken[name] = kind
                sound = all(t[tuple(taken[n] for n in scope)] for scope, t in ready[name])
                if sound and search(depth + 1):
                    return True
            del taken[name]
            return False

        return dict(taken) if search(0) else None

    def _choices(self, name: str, fixed: Mapping[str, int], wished: Mapping[str, int]) -> list[int]:
        """Return the kinds to try: the wished one first, and then, in an order, those near it."""
        if name in fixed:
            return [fixed[name]]
        apart = np.ones(self.counts[name])
        if name in wished:
            apart = self.apart(name, np.array([wished[name]]))[0]
            apart[wished[name]] = -1
        return [int(kind) for kind in np.argsort(apart, kind="stable")]

    def apart(self, name: str, kinds: Ints) -> NDArray[np.float64]:
        """Return how far each kind of a column is from some, a line for each of these.

        What has no place in an order is farther than all that have one; without an order, all kinds
        are equally far.
        """
        count = self.counts[name]
        if name not in self.places:
            return np.zeros((len(kinds), count))
        places = np.full(count, np.nan)
        places[self.kinds[name]] = self.places[name]
        apart = np.abs(places[kinds][:, None] - places)
        return np.where(np.isnan(apart), float(count), apart)


def _held_together(relations: Sequence[Relation]) -> bool:
    return all(Solver.of(c).nearest({}, {}) is not None for c in components(relations))


def components(relations: Sequence[Relation]) -> list[list[Relation]]:
    """Split relations into those that share columns, directly or through others."""
    found: list[tuple[set[str], list[Relation]]] = []
    for relation in relations:
        scope, held = set(relation.scope), [relation]
        for other in [one for one in found if one[0] & scope]:
            found.remove(other)
            scope, held = scope | other[0], [*other[1], *held]
        found.append((scope, held))
    return [held for _, held in found]


def conflict(relations: Sequence[Relation]) -> list[str]:
    """Return the names of constraints that cannot hold together; none if all can.

    None of them can be left out: the others would then hold together.
    """
    if _held_together(relations):
        return []
    needed = list(relations)
    for relation in relations:
        rest = [r for r in needed if r is not relation]
        if not _held_together(rest):
            needed = rest
    return list(dict.fromkeys(r.name for r in needed))
