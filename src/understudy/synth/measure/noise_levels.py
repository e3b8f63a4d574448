"""Noise levels: how much noise each clique of a round gets, and its effect on public data.

`Weights` and `Sample` have one sensitivity for every clique, so noise differs only by how
often a clique is measured.  Under `Norm` a person's L2 norm on a clique is what counts: with B²
the squared norm of most people on a clique of n rows, the noise Σ n·σ is least for a price of
Σ B²/σ² where σ ∝ (B²/n)^⅓.  The level, between too much noise and too many people clipped, is
tried on public people: the error of a clique is the distance between their clipped and their
plain marginal, plus the noise for the private table's size; a cell's error is no more than what
it holds.  All of this is public, and none of it can weaken the guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.budget import Budget
    from understudy.door import Clique
    from understudy.public import PublicTable
    from understudy.synth.measure.granularity import Grid
    from understudy.synth.measure.sizes import Sizes

    Floats = NDArray[np.float64]

TYPICAL = 0.9
"""The quantile of people's L2 norms that noise is shaped for."""
UNLIKE = 0.45
"""How much people of different sizes differ, from 0 to 1, where it is unknown."""
UNLIKE_CORRECTED = (0.1, 0.25)
"""The same where the bias by size is corrected (`measure.size_bias`): for columns and for pairs."""
BIASED = 0.3
"""The share of the bias that remains where it is corrected as public people show it."""
UNLIKE_LEAST = 0.05
"""The same for pairs, where people of different sizes are alike in every column."""
DROWNED = 0.02
"""The weight of noise beyond a marginal's whole content."""
TRIED = 24
"""The number of levels that are tried."""
FEWEST = 0.02
"""The minimum share of people that a level leaves unclipped."""
ENOUGH_ROWS = 400_000
"""A longer public table is subsampled by people, with all of their rows."""
MEAN_SIZE = math.sqrt(2 / math.pi)
"""The mean of |z| for a standard Gaussian z."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Public people, through the query rows of a round."""

    public: PublicTable
    people: NDArray[np.int64]
    grids: tuple[Grid, ...]
    plain: tuple[Floats, ...]
    """The share of the rows in each cell, grid by grid."""
    shares: tuple[tuple[tuple[int, Floats], ...], ...]
    """The same for the grids' rows: 1/coefficient² and the shares, family by family."""

    @classmethod
    def of(cls, public: PublicTable, grids: Sequence[Grid]) -> Trial:
        """Evaluate the rows of some grids on public people."""
        some = some_people(public)
        people = some.known_people("which rows belong to one person")
        plain = tuple(some.marginal(grid.clique) / len(some) for grid in grids)
        shares = tuple(_shares(grid, cells) for grid, cells in zip(grids, plain, strict=True))
        return cls(some, people, tuple(grids), plain, shares)

    def squares(self) -> Floats:
        """Return the squared L2 norm of every person on every grid, for noise of scale 1."""
        return np.stack([squares(self.public, self.people, grid) for grid in self.grids])

    def error(
        self, weights: Floats, scales: Floats, *, rows: float, shares: Floats, biased: float = 1.0
    ) -> float:
        """Estimate the error of all marginals, from people's weights and the grids' noise.

        A share ``biased`` of the bias remains.
        """
        each = weights[self.people]
        kept = max(float(each.mean()), 1e-9)
        errors = []
        for i, scale in enumerate(scales):
            cells = self.public.cells(self.grids[i].clique)
            weighted = np.bincount(cells, weights=each, minlength=len(self.plain[i]))
            bias = 0.5 * float(np.abs(weighted / each.sum() - self.plain[i]).sum())
            spread = MEAN_SIZE * scale / (kept * rows)
            noise = sum(
                float(np.minimum(shares, spread * math.sqrt(square)).sum())
                for square, shares in self.shares[i]
            )
            errors.append(biased * bias + 0.5 * noise)
        return float(np.dot(errors, shares) / shares.sum())


