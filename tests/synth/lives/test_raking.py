"""Raking: what is wanted of rows and of consecutive rows comes out, both at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.audit.effort import few, one_in
from tests.synth.lives.supports import support
from understudy.door import Measurement
from understudy.schema import Categorical
from understudy.synth.lives import raking
from understudy.synth.lives.habits import Habit, apart, differing
from understudy.synth.lives.raking import Raked
from understudy.synth.measure.support import Rule, find_support

SIZES = np.full(2000, 5)
PLACES = np.array([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]])
"""A code's distribution by place."""


def drawn(place: Any, *, steps: Any = None, habit: Habit, seed: int = 0, size: int = 3) -> Any:
    column = Raked(
        table=PLACES[:, :size],
        shape=(2,),
        steps=steps,
        habit=habit,
        support=support(size),
        size=size,
    )
    merged, codes = column.draw(SIZES, [place], np.random.default_rng(seed))
    assert merged.tolist() == codes.tolist()
    return codes.reshape(-1, 5)


def places(seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, 2, SIZES.sum())


def off_by_place(place: Any, codes: Any) -> float:
    """How far the counts by place are from what the model wants, in total variation."""
    counts = np.zeros((2, 3))
    np.add.at(counts, (place, codes.reshape(-1)), 1)
    wanted = np.bincount(place)[:, None] * PLACES
    return float(np.abs(counts - wanted).sum() / wanted.sum() / 2)


@pytest.mark.parametrize("agreeing", one_in(2, [0.4, 0.6, 0.8]))
def test_rows_agree_as_often_as_wanted_and_keep_their_pairs(agreeing: float) -> None:
    """Places change at random, so that much agreement and the pairs contradict each other."""
    place = places()
    codes = drawn(place, habit=Habit(1 - agreeing))
    pairs = [(i, j) for i in range(5) for j in range(i)]
    found = np.mean([np.mean(codes[:, i] == codes[:, j]) for i, j in pairs])
    assert found == pytest.approx(agreeing, abs=0.03)
    assert off_by_place(place, codes) < 0.01


def test_what_follows_what_comes_out_with_the_pairs() -> None:
    """Codes go round, 0 → 1 → 2 → 0 most of the time, whatever places say."""
    follows, stationary = 0.8 * np.roll(np.eye(3), 1, axis=1) + 0.2 / 3, np.full(3, 1 / 3)
    rows, people = SIZES.sum(), len(SIZES)
    steps = np.vstack([stationary[:, None] * follows * (rows - people), stationary * people])
    lags = [i - j for i in range(5) for j in range(i)]
    agreeing = np.mean([np.trace(np.linalg.matrix_power(follows, lag)) / 3 for lag in lags])
    flat = Raked(
        table=np.ones((2, 3)),
        shape=(2,),
        steps=steps,
        habit=Habit(1 - float(agreeing)),
        support=support(3),
        size=3,
    )
    merged, _ = flat.draw(SIZES, [places()], np.random.default_rng(3))
    codes = merged.reshape(-1, 5)
    got = np.zeros((3, 3))
    np.add.at(got, (codes[:, :-1].reshape(-1), codes[:, 1:].reshape(-1)), 1)
    assert np.abs(got / got.sum() - stationary[:, None] * follows).max() < 0.01


def test_a_single_rare_code_leaves_the_others_as_they_are() -> None:
    """No codes are merged then, but the rare one comes last among merged codes."""
    listed = find_support(
        Categorical(name="x", values=("a", "b", "c", "d"), missing=False, outside="drop"),
        Measurement(clique=("x",), values=np.array([9e3, 0.0, 6e3, 3e3]), scale=9.0),
        Rule(threshold=3.0, rare="other", most=100, bins=100),
        None,
    )
    assert listed.is_whole
    assert listed.codes.tolist() == [0, 3, 1, 2]
    column = Raked(
        table=listed.sums(np.array([9e3, 0.0, 6e3, 3e3]))[None],
        shape=(),
        steps=None,
        habit=Habit(0.4),
        support=listed,
        size=4,
    )
    _, codes = column.draw(SIZES, [], np.random.default_rng(5))
    assert np.bincount(codes, minlength=4) / len(codes) == pytest.approx(
        [1 / 2, 0, 1 / 3, 1 / 6], abs=0.01
    )


