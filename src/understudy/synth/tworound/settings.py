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
    """The settings that `understudy.TwoRound` runs with."""

    cliques: tuple[Clique, ...] = ()
    """The marginals of round 2; chosen from public data, or under DP, if empty."""
    targets: tuple[str, ...] = ()
    """Columns that are measured with every other column, where cliques are chosen."""
    weights: tuple[tuple[Clique, float], ...] = ()
    """Weights of columns in round 1 and of cliques in round 2, by default 1."""
    weigh: Literal["equally", "by cells"] = "equally"
    """Whether a marginal of n cells gets n^⅓ times its weight, √n for Laplace noise, to minimise
    the total noise; under `Norm` cells count in any case."""
    coarse: tuple[tuple[Clique, str, tuple[int, ...]], ...] = ()
    """A clique, a column that it is measured in groups of, and the first code of each group."""
    thresholds: tuple[tuple[str, float], ...] = ()
    """Other thresholds for some columns; 0 keeps all codes of a column."""
    most_values: int = MOST_VALUES
    """The maximum number of supported codes of a column."""
    most_cells: int = 1_000_000
    """Cliques of more cells are left out, with a note in the release."""
    model_limit: int | None = None
    """The maximum size of the model's tables in bytes; if None, 400 MB for given cliques and 8 MB
    for chosen ones."""
    more_pairs: float = 1.0
    """Where pairs are chosen under DP, how many beyond a tree, per column."""
    first_share: float = 0.5
    """Round 1's share of what both rounds cost."""
    selection_share: float = 0.1
    """The share of the budget for choosing cliques under DP."""
    published: bool = False
    """Do what the document does: calibrate by the Rényi conversion in integer orders, and merge all
    rare codes of a column, ordered or not, into one *other*, which is spread evenly."""

    def __post_init__(self) -> None:
        """Raise on settings out of bounds, and turn lists into tuples."""
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
        """Return the rule for a column's support; a column measured in groups keeps its codes."""
        threshold = dict(self.thresholds).get(name, self.threshold)
        grouped = any(name == column for _, column, _ in self.coarse)
        return Rule(
            threshold=0.0 if grouped else threshold,
            rare="other" if self.published else self.rare,
            most=self.most_values,
            bins=self.bins,
            evenly=self.published,
        )
