"""Stays: from when to when people are there, so that all of time has its rows.

How many people begin when, and how long they stay, is measured of people, and with more noise than
how many rows each period has; and whoever begins late cannot stay for long, which is measured only
if the pair is chosen.  Rows between a first and a last one cannot make up for periods where too
many of these are.  So some people are there when somebody else of about as many rows is.

Time is measured in shares of all rows, so that each part of it should have as many.  A person keeps
their own stay with the prior chance `KEPT`, or has that of one of a few others; the chance of a
stay with the shares p_b of its rows in parts b of time is multiplied by exp(Σ p_b·λ_b), which is
the least change, in relative entropy, for which the parts have the rows they should have.

Tied by ``tests/synth/lives/test_stays.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

PARTS = 32
"""The parts of time."""
CHOICES, ALIKE, KEPT = 8, 100, 0.9
"""How many stays a person may have, how many places away their people are at most, in the order of
numbers of rows, and the chance of their own where all parts have their rows."""
TRIALS, BLOCK = 12, 20_000
"""How often the pull of parts is adjusted, and on how many people."""
FEW, NONE = 1e-6, 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Stays:
    """When people are there: from where to where in time, as shares of all rows."""

    low: Floats
    high: Floats
    sizes: Ints
    """How many rows each has."""

    def evened(self, rng: np.random.Generator) -> Ints:
        """Return whose stay each person has."""
        count = len(self.sizes)
        order = np.argsort(self.sizes, kind="stable")
        rank = np.argsort(order)[:, None]
        others = rank + rng.integers(-ALIKE, ALIKE + 1, (count, CHOICES))
        others = order[np.clip(others, 0, count - 1)]
        others[:, 0] = np.arange(count)
        pull = self._pull(others[:BLOCK])
        chosen, luck = np.empty(count, dtype=np.int64), rng.random(count)
        for begin in range(0, count, BLOCK):
            some = others[begin : begin + BLOCK]
            chances = _chances(self.parts(some), pull)
            passed = np.cumsum(chances, axis=1) <= luck[begin : begin + BLOCK, None]
            at = np.minimum(passed.sum(axis=1), CHOICES - 1)
            chosen[begin : begin + BLOCK] = some[np.arange(len(some)), at]
        return chosen

    def parts(self, who: Ints) -> Floats:
        """Return the share of people's rows in each part: one at either end, the rest between.

        >>> stays = Stays(np.array([0.5]), np.array([1.0]), np.array([4]))
        >>> stays.parts(np.array([0]))[0, 15:].round(3)[[0, 1, 2, 15, 16]].tolist()
        [0.0, 0.281, 0.031, 0.031, 0.281]
        """
        borders = np.linspace(0, 1, PARTS + 1)
        low, high = self.low[who][..., None], self.high[who][..., None]
        alone = 1 / np.maximum(2, self.sizes[who])[..., None]
        below = (1 - 2 * alone) * np.clip((borders - low) / np.maximum(high - low, NONE), 0.0, 1.0)
        below += alone * ((borders > low) + 1.0 * (borders >= high))
        found: Floats = np.diff(below, axis=-1)
        return found

    def _pull(self, others: Ints) -> Floats:
        """Return the logarithms by which parts draw stays, fitted to some people."""
        parts, pull = self.parts(others), np.zeros(PARTS)
        rows = self.sizes[: len(others)] / self.sizes[: len(others)].sum()
        for _ in range(TRIALS):
            there = np.einsum("p,pc,pcb->b", rows, _chances(parts, pull), parts)
            pull -= np.log((there + FEW) * PARTS)
        return pull


def _chances(parts: Floats, pull: Floats) -> Floats:
    """Return the chances of every stay that a person may have."""
    prior = np.full(CHOICES, (1 - KEPT) / (CHOICES - 1))
    prior[0] = KEPT
    weights = prior * np.exp(parts @ pull)
    found: Floats = weights / weights.sum(axis=1, keepdims=True)
    return found
