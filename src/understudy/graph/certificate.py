"""Certificates: a number that the loss is nowhere below.

The loss is convex, so it is nowhere below its tangent's least: f(x) − ⟨∇f(x), x⟩ + N·ν, where
a cell of the joint table costs the sum of its gradients and ν is the least cost of one: the
bound of Frank and Wolfe.  A rare cell that is a little too cheap spoils it, since all N rows
would be put there.  But residuals r + δ in place of x's own give a bound of the same kind, by
duality; it is f(x) less

    ⟨∇f(x), x⟩ + Σ w (⟨δ, x⟩ + ½‖δ‖²) − N·ν(δ),          w = 1/σ²,

so a cell that is too cheap is made dearer at the price of its few rows.  For one measured
table, the others held as they are, the best δ has a closed form: with m the least cost of a
joint cell through each of the table's cells, u = m − w·x and the water level λ at which
Σ (λ − u)⁺ = w·N, the new costs are max(u, λ).  One sweep over the tree does so for every
table in turn; ν is then found afresh, so that the bound holds whatever the sweep did.
``tests/graph/test_certificate.py`` compares it with the true minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph.kernels import least, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from understudy.graph.kernels import Table
    from understudy.graph.objective import Objective
    from understudy.graph.tables import Tables
    from understudy.schema.domain import Clique

ROUNDING = 1e-14
"""The relative rounding error allowed for in sums of float64."""


def least_loss(
    loss: Objective, residual: Table, *, total: float, barred: NDArray[np.bool_] | None
) -> float:
    """Return a lower bound on the loss, computed from a residual.

    The nearer the residual is to the optimum, the tighter the bound.  Barred cells are impossible.
    """
    seen, costs = loss.tables(), loss.tree.tables()
    seen.flat[...] = residual
    costs.flat[...] = loss.slope(seen)
    np.add(residual, loss.answers.flat, out=seen.flat)
    here = sum(p * float(residual[part] @ seen.flat[part]) for part, p in loss.stretches)
    if barred is not None:
        costs.flat[barred] = np.inf
    sweep = _Sweep(loss, seen, costs, total)
    plain = total * sweep.cheapest()
    price = sweep.outwards()
    swept = total * sweep.cheapest() - price
    rounding = ROUNDING * (abs(here) + abs(plain) + abs(swept) + 2 * abs(price))
    return loss.value(residual) - here + max(plain, swept) - rounding


@dataclass(slots=True)
class _Sweep:
    """Coordinate-wise improvement of the costs: each table in turn, the others held fixed."""

    loss: Objective
    seen: Tables
    """The predictions that the residual belongs to."""
    costs: Tables
    total: float
    through: Tables = field(init=False)
    """The least cost of a joint cell through each cell, over the costs gathered so far."""
    sent: dict[Clique, Table] = field(init=False, default_factory=dict)

    def cheapest(self) -> float:
        """Gather costs from the leaves to the root; return the least cost of a joint cell."""
        tree = self.loss.tree
        self.through = tree.tables()
        self.through.flat[...] = self.costs.flat
        for edge in tree.edges:
            best = least(self.through[edge.child], edge.child, edge.separator)
            self.sent[edge.child] = best
            self.through[edge.parent][...] += spread(best, edge.separator, edge.parent)
        return float(self.through[tree.cliques[0]].min())

    def outwards(self) -> float:
        """Update the costs of every measured table, from the root outwards; return the price."""
        price = self._change(self.loss.tree.cliques[0])
        for edge in reversed(self.loss.tree.edges):
            whole = least(self.through[edge.parent], edge.parent, edge.separator)
            rest = _difference(whole, self.sent[edge.child])
            self.through[edge.child][...] += spread(rest, edge.separator, edge.child)
            price += self._change(edge.child)
        return price

    def _change(self, clique: Clique) -> float:
        price = 0.0
        for part in self.loss.blocks[clique]:
            precision, seen = self.loss.precisions[part], self.seen[part]
            cheap = least(self.through[clique], clique, part)
            under = cheap - precision * seen
            level = _water(under.reshape(-1), precision * self.total)
            # The bound holds for any level, since the price charged is that of the actual change.
            rise = _difference(np.maximum(under, level), cheap)
            price += float(np.vdot(rise, seen) + 0.5 * np.vdot(rise, rise) / precision)
            self.costs[clique][...] += spread(rise, part, clique)
            self.through[clique][...] += spread(rise, part, clique)
        return price


def _water(ground: Table, volume: float) -> float:
    """Return the level that a volume of water reaches over uneven ground."""
    wet = ground[ground <= ground.min() + volume]
    while True:
        level = (volume + float(wet.sum())) / len(wet)
        lower = wet[wet < level]
        if len(lower) in (0, len(wet)):
            return level
        wet = lower


def _difference(a: Table, b: Table) -> Table:
    """Subtract, with ∞ − ∞ = 0."""
    return np.subtract(a, b, out=np.zeros(a.shape), where=np.isfinite(b))
