"""First and last days: what follows from noisy weights over years, months and days."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import tried
from tests.synth.discovery.test_ranges import counted, increasing
from understudy.door.discovery import MOST_EDGES
from understudy.schema import Timestamp
from understudy.synth.discovery import moments

DAY = moments.DAY


def test_the_grid_of_years_is_fixed() -> None:
    assert increasing(moments.years())
    assert len(moments.years()) == 501


def test_noise_alone_has_no_years() -> None:
    assert moments.coarse(np.random.default_rng(4).normal(0, 1, 502), 10.0) is None


def found_of(values: NDArray[np.float64], scale: float, seed: int) -> moments.Days | None:
    """Ask about values, each of a person of their own, with as much noise in every answer."""
    rng = np.random.default_rng(seed)

    def asked(edges: tuple[float, ...]) -> NDArray[np.float64]:
        assert increasing(edges)
        assert 0 < len(edges) <= MOST_EDGES
        noisy: NDArray[np.float64] = counted(values, edges) + rng.normal(0, scale, len(edges) + 1)
        return noisy

    cells = moments.coarse(asked(moments.years()), scale)
    if cells is None:
        return None
    days = moments.fine(cells, asked(cells.edges), scale, scale)
    return moments.ends(days, asked(days.edges), scale)


def within(values: NDArray[np.float64], found: moments.Days) -> float:
    low, high = (
        np.datetime64(day).astype("datetime64[s]").astype(float)
        for day in (found.first, found.last)
    )
    return float(np.mean((values >= low) & (values < high + DAY)))


@pytest.mark.parametrize(
    ("people", "scale"), [(2000, 10.0), (2000, 3.0), (20_000, 45.0), (20_000, 10.0)]
)
def test_days_of_birth_over_decades_are_within_their_range(people: int, scale: float) -> None:
    """Of 20 tables, the old ranges held a quarter of people, or there were too many edges."""
    drawn = np.random.default_rng(0).integers(-14_610, 16_071, people)
    born = (drawn * DAY).astype(np.float64)
    for seed in range(10):
        found = found_of(born, scale, seed)
        assert found is not None
        assert within(born, found) > 0.97
        assert "1900" < found.first < found.last < "2060"
        assert found.well
        assert found.share > 0.8


def test_one_date_far_away_does_not_stretch_a_range() -> None:
    drawn = np.random.default_rng(0).integers(17_532, 17_897, 5000)
    days = (drawn * DAY).astype(np.float64)
    days[0] = -60_000 * DAY
    found = found_of(days, 8.0, 0)
    assert found is not None
    assert (found.first, found.last) == ("2018-01-01", "2018-12-31")


@given(st.integers(0, 2**32), st.floats(0.0, 6.0), st.integers(1, 500), st.integers(0, 500))
@tried()
def test_edges_are_edges_whatever_the_answers(
    seed: int, size: float, length: int, start: int
) -> None:
    """Also where answers contradict each other, as noise may make them."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(0, 1, 502)
    weights[start : start + length] += 10**size / length
    cells = moments.coarse(weights, 1.0)
    if cells is None:
        return
    assert increasing(cells.edges)
    assert len(cells.edges) <= MOST_EDGES
    assert 0 <= cells.first <= cells.last < len(cells.edges) - 1
    edges = len(cells.edges)
    for answer in (
        rng.normal(0, 1, edges + 1),
        10**size * rng.random(edges + 1),
        np.where(rng.random(edges + 1) < 0.02, 10**size, rng.normal(0, 1, edges + 1)),
    ):
        days = moments.fine(cells, answer, 1.0, 1.0)
        assert increasing(days.edges)
        assert 2 <= len(days.edges) <= MOST_EDGES
        assert 1 <= days.before < len(days.edges)
        assert 1 <= days.after < len(days.edges)
        found = moments.ends(days, 10**size * rng.normal(0, 1, len(days.edges) + 1), 1.0)
        Timestamp(name="x", min=found.first, max=found.last)
        assert 0 <= found.share <= 1


def test_noise_around_a_range_does_not_stretch_it() -> None:
    """Cells around a range are years and decades long."""
    drawn = np.random.default_rng(0).integers(17_532, 17_897, 2000)
    days, long = (drawn * DAY).astype(np.float64), 0
    for seed in range(200):
        found = found_of(days, 5.0, seed)
        assert found is not None
        long += not "2017-12" < found.first <= found.last < "2019-02"
    assert long <= 1


