"""How hard the audits try: quickly with every test, thoroughly by `make audit`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

THOROUGH = os.environ.get("UNDERSTUDY_AUDIT") == "1"
in_audit = pytest.mark.skipif(not THOROUGH, reason="takes long: `make audit` runs it")


def effort(usual: int, thorough: int) -> int:
    """Choose how often something is tried."""
    return thorough if THOROUGH else usual


def few(cases: Iterable[Any], usual: int) -> list[Any]:
    """Choose the first cases; an audit has all of them."""
    every = list(cases)
    return every[: effort(usual, len(every))]
