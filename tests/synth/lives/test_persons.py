"""People without rows: drawn where people have a table of their own, as many as there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import effort, few, one_in
from tests.synth.lives.test_mechanism import CLINIC, NARROW, NOISES, VAST, clinic, mended_briefly
from tests.synth.planted import listening, silent
from understudy.audit import replay
from understudy.audit.neighbours import Pair
from understudy.door import View, viewed_schema
from understudy.door.views import DIFFERENCES_OF
from understudy.schema import Schema
from understudy.synth.lives.persons import (
    FIRST,
    ROWS,
    SPREAD,
    Persons,
    _told_by_rows,
    public_people,
)
from understudy.synth.measure.compression import Compressed
from understudy.synth.measure.support import Rule, Support
from understudy.synth.measure.weighted_round import WeightedMarginal
from understudy.synth.pairs import looks

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


def flat(people: int, seed: int) -> dict[str, Any]:
    """The clinic's rows; in some, a patient's sex and year of birth are written down wrongly."""
    found, rng = clinic(people, seed), np.random.default_rng(seed)
    for name in ("sex", "born"):
        wrong = rng.random(len(found["who"])) < 0.1
        found[name] = np.where(wrong, rng.permutation(found[name]), found[name])
    return found


def test_public_people_have_one_row_each_with_what_they_mostly_have() -> None:
    public = us.PublicTable.read(flat(50, 1), schema=CLINIC, unit=us.Unit("who"))
    derived = Persons.derived(CLINIC, distinct=False, everyone=False)
    found = public_people(public, viewed_schema(CLINIC, View(derived=derived, people=True)))
    assert public.people is not None
    assert len(found) == 50
    starts = np.array(derived[0].starts)
    for person in range(50):
        rows = public.people == person
        own = {name: np.bincount(public.codes[name][rows]) for name in ("sex", "born")}
        assert all(each[found.codes[name][person]] == each.max() for name, each in own.items())
        assert found.codes[ROWS][person] == np.searchsorted(starts, rows.sum(), side="right") - 1
        assert found.codes[FIRST][person] == public.codes["year"][rows].min()
        years = public.codes["year"][rows].astype(float)
        apart = np.abs(years[:, None] - years)[np.triu_indices(len(years), 1)]
        if not len(apart):
            assert found.codes[SPREAD][person] == len(DIFFERENCES_OF)
        elif not apart.any():
            assert found.codes[SPREAD][person] == 0
        else:
            nearest = np.abs(np.log(apart.mean() / 11) - np.log(DIFFERENCES_OF[1:])).argmin() + 1
            assert found.codes[SPREAD][person] == nearest


def test_what_is_their_own_is_begun_from_public_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no pair is measured, ties are those of public people."""

    def tied(seed: int) -> dict[str, Any]:
        found = clinic(SOME, seed)
        return found | {"sex": np.where(found["born"] < 5, "F", "M")}

    monkeypatch.setattr(looks, "DROWNED", -1.0)
    found = []
    for name, public in (("alone", None), ("helped", tied(2))):
        (tmp_path / name).mkdir()
        people = run(tmp_path / name, private=tied(1), public=public).people
        found.append(float(((people["born"] < 5) == (people["sex"] == "F")).mean()))
    assert found[0] < 0.7
    assert found[1] > 0.95


def test_a_value_that_rows_show_and_people_hide_is_not_another_s() -> None:
    """Two blood groups and the unknown are merged by people; rows tell how many have which."""
    rng = np.random.default_rng(7)
    blood = rng.choice(5, 4000, p=[0.5, 0.3, 0.1, 0.06, 0.04])
    with listening({"blood": blood}) as door:
        of_rows = Compressed.ask(
            door,
            None,
            [WeightedMarginal(clique=("blood",))],
            prices={"first": door.budget.price / 2},
            rule=lambda _: Rule(threshold=3.0, rare="other", most=250, bins=32),
            progress=silent,
        )
    merged = Support(
        column="blood",
        codes=np.array([0, 1, 2, 3, 3]),
        likely=np.array([1.0, 1, 1, 1, 0]),
        supported=np.array([True, True, True, False, False]),
    )
    drawn = _told_by_rows(merged, of_rows).spread(np.full(1000, 3, dtype=np.int32), rng)
    assert np.mean(drawn == 4) == pytest.approx(0.4, abs=0.05)
