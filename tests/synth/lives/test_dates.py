"""Dates: rows that are ordered by a date-time come in its order, and as far apart as they were."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import understudy as us
from understudy.evaluate import compare_people, read_private, read_synthetic
from understudy.public import PublicTable
from understudy.schema import Categorical, Id, Schema, Timestamp
from understudy.schema.constraints import Never
from understudy.schema.known import Known

if TYPE_CHECKING:
    from pathlib import Path

    from understudy.synth import Mechanism

BEGUN = np.datetime64("2023-01-02")
COLUMNS = (
    Id(name="patient"),
    Categorical(name="plan", values=("weekly", "monthly"), missing=False, of="person"),
    Timestamp(name="visit", min="2023-01-01", max="2023-12-31", resolution="minute"),
    Categorical(name="ward", values=tuple("abc"), missing=False),
)
CLINIC = Schema("clinic", COLUMNS, order_by=("visit",))
UNIT = us.Unit("patient")


@cache
def visits(people: int = 600, seed: int = 0) -> dict[str, Any]:
    """Patients who come every week or every four, on weekdays; wards are gone through in order."""
    rng = np.random.default_rng(seed)
    every = rng.choice([7, 28], people)
    begun = 7 * rng.integers(0, 30, people) + rng.integers(0, 5, people)
    count = 2 + rng.binomial(6, 0.5, people)
    who = np.repeat(np.arange(people), count)
    nth = np.arange(len(who)) - np.repeat(np.cumsum(count) - count, count)
    day = begun[who] + nth * every[who]
    ward = (rng.integers(0, 3, people)[who] + nth) % 3
    minute = rng.integers(8 * 60, 16 * 60, len(who))
    kept = np.flatnonzero(day < 364)
    kept = rng.permutation(kept)
    moment = BEGUN + day.astype("timedelta64[D]") + minute.astype("timedelta64[m]")
    return {
        "patient": np.array([f"p{i}" for i in who])[kept],
        "plan": np.array(["weekly", "monthly"])[(every == 28).astype(int)][who][kept],
        "visit": moment.astype("datetime64[us]")[kept],
        "ward": np.array(list("abc"))[ward][kept],
    }


def release(folder: Path, mechanism: Mechanism, **other: Any) -> us.Release:
    given = {
        "private": visits(),
        "schema": CLINIC,
        "unit": UNIT,
        "bounding": us.Norm(),
        "budget": us.Budget(epsilon=1e4, delta=1e-6),
        "ledger": folder / "clinic.ledger",
    }
    return us.open(i_know=True, **{**given, **other}).run(mechanism)


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    """A release of next to no noise."""
    return release(tmp_path_factory.mktemp("lives"), us.Lives())


def by_person(columns: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Gaps in days, wards before and wards after, of consecutive rows in the order of moments."""
    who = np.unique(columns["patient"], return_inverse=True)[1]
    order = np.lexsort((columns["visit"], who))
    same = np.diff(who[order]) == 0
    days = np.asarray(columns["visit"])[order].astype("datetime64[D]").astype(int)
    wards = np.unique(columns["ward"], return_inverse=True)[1][order]
    return np.diff(days)[same], wards[:-1][same], wards[1:][same]


def test_visits_are_weeks_apart_and_wards_follow_one_another(lives: us.Release) -> None:
    """By the moments that are released, whoever reads them."""
    gaps, before, after = by_person(lives.columns)
    real, _, _ = by_person(visits())
    for weeks in (7, 28):
        assert abs(np.mean(gaps == weeks) - np.mean(real == weeks)) < 0.06
    assert np.mean((gaps == 7) | (gaps == 28)) > 0.9
    assert np.mean(after == (before + 1) % 3) > 0.9
    days = np.asarray(lives.columns["visit"]).astype("datetime64[D]").astype(int)
    assert np.mean((days + 3) % 7 >= 5) < 0.02


def test_rows_come_person_by_person_in_the_order_of_moments(lives: us.Release) -> None:
    who, moments = (np.asarray(lives.columns[n]) for n in ("patient", "visit"))
    same = who[1:] == who[:-1]
    assert (np.diff(who) >= 0).all()
    assert (np.diff(moments.astype(np.int64))[same] >= 0).all()


