"""Archetypes described: names that a person can read, what each does, and how many there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from understudy.pages.kinds import drift
from understudy.pages.release import release_page
from understudy.schema import Categorical, Id, Integer, Numeric, Schema
from understudy.synth.archetypes import Archetypes

AREAS = ("Loop", "Airport", "Harbour")
SCHEMA = Schema(
    "trips",
    (
        Id(name="taxi"),
        Integer(name="hour", min=0, max=23, missing=False),
        Categorical(name="pickup", values=(1, 2, 3), names=AREAS, missing=False, outside="drop"),
        Categorical(name="paid", values=("cash", "card"), missing=False, outside="drop"),
        Categorical(name="firm", values=("red", "blue"), missing=False, outside="drop"),
        Numeric(name="fare", edges=(0.0, 10.0, 30.0, 60.0), missing=False),
    ),
)


def trips(seed: int, *, late: float, people: int = 300) -> dict[str, Any]:
    """Taxis of mornings in the Loop for cash, and of evenings at the airport by card."""
    rng = np.random.default_rng(seed)
    evening = np.repeat(rng.random(people) < late, 6)
    rows = len(evening)
    return {
        "taxi": np.repeat(np.arange(people), 6),
        "hour": np.where(evening, rng.integers(18, 22, rows), rng.integers(7, 11, rows)),
        "pickup": np.where(evening, 2, 1),
        "paid": np.where(evening, "card", "cash").astype(object),
        "firm": np.repeat(np.where(rng.random(people) < 0.5, "red", "blue"), 6).astype(object),
        "fare": np.where(evening, rng.uniform(31, 59, rows), rng.uniform(1, 9, rows)),
    }


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    """Evenings are a fifth of public taxis, and four fifths of private ones."""
    place: Path = tmp_path_factory.mktemp("kinds")
    release = us.open(
        private=trips(1, late=0.8),
        public=trips(2, late=0.2),
        schema=SCHEMA,
        unit=us.Unit("taxi"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=4, delta=1e-6),
        ledger=place / "ledger",
    ).run(Archetypes(features=("hour", "pickup"), kinds=2, attribute="firm"))
    return us.Release.read(release.save(place / "out"))


def test_a_release_keeps_its_archetypes_with_names_that_a_person_can_read(
    saved: us.Release,
) -> None:
    told = saved.documents["archetypes"]
    assert "archetypes.json" in saved.manifest["files"]
    evening, morning = sorted(told["archetypes"], key=lambda kind: kind["public_people"])
    assert re.fullmatch("hour (18|19) to (20|21), Airport, card", evening["name"])
    assert "Loop, cash" in morning["name"]
    assert evening["people"] == pytest.approx(240, abs=40)
    assert (evening["rows_each"], morning["rows_each"]) == (6, 6)
    assert evening["rows_each_by"]["pickup"] == {"Airport": 6}
    assert sum(evening["rows_each_by"]["hour"].values()) == pytest.approx(6, abs=0.01)
    assert evening["shares_by"]["paid"] == {"card": 1}
    assert [value["name"] for value in told["attribute"]["values"]] == ["red", "blue"]
    assert "taxi" not in str(told)


def test_the_report_says_what_has_changed_beyond_noise(saved: us.Release) -> None:
    text = release_page(saved).html()
    assert "Kinds of people" in text
    assert "By kind, 2 of 2 numbers of people differ" in text
    assert "By firm, no difference is more than noise" in text
    assert "and 30 more" not in text


def test_the_report_calls_values_by_their_names(saved: us.Release) -> None:
    assert saved.readable("pickup") == {"1": "Loop", "2": "Airport", "3": "Harbour"}
    assert "Harbour" in release_page(saved).html()
    # Rows keep their codes.
    assert set(np.unique(saved.columns["pickup"])) <= {1, 2, 3}


def test_drift_is_held_against_noise_and_chance() -> None:
    counts = [
        {"people": 500.0, "public_people": 50},
        {"people": 500.0, "public_people": 50},
        {"people": -3.0, "public_people": 0},
    ]
    still = drift(counts, 5.0)
    assert max(map(abs, still["errors"])) < 1
    assert sum(still["expected"]) == pytest.approx(997)
    # A tenth more of a kind is chance among a hundred people, and drift among a hundred thousand.
    moved = [{"people": 550.0, "public_people": 50}, {"people": 450.0, "public_people": 50}]
    assert max(drift(moved, 5.0)["errors"]) < 3
    many = [{k: 1000 * v for k, v in each.items()} for each in moved]
    assert max(drift(many, 5.0)["errors"]) > 10
    assert max(drift(many, 1e5)["errors"]) < 1
