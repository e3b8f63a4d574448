"""Descent: the marginals on a tree that fit the measurements best, by maximum likelihood.

Accelerated mirror descent with the entropy as its geometry (Tseng 2008, Auslender and
Teboulle 2006): a point z that moves by potentials and belief propagation, and an average x
of its past, whose marginals are consistent and so are a model of the same tree.  Where the
data say nothing, potentials never move, and entropy stays at its maximum.  Cells whose
potential starts at −∞ stay impossible.

The step is the longest that the loss allows: the loss is quadratic, so the condition of the
method, ½‖Q(z′ − z)‖² ≤ KL(z′ ‖ z) / step, is checked exactly at no cost.

It stops on a certificate of how much the loss can still fall.  Whenever that has shrunk by a
factor, or the loss has risen, the method begins anew from x without its momentum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import QuestionError
from understudy.graph.beliefs import propagate
from understudy.graph.certificate import least_loss
from understudy.graph.kernels import add, scale, single_threaded, spread, summed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from understudy.graph.junction import JunctionTree
    from understudy.graph.kernels import Table
    from understudy.graph.objective import Objective
    from understudy.graph.tables import Tables

    Watch = Callable[["Descent"], None]

CHECK_EVERY = 10
GROWTH = 1.03
"""The factor by which each trial step exceeds the last."""
RESTART = 0.05
"""Momentum restarts when the gap has shrunk to this share of its value at the last restart."""
SMALLEST = 1e-300
"""The smallest share of a cell that is not impossible."""
DRIFT = 100.0
"""Potentials are renormalised once their log-partition has drifted this far."""


@dataclass(slots=True, eq=False)
class Descent:
    """The state of a fit: the loss of its average point, and how far it can still fall."""

    loss: Objective
    potentials: Tables
    """The potentials of z."""
    total: float
    value: float
    """The loss at x."""
    least: float
    """A lower bound on the loss of any marginals."""
    iterations: int
    _z: Tables
    _x: Table
    _step: float
    _share: float
    _log: float
    _next: Tables
    _slope: Tables
    _barred: NDArray[np.bool_] | None
    """Cells that have no mass because some potentials start at −∞."""
    _mean: Table
    _weight: float
    """The mean of the points where gradients were taken, and the sum of their steps."""
    _from_mean: bool

    @classmethod
    def begin(
        cls, loss: Objective, potentials: Tables, *, total: float, iterations: int = 0
    ) -> Descent:
        """Start at the model of some potentials, which are updated in place.

        ``iterations``: those that it took to find them.
        """
        check_total(total)
        z, slope = loss.tables(), loss.tables()
        log = propagate(loss.tree, potentials, total=total, out=z)
        barred = None
        if np.isneginf(potentials.flat).any():
            barred = z.flat[: len(potentials.flat)] == 0
        loss.leave(z)
        slope.flat[...] = z.flat
        # The first step moves the steepest potential by about one.
        steepest = float(np.abs(loss.slope(slope)).max())
        return cls(
            loss=loss,
            potentials=potentials,
            total=total,
            value=loss.value(z.flat),
            least=-np.inf,
            iterations=iterations,
            _z=z,
            _x=z.flat.copy(),
            _step=1 / max(steepest, 1 / total),
            _share=1.0,
            _log=log,
            _next=loss.tables(),
            _slope=slope,
            _barred=barred,
            _mean=z.flat.copy(),
            _weight=0.0,
            _from_mean=False,
        )

    @property
    def gap(self) -> float:
        """The loss at x is at most this much above the least possible."""
        return max(0.0, self.value - self.least)

    def certain(self, tolerance: float) -> bool:
        """Return whether the loss is certified to be within a share of the least possible.

        A loss below 1, less than noise alone costs one answer, counts as 1.
        """
        return self.gap <= tolerance * max(self.value, 1.0)

    def run(
        self, *, tolerance: float, most: int, stalled: float = 0.0, watch: Watch | None = None
    ) -> None:
        """Iterate until the loss is certified to be within a share of the least possible.

        Also stop when it has fallen by less than the share ``stalled`` since the last check.
        """
        check_effort(tolerance, most)
        begun, check, last = 0.0, min(most, CHECK_EVERY), np.inf
        with single_threaded():
            for count in range(1, most + 1):
                self._advance()
                if count < check:
                    continue
                check = min(most, count + max(CHECK_EVERY, count // 8))
                self._certify()
                if watch is not None:
                    watch(self)
                if self.certain(tolerance) or (stalled and self.value > (1 - stalled) * last):
                    break
                last = self.value
                begun = begun or self.gap
                if self.gap <= RESTART * begun:
                    begun = self.gap
                    self._restart()

    def tables(self) -> Tables:
        """Return the marginals at x."""
        found = self.loss.tree.tables()
        found.flat[...] = self._x[: len(found.flat)]
        found.flat += self.loss.answers.flat[: len(found.flat)]
        # x is a mixture of non-negative tables; anything below 0 is rounding error.
        np.maximum(found.flat, 0.0, out=found.flat)
        if self._barred is not None:
            found.flat[self._barred] = 0.0
        return found

    def _advance(self) -> None:
        """Take one step: gradient between x and z, move z against it, and x towards z."""
        loss, share = self.loss, self._share
        np.multiply(self._z.flat, share, out=self._slope.flat)
        add(self._x, 1 - share, onto=self._slope.flat)
        self._weight += self._step / share
        part = self._step / share / self._weight
        scale(self._mean, 1 - part)
        add(self._slope.flat, part, onto=self._mean)
        self._move(loss.slope(self._slope))
        scale(self._x, 1 - share)
        add(self._z.flat, share, onto=self._x)
        before, self.value = self.value, loss.value(self._x)
        self._share = float(np.sqrt(share**4 + 4 * share**2) - share**2) / 2
        self.iterations += 1
        if self.value > before:
            # Momentum has overshot.
            self._restart()

    def _restart(self) -> None:
        """Move z to x, and drop the momentum."""
        self.potentials.flat[...] = potentials_of(
            self.loss.tree, self.tables(), floor=SMALLEST
        ).flat
        if self._barred is not None:
            self.potentials.flat[self._barred] = -np.inf
        self._log = propagate(self.loss.tree, self.potentials, total=self.total, out=self._z)
        self.loss.leave(self._z)
        self._share = 1.0

    def _certify(self) -> None:
        """Raise the lower bound, from the mean of the points where gradients were taken or from x.

        The mean usually gives the better bound: its costs are those that z's potentials have
        gathered, so they are even over all cells that are likely under z.  Where the answers can
        be met exactly it lags behind x, so the two take turns.
        """
        self._from_mean = not self._from_mean
        place = self._mean if self._from_mean else self._x
        found = least_loss(self.loss, place, total=self.total, barred=self._barred)
        self.least = max(self.least, found)

    def _move(self, slope: Table) -> None:
        """Move z against a slope, as far as the loss's curvature allows."""
        loss, gone = self.loss, 0.0
        while True:
            way = self._step / self._share
            add(slope, gone - way, onto=self.potentials.flat)
            gone = way
            log = propagate(loss.tree, self.potentials, total=self.total, out=self._next)
            # KL(z′ ‖ z), times the total, from potentials and partition functions.
            kept = float(slope @ self._next.flat[: len(slope)])
            apart = -way * kept - self.total * (log - self._log)
            loss.leave(self._next)
            add(self._next.flat, -1.0, onto=self._z.flat)
            bent = loss.bend(self._z.flat)
            if bent * self._step <= apart or apart <= 1e-12 * self.total:
                break
            add(self._next.flat, 1.0, onto=self._z.flat)
            self._step *= max(0.1, min(0.8, apart / (bent * self._step)))
        self._z, self._next, self._log = self._next, self._z, log
        self._step *= GROWTH
        if abs(log) > DRIFT:
            self.potentials[loss.tree.cliques[0]][...] -= log
            self._log = 0.0


def check_total(total: float) -> None:
    """Raise unless a model's total is positive."""
    if not 0 < total < np.inf:
        raise QuestionError("a model's total must be above 0", got=total)


def check_effort(tolerance: float, most: int) -> None:
    """Raise unless a fit may take a step, and may end."""
    if not tolerance > 0 or most < 1:
        raise QuestionError(
            "a fit needs a tolerance and a number of iterations above 0",
            got=f"tolerance={tolerance}, most={most}",
        )


def potentials_of(tree: JunctionTree, tables: Tables, *, floor: float) -> Tables:
    """Return potentials whose model has the given tables, each cell's share at least ``floor``."""
    held = tree.tables()
    for clique in tree.cliques:
        held[clique][...] = tables[clique] / tables[clique].sum()
    np.maximum(held.flat, floor, out=held.flat)
    for edge in tree.edges:
        shared = summed(held[edge.child], edge.child, edge.separator)
        held[edge.child][...] /= spread(shared, edge.separator, edge.child)
    np.log(held.flat, out=held.flat)
    return held