def test_an_evaluation_tells_gaps_in_days(lives: us.Release, tmp_path: Path) -> None:
    """It reads them from files, and a date is no column that is compared."""
    real = read_private(visits(), schema=CLINIC, unit=UNIT)
    assert real.ordering == ("(visit: date)", "visit_hour")
    assert set(real.codes) == set(CLINIC.domain)
    lives.save(tmp_path / "release")
    made = read_synthetic(tmp_path / "release", schema=CLINIC, unit=UNIT)
    found = compare_people(real, made)
    assert found.gaps is not None
    assert found.gaps < 0.15
    assert found.transitions["ward"] < 0.1
    # Nobody's rows in another order.
    mixed = replace(made, times={"(visit: date)": np.random.default_rng(0).permutation(made.rows)})
    assert (compare_people(real, mixed).gaps or 0) > 0.5


def test_more_people_have_their_dates(lives: us.Release) -> None:
    more = lives.sample(people=300)
    gaps, _, _ = by_person({n: more[n].to_numpy() for n in more})
    assert np.mean((gaps == 7) | (gaps == 28)) > 0.9


@pytest.mark.parametrize("mechanism", [us.Pairs(), us.Independent()], ids=lambda m: m.name)
def test_mechanisms_of_rows_have_moments_as_before(mechanism: Mechanism, tmp_path: Path) -> None:
    found = release(tmp_path, mechanism)
    moments = np.asarray(found.columns["visit"]).astype("datetime64[D]").astype(int)
    assert np.mean((moments + 3) % 7 >= 5) < 0.02
    assert set(CLINIC.domain) >= {name for m in found.measurements for name in m.clique}


def test_a_public_year_has_a_day_more() -> None:
    """Codes of dates are those of the private year, whose February is shorter."""
    days = np.array(["2024-01-01", "2024-12-31", None, "2024-03-01"], dtype=object)
    rows = {"patient": np.array([1, 2, 3, 4]), "visit": days}
    schema = replace(CLINIC, columns=(COLUMNS[0], replace(COLUMNS[2], name="visit")))
    public = PublicTable.read(rows, schema=schema, unit=UNIT)
    assert schema.clock is not None
    assert public.codes["(visit: date)"].tolist() == [0, 364, 365, 60]
    assert schema.clock.missing_code == 365


def test_public_people_show_how_far_rows_are_apart(tmp_path: Path) -> None:
    """Last year's gaps, where noise hides this year's."""
    last = visits(500, seed=1)
    moved = {**last, "visit": last["visit"] - np.timedelta64(364, "D")}
    budget = us.Budget(epsilon=1.0, delta=1e-6)
    found = release(tmp_path, us.Lives(), public=moved, budget=budget)
    gaps, _, _ = by_person(found.columns)
    # By chance it would be one in seven, and noise hides a rhythm at times.
    assert np.mean((gaps == 7) | (gaps == 28)) > 0.5


def test_of_two_rows_a_day_the_hour_decides(tmp_path: Path) -> None:
    made = dict(visits(300, seed=2))
    twice = {n: np.concatenate([c, c]) for n, c in made.items()}
    later = made["visit"].astype("datetime64[D]") + np.timedelta64(18, "h")
    twice["visit"] = np.concatenate([made["visit"], later.astype("datetime64[us]")])
    twice["ward"] = np.concatenate([np.full(len(later), "a"), np.full(len(later), "b")])
    found = release(tmp_path, us.Lives(), private=twice)
    gaps, _, _ = by_person(found.columns)
    assert abs(np.mean(gaps == 0) - np.mean(by_person(twice)[0] == 0)) < 0.08
    evening = np.asarray(found.columns["visit"]).astype("datetime64[h]").astype(int) % 24 == 18
    assert np.mean((np.asarray(found.columns["ward"]) == "b") == evening) > 0.8


def test_other_columns_may_have_any_name() -> None:
    other = Categorical(name="visit_date", values=("a",))
    assert Schema("x", (*COLUMNS, other), order_by=("visit",)).clock is not None


