"""Drift: what has changed since the public table shows, and what noise makes of it does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import effort, tried
from tests.synth.crowds import crowd, door_to, events, random_crowd
from tests.vault.obvious import People
from understudy.budget import Budget, Norm, price_grains
from understudy.synth.archetypes.drift import GROUPS, drift, groups, most_common_groups

SIZES = {"a": 3, "b": 4}


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.sampled_from(GROUPS))
@tried(100)
def test_groups_are_of_adjacent_codes_and_unseen_ones_are_apart(rows: list[int], most: int) -> None:
    labels, seen = groups(np.array(rows), most), np.array(rows) > 0
    assert set(labels.tolist()) == set(range(int(labels.max()) + 1))
    assert (np.diff(labels[seen]) >= 0).all()
    assert len(set(labels[seen].tolist())) <= most
    assert not set(labels[seen].tolist()) & set(labels[~seen].tolist())


def test_a_person_with_a_tie_is_a_part_of_each_group() -> None:
    public = random_crowd(np.random.default_rng(1), SIZES, 60)
    assert public.people is not None
    labels = np.arange(4)
    found = np.zeros(4)
    for person in range(int(public.people[-1]) + 1):
        rows = np.bincount(public.codes["b"][public.people == person], minlength=4)
        for group in np.flatnonzero(rows == rows.max()):
            found[group] += 1 / (rows == rows.max()).sum()
    np.testing.assert_allclose(most_common_groups(public, "b", labels), found)


WORLD = {"a": 3, "b": 2, "c": 4}
PEOPLE = 400


def private(*, moved: bool) -> People:
    """People whose column c is that of public ones, or always another code."""
    rng = np.random.default_rng(5)
    return {
        f"p{i}": [(int(a), int(b), 3 if moved else int(c))] * 2
        for i, (a, b, c) in enumerate(rng.integers((3, 2, 3), size=(PEOPLE, 3)))
    }


def asked(epsilon: float, *, moved: bool, seed: int = 1) -> dict[str, float]:
    """Ask how much has changed since a public table in which nobody has the last code of c."""
    rng = np.random.default_rng(6)
    codes = dict(zip(WORLD, rng.integers((3, 2, 3), size=(PEOPLE, 3)).T, strict=True))
    public = crowd(np.arange(PEOPLE), WORLD, **codes)
    budget = Budget(epsilon=epsilon, delta=1e-6)
    with door_to(private(moved=moved), bounding=Norm(), budget=budget, seed=seed) as door:
        price = budget.price / 2
        found = drift(door, public, people=PEOPLE, price=price)
        spent = [grains for _, grains in events(door)]
    assert sum(spent) <= price_grains(price, budget.currency)
    assert len(spent) == len(found)
    return found


def test_what_has_changed_shows() -> None:
    found = asked(100.0, moved=True)
    assert found["c"] == pytest.approx(1, abs=0.02)
    # As far apart as two samples of so many people are.
    assert max(found["a"], found["b"]) < 0.1


def test_what_noise_makes_of_it_does_not_count() -> None:
    """Of 30 columns that did not change, or 60, hardly any seems to by more than a tenth."""
    found = [asked(1.0, moved=False, seed=seed) for seed in range(effort(10, 20))]
    assert np.mean([value > 0.1 for each in found for value in each.values()]) < 0.1
    assert (
        np.mean([asked(1.0, moved=True, seed=seed)["c"] > 0.2 for seed in range(effort(6, 10))])
        > 0.8
    )


def test_where_noise_would_hide_any_change_nothing_is_asked() -> None:
    assert asked(0.01, moved=True) == {}
    assert list(asked(1.0, moved=True)) == list(WORLD)
