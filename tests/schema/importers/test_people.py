"""What init proposes of people: what is the same in all of their rows, and what orders these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import effort, one_in, tried
from tests.schema.data import data_file
from understudy.public import read_public
from understudy.schema import Schema
from understudy.schema.importers.people import FEWEST, Proposal, numbered, propose


def proposed(table: dict[str, Any], *ids: str) -> Proposal:
    table = {name: np.asarray(column) for name, column in table.items()}
    columns = Schema.from_public(table, name="t", ids=ids).columns
    return propose(table, columns, numbered(table, ids))


def own(found: Proposal) -> list[str]:
    return list(found.own)


def panel(people: int = 300, each: int = 4, seed: int = 0) -> dict[str, Any]:
    """Make people of a sex, seen once a year, who have a rare illness and change jobs."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), each)
    return {
        "who": who,
        "sex": np.array(["F", "M"])[rng.integers(0, 2, people)][who],
        "year": 2000 + np.tile(np.arange(each), people),
        "ill": (rng.random(len(who)) < 0.002).astype(int),
        "job": rng.integers(0, 5, len(who)),
    }


def test_working_lives() -> None:
    whole = read_public(data_file("panels", "nlswork.csv.gz"))
    table = {name: column[: effort(6000, len(column))] for name, column in whole.items()}
    found = proposed(table, "person")
    assert own(found) == ["birth_yr", "race", "grade", "collgrad"]
    assert found.order_by == ("year",)
    people = f"{effort(855, 4164):,}"
    assert found.own["race"] == f"100 % of {people} public people with several rows have one value."
    assert found.why_order.startswith("100 % of a public person's rows differ in it")


def test_purchases_have_an_order_and_nothing_own() -> None:
    whole = read_public(data_file("panels", "cdnow.csv.gz"))
    table = {name: column[: effort(8000, len(column))] for name, column in whole.items()}
    found = proposed(table, "person")
    assert (own(found), found.order_by) == ([], ("month",))


def test_tables_where_each_row_is_a_person() -> None:
    whole = read_public(data_file("acs-2019", "national2019.csv"))
    names = {"PUMA", "SEX", "HISP", "DENSITY", *one_in(4, whole)}
    table = {name: whole[name][: effort(5000, len(whole[name]))] for name in whole if name in names}
    who = np.arange(len(table["SEX"]))
    assert proposed({**table, "who": who}, "who") == Proposal()
    # A few ids that come twice, as a mistake, are not people with several rows.
    who[1:400:2] -= 1
    assert proposed({**table, "who": who}, "who") == Proposal()


def test_what_is_nearly_the_same_for_everybody_is_not_a_persons_own() -> None:
    found = proposed(panel(), "who")
    assert (own(found), found.order_by) == (["sex"], ("year",))
    assert own(proposed({**panel(), "one": np.ones(1200)}, "who")) == ["sex"]


def test_a_few_who_differ_are_forgiven_and_more_are_not() -> None:
    table = panel(people=1000)
    for changed, expected in ((9, ["sex"]), (11, [])):
        sex = table["sex"].copy()
        first = np.arange(changed) * 4
        sex[first] = np.where(sex[first] == "F", "M", "F")
        assert own(proposed({**table, "sex": sex}, "who")) == expected


def test_a_column_with_missing_values_at_random_is_not_a_persons_own() -> None:
    table = panel(people=1000)
    rng = np.random.default_rng(1)
    lost = np.where(rng.random(4000) < 0.5, "NA", table["sex"])
    assert own(proposed({**table, "sex": lost}, "who")) == []
    hardly = np.where(rng.random(4000) < 0.98, "NA", table["sex"])
    assert own(proposed({**table, "sex": hardly}, "who")) == []


def test_people_who_have_no_value_in_any_row_are_consistent() -> None:
    table = panel(people=1000)
    unknown = np.random.default_rng(1).random(1000) < 0.5
    sex = np.where(unknown[table["who"]], "NA", table["sex"])
    found = proposed({**table, "sex": sex}, "who")
    assert own(found) == ["sex"]
    known = int((~unknown).sum())
    assert found.own["sex"] == f"100 % of {known} public people with several rows have one value."


