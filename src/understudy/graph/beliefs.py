"""Belief propagation: the marginals of a model given by log-potentials on a junction tree.

p(x) ∝ exp(Σ θ_c(x_c)).  Leaves send their sums towards the root as logarithms; then the
root's marginal is known, and each clique's follows from its parent's: its own conditional,
already at hand from the way up, times the separator's marginal.  One exponential a cell.
Cells whose potential is −∞ have probability 0.  Held against brute force over the whole
joint table by ``tests/graph/test_beliefs.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.graph.kernels import exponential, ratio, spread, summed

if TYPE_CHECKING:
    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.measurement import Clique


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """The marginal of every clique of a tree, all of one total, and ln Σ exp(Σ θ)."""

    tables: dict[Clique, Table]
    log_partition: float


def propagate(tree: JunctionTree, potentials: dict[Clique, Table], *, total: float) -> Beliefs:
    """Calibrate a model: give each clique's marginal, scaled to a total."""
    logs = {c: potentials[c] for c in tree.cliques}
    values: dict[Clique, Table] = {}
    sums: dict[Clique, Table] = {}
    for edge in tree.edges:
        c = edge.child
        values[c], sums[c], message = exponential(logs[c], c, edge.separator)
        # A new array: the caller's potentials stay as they are.
        logs[edge.parent] = logs[edge.parent] + spread(message, edge.separator, edge.parent)
    root = tree.cliques[0]
    mass, whole, log_partition = exponential(logs[root], root, ())
    if not np.isfinite(log_partition):
        raise QuestionError("every cell of the model is impossible, or a potential is no number")
    tables = {root: mass * (total / whole.item())}
    for edge in reversed(tree.edges):
        c = edge.child
        inside = summed(tables[edge.parent], edge.parent, edge.separator)
        values[c] *= ratio(spread(inside, edge.separator, c), sums[c])
        tables[c] = values[c]
    return Beliefs(tables, float(log_partition))