def test_pairs_with_columns_that_nothing_is_drawn_given_come_out_too() -> None:
    """Codes of a person agree, so that counts by another column would vary by more than rows do."""
    place, when = places(), np.random.default_rng(2).integers(0, 30, SIZES.sum())

    def off(*others: Any) -> float:
        column = Raked(
            table=PLACES,
            shape=(2,),
            steps=None,
            habit=Habit(0.3),
            support=support(3),
            size=3,
            others=others,
        )
        codes, _ = column.draw(SIZES, [place, when][: 1 + len(others)], np.random.default_rng(4))
        counts = np.zeros((30, 3))
        np.add.at(counts, (when, codes), 1)
        return float(
            np.abs(counts - np.outer(np.bincount(when), np.bincount(codes) / 10_000)).sum()
        )

    assert off(np.outer(np.ones(30), [4.0, 2.0, 4.0])) < off() / 5


def test_a_pair_keeps_its_tie_where_its_columns_have_other_shares() -> None:
    """Odds ratios are the model's; a line without rows in it has the column's distribution."""
    model = np.array([[900.0, 10.0], [10.0, 900.0], [0.0, 0.0]])
    found = raking._between(model, np.array([700, 200, 100]), np.array([500.0, 500.0]))
    assert found.sum(axis=1) == pytest.approx([700, 200, 100])
    assert found.sum(axis=0) == pytest.approx([500, 500], abs=5)
    assert found[0, 0] * found[1, 1] / found[0, 1] / found[1, 0] == pytest.approx(8100)
    assert found[2, 0] / found[2, 1] == pytest.approx(found[0, 0] / found[0, 1] / 90, rel=0.001)


def test_ordered_codes_are_as_far_apart_and_differ_as_often_as_wanted() -> None:
    place = places()
    pairs = [(i, j) for i in range(5) for j in range(i)]
    for habit in one_in(2, (Habit(0.4, 0.3), Habit(0.5, 0.3), Habit(0.65, 0.45))):
        codes = drawn(place, habit=habit)
        found = np.mean([np.mean(np.abs(codes[:, i] - codes[:, j])) for i, j in pairs]) / 2
        assert found == pytest.approx(habit.apart, abs=0.04)
        found = np.mean([np.mean(codes[:, i] != codes[:, j]) for i, j in pairs])
        assert found == pytest.approx(habit.differ, abs=0.04)
        assert off_by_place(place, codes) < 0.02


@pytest.mark.parametrize("people", few([700, 1], usual=1))
def test_many_people_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch, people: int) -> None:
    """Pairs and agreement are those of people drawn at once."""
    monkeypatch.setattr(raking, "MOST_ROWS", 1500)
    monkeypatch.setattr(raking, "MANY_PEOPLE", people)
    place = places()
    codes = drawn(place, habit=Habit(0.4))
    found = np.mean([np.mean(codes[:, i] == codes[:, j]) for i in range(5) for j in range(i)])
    assert found == pytest.approx(0.6, abs=0.03)
    assert off_by_place(place, codes) < 0.03


def test_a_merged_code_of_a_person_is_one_code() -> None:
    merged = support(9, seen=3)
    column = Raked(
        table=np.ones((1, merged.size)),
        shape=(),
        steps=None,
        habit=Habit(0.5),
        support=merged,
        size=9,
    )
    small, codes = column.draw(SIZES, [], np.random.default_rng(0))
    who = np.repeat(np.arange(len(SIZES)), SIZES)
    pairs = set(zip(who.tolist(), small.tolist(), codes.tolist(), strict=True))
    assert len(pairs) == len({(person, each) for person, each, _ in pairs})


@pytest.mark.parametrize("differ", [0.5, 0.7])
def test_merged_codes_of_an_ordered_column_agree_as_often_as_wanted(differ: float) -> None:
    """Six codes of nine are one: rows that have it have one code for some people only."""
    merged = support(9, seen=3)
    column = Raked(
        table=np.array([[1.0, 1.0, 1.0, 5.0]]),
        shape=(),
        steps=None,
        habit=Habit(differ, 0.3),
        support=merged,
        size=9,
    )
    _, codes = column.draw(SIZES, [], np.random.default_rng(0))
    first = np.concatenate([np.arange(size) == 0 for size in SIZES])
    assert differing(first, codes) == pytest.approx(differ, abs=0.03)
    assert apart(first, codes) / 8 == pytest.approx(0.3, abs=0.05)
