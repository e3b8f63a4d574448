"""A place of its own for every test of a rehearsal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.place import Place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    """Make a place with a schema and a private table."""
    return Place(tmp_path / "place", capsys)
