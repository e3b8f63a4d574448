"""AdaGrid: a downward-closed set of marginals, round by round, fine where counts can be large.

After "Adaptive Granularity Mechanism" (the NIST contest's sprint 3; `docs/adagrid.md`, and
`docs/corrections.md` for what is put right).  Outer cliques and all of their subsets are
measured, the smallest first.  A cell is counted by itself where every smaller marginal found
it large enough to stand out of the noise, and within coarser sums elsewhere
(`measure.granularity`); a graphical model is fitted to all of it, rows are drawn from it, and
the rows are assigned to people with the help of public data.

Privacy: one door call per round; the prices add up to the run's budget less the cost of the
number of rows, the number of rows per person, or the choice of cliques.  The ledger composes
them adaptively.  Everything else is public or post-processing.

The config, the plan, the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from understudy.budget import Currency, Weights, split
from understudy.errors import BudgetError, UsageError
from understudy.graph import estimate
from understudy.public import Synthesis, Within
from understudy.synth.generate.assignment import drawn
from understudy.synth.generate.rounding import check_rows
from understudy.synth.measure.granularity import Grid, closure
from understudy.synth.measure.impossible import zeros_of
from understudy.synth.measure.noise_levels import public_cap
from understudy.synth.measure.population import (
    PopulationSettings,
    bound_notes,
    check_public,
    meet,
    shares_of_people,
)
from understudy.synth.measure.rounds import Rounds
from understudy.synth.select.cliques import CHOSEN_LIMIT, GIVEN_LIMIT, check_cliques, public_cliques
from understudy.synth.settings import (
    check_at_least,
    check_columns,
    check_finite,
    check_shares,
    set_tuples,
)

if TYPE_CHECKING:
    import numpy as np

    from understudy.budget import Budget
    from understudy.door import Clique, Door
    from understudy.graph import Model
    from understudy.public import Progress, PublicTable
    from understudy.schema import Domain, Schema
    from understudy.synth.measure.population import Crowd
    from understudy.synth.measure.rounds import Answers

MOST_ITERATIONS = 300
"""Sums of cells have a loose certificate, so most fits stop here, uncertified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaGrid(PopulationSettings):
    """Adaptive granularity: marginals round by round, fine where counts can be large.

    The flagship for tables where people have many rows, and best with public data, which show
    which columns are correlated and how large users' contributions are (`docs/adagrid.md`).
    ``AdaGrid()`` chooses the marginals itself; name the outer ones where you know what matters:

    >>> AdaGrid(cliques=(("pickup", "dropoff", "hour"), ("hour", "fare"))).cliques[1]
    ('hour', 'fare')
    """

    name: ClassVar[str] = "adagrid"

    cliques: tuple[Clique, ...] = ()
    """The outer cliques; chosen from public data, or under DP, if empty."""
    copies: tuple[tuple[Clique, int], ...] = ()
    """How often some cliques are measured, in place of once; more means less noise for them."""
    targets: tuple[str, ...] = ()
    """Columns that belong in every clique, where cliques are chosen; also used to assign rows to
    public people if ``ids_by`` is empty."""
    more_pairs: float = 1.0
    """Where pairs are chosen under DP, how many beyond a tree, per column."""
    threshold: float = 5.0
    """A cell is plausible if its noisy count is at least this many times its noise."""
    most_cells: int = 2_000_000
    """The maximum number of cells of a clique."""
    model_limit: int | None = None
    """The maximum size of the model's tables in bytes; if None, 400 MB for given cliques and 8 MB
    for chosen ones."""
    selection_share: float = 0.1
    """The share of the budget for choosing cliques under DP."""
    published: bool = False
    """Calibrate by the Rényi conversion, as the document's figures do, not by its formula."""

    def __post_init__(self) -> None:
        """Raise on settings out of bounds, and turn lists into tuples."""
        set_tuples(self, "cliques", "copies", "targets", "ids_by")
        check_shares(self, "rows_share", "people_share", "selection_share")
        self.check_population()
        check_at_least(self, 0, "threshold", "more_pairs")
        check_finite(self, "more_pairs")
        if any(times < 1 for _, times in self.copies):
            raise BudgetError("copies must be at least 1 for every clique", got=self.copies)

    def weights(self, public: PublicTable, *, budget: Budget) -> Weights:
        """Choose a cap for `Weights` from public data, to minimise noise plus bias."""
        domain = public.schema.domain
        cliques = closure(self._cliques(domain, public) or [(name,) for name in domain])
        grids = [Grid.of(c, domain.shape(c), []) for c in cliques]
        copies = {frozenset(c): times for c, times in self.copies}
        times = [copies.get(frozenset(c), 1) for c in cliques]
        return Weights(public_cap(public, grids, times=times, budget=budget))

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Measure round by round, fit a model, draw rows, and assign them to people."""
        crowd, answers = self._ask(door, public, progress)
        door.close()
        model = self._fitted(door.schema, answers, progress)
        rows = check_rows(model.total)
        urn = model.urn(rows, rng)
        given = crowd.given(
            rows, door, public=public, by=self.ids_by or self.targets, most=self.most_each, rng=rng
        )
        return Synthesis(
            batches=drawn(urn, rows, given, rng=rng),
            measurements=answers.measurements,
            notes=bound_notes(door),
            within=Within(public) if public is not None and self.within == "public" else None,
            details={**crowd.to_dict(), "cliques": answers.told},
            model=model,
        )

    def _ask(
        self, door: Door, public: PublicTable | None, progress: Progress
    ) -> tuple[Crowd, Answers]:
        """Decide what to measure, raising before anything is spent, and measure it."""
        _check_settings(self, door, public)
        cliques = self._cliques(door.schema.domain, public)
        prices = self._prices(door, public, selected=cliques is None)
        progress("counting rows", 0)
        crowd = meet(door, public, rows_price=prices.get("rows"), people_price=prices.get("people"))
        rounds = self._rounds(door, public, crowd, prices["marginals"])
        if cliques is None:
            more = round(self.more_pairs * len(door.schema.domain))
            rounds.select(prices.get("selection"), progress, more=more, limit=self._limit)
        else:
            rounds.ask(closure(cliques), progress)
        return crowd, rounds.answers()

    def _fitted(self, schema: Schema, answers: Answers, progress: Progress) -> Model:
        """Fit a model to the answers."""
        progress("fitting the model", 0)
        fit = estimate(
            schema.domain,
            answers.evidence,
            total=answers.total,
            zeros=zeros_of(schema, schema.domain, [m.clique for m in answers.evidence]),
            most=MOST_ITERATIONS,
            watch=lambda state: progress("fitting the model", state.iterations / MOST_ITERATIONS),
        )
        progress("drawing rows", 0)
        return fit.model

    def _cliques(self, domain: Domain, public: PublicTable | None) -> list[Clique] | None:
        """Return the outer cliques, or None if they are to be selected under DP."""
        cliques = list(self.cliques)
        if cliques:
            covered = {name for clique in cliques for name in clique}
            cliques += [(name,) for name in domain if name not in covered]
        elif public is not None:
            cliques = public_cliques(
                public, targets=self.targets, most_cells=self.most_cells, limit=self._limit
            )
        check_cliques(
            cliques or [(name,) for name in domain],
            domain,
            most_cells=self.most_cells,
            limit=self._limit,
        )
        return cliques or None

    @property
    def _limit(self) -> int:
        return self.model_limit or (GIVEN_LIMIT if self.cliques else CHOSEN_LIMIT)

    def _prices(
        self, door: Door, public: PublicTable | None, *, selected: bool
    ) -> dict[str, float]:
        """Split the budget among kinds of queries."""
        shares = shares_of_people(door, public, self, published=self.published)
        if selected and len(door.schema.domain) > 1:
            shares["selection"] = self.selection_share
        shares["marginals"] = 1 - sum(shares.values())
        prices = split(door.grains, door.currency, list(shares.values()))
        return dict(zip(shares, prices, strict=True))

    def _rounds(self, door: Door, public: PublicTable | None, crowd: Crowd, price: float) -> Rounds:
        known = public if public is not None and public.people is not None else None
        return Rounds(
            door,
            crowd=crowd,
            public=known,
            price=price,
            rule="rdp" if self.published else "gdp",
            share=(price / door.budget.price) ** 2,
            copies={frozenset(clique): times for clique, times in self.copies},
            threshold=self.threshold,
            most_cells=self.most_cells,
        )


def _check_settings(settings: AdaGrid, door: Door, public: PublicTable | None) -> None:
    """Raise on settings that do not fit the schema, the bounding or the public table."""
    if settings.published and not (
        isinstance(door.bounding, Weights) and door.currency == Currency.GDP
    ):
        raise UsageError(
            "published = True needs Weights bounding and Gaussian noise, as in the document",
            got=f"{door.bounding.kind}, {door.currency}",
            hint="use Weights and a delta above 0, or leave out published",
        )
    named = {*settings.targets, *settings.ids_by, *(n for c, _ in settings.copies for n in c)}
    check_columns(named, door.schema.domain)
    if settings.copies and not settings.cliques and public is None:
        raise UsageError(
            "copies cannot be used where cliques are chosen under DP",
            hint="name the cliques, use a public table, or leave out copies",
        )
    check_public(public, settings)
