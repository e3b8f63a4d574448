"""One browser for all pages: to start it takes longer than to draw most of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.pages.browser import Opened, browser


@pytest.fixture(scope="session")
def _started() -> Iterator[Any]:
    with browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def driver(_started: Any) -> Any:
    """Give the browser as if it were new: a module leaves its page open, as wide as it was."""
    Opened(_started).plain()
    return _started
