"""Looks: which pairs of columns are worth their noise, found by looking several times.

**What a pair is worth.**  Measuring a pair corrects what the model gets wrong of it, an L1 distance
D, and adds noise: with noise σ in each cell, P = Σ min(E|noise|, e) where the table is like the
model's e (`select.cliques.gaining`).  With m pairs measured, √m·σ each; one more adds half of its
own noise to all others together.  So a pair pays where D > 1½·P.  What of D goes away by itself, as
columns become more precise, is no gain: its square is added to that of 1½·P (`pairs.precision`).

**Looks.**  A tree comes first.  Then distances of all other pairs are measured, and those that gain
most in the model's room; what the model then gets wrong is the next look's (`pairs.gains`).

**How noise is shared.**  A marginal of n cells weighs n^⅓ (√n for Laplace noise), which makes the
noise of all of them least.  Precision per n^⅔ is in the end the same for all pairs: the last query
leaves out what earlier ones had, and columns have their share.  Tied by ``tests/synth/pairs``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import (
    Weights,
    price_grains,
    price_lower,
    scale_upper,
    selection_epsilon_lower,
    split,
)
from understudy.door import Candidate
from understudy.graph import model_bytes
from understudy.synth.measure.noise_levels import MEAN_SIZE
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round
from understudy.synth.pairs.clipped import Clipped, left_by_cap
from understudy.synth.pairs.fitting import fitted
from understudy.synth.pairs.gains import (
    GUMBEL,
    MODEL_LIMITS,
    as_likely,
    distances_noise,
    noisy_distances,
    roomiest,
    worthwhile,
)
from understudy.synth.pairs.precision import (
    Outlook,
    columns_noise,
    filled,
    outlook,
    pair_weight,
    pairs_noise,
)
from understudy.synth.pairs.prior import AS_PUBLIC, ONLY_COLUMNS, Prior
from understudy.synth.select.cliques import gaining

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.door import Clique, Measurement
    from understudy.graph import Model
    from understudy.public import Progress
    from understudy.synth.measure.compression import Compressed

    Expected = Mapping[Clique, NDArray[np.float64]]

MOST_ITERATIONS, LOOK_ITERATIONS = 300, 100
STALLED = 0.005
"""A fit stops when the loss falls more slowly: noise is many times as large."""
FURTHER = 4
"""The maximum number of looks after the tree."""
DROWNED = 0.3
"""No pair is measured where noise alone makes this total variation error."""
WORTH = 0.1
"""No more pairs are chosen than would pay if the model were this far off."""
OTHERS = 1.5
"""A pair's own noise, and the noise that it adds to all others."""


