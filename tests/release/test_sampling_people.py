"""People of a release: whole, chosen by what is their own, numbered anew, and free of charge."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import tried
from tests.release.made import released
from tests.release.modelled import made
from understudy.errors import UsageError
from understudy.schema import Categorical, Id, Integer, Schema

if TYPE_CHECKING:
    from pathlib import Path

VISITS = Schema(
    "visits",
    (
        Id(name="who", min=100),
        Categorical(name="ward", values=tuple("abc"), missing=False, outside="drop"),
        Integer(name="month", min=1, max=12),
        Categorical(name="sex", values=("F", "M"), missing=False, of="person"),
        Integer(name="born", min=0, max=9, missing=False, of="person"),
    ),
    order_by=("month",),
)
Life = tuple[tuple[Any, ...], ...]


def lived(people: int = 80, seed: int = 0) -> us.Release:
    """Make a release of people with one to nine rows, in order; every fourth is a woman."""
    rng = np.random.default_rng(seed)
    sizes = 1 + np.arange(people) % 9
    who = np.repeat(np.arange(people), sizes)
    months = np.concatenate([np.sort(rng.integers(0, 13, n)) for n in sizes])
    codes = {
        "ward": rng.integers(0, 3, len(who)),
        "month": months,
        "sex": (np.arange(people) % 4 > 0).astype(int)[who],
        "born": rng.integers(0, 9, people)[who],
    }
    return released(codes, who, VISITS, rng)


LIVED = lived()


def lives(columns: Any) -> dict[int, Life]:
    """Return the rows of every person, as they come."""
    found: dict[int, list[Any]] = {}
    names = ("who", "ward", "month", "sex", "born")
    for who, *row in zip(*(columns[name].tolist() for name in names), strict=True):
        found.setdefault(who, []).append(tuple(row))
    return {who: tuple(rows) for who, rows in found.items()}


def in_order(life: Life) -> bool:
    months = [13 if row[1] is None else row[1] for row in life]
    return all(a <= b for a, b in pairwise(months))


@given(people=st.integers(0, 300), seed=st.integers(0, 2**32), women=st.booleans())
@tried(usual=12)
def test_as_many_whole_people_as_are_asked_for(people: int, seed: int, women: bool) -> None:
    where = {"sex": "F"} if women else None
    drawn = lives(LIVED.sample_columns(people=people, seed=seed, where=where))
    assert sorted(drawn) == list(range(100, 100 + people))
    known = {frozenset(life) for life in lives(LIVED.columns).values()}
    assert {frozenset(life) for life in drawn.values()} <= known
    assert all(in_order(life) for life in drawn.values())
    if women:
        assert {row[2] for life in drawn.values() for row in life} <= {"F"}


def test_everyone_who_fits_is_as_likely_whatever_their_number_of_rows() -> None:
    drawn = lives(
        LIVED.sample_columns(people=4000, seed=1, where={"sex": "F", "born": [0, 1, 2, 3, 4]})
    )
    fit = [life for life in lives(LIVED.columns).values() if life[0][2] == "F" and life[0][3] < 5]
    found = [sum(set(life) == set(one) for life in drawn.values()) for one in fit]
    # 4,000 draws over about ten people: five standard deviations.
    expected = 4000 / len(fit)
    assert max(abs(n - expected) for n in found) < 5 * np.sqrt(expected)


def test_rows_that_are_asked_for_come_in_order_too() -> None:
    assert all(in_order(life) for life in lives(LIVED.sample_columns(500, seed=2)).values())


def test_a_seed_gives_the_same_people_from_memory_and_from_disk(tmp_path: Path) -> None:
    saved = [LIVED.save(tmp_path / form, format=form) for form in ("parquet", "csv")]
    releases = [LIVED, LIVED, *(us.Release.read(folder) for folder in saved)]
    first, *others = (
        lives(r.sample_columns(people=50, seed=3, where={"sex": "M"})) for r in releases
    )
    assert all(other == first for other in others)
    assert lives(LIVED.sample_columns(people=50, seed=4, where={"sex": "M"})) != first


@pytest.mark.parametrize("modelled", [True, False])
def test_people_of_rows_that_were_dealt_out(modelled: bool) -> None:
    """With a model there are new rows, as many as released people have."""
    release = made(modelled=modelled)
    rows = release.sample_columns(people=700, seed=0)
    names, sizes = np.unique(rows["who"], return_counts=True)
    assert names.tolist() == list(range(1, 701))
    before = np.unique(release.columns["who"], return_counts=True)[1]
    assert set(sizes) <= set(before)
    assert abs(sizes.mean() - before.mean()) < 1


@pytest.mark.parametrize("modelled", [True, False])
def test_where_each_row_is_a_person_all_columns_are_their_own(modelled: bool) -> None:
    release = made(people=None, modelled=modelled)
    rows = release.sample_columns(people=30, seed=0, where={"hour": 2})
    assert rows["hour"].tolist() == [2] * 30


def test_what_cannot_be_is_refused_with_what_can() -> None:
    with pytest.raises(UsageError, match=r"people must be at least 0 \(got -1\)"):
        LIVED.sample_columns(people=-1)
    with pytest.raises(UsageError, match=r"rows or a number of people .got rows=5 and people=3"):
        LIVED.sample_columns(5, people=3)
    with pytest.raises(UsageError, match=r"no synthetic row has these values .got born"):
        LIVED.sample_columns(people=3, where={"born": 9})
    with pytest.raises(UsageError, match=r"columns of their own .got ward; allowed: sex, born"):
        LIVED.sample_columns(people=3, where={"ward": "a", "sex": "F"})
    with pytest.raises(UsageError, match=r"allowed: none: the schema declares no column of"):
        made().sample_columns(people=3, where={"hour": 1})
    with pytest.raises(UsageError, match="column 'sex' has no such value"):
        LIVED.sample_columns(people=3, where={"sex": "X"})
    with pytest.raises(UsageError, match="cannot draw rows from a release that has none"):
        made(rows=0).sample_columns(people=1)
