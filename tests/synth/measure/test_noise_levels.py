"""Noise under Norm: lengths by the slow way, its shape, and a level between two errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import tried
from tests.synth.crowds import crowd, random_crowd
from tests.synth.measure.grids import settled
from tests.vault.normed import counts, moved
from understudy.budget import Budget, Currency, Norm
from understudy.door import Measure
from understudy.public import PublicTable
from understudy.synth.measure import noise_levels as levels
from understudy.synth.measure.granularity import Grid, closure
from understudy.synth.measure.noise_levels import Trial, norm_scales, public_cap, some_people

SIZES = {"a": 3, "b": 2, "c": 4}
"""Those of the small worlds."""


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def grids_of(patterns: dict[str, list[bool]]) -> list[Grid]:
    """Two pairs and a single, as fine as the patterns of their columns allow."""
    ones = {n: settled(Grid.of((n,), (s,), []), patterns.get(n, [True])) for n, s in SIZES.items()}
    pairs = [("a", "b"), ("c", "a")]
    made = [Grid.of(p, (SIZES[p[0]], SIZES[p[1]]), [ones[p[0]], ones[p[1]]]) for p in pairs]
    return [*made, ones["b"]]


def plain(cliques: list[tuple[str, ...]]) -> list[Grid]:
    return [Grid.of(c, tuple(SIZES[n] for n in c), []) for c in cliques]


def rows_of(public: PublicTable, person: int) -> list[tuple[int, ...]]:
    assert public.people is not None
    held = public.people == person
    return [tuple(row) for row in np.stack([public.codes[n][held] for n in SIZES], axis=1).tolist()]


patterns = st.fixed_dictionaries(
    {n: st.lists(st.booleans(), min_size=s, max_size=s) for n, s in SIZES.items()}
)


@given(patterns, st.integers(0, 2**32))
@tried(25)
def test_lengths_are_those_of_the_rows_asked_by_the_slow_way(
    given_: dict[str, list[bool]], seed: int
) -> None:
    public = random_crowd(rng(seed), SIZES, 6)
    grids = grids_of(given_)
    found = Trial.of(public, grids).squares()
    assert found.shape == (3, 6)
    for i, grid in enumerate(grids):
        question = Measure(
            queries=tuple(grid.queries(1.0, Currency.GDP)), bounding=Norm(), price=1.0
        )
        for person in range(6):
            slow = moved(counts(rows_of(public, person), question), question, unit=1)
            assert found[i, person] == pytest.approx(float(slow), rel=1e-9)


# Without public people


@given(patterns, st.integers(1, 300), st.floats(0.01, 30), st.integers(0, 2**32))
@tried(30)
def test_without_public_people_nobody_with_as_many_rows_as_the_cap_is_weighed_down(
    given_: dict[str, list[bool]], cap: int, price: float, seed: int
) -> None:
    grids = grids_of(given_)
    shares = {g.clique: float(i) for i, g in enumerate(grids, 1)}
    scales = norm_scales(grids, shares=shares, price=price, public=None, rows=1e3, cap=cap)
    asked = tuple(q for g in grids for q in g.queries(scales[g.clique], Currency.GDP))
    question = Measure(queries=asked, bounding=Norm(), price=price)
    draws = rng(seed).integers(0, (3, 2, 4), (cap, 3))
    spread: list[tuple[int, ...]] = [tuple(row) for row in draws.tolist()]
    for own in ([spread[0]] * cap, spread):
        length = math.sqrt(moved(counts(own, question), question, unit=1))
        assert length <= price * (1 + 1e-9)
    # And one row more in the same cell is too many: no noise is wasted.
    more = math.sqrt(moved(counts([spread[0]] * (cap + 1), question), question, unit=1))
    assert more == pytest.approx(price * (cap + 1) / cap, rel=1e-9)


def test_without_public_people_noise_is_by_the_cube_root_of_the_rows() -> None:
    grids = plain([("b",), ("a", "b"), ("a", "b", "c")])
    shares = {("b",): 1.0, ("a", "b"): 1.0, ("a", "b", "c"): 8.0}
    found = norm_scales(grids, shares=shares, price=1.0, public=None, rows=1.0, cap=10)
    assert found["a", "b"] / found["b",] == pytest.approx((2 / 6) ** (1 / 3))
    assert found["a", "b", "c"] / found["b",] == pytest.approx((2 / 24 / 8) ** (1 / 3))


# With public people


@given(patterns, st.floats(0.05, 20), st.integers(0, 2**32))
@tried(15)
def test_noise_is_shaped_by_the_cube_root_of_the_typical_length_over_the_rows(
    given_: dict[str, list[bool]], price: float, seed: int
) -> None:
    public = random_crowd(rng(seed), SIZES, 40)
    grids = grids_of(given_)
    shares = {g.clique: float(i) for i, g in enumerate(grids, 1)}
    found = norm_scales(grids, shares=shares, price=price, public=public, rows=500.0, cap=1)
    squares = Trial.of(public, grids).squares()
    wanted = [
        (np.quantile(squares[i], 0.9) / (g.rows * (i + 1))) ** (1 / 3) for i, g in enumerate(grids)
    ]
    ratios = [found[g.clique] / w for g, w in zip(grids, wanted, strict=True)]
    assert ratios == pytest.approx([ratios[0]] * 3, rel=1e-9)


def split_crowd() -> PublicTable:
    """Ninety people with a row each in many cells, and ten with a hundred in one."""
    people = np.concatenate([np.arange(90), np.repeat(np.arange(90, 100), 100)])
    a = np.concatenate([np.arange(90) % 3, np.full(1000, 2)])
    c = np.concatenate([np.arange(90) % 4, np.full(1000, 3)])
    return crowd(people, SIZES, a=a.tolist(), b=(a % 2).tolist(), c=c.tolist())


def errors_at(trial: Trial, grid: Grid, price: float, scales: NDArray[np.float64]) -> list[float]:
    lengths = np.sqrt(trial.squares()[0])
    out = []
    for scale in scales:
        weights = np.minimum(1, price * scale / lengths)
        found = trial.error(weights, np.array([scale]), rows=1090.0, shares=np.ones(1))
        out.append(found)
    assert grid in trial.grids
    return out


def test_the_error_falls_and_rises_with_the_level_and_the_one_chosen_is_near_the_least() -> None:
    public, (grid,) = split_crowd(), plain([("c", "a")])
    trial = Trial.of(public, [grid])
    price = 3.0
    scales = np.geomspace(0.3, 3000, 60)
    errors = errors_at(trial, grid, price, scales)
    least = int(np.argmin(errors))
    assert 0 < least < 59
    assert errors[0] > 2 * errors[least]
    assert errors[-1] > 2 * errors[least]
    (chosen,) = norm_scales(
        [grid], shares={grid.clique: 1}, price=price, public=public, rows=1090.0, cap=1
    ).values()
    (error,) = errors_at(trial, grid, price, np.array([chosen]))
    assert error <= 1.1 * errors[least]


def long_crowd() -> PublicTable:
    """Four hundred people of one to three hundred rows, whose taste is not by their size."""
    draws = rng(8)
    whose = np.repeat(np.arange(400), np.ceil(draws.lognormal(1.5, 1.3, 400)).astype(np.int64))
    codes = {}
    for name, size in SIZES.items():
        usual = draws.integers(size, size=400)[whose]
        other = draws.integers(size, size=len(whose))
        codes[name] = np.where(draws.random(len(whose)) < 0.5, usual, other).tolist()
    return crowd(whose, SIZES, **codes)


def test_in_a_larger_private_table_people_are_weighed_down_less() -> None:
    public, grids = long_crowd(), plain([("c", "a"), ("b",)])
    shares = {g.clique: 1.0 for g in grids}
    found = [
        norm_scales(grids, shares=shares, price=3.0, public=public, rows=rows, cap=1)["b",]
        for rows in (100.0, 1e3, 1e4, 1e5)
    ]
    assert found == sorted(found)
    assert found[0] < found[-1] / 4


def test_what_noise_does_is_no_more_than_what_a_cell_holds() -> None:
    public, (grid,) = split_crowd(), plain([("c", "a")])
    trial = Trial.of(public, [grid])
    error = trial.error(np.ones(100), np.array([1e12]), rows=1090.0, shares=np.ones(1))
    assert error == pytest.approx(0.5)


# How many people are looked at


def test_of_a_long_table_some_people_are_taken_with_all_of_their_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    public = random_crowd(rng(4), SIZES, 500)
    assert public.people is not None
    assert some_people(public) is public
    monkeypatch.setattr(levels, "ENOUGH_ROWS", 400)
    fewer = some_people(public)
    assert fewer.people is not None
    assert 200 < len(fewer) < 700
    assert fewer.people.tolist() == some_people(public).people.tolist()  # type: ignore[union-attr]
    assert set(np.diff(fewer.people).tolist()) == {0, 1}
    whole = {tuple(map(tuple, rows_of(public, p))) for p in range(500)}
    for person in range(fewer.people[-1] + 1):
        assert tuple(map(tuple, rows_of(fewer, person))) in whole


# The cap of Weights


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_cap_from_public_people_rises_with_the_budget(delta: float) -> None:
    public = long_crowd()
    grids = plain(closure([("a", "c"), ("b",)]))
    caps = [
        public_cap(
            public, grids, times=[1] * len(grids), budget=Budget(epsilon=epsilon, delta=delta)
        )
        for epsilon in (0.3, 3, 10, 30, 100, 300, 3e3)
    ]
    assert caps == sorted(caps)
    assert caps[0] < 10
    assert caps[-1] == public.sizes().max()
    assert len(set(caps)) >= 3


def test_asking_more_often_lowers_the_noise_of_what_is_asked_and_the_cap_follows() -> None:
    """All cliques four times over is the price of once, four times over."""
    public, grids = long_crowd(), plain([("a",), ("b",)])
    for budget in (Budget(epsilon=5.0, delta=0.0), Budget(epsilon=5.0, delta=1e-6)):
        once = public_cap(public, grids, times=[1, 1], budget=budget)
        assert public_cap(public, grids, times=[4, 4], budget=budget) == once
