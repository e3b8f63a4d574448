"""Checks that all questions share: what a question holds is plain, and in range."""

from __future__ import annotations

import math

from understudy.errors import BudgetError, QuestionError

LARGEST = 2.0**36
"""The most rows or people that a question may speak of."""


def keep(record: object, name: str, value: object) -> None:
    """Replace a field by its checked value.

    Numbers become plain ones: a caller's own subclass could say one thing to the charge and
    another to the count.
    """
    object.__setattr__(record, name, value)


def number(value: object) -> float:
    """Return a plain number, NaN for what is none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return math.nan
    return float(value)


def positive_scale(scale: object) -> float:
    """Return a noise scale as a plain number; raise unless it is positive and finite."""
    if not 0 < number(scale) < math.inf:
        raise BudgetError("a noise scale must be positive", got=scale, allowed="a number above 0")
    return number(scale)


def whole(what: str, value: object) -> int:
    """Return a plain integer; raise unless it is positive, and below 2³¹."""
    plain = int(value) if isinstance(value, int) and not isinstance(value, bool) else 0
    if not 0 < plain < 2**31:
        raise BudgetError(f"{what} must be a positive integer", got=repr(value))
    return plain


def check_clique(clique: object) -> None:
    """Raise unless a clique is a tuple of distinct column names."""
    # A caller's own subclass of str could be one column to the charge and another to the count.
    if type(clique) is not tuple or any(type(name) is not str for name in clique):
        raise QuestionError("a clique must be a tuple of column names", got=type(clique).__name__)
    if len(set(clique)) < len(clique):
        raise QuestionError("a clique must name each column only once", got=clique)
