"""Belief propagation: the marginals of a model given by log-potentials on a junction tree.

p(x) ∝ exp(Σ θ_c(x_c)).  Leaves send their sums towards the root as logarithms; then the
root's marginal is known, and each clique's follows from its parent's: its own conditional,
already at hand from the way up, times the separator's marginal.  One exponential a cell.
Cells whose potential is −∞ have probability 0.  Compared with brute force over the whole
joint table by ``tests/graph/test_beliefs.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.graph.kernels import gather, largest, ratio, scale, spread, summed

if TYPE_CHECKING:
    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.tables import Tables
    from understudy.schema.domain import Clique

    Messages = list[tuple[Clique, Table]]

SAFE = 460.0
"""Sums whose logarithms are within ± SAFE are safe from overflow and underflow."""


def propagate(tree: JunctionTree, potentials: Tables, *, total: float, out: Tables) -> float:
    """Write each clique's marginal, scaled to a total, into ``out``; return ln Σ exp(Σ θ)."""
    inbox: dict[Clique, Messages] = {c: [] for c in tree.cliques}
    sums: dict[Clique, Table] = {}
    root = tree.cliques[0]
    with np.errstate(over="ignore", divide="ignore"):
        for edge in tree.edges:
            c = edge.child
            sums[c], message = _raised(potentials[c], inbox[c], c, edge.separator, out[c])
            inbox[edge.parent].append((edge.separator, message))
        whole, log_partition = _raised(potentials[root], inbox[root], root, (), out[root])
    if not np.isfinite(log_partition):
        raise QuestionError("every cell of the model is impossible, or a potential is NaN")
    scale(out[root].reshape(-1), total / whole.item())
    for edge in reversed(tree.edges):
        c = edge.child
        inside = summed(out[edge.parent], edge.parent, edge.separator)
        out[c][...] *= spread(ratio(inside, sums[c]), edge.separator, c)
    return log_partition.item()


def _raised(
    potential: Table, inbox: Messages, clique: Clique, keep: Clique, out: Table
) -> tuple[Table, Table]:
    """Write exp(potential + messages) into ``out``; return its sums and their logarithms.

    Where a sum would overflow or underflow, the maximum is subtracted first; it is added back
    to the logarithms, but not to the table or its sums.
    """
    messages = [spread(m, separator, clique) for separator, m in _merged(inbox)]
    np.exp(gather(potential, messages, out), out=out)
    sums = summed(out, clique, keep)
    logs = np.log(sums)
    if np.abs(logs).max() < SAFE:
        return sums, logs
    whole = gather(potential, messages, out)
    top = largest(whole, clique, keep)
    top = np.where(np.isneginf(top), 0.0, top)
    np.exp(np.subtract(whole, spread(top, keep, clique), out=out), out=out)
    sums = summed(out, clique, keep)
    return sums, np.log(sums) + top


def _merged(messages: Messages) -> Messages:
    """Add each message to another that has all of its columns, where there is one."""
    if len(messages) < 2:
        return messages
    merged: Messages = []
    for separator, message in sorted(messages, key=lambda m: len(m[0]), reverse=True):
        for i, (wider, held) in enumerate(merged):
            if set(separator) <= set(wider):
                merged[i] = (wider, held + spread(message, separator, wider))
                break
        else:
            merged.append((separator, message))
    return merged
