"""Rounds of measurements: marginals by size, each as finely as the smaller ones suggest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from understudy.budget import Norm, price_grains, price_lower, split
from understudy.graph import totals
from understudy.synth.generate.rounding import rescaled
from understudy.synth.measure.granularity import Grid, children, widened
from understudy.synth.measure.noise_levels import norm_scales
from understudy.synth.measure.restating import Evidence
from understudy.synth.measure.rules import RULES, SLACK
from understudy.synth.measure.size_bias import with_unknown_bias
from understudy.synth.select.cliques import select_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.door import Clique, Door, Measurement
    from understudy.public import Progress, PublicTable
    from understudy.synth.measure.population import Crowd
    from understudy.synth.measure.rules import RuleName


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """The results of rounds of measurements."""

    total: float
    """The number of rows."""
    evidence: list[Measurement]
    """All answers for a table of ``total`` rows, restated on smaller cliques where possible."""
    measurements: tuple[Measurement, ...]
    """The answers as they were measured."""
    told: list[dict[str, Any]]
    """A description of the measurements, as plain data."""


class Rounds:
    """The measurements made so far, and the cells that are plausible after them."""

    def __init__(
        self,
        door: Door,
        *,
        crowd: Crowd,
        public: PublicTable | None,
        price: float,
        rule: RuleName,
        share: float,
        copies: Mapping[frozenset[str], int],
        threshold: float,
        most_cells: int,
    ) -> None:
        """Start with a price for all rounds together, which is a share of the budget."""
        self.measurements: list[Measurement] = []
        self._asked: list[tuple[Grid, list[Measurement]]] = []
        self._door, self._crowd, self._public = door, crowd, public
        self._price, self._rule, self._share, self._copies = price, rule, share, copies
        self._threshold, self._most_cells = threshold, most_cells
        self._grids: dict[Clique, Grid] = {}
        self._scales: dict[Clique, float] = {}

    def ask(self, cliques: Sequence[Clique], progress: Progress) -> None:
        """Measure marginals that are known beforehand, the smallest first."""
        rounds = [list(same) for _, same in groupby(sorted(cliques, key=len), key=len)]
        times = [sum(map(self._times, cliques)) for cliques in rounds]
        for number, now in enumerate(rounds):
            progress("measuring marginals", number / len(rounds))
            self._ask(now, times, number)

    def select(
        self, price: float | None, progress: Progress, *, more: int = 0, limit: int = 0
    ) -> None:
        """Measure every column, select pairs under DP, and measure these.

        They are a tree of pairs and ``more`` others, as far as the model stays within a limit.
        """
        domain = self._door.schema.domain
        ones = [(name,) for name in domain]
        if price is None:
            self.ask(ones, progress)
            return
        times = [sum(map(self._times, ones)), len(ones) - 1 + more]
        progress("measuring marginals", 0)
        self._ask(ones, times, 0)
        read = totals(domain, self.measurements)
        total = max(1.0, self._crowd.rows or read[None])
        counts = {m.clique[0]: rescaled(m.values, total=total) for m in self.measurements}
        progress("choosing pairs", 0)
        pairs = select_pairs(
            self._door,
            counts,
            price=price,
            bounding=self._crowd.bounding,
            most_cells=self._most_cells,
            more=more,
            limit=limit,
            noise=self._crowd.noise(sum(times), price=self._price, currency=self._door.currency),
        )
        if pairs:
            progress("measuring marginals", 0.5)
            # The pairs get all that is left, however many there are.
            self._price = price_lower(self._door.grains, self._door.currency)
            self._share = (self._price / self._door.budget.price) ** 2
            self._ask(pairs, [len(pairs)], 0)

    def answers(self) -> Answers:
        """Return all answers."""
        domain = self._door.schema.domain
        read = totals(domain, self.measurements)
        total = self._crowd.rows or read[None]
        found = Evidence(domain)
        for grid, measured in self._asked:
            found.add(grid, measured, factor=read[measured[0].group] / total)
        return Answers(
            total=total,
            evidence=found.measurements(),
            measurements=tuple(with_unknown_bias(self.measurements, self._crowd, domain)),
            told=self._told(),
        )

    def _told(self) -> list[dict[str, Any]]:
        return [
            {
                "clique": list(clique),
                "times": self._times(clique),
                "scale": self._scales[clique],
                "cells": len(grid.plausible),
                "rows": grid.rows,
                "column_norm": grid.norm(),
            }
            for clique, grid in self._grids.items()
        ]

    def _times(self, clique: Clique) -> int:
        return self._copies.get(frozenset(clique), 1)

    def _ask(self, cliques: Sequence[Clique], times: Sequence[int], number: int) -> None:
        """Measure one round; ``times`` is how often each marginal of all rounds is measured."""
        domain = self._door.schema.domain
        grids = [Grid.of(c, tuple(domain[n] for n in c), children(c, self._grids)) for c in cliques]
        if isinstance(self._door.bounding, Norm):
            currency = self._door.currency
            price = split(price_grains(self._price, currency), currency, times)[number]
            scales = norm_scales(
                grids,
                shares={c: self._times(c) for c in cliques},
                price=price,
                public=self._public,
                rows=self._crowd.rows or 1.0,
                cap=self._crowd.typical,
                sizes=self._crowd.sizes,
            )
        else:
            # The cost follows from the noise, and is no more than what is left.
            price = price_lower(self._door.grains, self._door.currency)
            scales = {c: self._scale(c, sum(times)) for c in cliques}
        asked = [g.queries(scales[g.clique], self._door.currency) for g in grids]
        answers = iter(self._door.measure([q for queries in asked for q in queries], price=price))
        for grid, queries in zip(grids, asked, strict=True):
            measured = [next(answers) for _ in queries]
            self.measurements += measured
            self._asked.append((grid, measured))
            self._grids[grid.clique] = grid.after(measured, self._threshold)
            self._scales[grid.clique] = scales[grid.clique]

    def _scale(self, clique: Clique, times: int) -> float:
        """Return a clique's noise under a cap, with ``times`` measurements in all."""
        door = self._door
        assert not isinstance(door.bounding, Norm)  # noqa: S101  the caller has looked
        cap = door.bounding.cap
        if self._rule != "gdp":
            scale = cap * RULES[self._rule](door.budget, times) / math.sqrt(min(1.0, self._share))
        else:
            scale = cap * door.currency.root(times) / self._price * SLACK
        return widened(scale, Fraction(1, self._times(clique)), door.currency)