def test_a_few_missing_values_are_forgiven_and_more_are_not() -> None:
    table = panel(people=1000)
    for changed, expected in ((9, ["sex"]), (11, [])):
        sex = table["sex"].copy()
        sex[np.arange(changed) * 4] = ""
        assert own(proposed({**table, "sex": sex}, "who")) == expected
    # Both mistakes together are as many.
    sex = table["sex"].copy()
    sex[np.arange(6) * 4] = ""
    other = 4 * np.arange(6, 12)
    sex[other] = np.where(sex[other] == "F", "M", "F")
    assert own(proposed({**table, "sex": sex}, "who")) == []


def test_rows_without_an_id_are_nobodys() -> None:
    table = panel(people=1000)
    nobody = np.where(np.random.default_rng(1).random(4000) < 0.5, "", table["who"].astype(str))
    found = proposed({**table, "who": nobody}, "who")
    assert (own(found), found.order_by) == (["sex"], ("year",))


@pytest.mark.parametrize("people", [1, FEWEST - 1])
def test_from_few_people_nothing_is_proposed(people: int) -> None:
    assert proposed(panel(people=people), "who") == Proposal()
    assert proposed(panel(people=FEWEST), "who") != Proposal()


def test_a_year_and_a_month_order_together_and_a_moment_on_its_own() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(200), 20)
    days = np.concatenate([np.sort(rng.permutation(1500)[:20]) for _ in range(200)])
    moments = np.datetime64("2001-01-01") + days
    table = {
        "who": who,
        "month": moments.astype("datetime64[M]").astype(int) % 12 + 1,
        "year": moments.astype("datetime64[Y]").astype(int) + 1970,
        "weekday": days % 7,
        "ward": rng.integers(0, 4, len(who)),
    }
    assert proposed(table, "who").order_by == ("year", "month")
    assert proposed({**table, "seen": moments.astype(str)}, "who").order_by == ("seen",)
    assert proposed({**table, "year": np.full(4000, 2001)}, "who").order_by == ()


def readings(people: int, days: int, step: str) -> dict[str, Any]:
    """Make meters that are all read at the same times."""
    times = np.arange("2024-03-25", np.datetime64("2024-03-25") + days, np.timedelta64(30, "m"))
    times = np.unique(times.astype(f"M8[{step}]").astype("M8[s]"))
    per_day = len(times)
    return {
        "who": np.repeat(np.arange(people), per_day),
        "time": np.tile(times, people),
        "kwh": np.random.default_rng(0).random(people * per_day),
    }


def test_date_times_order_rows_however_dense_they_are() -> None:
    """Two half hours have one month, weekday and hour; and so have most of eight weeks' hours."""
    for days, step in ((8, "m"), (56, "h")):
        found = proposed(readings(120, days, step), "who")
        assert found.order_by == ("time",)
        assert found.why_order.startswith("100 % of a public person's rows differ in it")


def test_date_times_that_come_again_do_not_order_rows() -> None:
    table = readings(120, 8, "m")
    days = table["time"].astype("M8[D]")
    assert proposed({**table, "time": days.astype("M8[s]")}, "who").order_by == ()
    rarely = np.where(np.arange(len(days)) % 2, table["time"], np.datetime64("NaT"))
    assert proposed({**table, "time": rarely}, "who").order_by == ("time",)
    texts = np.char.replace(table["time"].astype(str), "T", " ")
    assert proposed({**table, "time": texts}, "who").order_by == ("time",)


def test_many_rows_a_month_have_no_order() -> None:
    table = panel(people=200, each=50)
    assert proposed({**table, "year": table["year"] // 10}, "who").order_by == ()


@given(st.integers(100, 160), st.integers(2, 6), st.integers(0, 2**32), st.sampled_from([2, 3, 50]))
@tried(20)
def test_a_persons_own_column_is_proposed_and_one_of_rows_is_not(
    people: int, each: int, seed: int, values: int
) -> None:
    rng = np.random.default_rng(seed)
    who = rng.permutation(np.repeat(np.arange(people), each))
    table = {
        "who": who,
        "theirs": rng.integers(0, values, people)[who],
        "rows": rng.integers(0, values, len(who)),
    }
    assert own(proposed(table, "who")) == ["theirs"]
