"""Noisy distances of synthetic tables from the private one: a program over the door.

Two questions: the number of rows T, with at most C of a person, and the distances of all one-way
and pair marginals from what the synthetic shares expect of T rows, in one question.  Each of k
distances moves by at most C with one person, so that in ``gdp`` each has noise √k·C/μ, and their
mean C/μ: no more than if the mean alone had been asked.  Sensitivity and charge are the door's
(`docs/proofs/distances.md`, `docs/proofs/total.md`); everything else here is post-processing.

Why the intervals hold: with T̂ = T + ν in place of T, half of |x − q·T̂|₁ / T̂ is within |ν| / 2T̂ of
the distance of x / T from q, by the triangle inequality.  So the error of a mean is the mean's own
noise plus a number no larger than |ν|, both over 2T̂.  Noise that is symmetric around 0 with a
single peak is nearest to 0 if nothing is added to it, so that the sum is at most as large as that
of two independent noises.  Rows that the cap C leaves out move no distance by more than their
share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Currency, Weights, price_lower, scale_upper, split
from understudy.door import Candidate
from understudy.public.accuracy import MOST_NAMED, Accuracy, Distance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique, Door
    from understudy.schema import Array, Codes

MOST_CELLS = 10**6
"""A pair with more cells is left out."""
MISSED = 0.05
TOTAL_SHARE = {Currency.GDP: 0.5, Currency.PURE: 0.25}
"""The share of the price for the number of rows."""
MARGIN = 1.2
"""The cap is larger than what is best for the synthetic people, since real ones may have more."""
MOST_ROWS = 2.0**35


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """A synthetic table's one-way and pair marginals, as shares, and its people's sizes."""

    marginals: dict[Clique, NDArray[np.float64]]
    sizes: NDArray[np.int64]
    """How many rows each synthetic person has."""
    left_out: tuple[Clique, ...]

    @classmethod
    def of(
        cls, parts: Iterable[tuple[Mapping[str, Codes], Array | None]], domain: Mapping[str, int]
    ) -> Shares:
        """Count batches of codes, each with whose the rows are; None where each is a person's."""
        pairs = list(combinations(domain, 2))
        large = tuple(p for p in pairs if domain[p[0]] * domain[p[1]] > MOST_CELLS)
        asked: list[Clique] = [(name,) for name in domain]
        asked += [pair for pair in pairs if pair not in large]
        shapes = {clique: [domain[name] for name in clique] for clique in asked}
        counts = {clique: np.zeros(math.prod(shape)) for clique, shape in shapes.items()}
        whose: list[Array] = []
        rows = 0
        for codes, people in parts:
            rows += len(next(iter(codes.values())))
            whose += [] if people is None else [people]
            for clique, shape in shapes.items():
                cells = np.ravel_multi_index([codes[name] for name in clique], shape)
                counts[clique] += np.bincount(cells, minlength=len(counts[clique]))
        sizes = np.ones(rows, dtype=np.int64)
        if whose:
            sizes = np.unique(np.concatenate(whose), return_counts=True)[1].astype(np.int64)
        marginals = {clique: found / max(rows, 1) for clique, found in counts.items()}
        return cls(marginals=marginals, sizes=sizes, left_out=large)

    def clipped(self, cap: int) -> float:
        """Return the share of rows above a cap."""
        rows = int(self.sizes.sum())
        return 1 - float(np.minimum(self.sizes, cap).sum()) / rows if rows else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise of the two questions, for a cap of one row."""

    total: float
    each: float
    currency: Currency

    @classmethod
    def of(cls, grains: int, currency: Currency, distances: int) -> Noise:
        """Split grains between the number of rows and all distances."""
        share = TOTAL_SHARE[currency]
        total, each = split(grains, currency, [share, 1 - share])
        return cls(
            total=scale_upper(total, currency, bound=Fraction(1)),
            each=scale_upper(each, currency, bound=Fraction(distances)),
            currency=currency,
        )

    def within(self, averaged: int, *, among: int = 1) -> float:
        """Return half an interval of a mean, in rows of L1; of ``among`` intervals all hold."""
        deviation = math.hypot(self.each / math.sqrt(averaged), self.total)
        missed = MISSED / among
        if self.currency == Currency.GDP:
            return deviation * NormalDist().inv_cdf(1 - missed / 2)
        # Laplace noise deviates by √2 scales; a sum of several has lighter tails than one.
        return deviation * math.log(1 / missed)

    def cap(self, tables: Sequence[Shares], averaged: int) -> int:
        """Return the cap with the shortest interval of the mean, for synthetic people's sizes."""
        sizes = np.concatenate([table.sizes for table in tables])
        if sizes.max(initial=1) == 1:
            return 1
        tried, rows = np.unique(sizes), max(1, int(sizes.sum()) // len(tables))
        # What a cap leaves out: all of the sizes above it, less the cap for each of these people.
        order = np.sort(sizes)
        above = len(order) - np.searchsorted(order, tried, side="right")
        below = np.concatenate([[0], np.cumsum(order)])[len(order) - above]
        clipped = (order.sum() - below - above * tried) / order.sum()
        lengths = self.within(averaged) * tried / (2 * rows) + clipped
        return math.ceil(MARGIN * int(tried[np.argmin(lengths)]))


def expected_within(
    grains: int, currency: Currency, table: Shares, cap: int | None = None
) -> float:
    """Return half the interval that the mean would have, before anything is asked."""
    noise = Noise.of(grains, currency, len(table.marginals))
    cap = cap or noise.cap([table], _averaged(table))
    return noise.within(_averaged(table)) * cap / (2 * max(1, int(table.sizes.sum())))


def measured(
    door: Door, tables: Sequence[Shares], *, cap: int | None = None
) -> tuple[Accuracy, ...]:
    """Spend what a door has left on the distances of some synthetic tables."""
    cliques = list(tables[0].marginals)
    count, currency = len(cliques) * len(tables), door.currency
    noise = Noise.of(door.grains, currency, count)
    if door.unit.is_row:
        cap = 1
    elif cap is None:
        cap = noise.cap(tables, _averaged(tables[0]))
    total = door.total(cap=cap, scale=noise.total * cap)
    rows = min(max(total, 1.0), MOST_ROWS)
    asked = [
        Candidate(clique=clique, expected=rows * table.marginals[clique])
        for table in tables
        for clique in cliques
    ]
    bound = count * Fraction(cap) ** currency.power
    scale = scale_upper(price_lower(door.grains, currency), currency, bound=bound)
    apart = door.distances(asked, scale=scale, bounding=Weights(cap)) / (2 * rows)
    noise = Noise(total=noise.total * cap, each=scale, currency=currency)
    return tuple(
        _told(table, found, noise=noise, rows=rows, cap=cap)
        for table, found in zip(tables, apart.reshape(len(tables), -1), strict=True)
    )


def _averaged(table: Shares) -> int:
    """Return how many distances the mean that matters is one of."""
    return sum(len(clique) == 2 for clique in table.marginals) or len(table.marginals)


def _told(
    table: Shares, apart: NDArray[np.float64], *, noise: Noise, rows: float, cap: int
) -> Accuracy:
    """Put intervals around noisy distances."""
    clipped = table.clipped(cap)

    def interval(value: float, columns: Clique = (), **many: int) -> Distance:
        within = noise.within(many.get("averaged", 1), among=many.get("among", 1))
        return Distance.of(value, within / (2 * rows) + clipped, columns)

    found = dict(zip(table.marginals, apart.tolist(), strict=True))
    by_size = {size: [c for c in found if len(c) == size] for size in (1, 2)}
    means = {
        size: interval(math.fsum(found[c] for c in cliques) / len(cliques), averaged=len(cliques))
        for size, cliques in by_size.items()
        if cliques
    }
    ranked = sorted(by_size[2] or by_size[1], key=lambda c: -found[c])[:MOST_NAMED]
    return Accuracy(
        mean_column=means[1],
        mean_pair=means.get(2),
        columns=tuple(interval(found[c], c) for c in by_size[1]),
        pairs=tuple(interval(found[c], c) for c in by_size[2]),
        worst=tuple(interval(found[c], c, among=len(found)) for c in ranked),
        rows=rows,
        cap=cap,
        clipped=clipped,
        left_out=table.left_out,
    )
