"""How hard the audits try: quickly with every test, thoroughly by `make audit`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

THOROUGH = os.environ.get("UNDERSTUDY_AUDIT") == "1"
PLANTED = os.environ.get("UNDERSTUDY_ZOO") == "1"
"""Whether a bug may be planted in the house: then all cases are there, as in an audit."""
in_audit = pytest.mark.skipif(not (THOROUGH or PLANTED), reason="takes long: `make audit` runs it")


def effort(usual: int, thorough: int) -> int:
    """Choose how often something is tried."""
    return thorough if THOROUGH else usual


def few(cases: Iterable[Any], usual: int) -> list[Any]:
    """Choose the first cases; an audit has all of them."""
    every = list(cases)
    return every if PLANTED else every[: effort(usual, len(every))]


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """Choose one case in so many; an audit has all of them."""
    return list(cases)[:: 1 if PLANTED else effort(step, 1)]


def tried(examples: int = 100, usual: int | None = None) -> settings:
    """Choose the number of a property's examples: an audit has all, every run a sixth, or some.

    Where an example takes long, every run has so few as are said.
    """
    few = max(5, examples // 6) if usual is None else usual
    return settings(max_examples=examples if THOROUGH or PLANTED else few, deadline=None)
