"""Outlines of places: whose they are, how they lie, and the map that is drawn of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.pages.browser import Opened, needs_browser, opened
from understudy.errors import MissingFileError, UnderstudyError, UsageError
from understudy.pages.outlines import read_outlines
from understudy.pages.release import release_page
from understudy.schema import Categorical, Integer, Schema

NAMES = {"8": "Near North Side", "32": "Loop", "76": "O'Hare", "(missing)": "(missing)"}


def square(x: float, y: float) -> list[list[list[float]]]:
    return [[[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1], [x, y]]]


def feature(x: float, **properties: Any) -> dict[str, Any]:
    return {
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": "Polygon", "coordinates": square(x, 41.5)},
    }


FEATURES = [
    feature(-88, id=1, area_num=8.0, community="NEAR NORTH SIDE"),
    feature(-87, id=2, area_num=32.0, community="LOOP"),
    feature(-86, id=3, area_num=99.0, community="ELSEWHERE"),
]


def geojson(path: Path, features: object) -> Path:
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


@pytest.mark.parametrize("without", ["area_num", "community"])
def test_a_place_is_known_by_its_code_or_by_its_name(tmp_path: Path, without: str) -> None:
    kept = [
        {**f, "properties": {k: v for k, v in f["properties"].items() if k != without}}
        for f in FEATURES
    ]
    found = read_outlines(geojson(tmp_path / "areas.geojson", kept), NAMES)
    assert list(found) == ["Near North Side", "Loop"]
    (ring,) = found["Loop"]["coordinates"]
    # As wide as they are in truth, which at this latitude is three quarters of a degree.
    assert ring[1][0] - ring[0][0] == pytest.approx(math.cos(math.radians(42)), abs=1e-4)
    assert ring[2][1] - ring[1][1] == pytest.approx(1)


CASES: dict[str, tuple[object, type[UnderstudyError], str]] = {
    "nothing": ([], UsageError, "no outlines that can be drawn"),
    "points": (
        [{**FEATURES[0], "geometry": {"type": "Point", "coordinates": [1, 2]}}],
        UsageError,
        "no outlines that can be drawn",
    ),
    "no list": (7, UsageError, "no outlines that can be drawn"),
    "other places": ([feature(1, name="Paris")], UsageError, "no outline of a value"),
    "nameless": ([feature(1)], UsageError, "no outline of a value"),
}


@pytest.mark.parametrize("case", CASES)
def test_files_that_show_nothing(tmp_path: Path, case: str) -> None:
    features, error, said = CASES[case]
    with pytest.raises(error, match=said):
        read_outlines(geojson(tmp_path / "areas.geojson", features), NAMES)


def test_a_file_that_is_not_there_or_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingFileError, match="cannot read the outlines"):
        read_outlines(tmp_path / "none.geojson", NAMES)
    monkeypatch.setattr("understudy.pages.outlines.MOST_BYTES", 10)
    with pytest.raises(UsageError, match="is too large"):
        read_outlines(geojson(tmp_path / "areas.geojson", FEATURES), NAMES)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    rng = np.random.default_rng(0)
    area = Categorical(
        name="pickup",
        values=(8, 32, 76),
        names=("Near North Side", "Loop", "O'Hare"),
        missing=False,
        outside="drop",
    )
    return us.open(
        private={"pickup": rng.choice([8, 32, 32], 600), "hour": rng.integers(6, size=600)},
        schema=Schema("trips", (area, Integer(name="hour", min=0, max=5, missing=False))),
        unit=us.Unit.each_row(),
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=5, delta=1e-6),
        ledger=tmp_path_factory.mktemp("map") / "ledger",
    ).run(us.Independent())


def test_outlines_of_a_column_that_is_not_there(release: us.Release, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a column that is not modelled"):
        release_page(release, {"dropoff": geojson(tmp_path / "a.geojson", FEATURES)})


@needs_browser
def test_a_map_is_drawn_with_a_slider_over_time(
    release: us.Release, driver: Any, tmp_path: Path
) -> None:
    outlines = {"pickup": geojson(tmp_path / "areas.geojson", FEATURES)}
    path = us.report(release, tmp_path / "report.html", outlines=outlines)
    page: Opened = opened(driver, path)
    shapes = page.run(
        "return [...document.querySelectorAll('.mark-shape path')]"
        ".filter(p => p.getBoundingClientRect().width > 20).length"
    )
    sliders = page.run("return document.querySelectorAll('input[type=range]').length")
    assert shapes == 2
    assert sliders >= 1
