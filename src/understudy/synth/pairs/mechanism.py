"""Pairs: those that are worth their noise, in several looks; as many as the people allow.

Every column is measured, and rare codes are merged.  A first look chooses a tree of pairs, each
worth what columns taken as independent get wrong of it less what noise would, and measures them.
Further looks measure how far the model so far is from all other pairs, and choose those that gain
most in the model's room; where nothing is worth its noise, that is all.  What is left of the
budget measures columns again, as far as that reduces the error more, and all pairs again, so that
they are equally precise.  Where noise exceeds every pair's signal, columns are measured again in
place of pairs.  `docs/pairs.md` has the derivation.

Privacy: noise as in `measure.weighted_round`; a tree's choices are `select`, whose score a person
moves by at most the cap, up or down (`docs/proofs/select.md`), and to stop is a candidate like
others; further ones follow from noisy `distances` (`docs/proofs/distances.md`).  Prices follow from
earlier answers; all of it composes adaptively, by the ledger.

The config, the plan, the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from understudy.budget import Norm, split
from understudy.synth.measure.compression import Compressed, CompressionSettings
from understudy.synth.measure.population import check_public, shares_of_people
from understudy.synth.measure.weighted_round import WeightedMarginal
from understudy.synth.pairs.looks import Looks
from understudy.synth.settings import check_at_least, check_columns, check_shares, set_tuples

if TYPE_CHECKING:
    import numpy as np

    from understudy.door import Door
    from understudy.public import Progress, PublicTable, Synthesis
    from understudy.synth.measure.support import Rule

SEEN = 0.0005
"""Codes of more than this share of the public rows are not merged."""
MASS_SHARE = 0.01
"""The share for the number of rows as selections count them, where it is not known otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs(CompressionSettings):
    """Pairs of columns that are worth their noise: a tree of them, then as many more as pay.

    What `Auto` chooses without a public table: from a thousand people to millions, with one row
    each or with many (`docs/pairs.md`).

    >>> Pairs(first_share=0.25).first_share
    0.25
    """

    name: ClassVar[str] = "pairs"

    most_cells: int = 1_000_000
    """The maximum number of cells of a pair."""
    model_limit: int | None = None
    """The maximum size of the model's tables in bytes, where it is more than a tree; if None, 2 MB,
    8 MB where that removes a twentieth of the error, or 24 MB where that removes 9 % more."""
    first_share: float = 0.3
    """The share of the remaining budget for single columns."""
    tree_share: float = 0.25
    """The first look's share of what pairs cost."""
    selection_share: float = 0.05
    """The share for choosing the tree, and the same again for choosing more pairs."""

    def __post_init__(self) -> None:
        """Raise on settings out of bounds, and turn lists into tuples."""
        set_tuples(self, "ids_by")
        twice = ("selection_share", "selection_share")
        check_shares(self, "rows_share", "people_share", *twice, below=1 - MASS_SHARE)
        check_shares(self, "first_share")
        check_shares(self, "tree_share")
        self.check_compression()
        check_at_least(self, 1, "most_cells", "model_limit")

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Measure columns and pairs, fit a model, draw rows, and assign them to people."""
        check_columns(self.ids_by, door.schema.domain)
        check_public(public, self)
        looks = self.look(door, public, progress)
        door.close()
        model = looks.settle(progress)
        progress("drawing rows", 0)
        return looks.columns.synthesis(
            model,
            looks.published(),
            settings=self,
            rng=rng,
            notes=() if looks.coarser is None else (looks.coarser,),
            details=looks.to_dict(),
        )

    def rule(self, name: str) -> Rule:
        """Return the rule by which the support of a column is found."""
        # What public rows say of pairs is of codes that are not merged.
        return replace(super(Pairs, self).rule(name), seen=SEEN)

    def look(self, door: Door, public: PublicTable | None, progress: Progress) -> Looks:
        """Measure columns and pairs, for all that the door may spend."""
        prices = self._prices(door, public)
        columns = Compressed.ask(
            door,
            public,
            [WeightedMarginal(clique=(name,)) for name in door.schema.domain],
            prices=prices,
            rule=self.rule,
            progress=progress,
            unbiased=True,
        )
        looks = Looks(
            columns, prices=prices, most_cells=self.most_cells, model_limit=self.model_limit
        )
        looks.ask(progress)
        return looks

    def _prices(self, door: Door, public: PublicTable | None) -> dict[str, float]:
        """Split the budget; what a look does not need goes to the last query."""
        shares = shares_of_people(door, public, self)
        if len(door.schema.domain) > 1:
            shares |= dict.fromkeys(("choice", "more"), self.selection_share)
            if isinstance(door.bounding, Norm) and not door.unit.is_row:
                shares["mass"] = MASS_SHARE
        left = 1 - sum(shares.values())
        if len(door.schema.domain) > 1:
            shares["first"] = self.first_share * left
            shares["tree"] = self.tree_share * (left - shares["first"])
            shares["last"] = left - shares["first"] - shares["tree"]
        else:
            shares["first"] = left
        prices = split(door.grains, door.currency, list(shares.values()))
        return dict(zip(shares, prices, strict=True))
