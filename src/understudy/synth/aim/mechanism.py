"""AIM: marginals one by one, each the one that the model so far gets most wrong.

After "AIM: An Adaptive and Iterative Mechanism" (McKenna, Mullins, Sheldon, Miklau, arXiv
2201.12677; `docs/aim.md`).  Every column is measured, and rare codes are merged.  Then, round by
round, a candidate marginal is chosen by how much measuring it would improve the workload; it is
measured, and the model is refitted, starting from the last.  Where an answer moved the model by no
more than its noise, later rounds get four times the budget each.

Privacy: every choice is one `select`, or noisy `distances` of which the largest is taken, whose
score a person moves by at most the cap, up or down; it is not monotone, so the exponent has its ½
(`docs/proofs/select.md`, `docs/proofs/distances.md`).  Prices of rounds follow from earlier
answers; they compose adaptively, by the ledger.

The config, the plan, the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from understudy.budget import Norm, split
from understudy.errors import BudgetError, QuestionError, UsageError
from understudy.graph import Domain, model_bytes
from understudy.synth.aim.growth import Growth
from understudy.synth.measure.compression import Compressed, CompressionSettings
from understudy.synth.measure.population import check_public, shares_of_people
from understudy.synth.measure.weighted_round import WeightedMarginal
from understudy.synth.select.cliques import CHOSEN_LIMIT
from understudy.synth.select.workload import all_of, candidates
from understudy.synth.settings import (
    check_at_least,
    check_columns,
    check_shares,
    check_weights,
    check_word,
    set_tuples,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from understudy.door import Clique, Door
    from understudy.public import Progress, PublicTable, Synthesis

ROUNDS_A_COLUMN = 2
MOST_NOISE = 1_000_000
"""The maximum noise of a round per row of a person; beyond it rounds are uninformative."""
FURTHEST = 2**34
"""The maximum noise of a round that can be drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AIM(CompressionSettings):
    """Marginals one by one, each the one that the model so far gets most wrong.

    For tables with many people for the budget: the more people, the more rounds are worth their
    price (`docs/aim.md`).  Set ``workload`` or ``targets`` if some marginals matter more.

    >>> AIM(targets=("income",)).degree
    2
    """

    name: ClassVar[str] = "aim"

    workload: tuple[tuple[Clique, float], ...] = ()
    """The marginals that matter, with weights; if empty, all marginals of ``degree`` columns."""
    degree: int = 2
    """The number of columns of each workload marginal, if no workload is given."""
    targets: tuple[str, ...] = ()
    """Restrict the default workload to marginals with one of these columns; all if empty."""
    rounds: int | None = None
    """The number of rounds that the budget is first split into; if None, two per column."""
    selection: Literal["exponential", "gaussian"] = "exponential"
    """How marginals are chosen: by the exponential mechanism, or by noisy distances."""
    at_once: int = 16
    """For how many candidates, the worst as far as is known, noisy distances are queried."""
    most_cells: int = 100_000
    """The maximum number of cells of a measured marginal."""
    model_limit: int = CHOSEN_LIMIT
    """The maximum size of the model's tables in bytes; grows with the share of budget spent."""
    first_share: float = 0.3
    """The share of the remaining budget for single columns."""
    selection_share: float = 0.1
    """The share of a round's price for choosing its marginal."""

    def __post_init__(self) -> None:
        """Raise on settings out of bounds, and turn lists into tuples."""
        set_tuples(self, "workload", "targets", "ids_by")
        check_shares(self, "rows_share", "people_share")
        check_shares(self, "first_share")
        check_shares(self, "selection_share")
        check_weights("workload", self.workload)
        if self.workload and self.targets:
            raise UsageError(
                "targets and workload cannot both be set", hint="put the marginals into workload"
            )
        self.check_compression()
        check_at_least(self, 1, "rounds", "at_once", "most_cells", "model_limit")
        check_at_least(self, 2, "degree")
        check_word(self, "selection", "exponential", "gaussian")

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Measure round by round, fit a model, draw rows, and assign them to people."""
        self._check(door, public)
        prices = self._prices(door, public)
        rounds = self.rounds or ROUNDS_A_COLUMN * len(door.schema.domain)
        if "rounds" in prices:
            check_rounds(door, prices["rounds"], rounds)
        columns = Compressed.ask(
            door,
            public,
            [WeightedMarginal(clique=(name,)) for name in door.schema.domain],
            prices=prices,
            rule=self.rule,
            progress=progress,
        )
        growth = Growth(
            columns,
            candidates(self._workload(columns.domain), columns.domain, self.most_cells),
            model_limit=self.model_limit,
            selection_share=self.selection_share,
            at_once=None if self.selection == "exponential" else self.at_once,
        )
        growth.grow(rounds, progress)
        door.close()
        model = growth.settle(progress)
        progress("drawing rows", 0)
        return columns.synthesis(
            model,
            growth.measured,
            settings=self,
            rng=rng,
            details={"rounds": len(growth.measured), "model": growth.size},
        )

    def _check(self, door: Door, public: PublicTable | None) -> None:
        """Raise on settings that do not fit the schema, before anything is spent."""
        domain = door.schema.domain
        check_columns([*self.targets, *self.ids_by], domain)
        check_public(public, self)
        space = Domain({c.name: self.rule(c.name).most_codes(c) for c in door.schema.modelled})
        listed = candidates(self._workload(domain), space, self.most_cells)
        if not listed and len(domain) > 1:
            raise QuestionError(
                "the workload has no marginal that can be measured",
                allowed=f"marginals of two columns or more, of at most {self.most_cells:,} cells",
                hint="single columns are always measured",
            )
        needed = model_bytes(space, [min(listed, key=space.cells)] if listed else [])
        if needed > self.model_limit:
            raise QuestionError(
                "model_limit is too small for all columns and one marginal",
                got=f"{self.model_limit:,} bytes",
                allowed=f"at least {needed:,}",
                hint="raise model_limit",
            )

    def _workload(self, domain: Mapping[str, int]) -> list[tuple[Clique, float]]:
        return list(self.workload) or all_of(domain, self.degree, self.targets)

    def _prices(self, door: Door, public: PublicTable | None) -> dict[str, float]:
        """Split the budget among kinds of queries; what rounds leave goes to the last."""
        shares = shares_of_people(door, public, self)
        rest = 1 - sum(shares.values())
        alone = len(door.schema.domain) == 1
        shares["first"] = rest if alone else rest * self.first_share
        if not alone:
            shares["rounds"] = rest - shares["first"]
        prices = split(door.grains, door.currency, list(shares.values()))
        return dict(zip(shares, prices, strict=True))


def check_rounds(door: Door, price: float, rounds: int) -> None:
    """Raise if a round's noise would be too large to be drawn, or to be informative."""
    noise, bounding = door.currency.root(rounds) / price, door.bounding
    cap = 1 if isinstance(bounding, Norm) else bounding.cap
    most = min(MOST_NOISE, FURTHEST / cap)
    if noise > most:
        raise BudgetError(
            "more rounds than the budget allows",
            got=f"{rounds:,} rounds, with noise of {noise:.3g} rows in each",
            allowed=f"noise of at most {most:,.0f} rows",
            hint="lower rounds, or raise epsilon",
        )