def squares(public: PublicTable, people: NDArray[np.int64], grid: Grid) -> Floats:
    """Return the squared L2 norm of every person on a grid, for noise of scale 1."""
    cells, size = public.cells(grid.clique), int(people[-1]) + 1
    total = np.zeros(size)
    for family in grid.families:
        places = family.places[cells]
        held = places >= 0
        keys, counts = np.unique(people[held] * family.count + places[held], return_counts=True)
        total += (
            np.bincount(keys // family.count, weights=counts**2.0, minlength=size) / family.square
        )
    return total


def _shares(grid: Grid, plain: Floats) -> tuple[tuple[int, Floats], ...]:
    """Return the share of the table that each row of a grid counts."""
    found: list[tuple[int, Floats]] = []
    for family in grid.families:
        held = family.places >= 0
        counted = np.bincount(family.places[held], weights=plain[held], minlength=family.count)
        shares: Floats = np.asarray(counted, dtype=np.float64)
        # An empty row has no error that noise could add.
        found.append((family.square, shares[shares > 0]))
    return tuple(found)


def some_people(public: PublicTable) -> PublicTable:
    """Subsample people of a long public table."""
    if len(public) <= ENOUGH_ROWS:
        return public
    people = public.known_people("which rows belong to one person")
    count = int(people[-1]) + 1
    # The choice is public and the same every time, so that a run can be resumed.
    kept = np.random.default_rng(0).random(count) < ENOUGH_ROWS / len(public)
    kept[0] = True
    return public.take(kept[people])


def public_cap(
    public: PublicTable, grids: Sequence[Grid], *, times: Sequence[int], budget: Budget
) -> int:
    """Choose the cap of `Weights` by noise plus bias, for a table of the public one's size."""
    trial = Trial.of(public, grids)
    sizes = np.bincount(trial.people)
    often = np.array(times, dtype=np.float64)
    caps = np.unique(np.quantile(sizes, np.linspace(0.02, 1, 2 * TRIED)).astype(np.int64))
    deviation = budget.currency.deviation(1.0)
    noise = deviation * (often.sum() / often) ** (1 / budget.currency.power) / budget.price
    errors = [
        trial.error(np.minimum(1, cap / sizes), cap * noise, rows=len(public), shares=often)
        for cap in caps
    ]
    return int(caps[int(np.argmin(errors))])


def typical_size(
    sizes: Sizes,
    shape: Floats,
    cells: Floats,
    *,
    price: float,
    weight: Floats | None = None,
    repeats: float = 1.0,
    unlike: float = UNLIKE,
) -> float:
    """Choose the L2 norm to clip people to, by bias plus noise.

    Marginals of ``cells`` cells each are measured with noise of a shape, for a price.  Two rows of
    a person lie in the same cell with probability ``repeats``; if it is 1, a person of n rows has
    norm n.  People above t are clipped to t: noise is t times as large as for one row a person, and
    the bias is as large as people of different sizes differ, taken to be a share ``unlike`` of how
    far their weights are off.
    """
    weight = np.ones(len(cells)) if weight is None else weight
    each = MEAN_SIZE * cells * shape * math.sqrt(float((1 / shape**2).sum())) / price
    lengths = sizes.lengths(repeats)
    plain = sizes.kept(len(lengths)) / sizes.rows
    errors, tried = [], np.geomspace(1, max(1.0, lengths[-1]), 4 * TRIED)
    if repeats == 1:
        tried = np.unique(tried.astype(np.int64)).astype(np.float64)
    for length in tried.tolist():
        kept = sizes.kept(length, repeats)
        bias = 0.5 * unlike * float(np.abs(kept / kept.sum() - plain).sum())
        noise = 0.5 * length * each / kept.sum()
        # No error exceeds the whole content; yet beyond that, less noise is still better.
        noise = np.minimum(1, noise) + DROWNED * noise
        errors.append(bias + float(np.dot(noise, weight) / weight.sum()))
    return float(tried[int(np.argmin(errors))])


def norm_scales(
    grids: Sequence[Grid],
    *,
    shares: Mapping[Clique, float],
    price: float,
    public: PublicTable | None,
    rows: float,
    cap: float,
    sizes: Sizes | None = None,
    repeats: float = 1.0,
    unlike: float = UNLIKE,
    biased: float = 1.0,
) -> dict[Clique, float]:
    """Choose every grid's noise under `Norm`, for a price.

    Without public people a person is taken to have ``cap`` rows, all in one cell: such a person
    is just not clipped.  Where people's sizes are known, that number is chosen to minimise the
    error.  Of the bias that public people show, a share ``biased`` is not corrected.
    """
    weight = np.array([shares[g.clique] for g in grids])
    counts = np.array([g.rows for g in grids], dtype=np.float64)
    if public is None:
        shape = np.cbrt(1 / (counts * weight))
        if sizes is not None:
            cap = typical_size(
                sizes, shape, counts, price=price, weight=weight, repeats=repeats, unlike=unlike
            )
        level = cap * math.sqrt(float((1 / shape**2).sum())) / price
        return dict(zip((g.clique for g in grids), level * shape, strict=True))
    trial = Trial.of(public, grids)
    squares = trial.squares()
    typical = np.maximum(np.quantile(squares, TYPICAL, axis=1), 1e-3)
    shape = np.cbrt(typical / (counts * weight))
    lengths: Floats = np.sqrt((squares / shape[:, None] ** 2).sum(axis=0))
    quantiles = 1 - np.geomspace(1e-4, 1 - FEWEST, TRIED)
    levels = np.unique(np.quantile(lengths, [*quantiles, 1.0])) / price
    errors = [
        trial.error(
            np.minimum(1, price * level / lengths),
            level * shape,
            rows=rows,
            shares=weight,
            biased=biased,
        )
        for level in levels
    ]
    best = levels[int(np.argmin(errors))]
    return dict(zip((g.clique for g in grids), (best * shape).tolist(), strict=True))