def test_people_around_the_range_are_found_after_all() -> None:
    cells = moments.Cells(edges=tuple(365 * DAY * i for i in range(31)), first=10, last=19)
    weights = np.zeros(32)
    weights[11:21], weights[8:11], weights[25] = 100.0, 30.0, 9.0
    days = moments.fine(cells, weights, 1.0, 1.0)
    assert (days.edges[0], days.edges[-1]) == (7 * 365 * DAY, 25 * 365 * DAY)


def test_a_range_without_most_people_is_said_not_to_be_found_well() -> None:
    month = moments.Ends(edges=tuple(DAY * day for day in range(32)), before=31, after=31)
    weights = np.array([400.0, *[10.0] * 31, 0.0])
    found = moments.ends(month, weights, 1.0)
    assert not found.well
    assert "could not be found well: about 44 % of people" in found.told
    weights[0] = 10.0
    found = moments.ends(month, weights, 1.0)
    assert found.well
    assert "about 97 % of people" in found.told
    assert "95 % interval" in found.told


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("2019-03-05", "2021-01-20"),
        ("1950-02-01", "1950-02-02"),
        ("2020-02-01", "2020-02-29"),
        ("2024-12-30", "2025-01-05"),
        ("2024-05-13", "2024-05-13"),
        ("1900-01-01", "2099-12-31"),
    ],
)
def test_days_are_the_first_and_the_last_ones(first: str, last: str) -> None:
    ends = [np.datetime64(day).astype("datetime64[s]").astype(float) for day in (first, last)]
    values = np.linspace(ends[0], ends[1] + 86399, 20_000)
    cells = moments.coarse(counted(values, moments.years()), 5.0)
    assert cells is not None
    assert increasing(cells.edges)
    assert len(cells.edges) <= MOST_EDGES
    days = moments.fine(cells, counted(values, cells.edges), 5.0, 5.0)
    assert increasing(days.edges)
    assert len(days.edges) <= MOST_EDGES
    found = moments.ends(days, counted(values, days.edges), 5.0)
    Timestamp(name="x", min=found.first, max=found.last)
    assert (found.first, found.last, found.share) == (first, last, 1.0)
    # Where days cannot be told from noise, whole months are kept.
    noise = moments.ends(days, np.ones(len(days.edges) + 1), 1e4)
    assert moments.ends(days, counted(values, days.edges), 1e4).first == noise.first


def test_the_first_day_is_found_in_noise_and_no_day_that_weighs_is_left_out() -> None:
    rng = np.random.default_rng(5)
    month = tuple(moments.DAY * day for day in range(32))
    week = moments.Ends(edges=month, before=31, after=31)
    for start in range(0, 24, 3):
        true = np.zeros(33)
        true[1 + start : 8 + start] = 60.0
        found = moments.ends(week, true + rng.normal(0, 5, 33), 5.0)
        begins, stops = (np.datetime64("1970-01-01") + start + days for days in (0, 6))
        # A day more is as likely; a day less would clip people.
        assert begins - 1 <= np.datetime64(found.first) <= begins
        assert stops <= np.datetime64(found.last) <= stops + 1
    # A slow day at the start weighs enough not to be taken for noise.
    slow = np.array([0.0, 30.0, *[400.0] * 30, 0.0])
    assert moments.ends(week, slow, 5.0).first == "1970-01-01"


def test_empty_days_are_hardly_ever_taken_for_days_with_people() -> None:
    """Sums of noise over many days are looked at one by one: some of them are large by chance."""
    edges = tuple(moments.DAY * day for day in range(141))
    months = moments.Ends(edges=edges, before=140, after=140)
    rng = np.random.default_rng(0)
    begun = []
    for _ in range(2000):
        weights = rng.normal(0, 1.0, 142)
        weights[134:-1] += 200.0
        begun.append(moments.ends(months, weights, 1.0).first)
    assert begun.count("1970-05-14") >= 1998, begun


@pytest.mark.parametrize(
    ("step", "told"), [(86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")]
)
def test_moments_are_told_as_finely_as_they_are(step: int, told: str) -> None:
    rng = np.random.default_rng(6)
    seconds = rng.integers(-(10**6), 10**6, 3000) * step
    clocks = {
        name: counted(np.fmod(seconds, cycle).astype(float), moments.FIRST_SECOND)
        + rng.normal(0, 20, 3)
        for name, cycle in (("day", 86400), ("hour", 3600), ("minute", 60))
    }
    assert moments.resolution(clocks) == told  # type: ignore[arg-type]  # by name


def test_moments_that_nobody_has_are_told_by_the_second() -> None:
    nobody = np.array([-3.0, -1.0, -2.0])
    assert moments.resolution({"day": nobody, "hour": nobody, "minute": nobody}) == "second"