def test_people_without_any_date_leave_no_trace_in_time(tmp_path: Path) -> None:
    """All of their visits have none, and nobody else's month becomes theirs."""
    made = dict(visits(400, seed=4))
    none = np.isin(made["patient"], np.unique(made["patient"])[::3])
    made["visit"] = np.where(none, np.datetime64("NaT"), made["visit"])
    found = release(tmp_path, us.Lives(), private=made)
    moments = np.asarray(found.columns["visit"])
    absent = np.isnat(moments)
    months = [
        np.bincount(each.astype("datetime64[M]").astype(int) % 12, minlength=12) / len(each)
        for each in (made["visit"][~none], moments[~absent])
    ]
    assert np.abs(months[0] - months[1]).sum() / 2 < 0.1
    who = np.asarray(found.columns["patient"])
    whole = np.mean([absent[who == each].mean() in (0, 1) for each in np.unique(who)])
    assert whole > 0.9


def test_rows_without_a_date_are_as_many_as_there_were_and_say_nothing_of_gaps(
    tmp_path: Path,
) -> None:
    made = dict(visits(300, seed=3))
    none = np.random.default_rng(0).random(len(made["visit"])) < 0.15
    made["visit"] = np.where(none, np.datetime64("NaT"), made["visit"])
    found = release(tmp_path, us.Lives(), private=made)
    absent = np.isnat(np.asarray(found.columns["visit"]))
    assert np.mean(absent) == pytest.approx(np.mean(none), abs=0.03)
    gaps, _, _ = by_person({n: np.asarray(c)[~absent] for n, c in found.columns.items()})
    assert np.mean(gaps % 7 == 0) > 0.9


def by_month(columns: dict[str, Any]) -> Counter[tuple[str, str]]:
    months = np.asarray(columns["visit"]).astype("datetime64[M]").astype(str)
    return Counter(zip(months.tolist(), np.asarray(columns["ward"]).tolist(), strict=True))


def test_people_come_on_the_days_of_their_kind(tmp_path: Path) -> None:
    """Some at weekends only; times are drawn before what happens then."""
    rng = np.random.default_rng(5)
    weekly = rng.random(500) < 0.7
    who, day = np.nonzero(rng.random((500, 56)) < 0.4)
    kept = (day % 7 < 5) == weekly[who]
    table = {
        "patient": np.array([f"p{i}" for i in who])[kept],
        "plan": np.where(weekly, "weekly", "monthly")[who][kept],
        "visit": (BEGUN + day.astype("timedelta64[D]")).astype("datetime64[us]")[kept],
        "ward": np.array(list("abc"))[rng.integers(0, 3, len(who))][kept],
    }
    visit = Timestamp(name="visit", min="2023-01-02", max="2023-02-27", resolution="day")
    schema = replace(CLINIC, columns=(*COLUMNS[:2], visit, COLUMNS[3]))
    made = release(tmp_path, us.Lives(), private=table, schema=schema).columns
    days = np.asarray(made["visit"]).astype("datetime64[D]").astype(int)
    weekend = (days + 3) % 7 >= 5
    of_weekly = np.asarray(made["plan"]) == "weekly"
    assert weekend[of_weekly].mean() < 0.08
    assert weekend[~of_weekly].mean() > 0.8


def test_known_totals_by_month_are_kept(tmp_path: Path) -> None:
    made = visits(80, seed=5)
    known = Known(("visit_month", "ward"), dict(by_month(made)), name="by month")
    budget = us.Budget(epsilon=2.0, delta=1e-6)
    found = release(tmp_path, us.Lives(), private=made, known=[known], budget=budget)
    assert by_month(found.columns) == by_month(made)


def test_constraints_on_months_are_obeyed(tmp_path: Path) -> None:
    made = dict(visits(150, seed=6))
    march = made["visit"].astype("datetime64[M]") == np.datetime64("2023-03")
    made = {n: c[~(march & (made["ward"] == "a"))] for n, c in made.items()}
    schema = replace(CLINIC, constraints=(Never({"visit_month": ("2023-03",), "ward": ("a",)}),))
    budget = us.Budget(epsilon=2.0, delta=1e-6)
    found = release(tmp_path, us.Lives(), private=made, schema=schema, budget=budget)
    assert by_month(found.columns)["2023-03", "a"] == 0
    assert by_month(found.columns)["2023-03", "b"] > 0
