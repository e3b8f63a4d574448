"""The loss: how far a model's marginals are from what was measured, in units of the noise.

f(μ) = ½ Σ ‖Q_m μ_c − y_m‖² / σ_m², the negative log-likelihood of Gaussian measurements.
Equal questions on one clique are merged into one of their joint precision.  A small
marginal is summed from a larger one that is needed anyway, and on the way back its gradient
is spread onto that one; so a table of a tree's clique is read and written a few times, not
once a measurement.

A point is given by its residual: predictions less answers, all in one vector that begins
with the tree's own cliques (whose answer is 0 where nobody measured them).  A residual is
affine in the point, so mixtures of points have the mixture of their residuals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.graph.kernels import add, gather, scale, spread, summed
from understudy.graph.sums import Sums, shortened
from understudy.graph.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.measurement import Measurement
    from understudy.graph.sums import Ints, ParcelSums
    from understudy.graph.tables import Key
    from understudy.schema.domain import Clique, Domain

    Blocks = dict[int, tuple[Clique, Sums | ParcelSums]]
    """Measured sums of cells, numbered, each with its clique."""

LEAST_WEIGHT = 1e-50
"""A cell of less weight says nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Singles:
    """Rows of one cell each, by their places in the vector of all tables; no cell twice."""

    cells: Ints
    rows: Ints
    weights: Table

    def forward(self, flat: Table) -> None:
        """Write each row's cell, weighted."""
        flat[self.rows] = flat[self.cells] * self.weights

    def backward(self, flat: Table) -> None:
        """Add to each cell its row, weighted."""
        flat[self.cells] += flat[self.rows] * self.weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Objective:
    """The loss over a tree's marginals, and its gradient."""

    tree: JunctionTree
    answers: Tables
    """Merged answers for the tree's cliques, for smaller ones, and for blocks of rows."""
    precisions: dict[Key, float]
    """1/σ² of every answer."""
    stretches: list[tuple[slice, float]]
    """The precisions by slices of the vector; 0 where nothing was measured."""
    sources: dict[Clique, Clique]
    """The marginal that each marginal outside the tree's cliques is summed from."""
    parts: dict[Clique, list[Clique]]
    """The marginals that are summed from each source, the smallest source first."""
    blocks: dict[Clique, list[Clique]]
    """For each clique of the tree, which of it and its parts were measured cell by cell."""
    rows: Blocks
    singles: Singles
    """Blocks of ``rows`` whose rows are single cells, all in one: they are many and small."""
    others: Blocks
    """The other blocks of ``rows``."""
    constant: float
    """The part of the loss that merging makes constant."""

    @property
    def by_cells(self) -> bool:
        """Whether something was measured, and every answer is a single cell's."""
        return bool(self.precisions) and all(
            isinstance(sums, Sums)
            and sums.rows == len(sums.cells)
            and np.abs(sums.weights).min() > LEAST_WEIGHT
            for _, sums in self.rows.values()
        )

    def tables(self) -> Tables:
        """Return a vector for a residual or a gradient."""
        return Tables(self.answers.shapes)

    def leave(self, tables: Tables) -> None:
        """Turn a vector whose first part holds the tree's tables into their residual."""
        for clique, source in self.sources.items():
            summed(tables[source], source, clique, out=tables[clique])
        self.singles.forward(tables.flat)
        for number, (clique, sums) in self.others.items():
            tables[number][...] = sums.forward(tables[clique].reshape(-1))
        add(self.answers.flat, -1.0, onto=tables.flat)

    def value(self, residual: Table) -> float:
        """Return the loss."""
        return self.constant + self.bend(residual)

    def bend(self, change: Table) -> float:
        """Return the second-order part of the loss for a change of the residual."""
        return sum(
            0.5 * precision * float(change[part] @ change[part])
            for part, precision in self.stretches
        )

    def slope(self, residual: Tables) -> Table:
        """Turn a residual into the gradient with respect to the tree's tables."""
        for part, precision in self.stretches:
            scale(residual.flat[part], precision)
        return self.gathered(residual)

    def gathered(self, tables: Tables) -> Table:
        """Give the tree's tables what every other table says of their cells, in place.

        It is the transpose of the sums of ``leave``.
        """
        self.singles.backward(tables.flat)
        for number, (clique, sums) in self.others.items():
            slope = sums.backward(tables[number])
            tables[clique][...] += slope.reshape(tables[clique].shape)
        for source, parts in self.parts.items():
            spreads = (spread(tables[clique], clique, source) for clique in parts)
            gather(tables[source], spreads, tables[source])
        return tables.flat[: self.tree.cells]

    def spread_precisions(self) -> Tables:
        """Return the precision of every number in the vector; 0 where nothing was measured."""
        found = self.tables()
        for part, precision in self.stretches:
            found.flat[part] = precision
        return found


