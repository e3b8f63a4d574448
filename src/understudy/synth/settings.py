"""Settings that several mechanisms have: what they may be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from understudy.errors import BudgetError, QuestionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from understudy.door import Clique


def check_columns(named: Iterable[str], domain: Mapping[str, int]) -> None:
    """Refuse settings that name columns which the schema does not model."""
    unknown = sorted(set(named) - set(domain))
    if unknown:
        raise QuestionError(
            "settings name columns that the schema does not model",
            got=", ".join(unknown),
            allowed=", ".join(domain),
        )


def check_shares(*shares: float) -> None:
    """Refuse shares of a budget that are not positive, or leave nothing for the rest."""
    if not all(0 < s < 1 for s in shares) or sum(shares) >= 1:
        raise BudgetError("shares must be positive and sum to less than 1", got=shares)


def check_share(share: float) -> None:
    """Refuse a share of a part of the budget that leaves nothing, or takes nothing."""
    if not 0 < share < 1:
        raise BudgetError("a share lies between 0 and 1", got=share)


def check_most_each(most: int | None) -> None:
    """Refuse people without rows."""
    if most is not None and most < 1:
        raise BudgetError("a person has at least one row", got=most)


def check_weights(weights: Iterable[tuple[Clique, float]]) -> None:
    """Refuse weights that are not above 0."""
    held = [weight for _, weight in weights]
    if not all(0 < weight < math.inf for weight in held):
        raise BudgetError("weights must be above 0", got=held)


def check_words(within: str, rare: str) -> None:
    """Refuse another way to draw values within a bin, or to put rare codes together."""
    if within not in ("evenly", "public") or rare not in ("neighbours", "other"):
        raise UsageError("unknown setting", got=f"{rare}, {within}")
