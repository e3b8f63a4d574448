"""Ascent of the dual: potentials near the best fit, in tens of steps, to begin a descent from.

With τ times the relative entropy from some model added to it, the loss has a smooth dual in one
variable λ for each answer, however large the tree: the model's potentials are those it starts
from plus Qᵀλ.  To maximise it is to minimise

    N·ln Z(Qᵀλ) − ⟨λ, y⟩ + ½ τ Σ λ² / w,          with gradient Qμ − y + τ λ / w,  w = 1/σ².

At any λ the loss plus τ times the entropy is at most ½ Σ w·gradient² above the least.  Steps are
those of L-BFGS, whose first guess of the curvature's inverse is ``understudy.graph.effects``'.
Once the gap is a small share of the loss, entropy is measured from the model reached instead: so
it holds back less and less (a proximal point method), and all that is known of the curvature
stays true.

Losses on the way rise and fall; potentials of the model of the least loss are returned, without
cells so rare that a descent could not raise them again.
``tests/graph/test_ascent.py`` holds the gradient, the gap and the end.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from understudy.graph.beliefs import propagate
from understudy.graph.descent import potentials_of
from understudy.graph.effects import Effects, Inverse
from understudy.graph.kernels import single_threaded

if TYPE_CHECKING:
    from understudy.graph.kernels import Table
    from understudy.graph.objective import Objective
    from understudy.graph.tables import Tables

ENTROPY = 0.3
"""τ at first: the cost of a nat of a row's relative entropy; a squared standard error costs ½."""
CLOSE = 0.1
"""Entropy is measured anew once the gap is below this share of the loss."""
QUICK = 2
"""Where that took no more steps than this, τ is halved."""
MEMORY = 20
"""The number of past steps that the curvature is estimated from."""
PATIENCE, BEGINNINGS, LEAST_FALL = 20, 8, 1e-3
"""The method waits for the loss to fall by this share: a step uses up a 20th of its patience, and
measuring entropy anew an 8th."""
LONGEST = 20.0
"""The most that one step may change a potential through one answer."""
SUFFICIENT, SHORTEST = 1e-4, 1e-6
"""A step must lower the dual by this share of what its slope promises, and not be too short."""
FIRST_REFRESH, REFRESH = 4.0, 1.5
"""The approximate inverse is computed anew after so many steps, then each time their number has
grown by this factor."""
FAINT = 1e-6
"""Every possible cell keeps at least this share of its uniform probability."""


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
        cells = self._seen.flat[: loss.tree.cells] + loss.answers.flat[: loss.tree.cells]
        self._barred = cells == 0 if np.isneginf(potentials.flat).any() else None
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
                    self._measure_anew(halve=count - begun <= QUICK)
                    begun = count
                elif count < refresh:
                    continue
                refresh = REFRESH * count
                self._refresh()
        return count

    def potentials(self) -> Tables:
        """Return potentials of the best model seen."""
        tree, tables = self.loss.tree, self.loss.tree.tables()
        self._write(self._best, self._potentials)
        propagate(tree, self._potentials, total=self._total, out=tables)
        found = potentials_of(tree, tables, floor=FAINT / max(map(tree.domain.cells, tree.cliques)))
        if self._barred is not None:
            found.flat[self._barred] = -np.inf
        return found

    def advance(self) -> bool:
        """Take one step; return whether there was one to take."""
        slope = self.slope
        way = self._direction(slope)
        fall = float(slope @ way)
        before = self._smooth + self._quadratic(self.dual)
        rounding = 1e-11 * (abs(self._smooth) + abs(float(self.dual @ self._answers)))
        step = min(1.0, LONGEST / max(LONGEST, np.abs(way * self._effects.weights).max(initial=0)))
        while fall < 0 and step > SHORTEST:
            dual = self.dual + step * way
            smooth, residual = self._evaluated(dual)
            change = smooth + self._quadratic(dual) - before
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
            way *= curved / max(curved, float(bent @ (self._inverse @ bent)))
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

    def _quadratic(self, dual: Table) -> float:
        """Return the dual's quadratic part."""
        moved = dual - self._centre
        return 0.5 * float((self._softness * moved) @ moved)

    def _measure_anew(self, *, halve: bool) -> None:
        """Measure entropy from the model reached; if ``halve``, at half the price."""
        self._centre = self.dual
        if halve:
            self._softness = self._softness / 2
            cheaper = [(m, b - self._softness * m) for m, b, _ in self._steps]
            self._steps.clear()
            self._steps.extend((m, b, float(m @ b)) for m, b in cheaper if m @ b > 0)

    def _refresh(self) -> None:
        """Compute the approximate inverse where the model is now.

        Cells of few rows that should have many count as many: along them the curvature grows.
        """
        weights = self._effects.weights
        told = np.maximum(self._answers / weights, 0.0)
        rows = np.maximum((self.residual + self._answers) / weights, 0.0)
        self._inverse = Inverse(self._effects, rows, told, self._softness, total=self._total)
