"""MST: a tree of pairs, chosen under differential privacy, and a model of them.

After "Winning the NIST Contest" (McKenna, Miklau, Sheldon, arXiv 2108.04978; `docs/mst.md`).  A
third of the budget measures every column, and rare codes are merged; a third chooses the pairs
that columns taken as independent get most wrong, one at a time, so that they make a tree; a third
measures these pairs.  A graphical model is fitted, and rows are drawn from it.

Privacy: noise as in `measure.weighted_round`; every choice is one `select`, whose score a person
moves by at most the cap, up or down (`docs/proofs/select.md`).  All of it composes adaptively, by
the ledger.

The config, the plan, the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from understudy.budget import price_lower, split
from understudy.errors import BudgetError, QuestionError, UsageError
from understudy.graph import Domain, estimate
from understudy.synth.measure.compression import Compressed, CompressionSettings
from understudy.synth.measure.population import check_public, shares_of_people
from understudy.synth.measure.weighted_round import WeightedMarginal, weighted_round
from understudy.synth.select.cliques import (
    CHOSEN_LIMIT,
    check_cliques,
    check_names,
    select_pairs,
    with_targets,
)
from understudy.synth.settings import (
    check_at_least,
    check_columns,
    check_shares,
    check_weights,
    set_tuples,
)

if TYPE_CHECKING:
    import numpy as np

    from understudy.door import Clique, Door, Measurement
    from understudy.public import Progress, PublicTable, Synthesis

MOST_ITERATIONS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class MST(CompressionSettings):
    """A tree of pairs of columns, chosen under differential privacy, and a model of them.

    Sound for most tables, and quick; columns that are not neighbours in the tree are correlated
    only through those between them (`docs/mst.md`).

    >>> MST(targets=("income",)).targets
    ('income',)
    """

    name: ClassVar[str] = "mst"

    targets: tuple[str, ...] = ()
    """Columns that are measured with every other column; the rest of the tree is chosen."""
    weights: tuple[tuple[Clique, float], ...] = ()
    """Weights of columns and pairs, by default 1; a larger one is chosen sooner and less noisy."""
    most_cells: int = 1_000_000
    """The maximum number of cells of a pair."""
    model_limit: int = CHOSEN_LIMIT
    """The maximum size of the model's tables in bytes, where targets make it more than a tree."""
    shares: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)
    """The shares of the remaining budget: for columns, for choosing pairs, and for the pairs."""

    def __post_init__(self) -> None:
        """Raise on settings out of bounds, and turn lists into tuples."""
        set_tuples(self, "targets", "weights", "ids_by", "shares")
        check_shares(self, "rows_share", "people_share")
        check_weights("weights", self.weights)
        large = [clique for clique, _ in self.weights if len(clique) > 2]
        if large:
            raise UsageError(
                "weights can only be set for columns and pairs",
                got=" × ".join(large[0]),
                hint="use aim with a workload for larger marginals",
            )
        self.check_compression()
        check_at_least(self, 1, "most_cells", "model_limit")
        if len(self.shares) != 3 or not all(0 < share < math.inf for share in self.shares):
            raise BudgetError("shares must be three numbers above 0", got=self.shares)

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Measure columns and chosen pairs, fit a model, draw rows, and assign them to people."""
        begun = self._begin(door, public)
        columns, pairs = self._ask(door, public, begun, progress)
        door.close()
        fit = estimate(
            columns.domain,
            [*columns.evidence(), *pairs],
            total=columns.crowd.rows,
            zeros=columns.zeros(m.clique for m in pairs),
            most=MOST_ITERATIONS,
            watch=lambda state: progress("fitting the model", state.iterations / MOST_ITERATIONS),
        )
        progress("drawing rows", 0)
        return columns.synthesis(fit.model, pairs, settings=self, rng=rng)

    def _begin(self, door: Door, public: PublicTable | None) -> list[Clique]:
        """Return the targets' pairs; raise before anything is spent if settings do not fit."""
        named = {*self.targets, *self.ids_by, *(n for clique, _ in self.weights for n in clique)}
        check_columns(named, door.schema.domain)
        check_names([clique for clique, _ in self.weights], door.schema.domain)
        check_public(public, self)
        domain = Domain({c.name: self.rule(c.name).most_codes(c) for c in door.schema.modelled})
        begun = with_targets(self.targets, domain, self.most_cells)
        least = sorted(domain, key=lambda name: domain[name])[:2]
        if len(least) == 2 and domain.cells(least) > self.most_cells:
            raise QuestionError(
                "no pair of columns is small enough",
                got=f"{domain.cells(least):,} cells and more",
                allowed=f"at most {self.most_cells:,}",
                hint="raise most_cells",
            )
        check_cliques(
            [*begun, *((name,) for name in domain)],
            domain,
            most_cells=self.most_cells,
            limit=self.model_limit,
        )
        return begun

    def _ask(
        self, door: Door, public: PublicTable | None, begun: list[Clique], progress: Progress
    ) -> tuple[Compressed, list[Measurement]]:
        """Measure every column, choose pairs, and measure these."""
        prices = self._prices(door, public)
        columns = Compressed.ask(
            door,
            public,
            [self._asked((name,)) for name in door.schema.domain],
            prices=prices,
            rule=self.rule,
            progress=progress,
        )
        if "pairs" not in prices:
            return columns, []
        small = columns.small()
        progress("choosing pairs", 0)
        pairs = select_pairs(
            small,
            columns.ones(),
            price=prices["selection"],
            bounding=columns.crowd.bounding,
            most_cells=self.most_cells,
            begun=begun,
            weights={frozenset(clique): weight for clique, weight in self.weights},
        )
        if not pairs:
            return columns, []
        progress("round 2, pairs", 0)
        return columns, weighted_round(
            small,
            [self._asked(pair) for pair in pairs],
            # The pairs also get what selection did not need, where targets leave nothing to choose.
            price=price_lower(door.grains, door.currency),
            crowd=columns.crowd,
            public=columns.small_public(),
        )

    def _asked(self, clique: Clique) -> WeightedMarginal:
        same = frozenset(clique)
        weight = next((w for c, w in self.weights if frozenset(c) == same), 1.0)
        return WeightedMarginal(clique=clique, weight=weight)

    def _prices(self, door: Door, public: PublicTable | None) -> dict[str, float]:
        """Split the budget among kinds of queries."""
        shares = shares_of_people(door, public, self)
        rest = 1 - sum(shares.values())
        first, *later = (rest * share / sum(self.shares) for share in self.shares)
        if len(door.schema.domain) > 1:
            shares |= {"first": first, **dict(zip(("selection", "pairs"), later, strict=True))}
        else:
            shares["first"] = rest
        prices = split(door.grains, door.currency, list(shares.values()))
        return dict(zip(shares, prices, strict=True))
