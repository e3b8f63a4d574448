"""Releases list their constraints, check them, and count what constraints compute."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from tests.release.made import released
from understudy.errors import UsageError
from understudy.pages.release import release_page
from understudy.release.constraints import Checked
from understudy.schema import Categorical, Id, Integer, Numeric, Schema

SCHEMA = Schema(
    "trips",
    (
        Id(name="who"),
        Categorical(
            name="town", values=("a", "b", "c"), missing=False, outside="drop", of="person"
        ),
        Categorical(name="county", values=("x", "y"), of="person"),
        Integer(name="year", min=0, max=9),
        Numeric(name="fare", edges=(0.0, 5.0, 10.0)),
        Numeric(name="tips", edges=(0.0, 5.0, 10.0)),
        Numeric(name="total", edges=(0.0, 5.0, 10.0)),
    ),
    order_by=("year",),
    constraints=(
        us.Determines("town", "county", {"a": "x", "b": "y", "c": "y"}, name="home"),
        us.Sum("total", ("fare", "tips")),
        us.Order("tips", "fare"),
        us.UniquePerPerson("year"),
        us.ConstantPerPerson("town"),
    ),
)


@pytest.fixture(scope="module")
def release() -> us.Release:
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(100), 4)
    codes = {n: rng.integers(0, size, 400) for n, size in SCHEMA.domain.items()}
    codes |= {"year": np.tile(np.arange(4), 100), "town": np.repeat(rng.integers(0, 3, 100), 4)}
    return released(codes, who, SCHEMA, rng)


def test_what_is_computed_is_counted_and_labelled(release: us.Release) -> None:
    assert release.labels("county") == ("x", "y", "(missing)", "(other)")
    values, counts = np.unique(release.columns["county"].astype(str), return_counts=True)
    assert dict(zip(release.labels("county"), release.histogram("county"), strict=True)) == {
        "(missing)": 0,
        "(other)": 0,
        **dict(zip(values.tolist(), counts.tolist(), strict=True)),
    }
    both = release.histogram("total", "town")
    assert both.shape == (3, 3)
    assert both.sum() == 400
    assert release.histogram("town", "year").shape == (3, 11)
    assert "county" in repr(release)
    lines = release.people_columns
    assert set(zip(lines["town"], lines["county"], strict=True)) == {
        ("a", "x"),
        ("b", "y"),
        ("c", "y"),
    }


def test_what_follows_is_not_estimated_and_its_columns_are_named(release: us.Release) -> None:
    with pytest.raises(UsageError) as caught:
        release.estimate("county")
    assert caught.value.what == "columns that follow from others are not measured"
    assert caught.value.got == "county, by the constraint 'home'"
    assert caught.value.allowed == "what they follow from: town"
    assert str(caught.value.hint).startswith('release.histogram("county") counts')
    with pytest.raises(UsageError, match="follow from others") as caught:
        release.estimate("town", mean="total")
    assert caught.value.allowed == "what they follow from: town, fare, tips"
    # What follows from what follows is followed back to the beginning.
    said = (us.Determines("year", "of", (("0", "a"),)), us.Determines("of", "era", (("a", "b"),)))
    columns = (
        Integer(name="year", min=0, max=0),
        Categorical(name="of", values=("a",)),
        Categorical(name="era", values=("b",)),
    )
    with pytest.raises(UsageError) as caught:
        replace(release, schema=Schema("two", columns, constraints=said)).estimate("era", "year")
    assert caught.value.allowed == "what they follow from: year"


def test_people_are_drawn_by_a_column_that_follows_from_their_own(release: us.Release) -> None:
    drawn = release.sample(people=5, where={"county": "y"}, seed=1)
    assert set(drawn["town"]) <= {"b", "c"}


def test_a_saved_release_says_that_its_rows_obey(release: us.Release, tmp_path: Path) -> None:
    manifest = json.loads((release.save(tmp_path / "out") / "manifest.json").read_text("utf-8"))
    assert [each["name"] for each in manifest["constraints"]] == [
        c.label for c in SCHEMA.constraints
    ]
    assert {each["rows_that_break_it"] for each in manifest["constraints"]} == {0}
    assert manifest["constraints"][1]["says"] == "total = fare + tips."
    again = us.Release.read(tmp_path / "out")
    assert again.manifest["constraints"] == manifest["constraints"]
    assert again.schema.constraints == SCHEMA.constraints


def test_rows_that_break_a_constraint_are_counted(release: us.Release) -> None:
    columns = {name: column.copy() for name, column in release.columns.items()}
    columns["total"][:3] += 1
    columns["county"][:5] = "x" if columns["town"][0] != "a" else "y"
    columns["year"][4:6] = 3
    columns["tips"][0], columns["fare"][0], columns["total"][0] = 2.0, 1.0, 3.0
    checked = Checked(release.schema, release.ids)
    for rows in (slice(0, 250), slice(250, 400)):
        checked.add({name: column[rows] for name, column in columns.items()})
    broken = checked.broken()
    assert broken["sum: total, fare, tips"] == 2
    assert broken["order: tips, fare"] == 1
    assert broken["home"] >= 4
    assert broken["unique per person: year"] == 2
    assert broken["constant per person: town"] == 0


def test_the_report_lists_what_rows_obey(release: us.Release) -> None:
    page = release_page(release).html()
    assert "All 400 rows were checked for this page: every one of them obeys all." in page
    assert "county follows from town, by a list of 3 values." in page
    assert "Constraints" not in release_page(_unconstrained(release)).html()


def _unconstrained(release: us.Release) -> us.Release:
    return replace(release, schema=release.schema.unconstrained)


def test_the_report_does_not_hide_rows_that_break_one(release: us.Release) -> None:
    said = us.Never({"year": 0}, name="no first year")
    schema = replace(SCHEMA, constraints=(*SCHEMA.constraints, said))
    page = release_page(replace(release, schema=schema)).html()
    assert "Some rows break what was declared" in page
