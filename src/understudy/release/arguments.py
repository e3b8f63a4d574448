"""Arguments of a release's methods: they are checked before anything is drawn or read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from understudy.errors import UsageError
from understudy.release.display import shortened


def check_whole(name: str, given: object, *, least: int = 0, needed: bool = False) -> None:
    """Raise unless an argument is a whole number that is large enough, or None if not needed.

    >>> check_whole("rows", 2.5)
    Traceback (most recent call last):
    understudy.errors.UsageError: rows must be a whole number (got 2.5; allowed: at least 0)
    """
    if given is None and not needed:
        return
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool):
        raise UsageError(
            f"{name} must be a whole number", got=_shown(given), allowed=f"at least {least}"
        )
    if given < least:
        raise UsageError(f"{name} must be at least {least}", got=given)


def conditions_of(where: object) -> Mapping[str, object]:
    """Return the conditions by which rows are chosen; none where ``where`` is None."""
    if where is None:
        return {}
    if not isinstance(where, Mapping):
        raise UsageError(
            "where must be a dict of columns and their values",
            got=_shown(where),
            allowed='a value, a list of values or a range for each column: {"month": [7, 8]}',
        )
    return where


def groups_of(by: object) -> tuple[str, ...]:
    """Return the columns by which rows are grouped: one name, or several."""
    if isinstance(by, str):
        return (by,)
    if not isinstance(by, Iterable):
        raise UsageError(
            "by must be a column or a list of columns",
            got=_shown(by),
            allowed='by="month" or by=["month", "origin"]',
        )
    return tuple(by)


def _shown(given: object) -> str:
    return shortened(repr(given))
