"""Each engine has a DuckDB of its own here, as wherever it is used; and there is a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine import cluster_story
from tests.shared_duckdb import CONNECT, connecting

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package", autouse=True)
def own_duckdb() -> Iterator[None]:
    with connecting(CONNECT):
        yield


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> cluster_story.Story:
    """Tell what happened on a cluster whose workers were killed: it takes minutes."""
    return cluster_story.story(
        tmp_path_factory.mktemp("cluster"), tmp_path_factory.mktemp("tables")
    )
