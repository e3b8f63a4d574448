"""Marginals over any columns of a model, by variable elimination along its tree.

p(x) = ∏ cliques / ∏ separators.  A marginal is computed at one clique, its centre, from the
messages of the branches around it: a branch sends the distribution of the requested columns
beyond it, given the separator; a branch without any sums to one and sends nothing.  Messages
are cached, so that many marginals share the work.

Where most pairs of columns are requested, a branch sends all its columns in one matrix, a row
for each cell of the separator: P(x | s) = Σ P(s′ | s)·P(x | s′) is a matrix product for all x at
once.  Both ways are compared with brute force by ``tests/graph/test_marginals.py``.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph.kernels import product, ratio, spread, summed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.schema.domain import Clique

    Factor = tuple[Table, Clique]
    Told = tuple[Table, dict[str, slice]]
    """A message about many columns: their values side by side on the last axis, and where."""

MOST_TOLD = 1 << 25
"""The most numbers that messages about all columns at once may hold."""


class Marginals:
    """The marginals of one model, with a cache of its branches' messages."""

    def __init__(self, tree: JunctionTree, tables: dict[Clique, Table]) -> None:
        """Find which columns lie beyond which edge."""
        self._tree, self._tables = tree, tables
        self._around: dict[Clique, dict[Clique, Clique]] = {c: {} for c in tree.cliques}
        self._beyond: dict[tuple[Clique, Clique], set[str]] = {}
        self._said: dict[tuple[Clique, Clique, frozenset[str]], Factor] = {}
        self._costs: dict[tuple[Clique, Clique, frozenset[str]], int] = {}
        self._told: dict[tuple[Clique, Clique], Told] = {}
        self._against: dict[tuple[str, Clique], Told] = {}
        self._all = "".join(tree.domain.sizes) + "+"
        """The name of the axis of all columns of a message: longer than any column's name."""
        below: dict[Clique, set[str]] = defaultdict(set)
        for edge in tree.edges:
            child, parent = edge.child, edge.parent
            self._around[child][parent] = self._around[parent][child] = edge.separator
            below[child] |= set(child)
            below[parent] |= below[child]
            self._beyond[child, parent] = below[child] - set(parent)
            self._beyond[parent, child] = set(tree.domain.sizes) - below[child]

    def all_of(self, cliques: Iterable[Clique]) -> dict[Clique, Table]:
        """Return many marginals; if many are pairs that no clique holds, compute these together."""
        listed = list(cliques)
        apart = [c for c in listed if len(set(c)) == 2 and self._tree.home(c) is None]
        found: dict[Clique, Table] = {}
        if len(apart) > len(self._tree.domain.sizes) and self._telling() <= MOST_TOLD:
            found = {(a, b): self._pair(a, b) for a, b in apart}
        return {c: found[c] if c in found else self.of(c) for c in listed}

    def of(self, names: Iterable[str]) -> Table:
        """Return the marginal over some columns, with one axis per column in the order given."""
        asked = tuple(dict.fromkeys(names))
        clique = self._tree.domain.clique(asked)
        home = self._tree.home(clique)
        if home is not None:
            table, found = summed(self._tables[home], home, clique), clique
        else:
            centre = min(self._centres(clique), key=lambda c: self._cost(c, set(clique)))
            table, found = self._joined(self._tables[centre], centre, frozenset(clique))
        return table.transpose([found.index(n) for n in asked])

    def _centres(self, asked: Clique) -> Iterable[Clique]:
        """Return the cliques where a marginal may be computed; for a pair, those of one column.

        Wherever a pair meets, each clique on the path is extended by one of the two; this way a
        column's messages serve all pairs of that column.
        """
        cliques = self._tree.cliques
        return cliques if len(asked) > 2 else [c for c in cliques if set(asked) & set(c)]

    def _cost(self, centre: Clique, asked: set[str], past: Clique | None = None) -> int:
        """Return the cost of a centre: the cells of the tables that it and its branches need."""
        beyond = {
            near: part
            for near in self._around[centre]
            if near != past and (part := self._beyond[near, centre] & asked)
        }
        carried = set().union(*beyond.values(), centre)
        return self._tree.domain.cells(carried) + sum(
            self._cost_beyond(near, frozenset(part), centre) for near, part in beyond.items()
        )

    def _cost_beyond(self, near: Clique, part: frozenset[str], centre: Clique) -> int:
        """Return the cost of a branch; computed once."""
        key = near, centre, part
        if key not in self._costs:
            self._costs[key] = self._cost(near, set(part), centre)
        return self._costs[key]

    def _joined(
        self, table: Table, centre: Clique, asked: frozenset[str], past: Clique | None = None
    ) -> Factor:
        """Multiply a clique's table by its branches' messages, and keep the requested columns."""
        parts = [
            self._say(near, centre, part)
            for near in self._around[centre]
            if near != past and (part := self._beyond[near, centre] & asked)
        ]
        names = centre
        for i, (said, said_names) in enumerate(parts):
            later = {n for _, more in parts[i + 1 :] for n in more}
            table, names = product(table, names, said, said_names, keep=later | asked)
        kept = tuple(n for n in names if n in asked)
        return summed(table, names, kept), kept

    def _say(self, near: Clique, centre: Clique, part: set[str]) -> Factor:
        """Return the distribution of columns beyond an edge, given its separator."""
        key = near, centre, frozenset(part)
        if key not in self._said:
            asked = key[2] | set(self._around[near][centre])
            self._said[key] = self._joined(self._given(near, centre), near, asked, past=centre)
        return self._said[key]

    def _given(self, near: Clique, centre: Clique) -> Table:
        """Return the distribution of a clique, given the separator of one of its edges."""
        separator, table = self._around[near][centre], self._tables[near]
        return ratio(table, spread(summed(table, near, separator), separator, near))

    def _telling(self) -> int:
        """Return how many numbers the messages about all columns would hold."""
        domain = self._tree.domain
        return sum(
            domain.cells(self._around[near][centre]) * sum(domain.sizes[n] for n in beyond)
            for (near, centre), beyond in self._beyond.items()
        )

    def _pair(self, a: str, b: str) -> Table:
        """Return the marginal of two columns that are in no common clique."""
        home = self._tree.home((a,))
        assert home is not None  # noqa: S101  every column has a clique
        near = next(n for n in self._around[home] if b in self._beyond[n, home])
        if (a, near) not in self._against:
            told, places = self._tell(near, home)
            names = (*self._around[home][near], self._all)
            joint, _ = product(self._tables[home], home, told, names, keep={a, self._all})
            self._against[a, near] = joint, places
        joint, places = self._against[a, near]
        return joint[:, places[b]]

    def _tell(self, near: Clique, centre: Clique) -> Told:
        """Return the distribution of every column beyond an edge, given its separator."""
        if (near, centre) in self._told:
            return self._told[near, centre]
        separator, given = self._around[near][centre], self._given(near, centre)
        parts: list[Table] = []
        places: dict[str, slice] = {}
        begin = 0
        for name in (n for n in near if n not in separator):
            kept = tuple(n for n in near if n == name or n in separator)
            parts.append(np.moveaxis(summed(given, near, kept), kept.index(name), -1))
            places[name] = slice(begin, begin := begin + parts[-1].shape[-1])
        for further in (n for n in self._around[near] if n != centre):
            told, where = self._tell(further, near)
            names = (*self._around[near][further], self._all)
            table, found = product(given, near, told, names, keep={*separator, self._all})
            parts.append(table.transpose([found.index(n) for n in (*separator, self._all)]))
            places |= {n: slice(begin + s.start, begin + s.stop) for n, s in where.items()}
            begin += told.shape[-1]
        self._told[near, centre] = np.concatenate(parts, axis=-1), places
        return self._told[near, centre]