def objective(tree: JunctionTree, measurements: Sequence[Measurement]) -> Objective:
    """Collect measurements into a loss over a tree that has a home for each of them."""
    answers: dict[Key, Table] = {}
    precisions: dict[Key, float] = {}
    rows: Blocks = {}
    constant = 0.0
    for m in measurements:
        clique, precision = tree.domain.clique(m.clique), 1 / m.scale**2
        if tree.home(clique) is None:
            raise QuestionError(
                "no clique of the model contains the measured columns", got=" × ".join(m.clique)
            )
        key: Key = clique
        if m.rows is None:
            values = _in_order(tree.domain, m)
        else:
            key, values = len(rows), m.values
            rows[key] = clique, shortened(_sums(tree.domain, m))
        if key in answers:
            # Two answers of precisions p and q equal one of p + q at their mean, up to a constant.
            both, off = precisions[key] + precision, values - answers[key]
            constant += 0.5 * precisions[key] * precision / both * float((off**2).sum())
            values, precision = answers[key] + off * (precision / both), both
        answers[key], precisions[key] = values, precision
    measured = [c for c in answers if isinstance(c, tuple)] + [c for c, _ in rows.values()]
    sources = _sources(tree, measured)
    held = _laid_out(tree, sources, rows, answers)
    singles, others = _singles(held, rows)
    return Objective(
        tree=tree,
        answers=held,
        precisions=precisions,
        stretches=_stretches(held, precisions),
        sources=sources,
        parts=_parts(sources),
        blocks=_blocks(tree, sources, precisions),
        rows=rows,
        singles=singles,
        others=others,
        constant=constant,
    )


def _laid_out(
    tree: JunctionTree, sources: dict[Clique, Clique], rows: Blocks, answers: dict[Key, Table]
) -> Tables:
    """Lay out the answers in one vector, the tree's cliques first."""
    shapes: dict[Key, tuple[int, ...]] = {
        c: tree.domain.shape(c) for c in (*tree.cliques, *sources)
    }
    held = Tables(shapes | {number: answers[number].shape for number in rows})
    for key, values in answers.items():
        held[key][...] = values
    return held


def _singles(tables: Tables, rows: Blocks) -> tuple[Singles, Blocks]:
    """Join the blocks whose rows are single cells, one block a clique; return the others too."""
    joined: dict[Clique, tuple[int, Sums]] = {}
    for number, (clique, sums) in rows.items():
        if isinstance(sums, Sums) and sums.rows == len(sums.cells) == len(np.unique(sums.cells)):
            joined.setdefault(clique, (number, sums))
    places = tables.places()
    cells = [places[clique].reshape(-1)[sums.cells] for clique, (_, sums) in joined.items()]
    into = [places[number] for number, _ in joined.values()]
    weights = [sums.weights for _, sums in joined.values()]
    found = [np.concatenate([np.zeros(0), *parts]) for parts in (cells, into, weights)]
    singles = Singles(found[0].astype(np.int64), found[1].astype(np.int64), found[2])
    gone = {number for number, _ in joined.values()}
    return singles, {number: block for number, block in rows.items() if number not in gone}


def _stretches(tables: Tables, precisions: dict[Key, float]) -> list[tuple[slice, float]]:
    """Join adjacent tables of equal precision."""
    stretches = []
    start = 0
    for precision, run in groupby(tables.views, key=lambda key: precisions.get(key, 0.0)):
        stop = start + sum(tables[key].size for key in run)
        stretches.append((slice(start, stop), precision))
        start = stop
    return stretches


def _parts(sources: dict[Clique, Clique]) -> dict[Clique, list[Clique]]:
    parts: dict[Clique, list[Clique]] = {}
    for clique in reversed(sources):
        parts.setdefault(sources[clique], []).append(clique)
    # A source comes after everything that is summed from it.
    order = [c for c in reversed(sources) if c in parts]
    return {c: parts[c] for c in (*order, *(c for c in parts if c not in sources))}


def _blocks(
    tree: JunctionTree, sources: dict[Clique, Clique], precisions: dict[Key, float]
) -> dict[Clique, list[Clique]]:
    blocks: dict[Clique, list[Clique]] = {c: [] for c in tree.cliques}
    homes = {c: c for c in tree.cliques}
    for clique in (*tree.cliques, *sources):
        homes[clique] = homes[sources.get(clique, clique)]
        if clique in precisions:
            blocks[homes[clique]].append(clique)
    return blocks


def _in_order(domain: Domain, m: Measurement) -> Table:
    """Reorder cell-by-cell values to the domain's order of columns."""
    cells = domain.cells(m.clique)
    if m.values.shape != (cells,):
        raise QuestionError(
            f"a measurement of {' × '.join(m.clique)} must have one value per cell",
            got=m.values.shape,
            allowed=f"({cells},)",
        )
    shaped = m.values.reshape(domain.shape(m.clique))
    return shaped.transpose([m.clique.index(n) for n in domain.clique(m.clique)])


def _sums(domain: Domain, m: Measurement) -> Sums:
    """Return a measurement's rows over cells in the domain's order of columns."""
    cells, ordered = domain.cells(m.clique), domain.clique(m.clique)
    given = m.matrix(cells)
    numbers = np.arange(cells).reshape(domain.shape(ordered))
    places = numbers.transpose([ordered.index(n) for n in m.clique]).reshape(-1)
    return replace(given, cells=places[given.cells])


def _sources(tree: JunctionTree, cliques: list[Clique]) -> dict[Clique, Clique]:
    """Find the source of each measured marginal: the smallest table that contains it."""
    known = list(tree.cliques)
    plan: dict[Clique, Clique] = {}
    # Ties are broken by name, so that the same measurements are always summed in one order.
    for clique in sorted(set(cliques), key=lambda c: (-tree.domain.cells(c), c)):
        if clique not in known:
            holders = [k for k in known if set(clique) < set(k)]
            plan[clique] = min(holders, key=tree.domain.cells)
            known.append(clique)
    return plan
