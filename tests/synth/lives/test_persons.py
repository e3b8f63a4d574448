"""People without rows: drawn where people have a table of their own, as many as there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import effort, few, one_in
from tests.synth.lives.test_mechanism import CLINIC, NARROW, NOISES, VAST, clinic, mended_briefly
from understudy.audit import replay
from understudy.audit.neighbours import Pair
from understudy.schema import Schema

__all__ = ["mended_briefly"]

PEOPLE = effort(300, 1500)
NONE = effort(80, 400)
"""Without rows there is a fifth of all people."""
SMALL = effort(60, 120)
TWO = {"who", "sex", "ward"}
SOME, WITHOUT = effort(60, 300), effort(20, 80)


def two_tables(people: int = PEOPLE, *, none: int = NONE, seed: int = 0) -> dict[str, Any]:
    """The clinic's patients with a table of their own, and some, of one sex, without rows."""
    flat = clinic(people, seed)
    who, first = np.unique(flat["who"], return_index=True)
    return {
        "people": {
            "who": np.concatenate((who, [f"q{i}" for i in range(none)])).astype(object),
            "sex": np.concatenate((flat["sex"][first], ["F"] * none)).astype(object),
            "born": np.concatenate((flat["born"][first], np.full(none, 3))).astype(np.int64),
        },
        "rows": {name: flat[name] for name in ("who", "year", "ward", "pain")},
    }


def run(folder: Path, **other: Any) -> us.Release:
    given = {
        "private": two_tables(),
        "schema": CLINIC,
        "unit": us.Unit("who"),
        "bounding": us.Norm(),
        "budget": VAST,
        "ledger": folder / "clinic.ledger",
    }
    return us.open(i_know=True, **{**given, **other}).run(us.Lives())


def test_with_little_noise_people_without_rows_come_out_as_they_are(tmp_path: Path) -> None:
    release = run(tmp_path)
    people, rows = release.people, release.rows
    without = people[~people["who"].isin(rows["who"])]
    assert len(without) == pytest.approx(NONE, abs=4)
    assert (without["sex"] == "F").mean() > 0.95
    assert (without["born"] == 3).mean() > 0.95
    real = two_tables()["people"]
    assert len(people) == pytest.approx(len(real["who"]), abs=8)
    assert (people["sex"] == "F").mean() == pytest.approx((real["sex"] == "F").mean(), abs=0.02)


@pytest.mark.parametrize(("epsilon", "bounding"), one_in(2, NOISES))
def test_whatever_the_noise_ids_fit_and_rows_are_in_order(
    tmp_path: Path, epsilon: float, bounding: Any
) -> None:
    budget = us.Budget(epsilon=epsilon, delta=1e-6)
    private = two_tables(SOME, none=WITHOUT)
    release = run(tmp_path, bounding=bounding, budget=budget, private=private)
    people, rows = release.people, release.rows
    assert people["who"].is_unique
    assert set(rows["who"]) <= set(people["who"])
    together = rows["who"].diff() == 0
    assert (rows["year"].diff()[together] >= 0).all()
    assert rows["year"].between(0, 11).all()


@pytest.mark.parametrize(
    "schema",
    few(
        [
            pytest.param(Schema("clinic", CLINIC.columns), id="no order"),
            pytest.param(
                Schema("clinic", tuple(c for c in CLINIC.columns if c.name in TWO)),
                id="two columns",
            ),
        ],
        usual=1,
    ),
)
def test_an_order_is_optional(tmp_path: Path, schema: Schema) -> None:
    release = run(tmp_path, schema=schema, private=two_tables(SOME, none=WITHOUT))
    assert len(release.people) == pytest.approx(SOME + WITHOUT, abs=8)


def test_where_everybody_has_rows_hardly_anybody_is_drawn_without(tmp_path: Path) -> None:
    release = run(tmp_path, private=two_tables(SOME, none=0))
    assert len(release.people) - release.rows["who"].nunique() <= 2


@pytest.mark.parametrize("has_rows", [False, True], ids=["no rows", "most rows"])
@pytest.mark.parametrize("leaves", few((False, True), usual=1))
def test_given_the_same_answers_the_same_is_asked_without_a_person(
    leaves: bool, has_rows: bool
) -> None:
    fewer, more = two_tables(SMALL, none=SMALL // 2), two_tables(SMALL, none=SMALL // 2)
    new: dict[str, Any] = {"who": "new", "sex": "M", "born": 9, "year": 3, "ward": "e", "pain": 0}
    for name, times in (("people", 1), ("rows", 150 * has_rows)):
        more[name] = {n: [*column, *[new[n]] * times] for n, column in more[name].items()}
        fewer[name] = {n: [*column] for n, column in fewer[name].items()}
    table, neighbour = (more, fewer) if leaves else (fewer, more)
    pair = Pair(
        schema=NARROW,
        unit=us.Unit("who"),
        bounding=us.Weights(150),
        budget=us.Budget(epsilon=1e4, delta=1e-6),
        table=table,
        neighbour=neighbour,
        public=None,
        apart=150 * has_rows,
    )
    found = replay(us.Lives(), pair)
    assert found.questions >= 6
    assert found.reach == pytest.approx(1)
