"""Ascent: potentials near the best fit, in tens of steps, to begin a descent from.

With τ times the relative entropy from some model added to it, the loss has a smooth dual in one
variable λ a measurement, however large the tree: the model's potentials are those it starts
from plus Qᵀλ, and what is minimised is

    N·ln Z(Qᵀλ) − ⟨λ, y⟩ + ½ τ Σ λ² / w,          with gradient Qμ − y + τ λ / w,  w = 1/σ².

At any λ the loss plus the entropy is at most ½ Σ w·gradient² above the least.  Steps are those
of L-BFGS, whose first guess of the curvature's inverse is that of ``understudy.graph.effects``.
Once the gap is a small share of the loss, the method begins anew from the model it has reached:
then entropy holds back less and less (a proximal point method), and all that it knows of the
curvature stays true.

Losses on the way rise and fall; the potentials of the least seen are returned.
``tests/graph/test_ascent.py`` holds the gradient, the gap and the end.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph.beliefs import propagate
from understudy.graph.effects import Effects, Inverse
from understudy.graph.kernels import single_threaded

if TYPE_CHECKING:
    from understudy.graph.kernels import Table
    from understudy.graph.objective import Objective
    from understudy.graph.tables import Tables

ENTROPY = 0.3
"""τ: what a nat of a row's relative entropy costs, beside half a squared standard error."""
CLOSE = 0.1
"""The method begins anew once the gap is below this share of the loss."""
QUICK = 2
"""Where that took no more steps, entropy is halved."""
MEMORY = 20
"""The number of past steps that the curvature is told from."""
PATIENCE, BEGINNINGS, LEAST_FALL = 20, 8, 1e-3
"""It ends when the loss has not fallen by this share in so many steps, or so many beginnings."""
LONGEST = 20.0
"""No step moves a potential by more from one measurement."""
SUFFICIENT, SHORTEST = 1e-4, 1e-6
"""A step is taken if the dual falls by this share of what its slope says; not if too short."""
FIRST_REFRESH, REFRESH = 4.0, 1.5
"""The approximate inverse is worked out anew after so many steps, then when they are so many times
as many."""


class Ascent:
    """The state of the method: λ, the residual of its model, and the best seen."""

    def __init__(self, loss: Objective, potentials: Tables, *, total: float) -> None:
        """Start at the model of some potentials."""
        self.loss, self._start, self._total = loss, potentials, total
        self._effects = Effects.of(loss)
        places = self._effects.places
        self._answers = loss.answers.flat[places]
        self._precision = loss.spread_precisions().flat[places]
        self._softness = ENTROPY / self._precision
        self._potentials, self._seen = loss.tree.tables(), loss.tables()
        self._steps: deque[tuple[Table, Table, float]] = deque(maxlen=MEMORY)
        self.dual = np.zeros(len(places))
        self._centre = self.dual
        self._smooth, self.residual = self._evaluated(self.dual)
        self.least = self.value
        """The least loss seen."""
        self._best = self.dual
        self._refresh()

    @property
    def value(self) -> float:
        """The loss."""
        return self.loss.constant + 0.5 * float((self._precision * self.residual) @ self.residual)

    @property
    def slope(self) -> Table:
        """The gradient of the dual."""
        return self.residual + self._softness * (self.dual - self._centre)

    @property
    def gap(self) -> float:
        """The loss plus entropy is at most this much above the least possible."""
        return 0.5 * float((self._precision * self.slope) @ self.slope)

    def run(self, most: int) -> int:
        """Take steps until the loss no longer falls; return their number."""
        count, begun, waited, refresh, least = 0, 0, 0.0, FIRST_REFRESH, self.least
        with single_threaded():
            while count < most and waited < 1 and self.advance():
                count, waited = count + 1, waited + 1 / PATIENCE
                value = self.value
                if value < self.least:
                    self._best, self.least = self.dual, value
                if self.least < least - LEAST_FALL * max(least, 1.0):
                    waited, least = 0.0, self.least
                if self.gap <= CLOSE * value:
                    waited += 1 / BEGINNINGS
                    self._begin_anew(soften=count - begun <= QUICK)
                    begun = count
                elif count < refresh:
                    continue
                refresh = REFRESH * count
                self._refresh()
        return count

    def potentials(self) -> Tables:
        """Return the potentials of the best model seen."""
        found = self.loss.tree.tables()
        self._write(self._best, found)
        return found

    def advance(self) -> bool:
        """Take one step; return whether there was one to take."""
        slope = self.slope
        way = self._direction(slope)
        fall = float(slope @ way)
        before = self._smooth + self._entropy(self.dual)
        rounding = 1e-11 * (abs(self._smooth) + abs(float(self.dual @ self._answers)))
        step = min(1.0, LONGEST / max(LONGEST, np.abs(way * self._effects.weights).max(initial=0)))
        while fall < 0 and step > SHORTEST:
            dual = self.dual + step * way
            smooth, residual = self._evaluated(dual)
            change = smooth + self._entropy(dual) - before
            if change <= SUFFICIENT * step * fall + rounding:
                break
            # The least of the parabola through both values and the slope.
            step *= min(0.5, max(0.1, -0.5 * fall * step / (change - fall * step)))
        else:
            return False
        moved = dual - self.dual
        bent = residual - self.residual + self._softness * moved
        curved = float(moved @ bent)
        if curved > 0:
            self._steps.append((moved, bent, curved))
        self.dual, self._smooth, self.residual = dual, smooth, residual
        return True

    def _direction(self, slope: Table) -> Table:
        """Return the way against a gradient, by the curvature that past steps have shown."""
        way, shares = -slope, []
        for moved, bent, curved in reversed(self._steps):
            shares.append((moved @ way) / curved)
            way -= shares[-1] * bent
        way = self._inverse @ way
        if self._steps:
            _, bent, curved = self._steps[-1]
            way *= min(1.0, curved / float(bent @ (self._inverse @ bent)))
        for (moved, bent, curved), share in zip(self._steps, reversed(shares), strict=True):
            way += (share - (bent @ way) / curved) * moved
        return way

    def _evaluated(self, dual: Table) -> tuple[float, Table]:
        """Return the dual without its quadratic part, and the residual of its model."""
        self._write(dual, self._potentials)
        log = propagate(self.loss.tree, self._potentials, total=self._total, out=self._seen)
        self.loss.leave(self._seen)
        return self._total * log - float(dual @ self._answers), self._seen.flat[
            self._effects.places
        ]

    def _write(self, dual: Table, potentials: Tables) -> None:
        self._seen.flat[...] = 0.0
        self._seen.flat[self._effects.places] = dual
        np.add(self._start.flat, self.loss.gathered(self._seen), out=potentials.flat)

    def _entropy(self, dual: Table) -> float:
        """Return the dual's quadratic part."""
        moved = dual - self._centre
        return 0.5 * float((self._softness * moved) @ moved)

    def _begin_anew(self, *, soften: bool) -> None:
        """Measure entropy from where the model is now; if ``soften``, at half the price."""
        self._centre = self.dual
        if soften:
            self._softness = self._softness / 2
            softer = [(m, b - self._softness * m) for m, b, _ in self._steps]
            self._steps.clear()
            self._steps.extend((m, b, float(m @ b)) for m, b in softer if m @ b > 0)

    def _refresh(self) -> None:
        """Work out the approximate inverse where the model is now.

        Cells of few rows that should have many count as many: along them the curvature grows.
        """
        rows = np.maximum(self.residual + self._answers, self._answers) / self._effects.weights
        rows = np.maximum(rows, 0.0)
        self._inverse = Inverse(self._effects, rows, self._softness, total=self._total)
