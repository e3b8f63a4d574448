"""Transitions: with little noise the table is the truth, with much noise what was known before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.synth.lives.supports import support
from understudy.budget import Unit
from understudy.door import Measurement
from understudy.public import PublicTable
from understudy.schema import Id, Integer, Schema
from understudy.synth.lives.habits import Habit
from understudy.synth.lives.transitions import CLOSER, OFTENER, Transitions, public_steps

PEOPLE, ROWS = 1000, 5000
SIZES = np.full(PEOPLE, ROWS // PEOPLE)


def truth(codes: int, seed: int) -> Any:
    """Counts of (previous, this) of a chain that mostly stays; first rows in the last line."""
    rng = np.random.default_rng(seed)
    ways = rng.gamma(0.5, size=(codes, codes)) + 2 * np.eye(codes)
    ways /= ways.sum(axis=1, keepdims=True)
    shares = np.full(codes, 1 / codes)
    for _ in range(200):
        shares = shares @ ways
    return np.vstack([shares[:, None] * ways * (ROWS - PEOPLE), shares * PEOPLE])


def settled(
    table: Any,
    noise: float,
    *,
    ordered: bool = False,
    seed: int = 0,
    habit: Habit | None = None,
    public: Any = None,
) -> Any:
    codes, rng = table.shape[1], np.random.default_rng(seed)
    later = table[:-1] / table[:-1].sum()
    apart = np.abs(np.arange(codes)[:, None] - np.arange(codes)) / max(1, codes - 1)
    differ, far = 1 - float(np.trace(later)), float((later * apart).sum())
    # Two rows of a person are as much further apart as is guessed.
    guessed = Habit(1 - (1 - differ) ** (1 / OFTENER), far / CLOSER if ordered else None)
    values = table + noise * rng.standard_normal(table.shape)
    measured = Measurement(clique=("before", "x"), values=values.reshape(-1), scale=max(noise, 1))
    seen = {} if public is None else {"x": public}
    found = Transitions({"x": measured}, {"x": noise}, {"x": support(codes)}, "t", seen)
    return found._table("x", table.sum(axis=0), habit or guessed, SIZES)


def apart(a: Any, b: Any) -> float:
    return float(np.abs(a / a.sum() - b / b.sum()).sum() / 2)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("codes", [2, 3, 9])
def test_with_little_noise_it_is_the_truth(codes: int, *, ordered: bool) -> None:
    table = truth(codes, codes)
    assert apart(settled(table, 1.0, ordered=ordered), table) < 0.02


@pytest.mark.parametrize("noise", [10.0, 100.0, 1e6])
@pytest.mark.parametrize("codes", [3, 9, 30])
def test_it_is_no_further_than_the_noisy_answer(codes: int, noise: float) -> None:
    table = truth(codes, codes)
    values = table + noise * np.random.default_rng(0).standard_normal(table.shape)
    noisy = np.maximum(values, 0)
    assert apart(settled(table, noise), table) < max(0.02, 1.1 * apart(noisy, table))


@given(st.integers(1, 12), st.floats(0.1, 1e4), st.booleans(), st.integers(0, 99))
@tried(40)
def test_codes_have_their_counts_whatever_the_noise(
    codes: int, noise: float, ordered: bool, seed: int
) -> None:
    table = truth(codes, seed)
    found = settled(table, noise, ordered=ordered, seed=seed)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert found.sum(axis=0) == pytest.approx(table.sum(axis=0), rel=1e-3, abs=0.1)


@pytest.mark.parametrize("codes", [2, 3, 9])
def test_a_code_that_rows_have_is_come_to_by_some(codes: int) -> None:
    """Noise may say that nobody begins with a code, nor changes to it: it would never be drawn."""
    later = np.diag(np.linspace(1, 2, codes))
    first = np.zeros(codes)
    first[0] = 1
    answer = np.vstack([later / later.sum() * (ROWS - PEOPLE), first * PEOPLE])
    measured = Measurement(clique=("before", "x"), values=answer.reshape(-1), scale=1.0)
    tables = Transitions({"x": measured}, {"x": 1.0}, {"x": support(codes)}, "t")
    counts = np.full(codes, ROWS / codes)
    found = tables._table("x", counts, Habit(0.3, None, 0.05), SIZES)
    came = found.sum(axis=0) - np.diag(found[:-1])
    assert (came > 0.95 * counts / SIZES.max()).all()
    assert (found[:-1] > 0).all()


@pytest.mark.parametrize("codes", [3, 9])
def test_a_wrong_guess_gives_way_to_the_answer(codes: int) -> None:
    """Rows that never stay, of people whose rows agree as often as chance has it."""
    ways = (1 - np.eye(codes)) / (codes - 1)
    table = np.vstack([ways * (ROWS - PEOPLE) / codes, np.full(codes, PEOPLE / codes)])
    habit = Habit(1 - 1 / codes, None, 0.02)
    for noise, far in ((1.0, 0.02), (20.0, 0.15)):
        assert apart(settled(table, noise, habit=habit), table) < far


@pytest.mark.parametrize("codes", [3, 9])
def test_it_begins_as_public_people_go_on(codes: int) -> None:
    """The truth is that of a chain, and another chain that of public people, or the same one."""
    table, other = truth(codes, codes), truth(codes, codes + 1)
    assert apart(settled(table, 1e6, public=table / 2), table) < 0.1
    assert apart(settled(table, 1e6, public=other), other) < apart(table, other)
    assert apart(settled(table, 1.0, public=other), table) < 0.02


def test_public_steps_are_those_of_each_person_in_order() -> None:
    columns = (
        Id(name="who"),
        Integer(name="year", min=0, max=9, missing=False),
        Integer(name="x", min=0, max=2, missing=False),
    )
    rows = {"who": [1, 0, 1, 0, 1], "year": [3, 5, 1, 4, 2], "x": [2, 1, 0, 1, 1]}
    schema = Schema("t", columns, order_by=("year",))
    public = PublicTable.read(
        {name: np.array(each) for name, each in rows.items()}, schema=schema, unit=Unit("who")
    )

    assert public_steps(None, None, ["x"]) == {}
    found = public_steps(public, public, ["x"])["x"]
    # Of 0, 1, 2 in three years, and 1 twice.
    assert found.tolist() == [[0, 1, 0], [0, 1, 1], [0, 0, 0], [1, 1, 0]]
