"""Visits of public people, counted by loops; the best number of cells and groups."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from functools import partial
from operator import mul

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.synth.crowds import crowd, random_crowd
from understudy.budget import Budget
from understudy.public import PublicTable
from understudy.synth.usercounts import UserCounts
from understudy.synth.usercounts.visits import GROUPS, Counted, Groups, Visits

SIZES = {"a": 3, "b": 4}
SIZE = 12
BOTH = ("a", "b")
groups_ = st.sets(st.integers(1, 8), min_size=1, max_size=4).map(lambda s: tuple(sorted(s)))
seeds = st.integers(0, 2**32)


def public(seed: int, people: int = 40) -> PublicTable:
    return random_crowd(np.random.default_rng(seed), SIZES, people)


def tallied(table: PublicTable) -> dict[int, Counter[int]]:
    """How often everyone was in each cell."""
    assert table.people is not None
    own: dict[int, Counter[int]] = defaultdict(Counter)
    for person, a, b in zip(table.people, table.codes["a"], table.codes["b"], strict=True):
        own[int(person)][4 * int(a) + int(b)] += 1
    return own


def cell_of(visits: Visits) -> list[int]:
    """The cell of each entry."""
    return [int(visits.cells[place]) for place in visits.place]


@given(seeds)
@tried(30)
def test_everyone_is_in_each_of_their_cells_as_often_as_they_were(seed: int) -> None:
    table = public(seed)
    visits, own = Visits.of(table, BOTH), tallied(table)
    entries = list(zip(cell_of(visits), visits.times.tolist(), strict=True))
    assert Counter(entries) == Counter(e for held in own.values() for e in held.items())
    # Those of a person are together, in some order, with turns from 0.
    ends = [*np.flatnonzero(visits.turn == 0)[1:].tolist(), len(visits.turn)]
    start = 0
    for end, held in zip(ends, own.values(), strict=True):
        assert dict(entries[start:end]) == held
        assert visits.turn[start:end].tolist() == list(range(end - start))
        start = end
    marginal = table.marginal(BOTH)
    assert visits.cells.tolist() == np.flatnonzero(marginal).tolist()
    assert visits.rows.tolist() == marginal[marginal > 0].tolist()


def test_which_cells_come_first_is_left_to_chance_but_always_the_same() -> None:
    table = public(1, people=600)
    visits = Visits.of(table, BOTH)
    assert cell_of(visits) == cell_of(Visits.of(table, BOTH))
    # Of those with several cells, the smallest is not first more often than others.
    several = [held for held in tallied(table).values() if len(held) > 1]
    firsts = np.array(cell_of(visits))[np.flatnonzero(visits.turn == 1) - 1]
    smallest = np.mean([f == min(held) for f, held in zip(firsts, several, strict=True)])
    assert smallest == pytest.approx(np.mean([1 / len(h) for h in several]), abs=0.07)


def slow_counted(visits: Visits, most: int, groups: Groups) -> tuple[list[list[int]], list[float]]:
    """Count people and mean times, an entry at a time."""
    people = [[0] * len(groups) for _ in visits.cells]
    times: list[list[int]] = [[] for _ in groups]
    for place, often, turn in zip(visits.place, visits.times, visits.turn, strict=True):
        reached = [i for i, t in enumerate(groups) if t <= often]
        if turn < most and reached:
            people[int(place)][reached[-1]] += 1
            times[reached[-1]].append(int(often))
    return people, [float(np.mean(t)) if t else g for t, g in zip(times, groups, strict=True)]


@given(seeds, st.integers(1, 6), groups_)
@tried(50)
def test_people_are_counted_as_by_loops_and_stand_for_all_rows(
    seed: int, most: int, groups: Groups
) -> None:
    table = public(seed)
    visits = Visits.of(table, BOTH)
    counted = visits.counted(most=most, groups=groups)
    people, means = slow_counted(visits, most, groups)
    assert counted.people.tolist() == people
    whole = counted.people.sum(axis=0)
    if not whole.sum():
        return
    # Nobody is in more cells than count, and together they make up all the rows there are.
    assert whole.sum() <= sum(min(most, len(held)) for held in tallied(table).values())
    assert whole @ counted.rows_each == pytest.approx(len(table))
    assert counted.rows_each / counted.rows_each[0] == pytest.approx(np.array(means) / means[0])


def test_counting_everything_takes_a_person_for_the_rows_they_have() -> None:
    table = public(3)
    counted = Visits.of(table, BOTH).counted(most=SIZE, groups=tuple(range(1, 31)))
    assert counted.rows_each == pytest.approx(np.arange(1, 31))
    assert counted.people @ counted.rows_each == pytest.approx(Visits.of(table, BOTH).rows)


def slow_error(visits: Visits, counted: Counted, noise: float, last: int) -> float:
    """Square and add up, a count at a time; then a mean over those that share other columns."""
    errors: dict[int, float] = defaultdict(float)
    wholes: dict[int, float] = defaultdict(float)
    for cell, rows, people in zip(visits.cells, visits.rows, counted.people, strict=True):
        square, stood = 0.0, 0.0
        for n, each in zip(people.tolist(), counted.rows_each.tolist(), strict=True):
            differ = n + 0.3 * n**2
            square += each**2 * differ * noise**2 / (differ + noise**2)
            stood += n * each
        errors[int(cell) // last] += math.sqrt(square + (float(rows) - stood) ** 2)
        wholes[int(cell) // last] += float(rows)
    return sum(errors[g] / wholes[g] for g in wholes) / len(wholes)


@given(seeds, st.floats(0.01, 100), groups_, st.sampled_from([1, 2, 4]))
@tried(30)
def test_the_error_is_that_of_the_slow_way(
    seed: int, noise: float, groups: Groups, last: int
) -> None:
    visits = Visits.of(public(seed, people=4), BOTH)
    counted = visits.counted(most=2, groups=groups)
    wanted = slow_error(visits, counted, noise, last)
    ((error, *_),) = visits.best([lambda _: noise], last=last, most=2, groups=groups)
    assert error == pytest.approx(wanted)


def wide() -> PublicTable:
    """Three hundred people with a row in each of up to 12 cells, and some with more."""
    draws = np.random.default_rng(5)
    each = draws.integers(6, 13, size=300)
    cells = np.concatenate([draws.permutation(SIZE)[:n] for n in each])
    whose = np.repeat(np.arange(300), each)
    often = np.minimum(draws.geometric(0.6, len(cells)), 8)
    cells, whose = np.repeat(cells, often), np.repeat(whose, often)
    return crowd(whose, SIZES, a=cells // 4, b=cells % 4)


def test_more_noise_means_fewer_cells_a_person_and_fewer_groups() -> None:
    visits = Visits.of(wide(), BOTH)
    noises = [partial(mul, level) for level in (1e-3, 0.1, 0.3, 1.0, 3.0)]
    found = visits.best(noises, last=4)
    for noise, best in zip(noises, found, strict=True):
        tried = [
            visits.best([noise], last=4, most=k, groups=g)[0]
            for k in (1, 2, 3, 4, 6, 8, 12)
            for g in GROUPS
        ]
        assert best == min(tried)
    cells, told = [k for _, k, _ in found], [len(g) for _, _, g in found]
    assert cells == sorted(cells, reverse=True)
    assert told == sorted(told, reverse=True)
    assert (cells[0], told[0]) == (12, 5)
    assert (cells[-1], told[-1]) == (6, 1)


def test_what_is_given_is_kept() -> None:
    visits = Visits.of(wide(), BOTH)
    ((_, most, groups),) = visits.best([float], last=4, most=5, groups=(2, 7))
    assert (most, groups) == (5, (2, 7))
    ((_, most, groups),) = visits.best([float], last=4, most=5)
    assert most == 5
    assert groups in GROUPS
    ((_, _, groups),) = visits.best([float], last=4, groups=(2, 7))
    assert groups == (2, 7)


@pytest.mark.parametrize(("most", "delta"), [(1, 0.0), (12, 1e-4), (None, None)])
def test_the_budget_has_the_noise_of_the_smaller_error(
    most: int | None, delta: float | None
) -> None:
    """Laplace noise grows with the cells that count, Gaussian with their root."""
    mechanism, table = UserCounts(most=most), wide()
    budgets = [Budget(epsilon=1.0, delta=d) for d in (0.0, 1e-4)]
    laplace, gaussian = mechanism.errors(table, budgets)
    assert laplace != gaussian
    found = mechanism.budget(table, epsilon=1.0, delta=1e-4)
    assert found == budgets[laplace > gaussian]
    assert delta in {None, found.delta}
    assert mechanism.budget(table, epsilon=1.0, delta=0.0) == budgets[0]
