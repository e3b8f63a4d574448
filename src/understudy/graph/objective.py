"""The loss: how far a model's marginals are from what was measured, in units of the noise.

f(μ) = ½ Σ ‖Q_m μ_c − y_m‖² / σ_m², the negative log-likelihood of Gaussian measurements.
Equal questions on one clique are merged into one of their joint precision.  A small
marginal is summed from a larger one that is needed anyway, and on the way back its gradient
is spread onto that one; so a table of a tree's clique is read and written a few times, not
once a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from understudy.errors import QuestionError
from understudy.graph.kernels import spread, summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.graph.domain import Domain
    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.measurement import Clique, Measurement

Predicted = dict["Clique", "Table"]
"""The marginal of every measured clique."""


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Measured sums of cells on one clique: y ≈ matrix @ cells, each with precision 1/σ²."""

    matrix: csr_array
    values: Table
    precision: float


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """The loss of a tree's marginals, and its gradient."""

    tree: JunctionTree
    answers: dict[Clique, Table]
    """Merged cell-by-cell answers, by clique."""
    precisions: dict[Clique, float]
    rows: dict[Clique, list[_Rows]]
    sources: dict[Clique, Clique]
    """Where each measured marginal that is no clique of the tree is summed from."""
    constant: float
    """What merging has left of the loss, whatever the marginals."""

    def predict(self, tables: dict[Clique, Table]) -> Predicted:
        """Sum out every measured marginal, the larger ones first."""
        made = dict(tables)
        for clique, source in self.sources.items():
            made[clique] = summed(made[source], source, clique)
        return {c: made[c] for c in (*self.answers, *self.sources, *self.rows)}

    def value(self, predicted: Predicted) -> float:
        """Give the loss."""
        total = self.constant
        for clique, answer in self.answers.items():
            off = np.subtract(predicted[clique], answer).reshape(-1)
            total += 0.5 * self.precisions[clique] * float(off @ off)
        for clique, listed in self.rows.items():
            for r in listed:
                off = r.matrix @ predicted[clique].reshape(-1) - r.values
                total += 0.5 * r.precision * float(off @ off)
        return total

    def gradient(self, predicted: Predicted) -> dict[Clique, Table]:
        """Give the loss's gradient with respect to the tree's tables."""
        slopes: dict[Clique, Table] = {}
        for clique, answer in self.answers.items():
            slopes[clique] = (predicted[clique] - answer) * self.precisions[clique]
        for clique, listed in self.rows.items():
            cells = predicted[clique].reshape(-1)
            for r in listed:
                slope = r.matrix.T @ (r.precision * (r.matrix @ cells - r.values))
                shaped = slope.reshape(predicted[clique].shape)
                slopes[clique] = slopes[clique] + shaped if clique in slopes else shaped
        for clique, source in reversed(self.sources.items()):
            if clique in slopes:
                lifted = spread(slopes.pop(clique), clique, source)
                if source not in slopes:
                    slopes[source] = np.zeros(self.tree.domain.shape(source))
                slopes[source] += lifted
        shape = self.tree.domain.shape
        return {c: slopes[c] if c in slopes else np.zeros(shape(c)) for c in self.tree.cliques}

    def curvature(self, change: Predicted) -> float:
        """Give ½‖Q·change‖² in units of the noise: the loss beyond its tangent."""
        total = 0.0
        for clique in self.answers:
            flat = change[clique].reshape(-1)
            total += 0.5 * self.precisions[clique] * float(flat @ flat)
        for clique, listed in self.rows.items():
            for r in listed:
                moved = r.matrix @ change[clique].reshape(-1)
                total += 0.5 * r.precision * float(moved @ moved)
        return total


def objective(tree: JunctionTree, measurements: Sequence[Measurement]) -> Objective:
    """Collect measurements into a loss over a tree that has a home for each of them."""
    answers: dict[Clique, Table] = {}
    precisions: dict[Clique, float] = {}
    rows: dict[Clique, list[_Rows]] = {}
    constant = 0.0
    for m in measurements:
        clique, precision = tree.domain.clique(m.clique), 1 / m.scale**2
        if tree.home(clique) is None:
            raise QuestionError("no clique of the model holds", got=" × ".join(m.clique))
        if m.rows is not None:
            rows.setdefault(clique, []).append(_as_rows(tree.domain, m, precision))
            continue
        values = _in_order(tree.domain, m)
        if clique not in answers:
            answers[clique], precisions[clique] = values, precision
            continue
        # Two answers of precisions p and q weigh as one at their mean, less a constant.
        both = precisions[clique] + precision
        off = values - answers[clique]
        constant += 0.5 * precisions[clique] * precision / both * float((off**2).sum())
        answers[clique] = answers[clique] + off * (precision / both)
        precisions[clique] = both
    sources = _sources(tree, [*answers, *rows])
    return Objective(tree, answers, precisions, rows, sources, constant)


def _in_order(domain: Domain, m: Measurement) -> Table:
    """Lay cell-by-cell values out in the domain's order of columns."""
    cells = domain.cells(m.clique)
    if m.values.shape != (cells,):
        raise QuestionError(
            f"a measurement of {' × '.join(m.clique)} has a value a cell",
            got=m.values.shape,
            allowed=f"({cells},)",
        )
    shaped = m.values.reshape(domain.shape(m.clique))
    ordered = domain.clique(m.clique)
    return np.ascontiguousarray(shaped.transpose([m.clique.index(n) for n in ordered]))


def _as_rows(domain: Domain, m: Measurement, precision: float) -> _Rows:
    assert m.rows is not None  # noqa: S101  the caller has looked
    if m.values.shape != (m.rows.count,) or m.rows.cells.max() >= domain.cells(m.clique):
        raise QuestionError(
            f"rows over {' × '.join(m.clique)} do not fit their values or its cells",
            got=f"{m.values.shape} values for {m.rows.count} rows",
        )
    numbers = np.arange(domain.cells(m.clique)).reshape(domain.shape(m.clique))
    ordered = domain.clique(m.clique)
    places = np.empty(numbers.size, dtype=np.int64)
    # The cell at each place in the domain's order, turned round: the place of each cell.
    places[numbers.transpose([m.clique.index(n) for n in ordered]).reshape(-1)] = np.arange(
        numbers.size
    )
    held = (np.ones(len(m.rows.cells)), places[m.rows.cells], m.rows.starts)
    matrix = csr_array(held, shape=(m.rows.count, numbers.size))
    return _Rows(matrix, m.values, precision)


def _sources(tree: JunctionTree, cliques: list[Clique]) -> dict[Clique, Clique]:
    """Plan where each measured marginal is summed from: the smallest table that holds it."""
    known = list(tree.cliques)
    plan: dict[Clique, Clique] = {}
    for clique in sorted(set(cliques), key=tree.domain.cells, reverse=True):
        if clique not in known:
            holders = [k for k in known if set(clique) < set(k)]
            plan[clique] = min(holders, key=tree.domain.cells)
            known.append(clique)
    return plan
