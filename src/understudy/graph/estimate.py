"""Estimation: the model whose marginals fit the measurements best, by maximum likelihood.

Accelerated mirror descent with the entropy as its geometry (Tseng 2008, Auslender and
Teboulle 2006): a point z that moves by potentials and belief propagation, and an average x
of its past, whose marginals are consistent and so are a model of the same tree.  Where the
data say nothing, potentials never move, and entropy stays at its maximum.

The step is the longest that the loss allows: the loss is quadratic, so the condition of the
method, ½‖Q(z′ − z)‖² ≤ KL(z′ ‖ z) / step, is checked exactly at no cost.

It stops on a certificate: the loss is convex, so at any x it lies within ⟨∇f(x), x − s⟩ of
its minimum, with s the best single cell of the joint table, found by a max-product pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.graph.beliefs import propagate
from understudy.graph.kernels import spread

if TYPE_CHECKING:
    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.measurement import Clique
    from understudy.graph.objective import Objective

    Tables = dict[Clique, Table]

CHECK_EVERY = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """Fitted marginals on a tree, and how sure it is that no others fit better."""

    tables: Tables
    loss: float
    gap: float
    """The loss is at most this much above the least possible."""
    iterations: int


@dataclass(slots=True)
class _Point:
    """Where the method stands: potentials, their marginals, and what these predict."""

    potentials: Tables
    tables: Tables
    log_partition: float
    predicted: Tables


def fit(
    loss: Objective, *, total: float, tolerance: float, most: int, start: Tables | None = None
) -> Fit:
    """Fit a tree's marginals until the loss is within a share of the least possible.

    ``start`` holds potentials to begin from, such as those of a smaller model.
    """
    if not 0 < total < np.inf or not tolerance > 0 or most < 1:
        raise QuestionError(
            "a fit needs a total, a tolerance and a number of iterations above 0",
            got=f"{total}, {tolerance}, {most}",
        )
    tree = loss.tree
    begun = start or {c: np.zeros(tree.domain.shape(c)) for c in tree.cliques}
    z = _at(loss, begun, total)
    x, seen = z.tables, z.predicted
    share, step, gap = 1.0, _first_step(loss, z, total), np.inf
    iterations = 0
    value = loss.value(seen)
    while iterations < most and gap > tolerance * value:
        iterations += 1
        slope = loss.gradient(_mix(seen, z.predicted, share))
        z, step = _advance(loss, z, slope, step=step, share=share, total=total)
        x, seen = _mix(x, z.tables, share), _mix(seen, z.predicted, share)
        before, value = value, loss.value(seen)
        # Momentum that overshoots is dropped; the average goes on from where it is.
        share = 1.0 if value > before else (np.sqrt(share**4 + 4 * share**2) - share**2) / 2
        if iterations % CHECK_EVERY == 0 or iterations == most:
            gap = certificate(tree, loss.gradient(seen), x, total=total)
    return Fit(tables=x, loss=value, gap=gap, iterations=iterations)


def _at(loss: Objective, potentials: Tables, total: float) -> _Point:
    found = propagate(loss.tree, potentials, total=total)
    return _Point(potentials, found.tables, found.log_partition, loss.predict(found.tables))


def _first_step(loss: Objective, z: _Point, total: float) -> float:
    """Guess a step at which the steepest potential moves by about one."""
    steepest = max(float(np.abs(g).max()) for g in loss.gradient(z.predicted).values())
    return 1 / max(steepest, 1 / total)


def _mix(a: Tables, b: Tables, share: float) -> Tables:
    return {c: a[c] + share * (b[c] - a[c]) for c in a}


def _advance(
    loss: Objective, z: _Point, slope: Tables, *, step: float, share: float, total: float
) -> tuple[_Point, float]:
    """Move z against the slope, as far as the loss's curvature allows."""
    while True:
        moved = {c: z.potentials[c] - (step / share) * slope[c] for c in slope}
        new = _at(loss, moved, total)
        bent = loss.curvature({c: new.predicted[c] - z.predicted[c] for c in z.predicted})
        apart = _divergence(new, z, total)
        if bent * step <= apart or apart <= 1e-12 * total:
            return new, step * 1.1
        step *= max(0.1, min(0.8, apart / (bent * step)))


def _divergence(new: _Point, old: _Point, total: float) -> float:
    """Give KL(new ‖ old), times the total, from potentials and partition functions."""
    moved = sum(
        float(np.vdot(new.potentials[c] - old.potentials[c], new.tables[c])) for c in new.tables
    )
    return moved - total * (new.log_partition - old.log_partition)


def certificate(tree: JunctionTree, slope: Tables, tables: Tables, *, total: float) -> float:
    """Give ⟨slope, tables − s⟩ for the cell s of the joint table with the least slope."""
    here = sum(float(np.vdot(slope[c], tables[c])) for c in tree.cliques)
    least = dict(slope)
    for edge in tree.edges:
        axes = tuple(i for i, n in enumerate(edge.child) if n not in edge.separator)
        best = least[edge.child].min(axis=axes)
        least[edge.parent] = least[edge.parent] + spread(best, edge.separator, edge.parent)
    return here - total * float(least[tree.cliques[0]].min())