class Looks:
    """Looks at pairs over compressed columns, and the measurements made for them."""

    def __init__(
        self,
        columns: Compressed,
        *,
        prices: Mapping[str, float],
        most_cells: int,
        model_limit: int | None,
    ) -> None:
        """Start with a model of single columns."""
        self._clipped = Clipped()
        self.chosen: list[Clique] = []
        self.coarser: str | None = None
        """What could not be measured, if a coarser plan had to be used."""
        self.columns, self._prices = columns, prices
        self._door, self._domain = columns.small(), columns.domain
        self._currency = self._door.currency
        self._ones, self._public = columns.evidence(), columns.small_public()
        # Two rows agree in two columns with about the product of the probabilities for each.
        self.crowd = replace(columns.crowd, repeats=columns.crowd.repeats**2)
        """The people, and how often their rows agree in two columns."""
        self._bounding, self._kept = columns.crowd.bounding, 1.0
        self._empty: dict[Clique, float] = {}  # scores of pairs that only look wrong
        self._told: dict[Clique, float] = {}
        """The precision that each pair was measured with, for its width."""
        pairs = itertools.combinations(self._domain, 2)
        self._pairs = [pair for pair in pairs if self._domain.cells(pair) <= most_cells]
        limits = MODEL_LIMITS if model_limit is None else {model_limit: 0.0}
        self.prior = Prior.of(self._public, columns, limit=min(limits))
        self._limits = self.prior.beside(limits)
        self._model = self._fitted(None, LOOK_ITERATIONS)

    def ask(self, progress: Progress) -> None:
        """Choose and measure a tree, choose more pairs, and measure all with what is left."""
        if "last" not in self._prices:
            return
        steps, expected = len(self._domain) - 1, self._expected()
        if not self._pairs or self._off(expected, steps) > DROWNED:
            self.coarser = ONLY_COLUMNS if self.prior.doubted else AS_PUBLIC
            self._ask_columns_again(1.0)
            return
        progress("choosing a tree of pairs", 0)
        self._settle_bounding(steps)
        self._choose(expected, steps, price=self._prices["choice"], tree=True)
        if self.chosen:
            progress("measuring the tree", 0)
            self.prior.make_room(self.chosen, limit=min(self._limits))
            self._look(self.chosen, self._prices["tree"])
            expected = self._look_further(progress)
        progress("measuring columns again", 0)
        count = len(self.chosen)
        self._ask_columns_again(self._outlook(expected, count).share if count else 1.0)
        if self.chosen:
            progress("measuring all pairs", 0)
            self._measure(self._last(), self._left)

    def settle(self, progress: Progress, more: Iterable[Measurement] = ()) -> Model:
        """Fit the final model, to ``more`` measurements too."""
        progress("fitting the model", 0)
        return self._fitted(self._model, MOST_ITERATIONS, more, stalled=STALLED)

    def to_dict(self) -> dict[str, Any]:
        """Return the pairs that were chosen, as plain data."""
        told: dict[str, Any] = {"pairs": [list(pair) for pair in self.chosen]}
        return told if self.coarser is None else {**told, "coarser": self.coarser}

    def _fitted(
        self, start: Model | None, most: int, more: Iterable[Measurement] = (), stalled: float = 0.0
    ) -> Model:
        measured = [*self._clipped.corrected(self.columns, start), *more]
        return fitted(
            self.columns, self._ones, measured, self.prior, start, most=most, stalled=stalled
        )

    def _counted(self, pair: Clique, expected: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what selections would count of a pair if it is as expected."""
        left = left_by_cap(self.columns, pair, expected, cap=self._bounding.cap)
        return self._kept * left * expected

    @property
    def measured(self) -> tuple[Measurement, ...]:
        """All measurements of pairs."""
        return self._clipped.measured

    def published(self) -> list[Measurement]:
        """Return the measurements of pairs, with what bounding left of their cells."""
        return self._clipped.published(self.columns, self.crowd, self._model)

    def _ask_columns_again(self, share: float) -> None:
        """Measure columns again, for a share of what is left."""
        if share > 0:
            shares = [share, 1 - share] if share < 1 else [1.0]
            price = split(self._door.grains, self._door.currency, shares)[0]
            self.columns = self.columns.again(price=price)
            self._ones = self.columns.evidence()

    def _outlook(self, expected: Expected, count: int) -> Outlook:
        """Return how what is left is best shared, if ``count`` pairs are measured in the end."""
        _, off = self._plan(count)
        had = math.fsum(told * self._width([p]) for p, told in self._told.items())
        # Those that are not chosen yet are as all of the others are on average.
        others = len(self._pairs) - len(self.chosen)
        part = (count - len(self.chosen)) / max(1, others)
        parts = dict.fromkeys(self._pairs, part) | dict.fromkeys(self.chosen, 1.0)
        ones = {n: self._model.marginal((n,)) for n in self._domain}
        return outlook(
            columns_noise(self.columns, ones, self._model.total),
            pairs_noise(self._domain, expected, off, parts, before=self._told),
            spent=(self._prices["first"], math.sqrt(had), self._left),
            power=2 / self._currency.power,
        )

    @property
    def _left(self) -> float:
        return price_lower(self._door.grains, self._door.currency)

    def _expected(self) -> Expected:
        """Return the model's marginal of every pair."""
        found = self._model.marginals(self._pairs)
        return {pair: np.maximum(table.reshape(-1), 0.0) for pair, table in found.items()}

    def _plan(self, count: int) -> tuple[float, dict[Clique, float]]:
        """Return the clipping norm, and the noise of a cell of each pair.

        Both are for ``count`` measured pairs: measuring some is measuring all at a higher price.
        """
        share = min(1.0, count / len(self._pairs))
        looks = self._prices["tree"], self._prices["last"]
        price = self._currency.norm(looks) / self._currency.root(share)
        cells = np.array([*map(self._domain.cells, self._pairs)], dtype=np.float64)
        weights = cells**self._currency.weight_power
        length, kept = self.crowd.typical_of(1 / weights, cells, price=price)
        level = self._currency.norm(weights.tolist())
        off = MEAN_SIZE * length * level / (price * weights * kept)
        return length, dict(zip(self._pairs, off.tolist(), strict=True))

    def _off(self, expected: Expected, count: int) -> float:
        """Return about the total variation error from noise if ``count`` pairs are measured."""
        _, off = self._plan(count)
        lost = [float(np.minimum(off[p], expected[p]).sum()) for p in self._pairs]
        return float(np.mean(lost)) / (2 * max(self._model.total, 1e-9))

    def _more(self, expected: Expected) -> int:
        """Return how many further pairs may be chosen."""
        count = len(self._pairs) - len(self.chosen)
        while count and self._off(expected, len(self.chosen) + count) > WORTH:
            count //= 2
        return count

    def _settle_bounding(self, count: int) -> None:
        """Choose the bounding for selections, and measure how many rows it leaves.

        A model has all rows; what the bound leaves out is not an error of the model.
        """
        if "mass" not in self._prices:
            return
        length, _ = self._plan(count)
        self._bounding = Weights(max(1, round(length)))
        # It is measured under `Norm` only, where noise is Gaussian.
        bound = Fraction(self._bounding.cap) ** 2
        scale = scale_upper(self._prices["mass"], self._door.currency, bound=bound)
        mass = self.columns.door.total(cap=self._bounding.cap, scale=scale)
        self._kept = max(1.0, mass) / max(1.0, self._model.total)

    def _choose(self, expected: Expected, most: int, *, price: float, tree: bool) -> None:
        """Choose pairs one by one, at most ``most``, until none is worth its noise."""
        if not most:
            return
        none = Candidate(clique=(), expected=np.array([self._kept * self._model.total]))
        parts = {name: frozenset({name}) for name in self._domain}
        free = [pair for pair in self._pairs if pair not in self.chosen]
        grains, listed, priced = price_grains(price, self._door.currency), {}, 0
        for share in split(grains, self._door.currency, [1.0] * most):
            free = [(a, b) for a, b in free if not tree or parts[a] != parts[b]]
            if not free:
                return
            if priced <= len(self.chosen):
                # A pair's worth depends on how many there are; within a factor of two will do.
                priced = most if tree else 2 * len(self.chosen)
                listed = self._worth(expected, free, priced)
            epsilon = selection_epsilon_lower(share, self._door.currency)
            step = 2 * self._bounding.cap * max(listed[p].weight for p in free) / epsilon
            stop = replace(none, penalty=-as_likely([self._empty[p] for p in free], step))
            candidates = [*(listed[pair] for pair in free), stop]
            place = self._door.select(candidates, epsilon=epsilon, bounding=self._bounding)
            if place == len(free):
                return
            a, b = pair = free.pop(place)
            if tree or self._fits(pair):
                self.chosen.append(pair)
                parts |= dict.fromkeys(parts[a] | parts[b], parts[a] | parts[b])
            else:
                # To look at all of them takes a while; where one is too much, others are.
                free = [other for other in free if self._fits(other)]

    def _look(self, pairs: Iterable[Clique], price: float) -> None:
        """Measure pairs, all alike, and fit the model to them too."""
        self._measure(dict.fromkeys(pairs, 1.0), price)
        self._model = self._fitted(self._model, LOOK_ITERATIONS, stalled=STALLED)

    def _look_further(self, progress: Progress) -> Expected:
        """Choose further pairs, and measure some before others are chosen; return what is expected.

        A look's pairs are measured as precisely as the tree, if half of what is left is enough.
        """
        grains = price_grains(self._prices["more"], self._currency)
        # Laplace noise is least where everything is asked once.
        looks = 1 if self._currency.noise == "laplace" else FURTHER
        while True:
            progress("choosing more pairs", 0)
            expected, had = self._expected(), len(self.chosen)
            grains = self._choose_more(expected, grains, looks)
            new, looks = self.chosen[had:], looks - 1
            price = math.sqrt(min(self._told.values()) * self._width(new))
            if not (looks and grains and new) or price > math.sqrt(0.5) * self._left:
                return expected
            progress("measuring more pairs", 0)
            self._look(new, price)

    def _choose_more(self, expected: Expected, grains: int, looks: int) -> int:
        """Choose further pairs, with so many looks to come; return the grains for these.

        Pairs are chosen by noisy distances of all of them, or one by one where that has less noise.
        If a look's share is too little to tell distances apart, this is the last look.
        """
        most = self._more(expected)
        free: list[Clique] = [pair for pair in self._pairs if pair not in self.chosen]
        if not most:
            return 0
        one = split(grains, self._currency, [1.0] * most)[0]
        steps = GUMBEL * self._bounding.cap / selection_epsilon_lower(one, self._currency)
        whole = price_lower(grains, self._currency)
        if steps < distances_noise(len(free), whole, self._bounding, self._currency)[1]:
            self._choose(expected, most, price=whole, tree=False)
            return 0
        asked = [Candidate(clique=p, expected=self._counted(p, expected[p])) for p in free]
        away, grains = noisy_distances(
            self._door, asked, bounding=self._bounding, grains=grains, looks=looks
        )
        begun = len(self.chosen)

        def gains(count: int) -> dict[Clique, float]:
            listed = self._worth(expected, free, begun + count)
            return {p: c.weight * (away[p] - c.penalty) for p, c in listed.items()}

        def left(new: Sequence[Clique]) -> float:
            missed = math.fsum(max(0.0, away[pair]) for pair in away if pair not in new)
            return self._noise([*self.chosen, *new], expected) + missed

        found = worthwhile(gains, len(free))
        new, room = roomiest(found, self._held, self._domain, limits=self._limits, left=left)
        # What one look found worth its time is so for the next.
        self._limits = {limit: share for limit, share in self._limits.items() if limit >= room}
        self.chosen += new[: -(-len(self._domain) // 2)] if grains else new
        return grains

    def _noise(self, pairs: Sequence[Clique], expected: Expected) -> float:
        """Return the error from noise of these pairs, as selections count rows."""
        off = self._plan(len(pairs))[1]
        return self._kept * sum(float(np.minimum(off[p], expected[p]).sum()) for p in pairs)

    def _fits(self, pair: Clique) -> bool:
        """Whether the model of what was chosen, and of this pair, is small enough."""
        return model_bytes(self._domain, [*self._held, pair]) <= min(self._limits)

    @property
    def _held(self) -> list[Clique]:
        """The pairs that the model has."""
        return [*self.chosen, *self.prior.pairs]

    def _worth(
        self, expected: Expected, pairs: Iterable[Clique], count: int
    ) -> dict[Clique, Candidate]:
        """Return what each pair is worth, if ``count`` are measured in all."""
        _, off = self._plan(count)
        ahead, worth = self._outlook(expected, count), {}
        for pair in pairs:
            noise = OTHERS * self._kept * off[pair] / math.sqrt(ahead.pairs)
            found = gaining(pair, self._counted(pair, expected[pair]), noise)
            worth[pair], self._empty[pair] = ahead.beyond_columns(found, self._kept)
        return worth

    def _last(self) -> dict[Clique, float]:
        """Return the last query's shares: what each pair is short of, if all end up alike."""
        if self._currency.noise == "laplace":
            new = [pair for pair in self.chosen if pair not in self._told]
            return dict.fromkeys(new or self.chosen, 1.0)
        had = np.array([self._told.get(pair, 0.0) for pair in self.chosen])
        short = filled(had, np.array([self._width([p]) for p in self.chosen]), self._left**2)
        shares = dict(zip(self.chosen, (short / short.max()).tolist(), strict=True))
        return {pair: share for pair, share in shares.items() if share > 0}

    def _width(self, pairs: Iterable[Clique]) -> float:
        return math.fsum(self._domain.cells(pair) ** (2 / 3) for pair in pairs)

    def _measure(self, shares: Mapping[Clique, float], price: float) -> None:
        """Measure marginals, each with a share of the precision of the largest."""
        asked = [
            WeightedMarginal(
                clique=clique, weight=pair_weight(self._door, self._domain.cells(clique), share)
            )
            for clique, share in shares.items()
        ]
        door, public = self._door, self._public
        found = weighted_round(door, asked, price=price, crowd=self.crowd, public=public)
        self.crowd = self.crowd.told(found, price=price)
        self._clipped = self._clipped.more(found, self.columns, self.crowd, price=price)
        each = price**2 / math.fsum(share * self._width([p]) for p, share in shares.items())
        for pair, share in shares.items():
            self._told[pair] = self._told.get(pair, 0.0) + share * each
