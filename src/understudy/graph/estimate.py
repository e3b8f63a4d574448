"""Estimation: from measurements to a model, by maximum likelihood.

Some measurements count a weighted table, whose total is an unknown share of the true one:
those of one group share a factor t of their own, y ≈ t·Qμ.  Factors, and a total that is not
given, are read off the measurements first (``understudy.graph.totals``); a measurement of
factor t is then one of y/t with noise σ/t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.graph.ascent import FAINT, Ascent
from understudy.graph.descent import Descent, check_effort, check_total, potentials_of
from understudy.graph.junction import junction_tree
from understudy.graph.kernels import spread
from understudy.graph.model import Model
from understudy.graph.objective import objective
from understudy.graph.totals import totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.graph.descent import Watch
    from understudy.graph.junction import JunctionTree
    from understudy.graph.measurement import Measurement, Zeros
    from understudy.graph.objective import Objective
    from understudy.graph.tables import Tables
    from understudy.schema.domain import Domain

MOST_STEPS = 100
"""The most steps of the ascent that a descent begins from."""
FEW, MORE_CELLS = 200_000, 8
"""The ascent is for no more answers than this, or where the tree has so many times as many cells:
it holds some sixty vectors of the answers' number, and what is measured whole needs it least."""
CONTRADICTED = 30.0
"""Answers contradict each other, or the ascent has failed, if the loss is above this per answer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """A model, its loss, and a certificate of how much better any model could fit."""

    model: Model
    loss: float
    gap: float
    """The loss is at most this much above the least possible."""
    certain: bool
    """Whether the gap is within the tolerance; if not, the iterations ran out."""
    iterations: int
    factors: dict[str, float]
    """The share of the model's total that each group of measurements counts."""


def estimate(
    domain: Domain,
    measurements: Sequence[Measurement],
    *,
    total: float | None = None,
    zeros: Sequence[Zeros] = (),
    start: Model | None = None,
    order: Sequence[str] | None = None,
    limit: int | None = None,
    tolerance: float = 1e-3,
    most: int = 3000,
    stalled: float = 0.0,
    watch: Watch | None = None,
) -> Fit:
    """Fit a model to measurements.

    ``total``: the model's total, if known; otherwise it is estimated.  ``zeros``: impossible
    cells.  ``start``: a model to start from, such as a smaller one.  ``order`` and ``limit``:
    see ``junction_tree``.  The fit stops when the loss is certified to be within a share
    ``tolerance`` of the least possible, when it falls by less than the share ``stalled``
    between two checks (ten iterations, later more), or after ``most`` iterations; ``watch`` is
    called with its state.
    """
    check_effort(tolerance, most)
    cliques = [m.clique for m in measurements] + [z.clique for z in zeros]
    tree = junction_tree(domain, cliques, order=order, limit=limit)
    potentials = _potentials(tree, start, zeros)
    read = totals(domain, [m for m in measurements if total is None or m.group is not None])
    size = read.get(None) if total is None else total
    if size is None:
        raise QuestionError(
            "the measurements do not determine the model's total",
            hint="pass total, or measure a whole marginal outside any group",
        )
    check_total(size)
    factors = {g: found / size for g, found in read.items() if g is not None}
    known = [m if m.group is None else _divided(m, factors[m.group]) for m in measurements]
    loss = objective(tree, known)
    potentials, steps = _ascended(loss, potentials, size, min(most - 1, MOST_STEPS))
    descent = Descent.begin(loss, potentials, total=size, iterations=steps)
    descent.run(tolerance=tolerance, most=most - steps, stalled=stalled, watch=watch)
    found = descent.tables()
    return Fit(
        model=Model(tree, {c: found[c] for c in tree.cliques}),
        loss=descent.value,
        gap=descent.gap,
        certain=descent.certain(tolerance),
        iterations=descent.iterations,
        factors=factors,
    )


def _ascended(loss: Objective, start: Tables, total: float, most: int) -> tuple[Tables, int]:
    """Return potentials near the best fit, and the steps taken; the start's if nothing is gained.

    Answers that contradict each other drive potentials to extremes, which descent avoids.
    """
    answers = sum(loss.answers[key].size for key in loss.precisions)
    if not loss.by_cells or answers > max(FEW, loss.tree.cells / MORE_CELLS):
        return start, 0
    ascent = Ascent(loss, start, total=total)
    steps = ascent.run(most)
    if ascent.least > CONTRADICTED * len(ascent.dual):
        return start, 0
    return ascent.potentials(), steps


def _divided(m: Measurement, factor: float) -> Measurement:
    return replace(m, values=m.values / factor, scale=m.scale / factor)


def _potentials(tree: JunctionTree, start: Model | None, zeros: Sequence[Zeros]) -> Tables:
    """Return the starting potentials: uniform or a model's, and −∞ for impossible cells."""
    held = tree.tables()
    if start is not None:
        sizes = tree.domain.sizes
        other = [n for n, size in start.tree.domain.sizes.items() if sizes.get(n, size) != size]
        if other:
            raise QuestionError(
                "columns of start have other sizes than those of the model", got=", ".join(other)
            )
        known = tree.tables()
        for clique, table in start.marginals(tree.cliques).items():
            known[clique][...] = table
        largest = max(tree.domain.cells(c) for c in tree.cliques)
        held = potentials_of(tree, known, floor=FAINT / largest)
    for z in zeros:
        barred = np.zeros(tree.domain.cells(z.clique), dtype=bool)
        if z.cells.size and not 0 <= z.cells.min() <= z.cells.max() < barred.size:
            raise QuestionError(
                f"zeros outside the cells of {' × '.join(z.clique)}",
                got=f"{z.cells.min()} to {z.cells.max()}",
                allowed=f"0 to {barred.size - 1}",
            )
        barred[z.cells] = True
        clique = tree.domain.clique(z.clique)
        shaped = barred.reshape(tree.domain.shape(z.clique))
        shaped = shaped.transpose([z.clique.index(n) for n in clique])
        home = tree.home(clique)
        assert home is not None  # noqa: S101  the tree was built with it
        table = held[home]
        table[np.broadcast_to(spread(shaped, clique, home), table.shape)] = -np.inf
    return held
