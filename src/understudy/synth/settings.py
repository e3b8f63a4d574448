"""Checks of settings that several mechanisms have; each names the setting and its bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from understudy.errors import BudgetError, QuestionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from understudy.door import Clique


def as_tuples(value: Any) -> Any:  # noqa: ANN401  as JSON gives it
    """Return lists as tuples, all the way down.

    >>> as_tuples([["a", ["b"]], 1])
    (('a', ('b',)), 1)
    """
    return tuple(map(as_tuples, value)) if isinstance(value, (list, tuple)) else value


def set_tuples(settings: object, *names: str) -> None:
    """Turn lists in these settings of a frozen mechanism into tuples."""
    for name in names:
        object.__setattr__(settings, name, as_tuples(getattr(settings, name)))


def check_columns(named: Iterable[str], domain: Mapping[str, int]) -> None:
    """Raise on columns that the schema does not model."""
    unknown = sorted(set(named) - set(domain))
    if unknown:
        raise QuestionError(
            "settings name columns that the schema does not model",
            got=", ".join(unknown),
            allowed=", ".join(domain),
        )


def check_shares(settings: object, *names: str, below: float = 1.0) -> None:
    """Raise on shares of the budget that are not between 0 and 1, or add up to too much."""
    for name in names:
        if not 0 < getattr(settings, name) < 1:
            raise BudgetError(
                f"{name} must be above 0 and below 1", got=repr(getattr(settings, name))
            )
    whole = math.fsum(getattr(settings, name) for name in names)
    if whole >= below:
        listed = " + ".join(names)
        raise BudgetError(f"{listed} must be below {below:g}", got=f"{whole:g}")


def check_at_least(settings: object, least: int, *names: str) -> None:
    """Raise on numbers below a bound; None stands for a default."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value >= least:
            raise UsageError(f"{name} must be at least {least}", got=value)


def check_finite(settings: object, name: str) -> None:
    """Raise on an infinite number."""
    if math.isinf(getattr(settings, name)):
        raise UsageError(f"{name} must be finite", got=repr(getattr(settings, name)))


def check_weights(name: str, weights: Iterable[tuple[Clique, float]]) -> None:
    """Raise on weights that are not above 0, or not finite."""
    for clique, weight in weights:
        if not 0 < weight < math.inf:
            raise BudgetError(
                f"the weight of {' × '.join(clique)} in {name} must be above 0 and finite",
                got=repr(weight),
            )


def check_word(settings: object, name: str, *allowed: str) -> None:
    """Raise on a value that is not among those allowed."""
    if getattr(settings, name) not in allowed:
        listed = " or ".join(map(repr, allowed))
        raise UsageError(f"{name} must be {listed}", got=repr(getattr(settings, name)))
