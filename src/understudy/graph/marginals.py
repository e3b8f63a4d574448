"""Marginals over any columns of a model, by variable elimination along its tree.

p(x) = ∏ cliques / ∏ separators.  A marginal is put together at one clique, its centre, from
what the branches around it say: a branch sends the distribution of the columns asked for
beyond it, given the separator; a branch without any sums to one and says nothing.  What a
branch has said is kept, so that many marginals share the work.  Held against brute force by
``tests/graph/test_marginals.py``.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from understudy.graph.kernels import product, ratio, spread, summed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.measurement import Clique

    Factor = tuple[Table, Clique]


class Marginals:
    """The marginals of one model, and what its branches have said so far."""

    def __init__(self, tree: JunctionTree, tables: dict[Clique, Table]) -> None:
        """Find out which columns lie beyond which edge."""
        self._tree, self._tables = tree, tables
        self._around: dict[Clique, dict[Clique, Clique]] = {c: {} for c in tree.cliques}
        self._beyond: dict[tuple[Clique, Clique], set[str]] = {}
        self._said: dict[tuple[Clique, Clique, frozenset[str]], Factor] = {}
        self._costs: dict[tuple[Clique, Clique, frozenset[str]], int] = {}
        below: dict[Clique, set[str]] = defaultdict(set)
        for edge in tree.edges:
            child, parent = edge.child, edge.parent
            self._around[child][parent] = self._around[parent][child] = edge.separator
            below[child] |= set(child)
            below[parent] |= below[child]
            self._beyond[child, parent] = below[child] - set(parent)
            self._beyond[parent, child] = set(tree.domain.sizes) - below[child]

    def of(self, names: Iterable[str]) -> Table:
        """Give the marginal over some columns, with an axis a column in the order given."""
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
        """Give the cliques where a marginal may be put together; a pair's, by one of its columns.

        Wherever a pair meets, each clique on the way is spread by one of the two; then what a
        column's branch says is of use to all pairs of that column.
        """
        cliques = self._tree.cliques
        return cliques if len(asked) > 2 else [c for c in cliques if set(asked) & set(c)]

    def _cost(self, centre: Clique, asked: set[str], past: Clique | None = None) -> int:
        """Price a centre by all the tables that it and the branches it needs may hold at once."""
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
        """Price a branch, once."""
        key = near, centre, part
        if key not in self._costs:
            self._costs[key] = self._cost(near, set(part), centre)
        return self._costs[key]

    def _joined(
        self, table: Table, centre: Clique, asked: frozenset[str], past: Clique | None = None
    ) -> Factor:
        """Multiply a clique's table with what its branches say, and keep what is asked for."""
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
        """Give the distribution of columns beyond an edge, given its separator."""
        key = near, centre, frozenset(part)
        if key not in self._said:
            separator = self._around[near][centre]
            table = self._tables[near]
            below = spread(summed(table, near, separator), separator, near)
            given = ratio(table, below)
            self._said[key] = self._joined(given, near, key[2] | set(separator), past=centre)
        return self._said[key]
