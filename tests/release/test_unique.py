"""Values that no two rows of a person share: few rows are lost, and it is said how many."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import tried
from tests.release.made import released
from understudy.schema import Categorical, Id, Integer, Schema

MONTHS, PEOPLE = 24, 300
SCHEMA = Schema(
    "panel",
    (
        Id(name="who"),
        Integer(name="hired", min=0, max=MONTHS - 1, missing=False, of="person"),
        Integer(name="month", min=0, max=MONTHS - 1, missing=False),
        Categorical(name="sick", values=("yes", "no"), missing=False),
    ),
    order_by=("month",),
    constraints=(us.UniquePerPerson("month"), us.Order("hired", "month")),
)


def drawn(rng: np.random.Generator, *, people: int, each: int) -> tuple[dict[str, Any], Any]:
    """Rows of people who all have as many, whenever they were hired."""
    who = np.repeat(np.arange(people), each)
    hired = rng.integers(0, MONTHS, people)[who]
    month = hired + np.floor(rng.random(len(who)) * (MONTHS - hired)).astype(np.int64)
    sick = rng.integers(0, 2, len(who))
    return {"hired": hired, "month": month, "sick": sick}, who


def panel(seed: int, *, people: int = PEOPLE, each: int = 8) -> us.Release:
    rng = np.random.default_rng(seed)
    codes, who = drawn(rng, people=people, each=each)
    return released(codes, who, SCHEMA, rng)


def left_out(release: us.Release) -> list[str]:
    return [note for note in release.manifest["notes"] if note.startswith("Left out: ")]


def repeats(columns: dict[str, Any]) -> int:
    pairs = columns["who"] * 1000 + columns["month"]
    return len(pairs) - len(np.unique(pairs))


def test_rows_of_people_with_too_few_months_become_others() -> None:
    release = panel(0)
    assert len(release) == 8 * PEOPLE
    assert left_out(release) == []
    columns = release.columns
    assert repeats(columns) == 0
    assert (columns["hired"] <= columns["month"]).all()
    rng = np.random.default_rng(0)
    before = np.bincount(drawn(rng, people=PEOPLE, each=8)[0]["month"], minlength=MONTHS)
    after = np.bincount(columns["month"], minlength=MONTHS)
    assert np.abs(before - after).sum() / 2 < 0.1 * len(release)


def test_rows_that_nobody_can_have_are_left_out_and_counted() -> None:
    """Of one month, there is only one row a person."""
    codes: dict[str, Any] = {name: np.zeros(12, dtype=np.int64) for name in ("hired", "sick")}
    codes["hired"] += MONTHS - 1
    codes["month"] = codes["hired"]
    release = released(codes, np.repeat(np.arange(4), 3), SCHEMA, np.random.default_rng(0))
    assert len(release) == 4
    (note,) = left_out(release)
    assert note.startswith("Left out: 8 of 12 synthetic rows, ")


def test_a_value_that_is_changed_is_near_where_values_have_an_order() -> None:
    """One person alone, with a month twice, can exchange rows with nobody."""
    months = np.array([4, 4, 12])
    codes = {"hired": np.zeros(3), "month": months, "sick": np.zeros(3)}
    apart = []
    for seed in range(40):
        plain = {name: column.astype(np.int64) for name, column in codes.items()}
        rng = np.random.default_rng(seed)
        release = released(plain, np.zeros(3, dtype=np.int64), SCHEMA, rng)
        assert len(release) == 3
        apart.append(np.abs(np.sort(release.columns["month"]) - months).sum())
    assert np.median(apart) <= 2


@tried(20)
@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 12))
def test_rows_are_always_permitted_and_the_same_for_the_same_seed(
    seed: int, people: int, each: int
) -> None:
    release = panel(seed, people=people, each=each)
    columns = release.columns
    assert repeats(columns) == 0
    assert (columns["hired"] <= columns["month"]).all()
    assert len(left_out(release)) == (len(release) < people * each)
    assert np.array_equal(columns["month"], panel(seed, people=people, each=each).columns["month"])


def test_rows_of_people_come_one_after_the_other_in_their_order() -> None:
    columns = panel(1).columns
    keys = columns["who"] * 1000 + columns["month"]
    assert (np.diff(keys) > 0).all()
