"""The settings of TwoRound, from which its plan follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from understudy.errors import UsageError
from understudy.synth.measure.compression import CompressionSettings
from understudy.synth.measure.support import MOST_VALUES, Rule
from understudy.synth.settings import (
    check_at_least,
    check_finite,
    check_shares,
    check_weights,
    check_word,
    set_tuples,
)

if TYPE_CHECKING:
    from understudy.door import Clique


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRoundSettings(CompressionSettings):
    """What TwoRound is told; `understudy.TwoRound` runs by it."""

    cliques: tuple[Clique, ...] = ()
    """What round 2 asks for; chosen from public data, or under DP, where there are none."""
    targets: tuple[str, ...] = ()
    """Columns that are asked with every other one, where cliques are chosen."""
    weights: tuple[tuple[Clique, float], ...] = ()
    """Weights of columns in round 1 and of cliques in round 2; 1 for all others."""
    weigh: Literal["equally", "by cells"] = "equally"
    """Whether marginals of n cells weigh n^⅓ times their weight, √n for Laplace noise, which makes
    noise least in all; under `Norm` cells count in any case."""
    coarse: tuple[tuple[Clique, str, tuple[int, ...]], ...] = ()
    """Of a clique, a column that it is asked in groups of, each from one of these codes on."""
    thresholds: tuple[tuple[str, float], ...] = ()
    """Other thresholds for some columns; 0 keeps all codes of it."""
    most_values: int = MOST_VALUES
    """The most codes of a column that are supported by themselves."""
    most_cells: int = 1_000_000
    """Cliques of more cells are left out, with a notice."""
    model_limit: int | None = None
    """The most bytes of all tables of the model; where it is None, 400 MB for cliques that are
    given, and 8 MB for cliques that are chosen."""
    more_pairs: float = 1.0
    """Where pairs are chosen under DP, how many more than a tree of them, a column."""
    first_share: float = 0.5
    """Round 1's share of what both rounds cost."""
    selection_share: float = 0.1
    """The share for choosing cliques, where none are given and there is no public table."""
    published: bool = False
    """Calibrate by Rényi's conversion in whole orders, as the document does."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot be, and take lists for tuples."""
        set_tuples(self, "cliques", "targets", "weights", "coarse", "thresholds", "ids_by")
        check_shares(self, "rows_share", "people_share", "selection_share")
        check_shares(self, "first_share")
        self.check_compression()
        check_weights("weights", self.weights)
        check_at_least(self, 1, "most_values", "most_cells", "model_limit")
        check_at_least(self, 0, "more_pairs")
        check_finite(self, "more_pairs")
        check_word(self, "weigh", "equally", "by cells")
        for column, threshold in self.thresholds:
            if not threshold >= 0:
                raise UsageError(
                    f"the threshold of {column} must be at least 0", got=repr(threshold)
                )

    def rule(self, name: str) -> Rule:
        """Say how the support of a column is found; one that is asked in groups keeps its codes."""
        threshold = dict(self.thresholds).get(name, self.threshold)
        grouped = any(name == column for _, column, _ in self.coarse)
        return Rule(
            threshold=0.0 if grouped else threshold,
            rare=self.rare,
            most=self.most_values,
            bins=self.bins,
        )
