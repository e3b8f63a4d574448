"""Totals: how large the tables are that measurements count.

Answers that add up to the total, such as those of a whole marginal, are each an unbiased
estimate of it; the mean by inverse variance is the best of all.  The likeliest total would
not do: no cell of a model is below 0, so where noise drowns most cells the likelihood asks
for more rows than there are (``test_the_total_is_not_the_likeliest`` shows by how much).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.graph.kernels import single_threaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.graph.kernels import Table
    from understudy.graph.measurement import Measurement
    from understudy.graph.sums import Sums
    from understudy.schema.domain import Clique, Domain

EXACT = 1e-7
DROWNED = 1e-6
DENSE_CELLS = 1 << 22
MOST_STEPS = 1000
FLAT = 1e-14
"""Iterations stop when the slope has fallen to this share of its first value."""
FEW_CELLS = 1000
"""Up to this many cells, a single measurement's optimal weights are worth computing."""


def totals(domain: Domain, measurements: Sequence[Measurement]) -> dict[str | None, float]:
    """Estimate the total of the table that each group of measurements counts.

    Measurements in no group may not determine a total; then there is none for None.
    """
    found: dict[str | None, float] = {}
    for group in {m.group for m in measurements}:
        by_clique: dict[Clique, list[Measurement]] = {}
        for m in measurements:
            if m.group == group:
                by_clique.setdefault(m.clique, []).append(m)
        known = [one for ms in by_clique.values() for one in _readings(domain, ms)]
        if known:
            weight = sum(1 / variance for _, variance in known)
            mean = sum(value / variance for value, variance in known) / weight
            # A small total can be lost in its noise: it is then taken to be far below the noise.
            found[group] = max(mean, DROWNED / math.sqrt(weight))
        elif group is not None:
            raise QuestionError(
                f"the measurements do not determine the total of group {group}",
                hint="measure a whole marginal in that group, or its total",
            )
    return found


def _readings(domain: Domain, ms: Sequence[Measurement]) -> list[tuple[float, float]]:
    """Return the totals that measurements of one clique add up to, with their variances."""
    if len(ms) == 1 and domain.cells(ms[0].clique) <= FEW_CELLS:
        alone = _read(domain, ms[0])
        return [] if alone is None else [alone]
    together = _together(domain, ms)
    if together is not None:
        return [together]
    return [one for one in (_read(domain, m) for m in ms) if one is not None]


def _together(domain: Domain, ms: Sequence[Measurement]) -> tuple[float, float] | None:
    """Sum all answers, each weighted by a power of its precision, if cells then count equally.

    This holds for queries whose columns all have norm 1, in L2 or in L1 (AdaGrid's).
    """
    for power in (2, 1):
        cover = np.zeros(domain.cells(ms[0].clique))
        total = variance = 0.0
        for m in ms:
            if m.weights is not None:
                return None
            weight = (ms[0].scale / m.scale) ** power
            if m.rows is None:
                cover += weight
            else:
                cover += weight * np.bincount(m.rows.cells, minlength=len(cover))
            total += weight * float(m.values.sum())
            variance += weight**2 * len(m.values) * m.scale**2
        mean = float(cover.mean())
        if np.abs(cover - mean).max() <= EXACT * mean:
            return total / mean, variance / mean**2
    return None


def _read(domain: Domain, m: Measurement) -> tuple[float, float] | None:
    """Return the total that a measurement's answers add up to, and its variance."""
    cells = domain.cells(m.clique)
    if m.rows is None:
        return float(m.values.sum()), cells * m.scale**2
    # The weights of least norm with which every cell counts once.
    every = np.ones(cells)
    sums = m.matrix(cells)
    if sums.rows * cells <= DENSE_CELLS:
        dense = sums.toarray().T
        with single_threaded():
            weights = np.asarray(np.linalg.lstsq(dense, every, rcond=None)[0], dtype=np.float64)
    else:
        weights = _lightest(sums, every)
    if np.abs(sums.backward(weights) - every).max() > EXACT:
        return None
    return float(weights @ m.values), float(weights @ weights) * m.scale**2


def _lightest(sums: Sums, wanted: Table) -> Table:
    """Return the least-norm weights of rows that come closest to the target for each cell.

    Conjugate gradients for least squares (Hestenes and Stiefel 1952): started at 0, they stay
    in the span of the rows, which contains the least-norm solution.
    """
    weights, left = np.zeros(sums.rows), wanted.copy()
    way = slope = sums.forward(left)
    steep = first = float(slope @ slope)
    for _ in range(MOST_STEPS):
        if steep <= FLAT**2 * first:
            break
        change = sums.backward(way)
        far = steep / float(change @ change)
        weights += far * way
        left -= far * change
        slope = sums.forward(left)
        before, steep = steep, float(slope @ slope)
        way = slope + steep / before * way
    return weights
