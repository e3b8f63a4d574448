"""Ranges and bins: what follows from noisy weights over a public grid."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import tried
from understudy.door.discovery import MOST_EDGES
from understudy.schema import Integer, Numeric, Timestamp
from understudy.synth.discovery import ranges

weights = st.lists(st.floats(-50, 500), min_size=3, max_size=60).map(np.array)
scales = st.floats(0.5, 50)


def increasing(edges: tuple[float, ...]) -> bool:
    return all(low < high for low, high in pairwise(edges))


def counted(values: NDArray[np.float64], edges: tuple[float, ...]) -> NDArray[np.float64]:
    cells = np.searchsorted(np.array(edges), values, side="right")
    return np.bincount(cells, minlength=len(edges) + 1).astype(float)


@pytest.mark.parametrize("whole", [False, True])
def test_the_coarse_grid_is_fixed_and_has_every_number(whole: bool) -> None:
    edges = ranges.powers(whole=whole)
    assert increasing(edges)
    assert edges[0] == -edges[-1] == -(2.0**50)
    assert 0.0 in edges
    assert len(edges) <= 200
    assert not whole or all(edge.is_integer() for edge in edges)
    assert increasing(ranges.years())
    assert len(ranges.years()) == 501


@given(st.data(), scales, st.booleans())
@tried()
def test_finer_edges_are_edges_whatever_the_answer(
    data: st.DataObject, scale: float, whole: bool
) -> None:
    edges = ranges.powers(whole=whole)
    size = len(edges) + 1
    noisy = np.array(data.draw(st.lists(st.floats(-90, 900), min_size=size, max_size=size)))
    finer = ranges.halved(edges, noisy, scale, whole=whole)
    if finer is None:
        assert noisy[2:-2].max() <= ranges.STANDS_OUT * scale
        return
    assert increasing(finer)
    assert 2 <= len(finer) <= ranges.MOST_CELLS
    assert not whole or all(edge.is_integer() for edge in finer)
    assert {finer[0], finer[-1]} <= {0.0, *edges}


@given(weights, scales, st.integers(1, 30))
@tried()
def test_bins_lie_within_the_edges_and_are_bins(
    noisy: NDArray[np.float64], scale: float, bins: int
) -> None:
    edges = tuple(float(i) for i in range(len(noisy) - 1))
    found = ranges.equal_mass(edges, noisy, scale, bins=bins)
    first, last = ranges.trimmed(edges, noisy, scale)
    assert found[0] == edges[first]
    assert found[-1] == edges[last + 1]
    assert set(found) <= set(edges)
    assert increasing(found)
    assert 2 <= len(found) <= bins + 1
    Numeric(name="x", edges=found)


def test_bins_have_about_equal_mass() -> None:
    values = np.random.default_rng(0).lognormal(1, 0.7, 100_000)
    edges = ranges.powers(whole=False)
    finer = ranges.halved(edges, counted(values, edges), 20.0, whole=False)
    assert finer is not None
    bins = ranges.equal_mass(finer, counted(values, finer), 20.0, bins=10)
    shares = np.histogram(values, bins=np.array(bins))[0] / len(values)
    assert len(bins) == 11
    assert shares.max() < 0.16
    assert shares.min() > 0.05


@pytest.mark.parametrize("noise", [5.0, 30.0])
def test_ages_from_nought_are_a_range_from_nought(noise: float) -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 90, 4000).astype(float)
    edges = ranges.powers(whole=True)
    noisy = counted(values, edges) + rng.normal(0, noise, len(edges) + 1)
    finer = ranges.halved(edges, noisy, noise, whole=True)
    assert finer is not None
    noisy = counted(values, finer) + rng.normal(0, noise, len(finer) + 1)
    first, last = ranges.trimmed(finer, noisy, noise)
    assert finer[first] == 0
    assert 88 <= finer[last + 1] <= 128
    Integer(name="age", min=int(finer[first]), max=int(finer[last + 1]) - 1)


def test_outliers_do_not_stretch_a_range() -> None:
    values = np.concatenate((np.linspace(10, 20, 5000), np.full(20, 999_999.0)))
    edges = ranges.powers(whole=False)
    finer = ranges.halved(edges, counted(values, edges), 10.0, whole=False)
    assert finer is not None
    assert finer[-1] == 32.0


def test_a_range_of_all_magnitudes_is_asked_about_in_few_cells() -> None:
    sizes = 2.0 ** np.linspace(-20, 50, 200_000)
    values = np.concatenate((sizes, -sizes))
    for whole in (False, True):
        edges = ranges.powers(whole=whole)
        finer = ranges.halved(edges, counted(values, edges), 0.1, whole=whole)
        assert finer is not None
        assert len(finer) <= ranges.MOST_CELLS
        assert (finer[0], finer[-1]) == (-(2.0**50), 2.0**50)


def test_noise_alone_has_no_range() -> None:
    rng = np.random.default_rng(4)
    edges = ranges.powers(whole=False)
    for _ in range(20):
        noisy = rng.normal(0, 10, len(edges) + 1)
        assert ranges.halved(edges, noisy, 12.0, whole=False) is None
    assert ranges.months(rng.normal(0, 1, 202), 10.0) is None


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
    months = ranges.months(counted(values, ranges.years()), 5.0)
    assert months is not None
    assert increasing(months)
    assert len(months) <= ranges.MOST_CELLS + 1
    days = ranges.days(months, counted(values, months), 5.0)
    assert increasing(days)
    assert len(days) <= MOST_EDGES
    found = ranges.ends(days, counted(values, days), 5.0)
    Timestamp(name="x", min=found[0], max=found[1])
    assert found == (first, last)
    # Where days cannot be told from noise, whole months are kept.
    assert ranges.ends(days, counted(values, days), 1e4) == ranges.ends(
        days, np.ones(len(days) + 1), 1e4
    )


def test_the_first_day_is_found_in_noise_and_no_day_that_weighs_is_left_out() -> None:
    rng = np.random.default_rng(5)
    week = tuple(ranges.DAY * day for day in range(32))
    for start in range(0, 24, 3):
        true = np.zeros(33)
        true[1 + start : 8 + start] = 60.0
        found = ranges.ends(week, true + rng.normal(0, 5, 33), 5.0)
        assert found == (f"1970-01-{1 + start:02d}", f"1970-01-{7 + start:02d}")
    # A slow day at the start weighs enough not to be taken for noise.
    slow = np.array([0.0, 30.0, *[400.0] * 30, 0.0])
    assert ranges.ends(week, slow, 5.0)[0] == "1970-01-01"


def test_empty_days_are_hardly_ever_taken_for_days_with_people() -> None:
    """Sums of noise over many days are looked at one by one: some of them are large by chance."""
    edges = tuple(ranges.DAY * day for day in range(141))
    rng = np.random.default_rng(0)
    begun = []
    for _ in range(2000):
        weights = rng.normal(0, 1.0, 142)
        weights[134:-1] += 200.0
        begun.append(ranges.ends(edges, weights, 1.0)[0])
    assert begun.count("1970-05-14") >= 1998, begun


@pytest.mark.parametrize(
    ("step", "told"), [(86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")]
)
def test_moments_are_told_as_finely_as_they_are(step: int, told: str) -> None:
    rng = np.random.default_rng(6)
    seconds = rng.integers(-(10**6), 10**6, 3000) * step
    clocks = {
        name: counted(np.fmod(seconds, cycle).astype(float), ranges.FIRST_SECOND)
        + rng.normal(0, 20, 3)
        for name, cycle in (("day", 86400), ("hour", 3600), ("minute", 60))
    }
    assert ranges.resolution(clocks) == told  # type: ignore[arg-type]  # by name


def test_moments_that_nobody_has_are_told_by_the_second() -> None:
    nobody = np.array([-3.0, -1.0, -2.0])
    assert ranges.resolution({"day": nobody, "hour": nobody, "minute": nobody}) == "second"


def test_noise_in_one_of_many_years_does_not_begin_a_range() -> None:
    """Of these 2,000 tables, 26 had a range that was centuries longer than forty years."""
    rng, weights = np.random.default_rng(0), np.zeros(len(ranges.YEARS) + 1)
    weights[251:291] = 12.5
    found = [ranges.span(weights + rng.normal(0, 4, len(weights)), 4.0) for _ in range(2000)]
    assert all(ends is not None and ends[0] <= 255 and ends[1] >= 285 for ends in found)
    assert sum(ends is not None and not 200 <= ends[0] <= ends[1] <= 330 for ends in found) <= 5
