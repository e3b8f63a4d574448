"""TwoRound: one round finds each column's support, a second measures pairs and triples over it.

After "census microdata in two rounds" (the NIST contest of 2018, match 3; `docs/two-round.md`,
and `docs/corrections.md` for what is put right).  Round 1 measures every column's marginal.
Codes that do not stand out of the noise are merged (`measure.support`), and round 2 measures
marginals over the compressed domain, each with a weight; a graphical model is fitted to all of
it, rows are drawn from it, and merged codes are spread again.

Privacy: with weights wᵢ a query's noise is σ·√Σw²/wᵢ, so that one row moves a round, in units of
its noise, by √Σ(wᵢ/√Σw²)² / σ = 1/σ; what a person's rows add to that is the bounding's business.
Two rounds compose adaptively, by the ledger.  What is merged follows from round 1's answers.

The config, the plan, the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from understudy.budget import Currency, Norm, Weights, split
from understudy.errors import QuestionError, UsageError
from understudy.graph import estimate
from understudy.synth.measure.compression import Compressed
from understudy.synth.measure.population import check_public, shares_of_people
from understudy.synth.measure.rules import RULES
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round
from understudy.synth.select.cliques import CHOSEN_LIMIT, select_pairs
from understudy.synth.settings import check_columns
from understudy.synth.tworound.plan import RoundsPlan
from understudy.synth.tworound.settings import TwoRoundSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from understudy.door import Clique, Door, Measurement, MergedDoor
    from understudy.public import Progress, PublicTable, Synthesis

MOST_ITERATIONS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRound(TwoRoundSettings):
    """Two rounds: which values occur, then weighted marginals over these.

    For tables of many columns with many codes, most of them rare, as in a census
    (`docs/two-round.md`).

    >>> TwoRound(cliques=(("age", "sex"),), weigh="by cells").cliques
    (('age', 'sex'),)
    """

    name: ClassVar[str] = "tworound"

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Measure twice, fit a model, draw rows, spread merged codes, and assign rows to people."""
        _check_settings(self, door, public)
        plan = RoundsPlan.of(self, door.schema, public)
        progress(f"planned {plan.size}", 0)
        columns, second = self._ask(door, public, plan, progress)
        door.close()
        fit = estimate(
            columns.domain,
            [*columns.evidence(), *second],
            total=columns.crowd.rows,
            zeros=columns.zeros(m.clique for m in second),
            order=plan.order,
            most=MOST_ITERATIONS,
            watch=lambda state: progress("fitting the model", state.iterations / MOST_ITERATIONS),
        )
        progress("drawing rows", 0)
        return columns.synthesis(
            fit.model,
            second,
            settings=self,
            rng=rng,
            notes=plan.notes,
            details={"model": plan.size},
        )

    def _ask(
        self, door: Door, public: PublicTable | None, plan: RoundsPlan, progress: Progress
    ) -> tuple[Compressed, list[Measurement]]:
        """Measure round 1, find the support, and measure round 2 over it."""
        prices = self._prices(
            door, public, selected=plan.cliques is None, second=plan.cliques != []
        )
        sigma = RULES["rdp_integer"](door.budget, 2) if self.published else None
        columns = Compressed.ask(
            door,
            public,
            [self._asked((name,), door) for name in door.schema.domain],
            prices=prices,
            rule=self.rule,
            progress=progress,
            sigma=sigma,
        )
        small, cliques = columns.small(), plan.cliques
        if cliques is None:
            progress("choosing pairs", 0)
            cliques = self._select(small, plan.begun, columns, prices=prices)
        if not cliques:
            return columns, []
        progress("round 2, pairs and triples", 0)
        second = weighted_round(
            small,
            [self._asked(clique, small) for clique in cliques],
            price=prices["second"],
            crowd=columns.crowd,
            public=columns.small_public(),
            sigma=sigma,
        )
        return columns, second

    def _asked(self, clique: Clique, door: Door | MergedDoor) -> WeightedMarginal:
        """Return a clique with its weight, and the groups that it is measured in."""
        same = frozenset(clique)
        weight = next((w for c, w in self.weights if frozenset(c) == same), 1.0)
        starts = self._starts(clique)
        if self.weigh == "by cells" and not isinstance(door.bounding, Norm):
            sizes = [len(starts.get(n, range(door.schema.domain[n]))) for n in clique]
            weight *= math.prod(sizes) ** door.currency.weight_power
        return WeightedMarginal(clique=clique, weight=weight, starts=starts)

    def _starts(self, clique: Clique) -> dict[str, tuple[int, ...]]:
        same = frozenset(clique)
        return {name: starts for c, name, starts in self.coarse if frozenset(c) == same}

    def _select(
        self,
        door: MergedDoor,
        begun: tuple[Clique, ...],
        columns: Compressed,
        *,
        prices: dict[str, float],
    ) -> list[Clique]:
        """Choose pairs under DP, by what columns taken as independent get wrong of them."""
        count = len(columns.supports)
        more = round(self.more_pairs * count)
        return select_pairs(
            door,
            columns.ones(),
            price=prices["selection"],
            bounding=columns.crowd.bounding,
            most_cells=self.most_cells,
            begun=begun,
            more=more,
            limit=self.model_limit or CHOSEN_LIMIT,
            noise=columns.noise(max(len(begun), count - 1) + more, price=prices["second"]),
        )

    def _prices(
        self, door: Door, public: PublicTable | None, *, selected: bool, second: bool
    ) -> dict[str, float]:
        """Split the budget among kinds of queries."""
        shares = shares_of_people(door, public, self, published=self.published)
        if selected:
            shares["selection"] = self.selection_share
        rounds = 1 - sum(shares.values())
        shares["first"] = rounds * (self.first_share if second else 1.0)
        if second:
            shares["second"] = rounds * (1 - self.first_share)
        prices = split(door.grains, door.currency, list(shares.values()))
        return dict(zip(shares, prices, strict=True))


def _check_settings(settings: TwoRound, door: Door, public: PublicTable | None) -> None:
    """Raise on settings that do not fit the schema, the bounding or the public table."""
    if settings.published and not (
        isinstance(door.bounding, Weights) and door.currency == Currency.GDP
    ):
        raise UsageError(
            "published = True needs Weights bounding and Gaussian noise, as in the document",
            got=f"{door.bounding.kind}, {door.currency}",
            hint="use Weights and a delta above 0, or leave out published",
        )
    domain = door.schema.domain
    named = {*settings.ids_by, *settings.targets, *(n for n, _ in settings.thresholds)}
    named |= {n for c, _ in settings.weights for n in c}
    named |= {n for c, column, _ in settings.coarse for n in (*c, column)}
    check_columns(named, domain)
    _check_coarse(settings.coarse, domain)
    check_public(public, settings)


def _check_coarse(
    coarse: tuple[tuple[Clique, str, tuple[int, ...]], ...], domain: Mapping[str, int]
) -> None:
    """Raise on groups that do not fit their clique and column."""
    for clique, name, starts in coarse:
        rising = starts[:1] == (0,) and all(a < b for a, b in pairwise((*starts, domain[name])))
        if name not in clique or len(clique) < 2 or not rising:
            raise QuestionError(
                f"coarse has invalid groups of {name} in {' × '.join(clique)}",
                got=", ".join(map(str, starts)),
                allowed="a column of a clique of two or more; rising first codes, from 0, all "
                f"below {domain[name]}",
            )
