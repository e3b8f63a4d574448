"""Charts as data: what is empty is drawn as empty, and numbers read as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from understudy.pages import charts
from understudy.pages.bars import bars, broken
from understudy.pages.histograms import MOST_STEPS, histogram
from understudy.pages.page import Table, figure

COLOURS = {"real": "red", "made": "blue"}


def counts(real: list[int], made: list[int], ordered: int) -> dict[str, Any]:
    labels = [f"v{i}" for i in range(len(real))]
    return {"labels": labels, "real": real, "runs": [made], "ordered": ordered}


def test_hours_without_rows_are_drawn_between_those_with_some() -> None:
    real, made = [0, 4, 0, 0, 6, 0, 1], [0, 0, 0, 2, 8, 0, 0]
    chart = histogram("hour", counts(real, made, 6), COLOURS)
    assert chart.data["value"][::2] == ["v1", "v2", "v3", "v4", "v6"]
    assert chart.data["rows"] == [4, 0, 0, 0, 0, 2, 6, 8, 1, 0]
    assert chart.data["share"][6] == pytest.approx(6 / 11)
    # Categories have no order in which one could be missed.
    assert histogram("to", counts(real, made, 0), COLOURS).data["value"][::2] == [
        "v1",
        "v3",
        "v4",
        "v6",
    ]


def test_many_steps_are_merged_and_none_of_their_rows_are_lost() -> None:
    real = list(range(1, 101))
    chart = histogram("age", counts(real, real[::-1], 100), COLOURS)
    assert len(chart.data["value"]) == 2 * 25
    assert len(chart.data["value"]) <= 2 * MOST_STEPS
    assert chart.data["value"][0] == "v0 … v3"
    assert sum(chart.data["rows"]) == 2 * sum(real)
    assert "4 neighbours each are drawn as one." in chart.about


def test_a_place_without_rows_has_no_colour() -> None:
    data: Table = {"area": ["a", "b"], "rows": [0, 5], "across": [0, 1], "down": [0, 0]}
    tile, _ = charts.tiles("areas", "Rows.", data, place="area", time=None).spec["layer"]
    assert tile["encoding"]["color"]["condition"] == charts.EMPTY
    assert charts.EMPTY == {"test": "datum.rows == 0", "value": "transparent"}


def test_long_labels_lie_and_are_told_apart() -> None:
    short = bars("t", "a", {"k": ["a", "b"], "n": [1, 2]}, label="k", count="n")
    assert short.spec["encoding"]["x"]["field"] == "k"
    names = [f"people by most common pickup and dropoff and payment and hour {i}" for i in (1, 2)]
    long = bars("t", "a", {"k": names, "n": [1, 2]}, label="k", count="n")
    drawn = [row["~7e6c6162656c"] for row in long.spec["data"]["values"]]
    assert len(set(drawn)) == 2
    assert all(name.count("\n") == 1 for name in drawn)
    assert broken("") == ""


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (1160.0, 3, "1,160"),
        (999.6, 3, "1,000"),
        (99.7, 2, "100"),
        (1234567.8, 4, "1,234,568"),
        (-1160.4, 3, "-1,160"),
        (7.934, 3, "7.93"),
        (0.0, 3, "0"),
    ],
)
def test_numbers_have_no_exponents(value: float, digits: int, shown: str) -> None:
    assert figure(value, digits) == shown
