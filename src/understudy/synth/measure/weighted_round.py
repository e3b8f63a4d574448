"""A weighted round: many marginals in one call, each with noise by its weight.

With weights wᵢ and noise σ·√Σw²/wᵢ, one row moves the round, in units of its noise, by 1/σ: the
weights are normalised to L2 = 1 (for Laplace noise to L1 = 1).  A person whose rows weigh C in all
moves it by at most C times that.  Tied by ``tests/synth/measure/test_weighted_round.py``, one
person more or less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Norm
from understudy.door import Query, Rows
from understudy.synth.measure.granularity import Family, Grid
from understudy.synth.measure.noise_levels import norm_scales
from understudy.synth.measure.rules import SLACK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.door import Clique, Door, Measurement, MergedDoor
    from understudy.public import PublicTable
    from understudy.synth.measure.population import Crowd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedMarginal:
    """A marginal of a round, with its weight."""

    clique: Clique
    weight: float = 1.0
    starts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """For some columns, the first code of each group: a group's codes are measured as one."""

    def grid(self, domain: Mapping[str, int]) -> Grid:
        """Return its query rows."""
        shape = tuple(domain[n] for n in self.clique)
        if not self.starts:
            return Grid.of(self.clique, shape, [])
        number = np.zeros(shape, dtype=np.int64)
        for axis, name in enumerate(self.clique):
            own = np.arange(domain[name])
            if name in self.starts:
                own = np.searchsorted(self.starts[name], own, side="right") - 1
            along = [-1 if i == axis else 1 for i in range(len(shape))]
            number = number * (int(own.max()) + 1) + own.reshape(along)
        rows, places = np.unique(number.reshape(-1), return_inverse=True)
        family = Family(self.clique, np.arange(len(rows)), places.astype(np.int32), 1)
        return Grid(self.clique, shape, np.zeros(number.size, dtype=bool), (family,))


def weighted_round(
    door: Door | MergedDoor,
    asked: Sequence[WeightedMarginal],
    *,
    price: float,
    crowd: Crowd,
    public: PublicTable | None,
    sigma: float | None = None,
) -> list[Measurement]:
    """Measure a round at a price; ``sigma`` is a larger noise, for a whole round with cap 1."""
    grids = [a.grid(door.schema.domain) for a in asked]
    weights = {a.clique: a.weight for a in asked}
    if isinstance(door.bounding, Norm):
        known = public if public is not None and crowd.resembles(public) else None
        shares = {clique: weight**2 for clique, weight in weights.items()}
        scales = norm_scales(
            grids,
            shares=shares,
            price=price,
            public=known,
            rows=crowd.rows or 1.0,
            cap=crowd.typical,
            sizes=crowd.sizes,
            repeats=crowd.repeats,
            unlike=crowd.unlike,
            biased=crowd.biased,
        )
    else:
        level = door.currency.norm(weights.values())
        noise = door.bounding.cap * level * max(sigma or 0.0, SLACK / price)
        scales = {clique: noise / weight for clique, weight in weights.items()}
    queries = [Query(clique=g.clique, scale=scales[g.clique], rows=_rows(g)) for g in grids]
    return list(door.measure(queries, price=price))


def _rows(grid: Grid) -> Rows | None:
    if grid.plausible.all():
        return None
    (family,) = grid.families
    sizes = np.bincount(family.places, minlength=family.count)
    order = np.argsort(family.places, kind="stable")
    return Rows(np.concatenate(([0], np.cumsum(sizes))), order)
