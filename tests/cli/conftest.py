"""A place of its own for every test of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import understudy.cli.report  # noqa: F401  it keeps the function that is replaced below
from tests.audit.effort import THOROUGH
from tests.cli.place import Place


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    """Make a place with a schema and a private table."""
    return Place(tmp_path / "place", capsys)


@pytest.fixture
def whole_reports() -> None:
    """Write reports in full, for a test in a module of plain ones."""


@pytest.fixture
def plain_reports(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Write no more than a line as a release's report: for tests that do not look into it.

    It takes as long as all else about a small release.  In an audit it is written.
    """

    def plain(release: object, path: Path) -> Path:
        path.write_text("<!doctype html>\n")
        return path

    if not THOROUGH and "whole_reports" not in request.fixturenames:
        monkeypatch.setattr("understudy.pages.report", plain)
