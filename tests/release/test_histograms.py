"""Histograms as tables: counts of synthetic rows, and what is too much for one."""

from __future__ import annotations

import pytest

from tests.release.modelled import made
from understudy.errors import UsageError
from understudy.release import histogram_columns
from understudy.release import histograms as of_rows


def test_a_histogram_has_a_line_for_each_cell() -> None:
    release = made(rows=400)
    found = histogram_columns(release, ["hour"], None)
    assert list(found) == ["hour", "rows"]
    assert found["rows"].sum() == 400
    assert found["rows"].tolist() == release.histogram("hour").tolist()


def test_too_many_lines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_rows, "MOST_LINES", 3)
    with pytest.raises(UsageError, match="too many lines"):
        histogram_columns(made(), ["hour"], None)
    with pytest.raises(UsageError, match="distinct columns"):
        histogram_columns(made(), ["hour", "hour"], None)


def test_columns_that_cannot_be_counted_are_refused() -> None:
    release = made()
    for names in (("nope",), ("hour", "hour"), (["hour"],)):
        with pytest.raises(UsageError, match=r"distinct columns .*allowed: colour, hour, price\)"):
            release.histogram(*names)


def test_too_many_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    release = made(rows=400)
    assert release.histogram().shape == (3, 4, 3)
    monkeypatch.setattr(of_rows, "MOST_CELLS", 20)
    assert release.histogram("hour", "price").sum() == 400
    with pytest.raises(UsageError, match=r"too many cells .got 36 of 3 columns; allowed: at most"):
        release.histogram()
