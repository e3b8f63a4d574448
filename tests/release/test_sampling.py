"""More rows of a release: as the model has them, as they are wanted, and free of charge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.release.modelled import SCHEMA, made, model
from understudy.errors import SchemaError, UsageError


def far(found: Any, expected: Any) -> float:
    """Give the total variation of counts from a distribution."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    return float(np.abs(found / found.sum() - expected / expected.sum()).sum() / 2)


def test_rows_follow_the_model_and_not_the_rows_that_were_released() -> None:
    """A few released rows say nothing of the model's pairs; 20,000 new ones do, within 2 %."""
    release = made(rows=40, people=None)
    rows = release.sample_columns(20_000, seed=0)
    codes, kept = SCHEMA.released().encode(rows)
    assert kept.all()
    pair = np.zeros((4, 3))
    np.add.at(pair, (codes["hour"], codes["price"]), 1)
    assert far(pair, model().marginal(("hour", "price"))) < 0.02
    assert far(np.bincount(codes["colour"] > 0), model().marginal(("colour",))) < 0.02
    assert "who" not in rows


def test_what_the_model_put_together_is_spread_as_released_rows_are() -> None:
    rows = made().sample_columns(20_000, seed=0)
    green, blue = (int((rows["colour"] == c).sum()) for c in ("green", "blue"))
    assert abs(green / (green + blue) - 0.75) < 0.03


@pytest.mark.parametrize("modelled", [True, False])
def test_all_rows_are_as_they_are_wanted_and_the_rest_follows(modelled: bool) -> None:
    release = made(rows=30_000, modelled=modelled)
    rows = release.sample_columns(9000, seed=3, where={"colour": "green", "hour": [1, "2"]})
    assert set(rows["colour"]) == {"green"}
    assert set(rows["hour"].tolist()) == {1, 2}
    codes, _ = SCHEMA.released().encode(rows)
    # Green is a part of a code of the model, and prices depend on hours alone.
    given = model().marginal(("colour", "hour", "price"))[1, 1:3]
    found = np.zeros((2, 3))
    np.add.at(found, (codes["hour"] - 1, codes["price"]), 1)
    assert far(found, given) < 0.05


def test_a_number_is_wanted_by_its_bin_and_not_by_a_value_in_it() -> None:
    release = made()
    for wanted in ("[1, 5)", {"min": 1, "below": 5}):
        rows = release.sample_columns(50, seed=0, where={"price": wanted})
        assert rows["price"].min() >= 1
        assert rows["price"].max() < 5
    for value in (3.5, "3.5", 1.0, [0.5, "[1, 5)"]):
        with pytest.raises(UsageError, match="'price': a single value must not cut a bin") as told:
            release.sample_columns(50, where={"price": value})
        assert "a range from edge to edge" in str(told.value)


@pytest.mark.parametrize("modelled", [True, False])
def test_people_have_as_many_rows_as_released_ones(modelled: bool) -> None:
    release = made(modelled=modelled)
    rows = release.sample_columns(8000, seed=4)
    sizes = np.unique(rows["who"], return_counts=True)[1]
    before = np.unique(release.columns["who"], return_counts=True)[1]
    assert abs(sizes.mean() - before.mean()) < 1
    assert sizes.max() <= before.max()


def test_without_a_model_people_come_again_with_their_own_rows() -> None:
    release = made(rows=60, people=20, modelled=False)

    def rows_of(columns: Any) -> set[tuple[Any, ...]]:
        people: dict[int, list[Any]] = {}
        for row in zip(*(columns[n].tolist() for n in ("who", "colour", "hour")), strict=True):
            people.setdefault(row[0], []).append(row[1:])
        return {tuple(sorted(rows)) for rows in people.values()}

    drawn = release.sample_columns(2000, seed=0)
    last = drawn["who"].max()
    whole = {n: c[drawn["who"] < last] for n, c in drawn.items()}
    assert rows_of(whole) <= rows_of(release.columns)


def test_a_seed_gives_the_same_rows_and_none_gives_others() -> None:
    release = made()
    one, two, other = (release.sample_columns(500, seed=s) for s in (1, 1, 2))
    assert all(np.array_equal(one[n], two[n]) for n in one)
    assert any(not np.array_equal(one[n], other[n]) for n in one)
    assert not np.array_equal(
        release.sample_columns(500)["price"], release.sample_columns(500)["price"]
    )


def test_as_many_rows_as_there_are_where_it_is_not_said() -> None:
    assert len(made(rows=123).sample_columns()["hour"]) == 123
    assert len(made().sample_columns(0)["hour"]) == 0


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_release_that_was_saved_gives_the_same_rows(tmp_path: Path, form: Any) -> None:
    release = made()
    again = us.Release.read(release.save(tmp_path / "out", format=form))
    assert again.ids == release.ids == ("who",)
    here, there = (r.sample_columns(300, seed=5, where={"hour": 2}) for r in (release, again))
    assert all(np.array_equal(here[n], there[n]) for n in here)


def test_what_cannot_be_is_refused_with_what_can() -> None:
    release = made()
    with pytest.raises(UsageError, match=r"rows must be at least 0 \(got -1\)"):
        release.sample_columns(-1)
    with pytest.raises(UsageError, match=r"seed must be at least 0 \(got -1\)"):
        release.sample_columns(1, seed=-1)
    with pytest.raises(UsageError, match="cannot draw rows from a release that has none"):
        made(rows=0).sample_columns(1)
    with pytest.raises(SchemaError, match="no modelled column 'size'"):
        release.sample_columns(1, where={"size": 1})
    for name, value in (("colour", "pink"), ("hour", 9), ("price", 100), ("price", "dear")):
        with pytest.raises(UsageError, match=f"column '{name}' has no such value") as caught:
            release.sample_columns(1, where={name: value})
        assert caught.value.allowed
    for modelled in (True, False):
        with pytest.raises(UsageError, match="no value of column 'colour' satisfies the condition"):
            made(modelled=modelled).sample_columns(1, where={"colour": []})


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"rows": 2.5}, r"rows must be a whole number \(got 2.5; allowed: at least 0\)"),
        ({"rows": "5"}, r"rows must be a whole number \(got '5'; allowed: at least 0\)"),
        ({"rows": True}, r"rows must be a whole number \(got True; "),
        ({"people": 1.5}, r"people must be a whole number \(got 1.5; "),
        ({"rows": 5, "seed": "a"}, r"seed must be a whole number \(got 'a'; "),
        ({"rows": 5, "seed": 1.5}, r"seed must be a whole number \(got 1.5; "),
        ({"rows": 5, "where": "c=a"}, r"where must be a dict of columns .*\(got 'c=a'; allowed: "),
    ],
)
def test_arguments_of_other_types_are_refused(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        made().sample_columns(**asked)


def test_numbers_of_numpy_are_whole_numbers() -> None:
    rows = made().sample_columns(np.int64(5), seed=np.uint8(1), where={"hour": np.int64(2)})  # type: ignore[arg-type]
    assert rows["hour"].tolist() == [2] * 5
