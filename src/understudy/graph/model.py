"""A model: consistent marginals on a junction tree, and what follows from them.

p(x) = ∏ cliques / ∏ separators.  Its marginal over any columns, inside a clique or across
several, comes by variable elimination along the tree; its rows by walking the tree from the
root: each clique's new columns are drawn given its separator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.graph.kernels import ratio, spread, summed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from understudy.graph.junction import Edge, JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.measurement import Clique

    Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A fitted model: a tree, and a marginal a clique, all of one total."""

    tree: JunctionTree
    tables: dict[Clique, Table]

    @property
    def total(self) -> float:
        """The mass of the whole model."""
        return float(self.tables[self.tree.cliques[0]].sum())

    def marginal(self, names: Iterable[str]) -> Table:
        """Give the marginal over any columns, with an axis a column in the domain's order."""
        clique = self.tree.domain.clique(names)
        home = self.tree.home(clique)
        if home is not None:
            return summed(self.tables[home], home, clique)
        factors: dict[Clique, list[tuple[Clique, Table]]] = {c: [] for c in self.tree.cliques}
        for edge in self.tree.edges:
            carried = {n for names, _ in factors[edge.child] for n in names}
            asked = (carried | set(edge.child)) & set(clique)
            if asked <= set(edge.parent):
                # Nothing that the parent lacks: its sum over the rest is one everywhere.
                continue
            out = self.tree.domain.clique(asked | set(edge.separator))
            own = (edge.child, self._given(edge))
            factors[edge.parent].append((out, _contract([own, *factors[edge.child]], out)))
        root = self.tree.cliques[0]
        return _contract([(root, self.tables[root]), *factors[root]], clique)

    def _given(self, edge: Edge) -> Table:
        """Give a clique's distribution given its separator."""
        table = self.tables[edge.child]
        below = spread(summed(table, edge.child, edge.separator), edge.separator, edge.child)
        return ratio(table, np.broadcast_to(below, table.shape))

    def sample(self, rows: int, rng: np.random.Generator) -> dict[str, Codes]:
        """Draw rows whose counts in every clique are the model's but for rounding.

        Within each value of a separator the rows come in a random order before a clique's
        new columns are dealt to them, so that siblings stay independent given what they share.
        """
        if rows < 0:
            raise QuestionError("the number of rows must not be negative", got=rows)
        drawn: dict[str, Codes] = {}
        self._deal(drawn, self.tree.cliques[0], (), rows, rng)
        for edge in reversed(self.tree.edges):
            self._deal(drawn, edge.child, edge.separator, rows, rng)
        return {name: drawn[name] for name in self.tree.domain.sizes}

    def _deal(
        self,
        drawn: dict[str, Codes],
        clique: Clique,
        known: Clique,
        rows: int,
        rng: np.random.Generator,
    ) -> None:
        """Give every row its values of a clique's new columns."""
        new = tuple(n for n in clique if n not in known)
        sizes = self.tree.domain.shape(known), self.tree.domain.shape(new)
        groups = self.tree.domain.cells(known)
        order = [clique.index(n) for n in (*known, *new)]
        table = self.tables[clique].transpose(order).reshape(groups, -1)
        group = np.zeros(rows, dtype=np.int64)
        if known:
            group = np.ravel_multi_index([drawn[n] for n in known], sizes[0])
        counts = _apportion(table, np.bincount(group, minlength=groups), rng)
        # Sorting by group plus a random fraction shuffles the rows of each group.
        shuffled = np.argsort(group + rng.random(rows), kind="stable")
        cells = np.empty(rows, dtype=np.int64)
        cells[shuffled] = np.repeat(np.tile(np.arange(table.shape[1]), groups), counts.reshape(-1))
        for name, codes in zip(new, np.unravel_index(cells, sizes[1]), strict=True):
            drawn[name] = codes.astype(np.int32)


def _apportion(
    table: Table, wanted: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Share each group's rows among its cells, each by its part rounded up or down.

    Systematic sampling: a count is rounded up with the probability of its own fraction.  A
    group that the model gives no mass, and rounding elsewhere has given rows, is uniform.
    """
    mass = table.sum(axis=1, keepdims=True)
    shares = ratio(table, np.broadcast_to(mass, table.shape))
    shares = np.where(mass > 0, shares, 1 / table.shape[1])
    edges = np.cumsum(shares, axis=1) * wanted[:, None]
    edges = np.floor(edges + rng.random((len(table), 1)))
    edges[:, -1] = wanted
    np.minimum(edges, wanted[:, None], out=edges)
    return np.diff(edges, axis=1, prepend=0.0).astype(np.int64)


def _contract(factors: list[tuple[Clique, Table]], out: Clique) -> Table:
    """Multiply factors and sum down to some columns, without their whole product."""
    letters = {n: i for i, n in enumerate({n: None for names, _ in factors for n in names})}
    operands: list[object] = []
    for names, table in factors:
        operands += [table, [letters[n] for n in names]]
    result: Table = np.einsum(*operands, [letters[n] for n in out], optimize="greedy")  # type: ignore[call-overload]
    return result
