"""Growth: a model that gains, round by round, the marginal it gets most wrong."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import scale_upper, selection_epsilon_lower, split
from understudy.graph import estimate, model_bytes
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round
from understudy.synth.select.cliques import gaining

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.door import Candidate, Clique, Measurement
    from understudy.graph import Model
    from understudy.public import Progress
    from understudy.synth.measure.compression import Compressed

LARGER = 4
"""The factor by which a round's budget grows after an uninformative round."""
ROUND_ITERATIONS = 100
ROUND_STALLED = 0.005
"""A round's fit stops when the loss falls more slowly: noise is many times as large."""
MOST_ITERATIONS = 1000


class Growth:
    """A model over compressed columns, and the measurements it was fitted to."""

    def __init__(
        self,
        columns: Compressed,
        candidates: Mapping[Clique, float],
        *,
        model_limit: int,
        selection_share: float,
        at_once: int | None,
    ) -> None:
        """Start with a model of single columns, and candidates with their weights.

        A round chooses by noisy distances of ``at_once`` candidates, or by the exponential
        mechanism if that is None.
        """
        self.measured: list[Measurement] = []
        self._columns, self._candidates, self._at_once = columns, candidates, at_once
        self._model_limit, self._selection_share = model_limit, selection_share
        self._door, self._public = columns.small(), columns.small_public()
        self._ones, self._domain = columns.evidence(), columns.domain
        self._bytes: dict[Clique, int] = {}
        self._distances: dict[Clique, float] = {}
        self.model = self._fitted(None, MOST_ITERATIONS)

    def grow(self, rounds: int, progress: Progress) -> None:
        """Measure round by round, until the budget is spent or no candidate is left."""
        whole = self._door.grains
        each, last = whole // rounds, False
        while not last:
            left = self._door.grains
            last = left < 2 * each
            each = left if last else each
            progress("measuring what the model gets most wrong", 1 - left / whole)
            allowed = self._allowed((whole - left + each) / whole) or self._allowed(1.0)
            if not allowed:
                return
            if not self._round(allowed, each):
                each *= LARGER

    def settle(self, progress: Progress) -> Model:
        """Fit the final model to convergence."""
        progress("fitting the model", 0)
        self.model = self._fitted(self.model, MOST_ITERATIONS)
        return self.model

    @property
    def size(self) -> str:
        """Describe the size of the model."""
        tables = self.model.tables.values()
        return f"a model of {sum(t.size for t in tables):,} cells in {len(tables)} tables"

    def _allowed(self, used: float) -> list[Clique]:
        """Return the candidates that leave the model small enough for the share of budget used."""
        limit, most = self._model_limit * used, self.model.tree.bytes_with_pairs()
        return [
            clique
            for clique in self._candidates
            if most.get(frozenset(clique), math.inf) <= limit or self._fits(clique, limit)
        ]

    def _fits(self, clique: Clique, limit: float) -> bool:
        """Return whether a candidate leaves the model small enough; once too large, always."""
        if self.model.tree.home(clique) is not None:
            return True
        if self._bytes.get(clique, 0) <= limit:
            held = [m.clique for m in self.measured]
            self._bytes[clique] = model_bytes(self._domain, [*held, clique])
        return self._bytes[clique] <= limit

    def _round(self, allowed: Sequence[Clique], grains: int) -> bool:
        """Choose and measure a marginal; return whether it moved the model by more than noise."""
        share = self._selection_share
        choice, price = split(grains, self._door.currency, [share, 1 - share])
        noise = self._columns.noise(1, price=price)
        expected = self.model.marginals(allowed)
        listed = [gaining(c, expected[c].reshape(-1), noise, self._candidates[c]) for c in allowed]
        chosen = self._choose(listed, choice)
        (answer,) = weighted_round(
            self._door,
            [WeightedMarginal(clique=chosen.clique)],
            price=price,
            crowd=self._columns.crowd,
            public=self._public,
        )
        self.measured.append(answer)
        self.model = self._fitted(self.model, ROUND_ITERATIONS, ROUND_STALLED)
        moved = np.abs(self.model.marginal(chosen.clique).reshape(-1) - chosen.expected).sum()
        return bool(moved > np.minimum(noise, chosen.expected).sum())

    def _choose(self, listed: Sequence[Candidate], price: float) -> Candidate:
        """Choose by the exponential mechanism, or by the largest noisy distance."""
        bounding = self._columns.crowd.bounding
        if self._at_once is None:
            epsilon = selection_epsilon_lower(price, self._door.currency)
            return listed[self._door.select(listed, epsilon=epsilon, bounding=bounding)]
        asked = listed
        if self._distances:
            asked = sorted(listed, key=self._worth, reverse=True)[: self._at_once]
        bound = len(asked) * Fraction(bounding.cap) ** self._door.currency.power
        scale = scale_upper(price, self._door.currency, bound=bound)
        found = self._door.distances(asked, scale=scale, bounding=bounding)
        self._distances |= {
            c.clique: float(d) + c.penalty for c, d in zip(asked, found, strict=True)
        }
        return max(asked, key=self._worth)

    def _worth(self, candidate: Candidate) -> float:
        """Return the known benefit of measuring a candidate; those never queried come first."""
        known = self._distances.get(candidate.clique, math.inf)
        return candidate.weight * (known - candidate.penalty)

    def _fitted(self, start: Model | None, most: int, stalled: float = 0.0) -> Model:
        return estimate(
            self._domain,
            [*self._ones, *self.measured],
            total=self._columns.crowd.rows,
            zeros=self._columns.zeros(m.clique for m in self.measured),
            start=start,
            most=most,
            stalled=stalled,
        ).model
