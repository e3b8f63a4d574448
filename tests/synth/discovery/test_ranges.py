"""Ranges and bins: what follows from noisy weights over a public grid."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import effort, tried
from understudy.schema import Integer, Numeric
from understudy.synth.discovery import ranges
from understudy.synth.discovery.moments import YEARS

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
        assert ranges.span(noisy, scale) is None
        assert noisy[2:-2].max() <= 5 * scale
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
    # Heavy cells, of more than a bin's weight, are bins of their own.
    assert 2 <= len(found) <= 2 * bins + 1
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


def test_noise_in_one_of_many_years_does_not_begin_a_range() -> None:
    """Of these 2,000 tables, 26 had a range that was centuries longer than forty years."""
    rng, weights = np.random.default_rng(0), np.zeros(len(YEARS) + 1)
    weights[251:291] = 12.5
    count = effort(500, 2000)
    found = [ranges.span(weights + rng.normal(0, 4, len(weights)), 4.0) for _ in range(count)]
    assert all(ends is not None and ends[0] <= 255 and ends[1] >= 285 for ends in found)
    long = sum(ends is not None and not 200 <= ends[0] <= ends[1] <= 330 for ends in found)
    assert long <= count // 400


@pytest.mark.parametrize("noise", [1.0, 10.0])
def test_people_who_are_spread_thinly_are_within_the_range(noise: float) -> None:
    """Of 84 cells that together stand out, the first single one that does so is but a part."""
    rng, ends = np.random.default_rng(1), []
    for _ in range(50):
        weights = rng.normal(0, noise, len(YEARS) + 1)
        weights[231:315] += noise * 2.4
        found = ranges.standing(weights, noise)
        assert found is not None
        assert found.first <= found.low <= found.high <= found.last
        # Noise beside a range may make it longer, but not much longer.
        assert 150 <= found.first <= 232
        assert 312 <= found.last <= 400
        ends.append((found.first, found.last))
    first, last = np.median(ends, axis=0)
    assert (228 <= first <= 230, 313 <= last <= 315) == (True, True)


def test_a_tail_beside_the_range_belongs_to_it_and_so_do_others_far_away() -> None:
    weights = np.zeros(102)
    weights[51:61], weights[41:51], weights[61:66], weights[90] = 100.0, 1.5, 2.0, 9.0
    found = ranges.span(weights, 1.0)
    assert found is not None
    # As the tail hardly stands out, where it begins is in doubt.
    assert (30 <= found[0] <= 40, found[1]) == (True, 89)
    # Both ends are found alike.
    assert ranges.span(weights[::-1], 1.0) == (99 - found[1], 99 - found[0])
