"""A model: consistent marginals on a junction tree, and what is computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph.junction import junction_tree
from understudy.graph.kernels import single_threaded
from understudy.graph.marginals import Marginals
from understudy.graph.sampling import check_given, draw
from understudy.graph.urn import Urn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.sampling import Codes, Way
    from understudy.schema.domain import Clique


GIVEN_LIMIT = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A tree with one marginal per clique, all of one total: p(x) = ∏ cliques / ∏ separators."""

    tree: JunctionTree
    tables: dict[Clique, Table]

    def __repr__(self) -> str:
        """Describe the model's size; the tables themselves may be huge."""
        columns, cliques = len(self.tree.domain.sizes), len(self.tables)
        cells = sum(table.size for table in self.tables.values())
        largest = max(self.tables, key=lambda clique: self.tables[clique].size)
        return (
            f"Model of {columns} columns: {cliques} cliques with {cells:,} cells in all, the "
            f"largest {' × '.join(largest)} with {self.tables[largest].size:,}; "
            f"total {self.total:,.1f}"
        )

    def _repr_html_(self) -> str:
        """Describe it in a notebook."""
        return f"<p>{escape(repr(self))}</p>"

    @property
    def total(self) -> float:
        """The model's total mass."""
        return float(self.tables[self.tree.cliques[0]].sum())

    def marginal(self, names: Iterable[str]) -> Table:
        """Return the marginal over any columns, with one axis per column in the order given."""
        clique = tuple(names)
        return self.marginals([clique])[clique]

    def marginals(self, cliques: Iterable[Clique]) -> dict[Clique, Table]:
        """Return the marginals over many sets of columns, which share their work."""
        with single_threaded():
            return Marginals(self.tree, self.tables).all_of(cliques)

    def on(self, tree: JunctionTree) -> Model:
        """Return the model's marginals on another tree."""
        found = self.marginals(tree.cliques)
        return Model(tree, {c: np.ascontiguousarray(t) for c, t in found.items()})

    def sample(
        self,
        rows: int,
        rng: np.random.Generator,
        *,
        given: Mapping[str, Codes] | None = None,
        way: Way = "rounded",
        limit: int | None = GIVEN_LIMIT,
    ) -> dict[str, Codes]:
        """Draw rows: all columns, or those that are not given.

        ``rounded`` rows have the model's counts in every clique, up to a rounding error of less
        than one for each step from the root; ``multinomial`` rows are independent of each other.
        Given columns that are in no common clique need a larger tree, of at most ``limit`` bytes.
        """
        given = given or {}
        check_given(self.tree.domain, given, rows)
        model = self
        if self.tree.home(given) is None:
            cliques = [*self.tree.cliques, tuple(given)]
            model = self.on(junction_tree(self.tree.domain, cliques, limit=limit))
        return draw(model.tree, model.tables, given, rows=rows, way=way, rng=rng)

    def urn(self, rows: int, rng: np.random.Generator) -> Urn:
        """Return rows to draw batch by batch, which together have the counts of `sample`."""
        check_given(self.tree.domain, {}, rows)
        return Urn.of(self.tree, self.tables, rows=rows, rng=rng)
