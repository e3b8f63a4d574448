"""AIM: marginals one by one, each the one that the model so far gets most wrong.

After "AIM: An Adaptive and Iterative Mechanism" (McKenna, Mullins, Sheldon, Miklau, arXiv
2201.12677; `docs/aim.md`).  Every column is asked for, and rare codes are put together.  Then round
by round a candidate marginal is chosen by what asking for it would mend, for the workload; it is
asked for, and the model is fitted anew, beginning from the last.  Where an answer moved the model
by no more than its noise, rounds become larger: four times the budget each.

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
"""The most noise of a round for each row of a person; beyond it no round could tell anything."""
FURTHEST = 2**34
"""The most noise of a round in all, which can still be drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AIM(CompressionSettings):
    """Marginals one by one, each the one that the model so far gets most wrong.

    For tables with many people for the budget: the more of them, the more rounds are worth their
    price (`docs/aim.md`).  ``workload`` or ``targets`` say what matters, if not all alike.

    >>> AIM(targets=("income",)).degree
    2
    """

    name: ClassVar[str] = "aim"

    workload: tuple[tuple[Clique, float], ...] = ()
    """The marginals that matter, with their weights; all of ``degree`` columns where empty."""
    degree: int = 2
    """Of how many columns the marginals are that matter, where no workload is given."""
    targets: tuple[str, ...] = ()
    """Of these marginals, those with one of these columns matter alone; all where empty."""
    rounds: int | None = None
    """How many rounds the budget is first shared among; two a column where it is None."""
    selection: Literal["exponential", "gaussian"] = "exponential"
    """How marginals are chosen: by the exponential mechanism, or by distances with noise."""
    at_once: int = 16
    """Of how many candidates, the most wrong as far as is known, noisy distances are asked."""
    most_cells: int = 100_000
    """The most cells of a marginal that is asked for."""
    model_limit: int = CHOSEN_LIMIT
    """The most bytes of all tables of the model; of less budget spent, as much less."""
    first_share: float = 0.3
    """The share of what is left for single columns."""
    selection_share: float = 0.1
    """The share of a round's price for choosing what it asks."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot be, and take lists for tuples."""
        set_tuples(self, "workload", "targets", "ids_by")
        check_shares(self, "rows_share", "people_share")
        check_shares(self, "first_share")
        check_shares(self, "selection_share")
        check_weights("workload", self.workload)
        if self.workload and self.targets:
            raise UsageError(
                "targets choose among all marginals, a workload names its own", hint="give one"
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
        """Ask round by round what the model gets most wrong; draw rows, give them to people."""
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
        """Refuse settings that do not fit the schema, before anything is spent."""
        domain = door.schema.domain
        check_columns([*self.targets, *self.ids_by], domain)
        check_public(public, self)
        space = Domain({c.name: self.rule(c.name).most_codes(c) for c in door.schema.modelled})
        listed = candidates(self._workload(domain), space, self.most_cells)
        if not listed and len(domain) > 1:
            raise QuestionError(
                "the workload leaves nothing to ask for",
                allowed=f"marginals of two columns or more, of at most {self.most_cells:,} cells",
                hint="single columns are asked for in any case",
            )
        needed = model_bytes(space, [min(listed, key=space.cells)] if listed else [])
        if needed > self.model_limit:
            raise QuestionError(
                "the model may not be as large as columns and one marginal make it",
                got=f"{self.model_limit:,} bytes",
                allowed=f"from {needed:,} up",
                hint="raise model_limit",
            )

    def _workload(self, domain: Mapping[str, int]) -> list[tuple[Clique, float]]:
        return list(self.workload) or all_of(domain, self.degree, self.targets)

    def _prices(self, door: Door, public: PublicTable | None) -> dict[str, float]:
        """Share the budget out among kinds of questions; what rounds leave goes to the last."""
        shares = shares_of_people(door, public, self)
        rest = 1 - sum(shares.values())
        alone = len(door.schema.domain) == 1
        shares["first"] = rest if alone else rest * self.first_share
        if not alone:
            shares["rounds"] = rest - shares["first"]
        prices = split(door.grains, door.currency, list(shares.values()))
        return dict(zip(shares, prices, strict=True))


def check_rounds(door: Door, price: float, rounds: int) -> None:
    """Refuse more rounds than a price allows: noise of one could not be drawn, or tell anything."""
    noise, bounding = door.currency.root(rounds) / price, door.bounding
    cap = 1 if isinstance(bounding, Norm) else bounding.cap
    most = min(MOST_NOISE, FURTHEST / cap)
    if noise > most:
        raise BudgetError(
            "more rounds than the budget allows",
            got=f"{rounds:,} rounds, with noise of {noise:.3g} rows in each",
            allowed=f"noise of at most {most:,.0f} rows",
            hint="ask for fewer rounds, or raise epsilon",
        )
