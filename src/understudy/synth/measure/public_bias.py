"""Public bias: what contribution bounding leaves of every cell, as public people show it.

Under `Norm` people with many rows, or whose rows lie together, are weighted down, and cells where
they are common are counted too low.  Public people are weighted down by the same query as private
ones: person p, whose rows have the L2 norm ‖x_p‖ in units of its noise, to

    w_p = min(1, price / (f·‖x_p‖)),

f being how many times as many rows a private person has on average.  What is left of a cell is the
mean of w over its public rows, shrunk towards that of all rows where few people have rows in it.
Public people are classes of one: P(p|a), the share of a cell's rows that is theirs, has the part of
P(S|a) in `measure.size_bias`, but it is known.  Dividing counts by this removes two thirds to nine
tenths of the bias; what is left is due to how people have changed since.

All of it follows from public rows and from noise levels, and costs nothing.  Tied by
``tests/synth/measure/test_public_bias.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from understudy.synth.measure.granularity import Grid
from understudy.synth.measure.noise_levels import some_people, squares
from understudy.synth.measure.size_bias import spread, spread_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique, Measurement
    from understudy.public import PublicTable
    from understudy.synth.measure.population import Crowd

    Floats = NDArray[np.float64]

REMAINS = (0.1, 0.2)
"""The bias that remains of a column's cell and of a pair's: a relative standard deviation, over how
much what is left of people varies.  Of planes, taxis, customers and women, half of each public,
clipped at four levels each, they are 0.03 to 0.24, 0.09 to 0.33."""
ENOUGH = 100
"""Fewer public people show little."""
FEW = 4.0
"""A cell of so many public people tells half of what is left of it."""
SAMPLED = 20_000
"""About how many rows tell how rows of a person lie together."""
LEAST = 1e-3
"""The least share of a cell that is taken to be counted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicBias:
    """Public people, and what is left of each of them."""

    public: PublicTable
    """Some of the people, with all of their rows."""
    merged: PublicTable
    """The same rows over merged codes."""
    factor: float
    """How many times as many rows as public people private ones have, on average."""
    crowd: Crowd
    """The private people."""

    @classmethod
    def of(cls, public: PublicTable, merged: PublicTable, crowd: Crowd) -> PublicBias:
        """Take public people to be like private ones, but for how many rows these have."""
        some, sizes, factor = some_people(public), crowd.sizes, 1.0
        if sizes is not None:
            rows = sizes.rows if crowd.rows is None else crowd.rows
            mean = rows / max(1.0, float(sizes.people.sum()))
            factor = mean * len(some.sizes()) / len(some)
        return cls(public=some, merged=some_people(merged), factor=factor, crowd=crowd)

    @staticmethod
    def shown(public: PublicTable | None, crowd: Crowd) -> bool:
        """Whether public people show how private ones are clipped: they are enough, and alike."""
        if public is None or public.people is None:
            return False
        return len(public.sizes()) >= ENOUGH and crowd.resembles(public)

    @cached_property
    def rows(self) -> Floats:
        """By person, the number of rows."""
        return self.public.sizes().astype(np.float64)

    @cached_property
    def _sample(self) -> PublicTable:
        return every(self.merged, len(self.merged) // SAMPLED)

    def clipped(self, measured: Sequence[Measurement], *, price: float, repeats: float) -> Floats:
        """Return the share of each person's rows that a round under `Norm` counts."""
        del repeats  # People show how often their rows agree.
        lengths = np.zeros(len(self.rows))
        people = self.public.known_people("how they are clipped")
        for m in measured:
            # A first round is over codes that are not merged yet.
            asked = self.public, self.merged
            table = next(t for t in asked if t.schema.domain.cells(m.clique) == len(m.values))
            grid = Grid.of(m.clique, table.schema.domain.shape(m.clique), [])
            lengths += squares(table, people, grid) / m.scale**2
        return np.minimum(1.0, price / (self.factor * np.sqrt(lengths)))

    def capped(self, cap: int) -> Floats:
        """Return the share of each person's rows that is left if people count for ``cap`` rows."""
        return np.minimum(1.0, cap / (self.factor * self.rows))

    def over(self, clique: Clique, left: Floats, expected: Floats) -> Floats:
        """Return what is left of each cell over what is left of all, for a table as expected."""
        people = self.public.known_people("how they are clipped")
        cells, size = self.merged.cells(clique), self.merged.schema.domain.cells(clique)
        rows = np.bincount(cells, minlength=size)
        kept = np.bincount(cells, weights=left[people], minlength=size)
        few = FEW * together(self._sample, clique)
        found: Floats = (kept + few * kept.sum() / rows.sum()) / (rows + few)
        mean = float(found @ expected) / max(float(expected.sum()), 1e-9)
        return np.maximum(found / mean, LEAST) if mean > 0 else np.ones_like(found)

    def remains(self, clique: Clique, left: Floats) -> float:
        """Return how biased a corrected cell may be.

        What is left of private people may vary more than what is left of public ones.
        """
        counted = float(left @ self.rows) / float(self.rows.sum())
        private = 0.0 if self.crowd.sizes is None else spread_of(counted, self.crowd)
        return REMAINS[len(clique) - 1] * max(spread(left, self.rows), private)

    def unsure(self, clique: Clique, left: Floats) -> Floats:
        """Return how unsure it is, for every cell, what was left of it besides: not at all."""
        del left
        return np.zeros(self.merged.schema.domain.cells(clique))


def every(public: PublicTable, step: int) -> PublicTable:
    """Return every so many people, with all of their rows; or rows, where people are unknown."""
    who = np.arange(len(public)) if public.people is None else public.people
    return public if step <= 1 else public.take(who % step == 0)


def together(public: PublicTable, clique: Clique) -> float:
    """Return how many rows of a row's person are in its cell, on average."""
    if public.people is None:
        return 1.0
    cells = public.people * public.schema.domain.cells(clique) + public.cells(clique)
    _, counts = np.unique(cells, return_counts=True)
    return float((counts.astype(np.float64) ** 2).sum() / counts.sum())
