"""Each engine has a DuckDB of its own here, as it has wherever it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.shared_duckdb import CONNECT, connecting

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package", autouse=True)
def own_duckdb() -> Iterator[None]:
    with connecting(CONNECT):
        yield
