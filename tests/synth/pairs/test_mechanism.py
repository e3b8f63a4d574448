"""Pairs: what is chosen, when it stops, how the budget is shared, and what is left without it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import effort, few, in_audit, tried
from tests.synth.planted import (
    Heard,
    Table,
    heavy,
    in_order,
    listening,
    lone,
    pair_distance,
    planted,
    silent,
)
from understudy.audit import replay
from understudy.door import Distances, Measure, Select, Total
from understudy.errors import BudgetError, UsageError
from understudy.public import Synthesis
from understudy.synth.pairs.prior import ONLY_COLUMNS

BOTH = (pytest.param(True, id="leaves"), pytest.param(False, id="arrives"))
CHAIN = {"a": None, "b": "a", "c": "b", "d": "c", "e": "d"}
LINKS = {frozenset(pair) for pair in ("ab", "bc", "cd", "de")}
ENOUGH = us.Budget(epsilon=1e4, delta=1e-6)
"""Noise of less than a row."""


def table(rows: int = 4000) -> Table:
    return in_order(planted(CHAIN, rows=rows), "cabed")


def made(door: Heard, mechanism: us.Pairs | None = None) -> Synthesis:
    return (mechanism or us.Pairs()).run(
        door, public=None, rng=np.random.default_rng(0), progress=silent
    )


def drawn(synthesis: Synthesis) -> dict[str, Any]:
    parts = [batch.codes for batch in synthesis.batches]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_a_tree_comes_first_and_it_is_the_one_that_was_planted() -> None:
    with listening(table(), budget=ENOUGH) as door:
        found = made(door)
    ones, tree, _ = door.asked
    assert ones == [(name,) for name in "cabed"]
    assert {frozenset(pair) for pair in tree} == LINKS
    assert [list(pair) for pair in tree] == found.details["pairs"][:4]
    codes = drawn(found)
    for pair in ("ab", "bc", "cd", "de", "ae"):
        assert pair_distance(table(), codes, tuple(pair)) < 0.02


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_it_stops_where_nothing_is_worth_its_noise(epsilon: float) -> None:
    """All combinations, equally often: no pair tells anything, and asking would add noise."""
    cells = np.arange(4**5).repeat(20)
    held: Table = {name: cells // 4**i % 4 for i, name in enumerate("abcde")}
    with listening(held, budget=us.Budget(epsilon=epsilon, delta=1e-6)) as door:
        found = made(door)
    assert len(found.details["pairs"]) <= 1
    last = door.choices[-1]
    assert isinstance(last, Select)
    assert last.candidates[-1].clique == ()
    assert sum(door.shares) == pytest.approx(1, abs=1e-6)


def test_columns_choices_and_looks_share_the_budget_as_was_said() -> None:
    with listening(table(), budget=us.Budget(epsilon=2.0, delta=1e-6)) as door:
        made(door, us.Pairs(first_share=0.4, tree_share=0.5, selection_share=0.02))
    measures = [
        share
        for question, share in zip(door.heard, door.shares, strict=True)
        if isinstance(question, Measure)
    ]
    first, tree, last = measures
    assert first == pytest.approx(0.4 * 0.96, rel=1e-6)
    assert tree == pytest.approx(0.5 * 0.6 * 0.96, rel=1e-6)
    # What choosing did not need is the last question's.
    assert last >= tree * (1 - 1e-9)
    assert sum(door.shares) == pytest.approx(1, abs=1e-6)


def tangled(columns: int = 8, rows: int = 4000, codes: int = 4) -> Table:
    """Columns that are all correlated, each with all others."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(codes, size=rows)
    return {
        f"c{i}": np.where(rng.random(rows) < 0.8, hidden, rng.integers(codes, size=rows))
        for i in range(columns)
    }


def test_further_looks_share_what_choosing_may_cost() -> None:
    """And what they measure of pairs is as precise as the tree, until the last query."""
    with listening(tangled(), budget=us.Budget(epsilon=30.0, delta=1e-6)) as door:
        made(door)
    looks = [
        (len(question.candidates), share)
        for question, share in zip(door.heard, door.shares, strict=True)
        if isinstance(question, Distances)
    ]
    assert 2 <= len(looks) <= 4
    # Every look chooses half as many pairs as there are columns, and asks about the others next.
    assert [count for count, _ in looks] == [21 - 4 * i for i in range(len(looks))]
    for _, share in looks[: 4 - 1]:
        assert share == pytest.approx(0.05 / 4, rel=1e-3)
    assert sum(share for _, share in looks) <= 0.05 * (1 + 1e-9)
    assert sum(door.shares) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("seed", few(range(3), usual=1))
def test_where_noise_counts_distances_are_measured_at_once_and_nothing_stops_by_chance(
    seed: int,
) -> None:
    """All pairs are alike here, so that all pay or none does."""
    held = tangled(columns=7, rows=2500, codes=2)
    with listening(held, budget=us.Budget(epsilon=1.0, delta=1e-6), seed=seed) as door:
        found = made(door)
    asked = [len(q.candidates) for q in door.choices if isinstance(q, Distances)]
    assert asked == [15, 15]
    assert len(found.details["pairs"]) == 21


@given(st.integers(0, 1000))
@tried(8, usual=2)
def test_in_the_end_all_pairs_are_told_alike(seed: int) -> None:
    """Precision goes by the power ⅔ of the cells, whether a pair was asked once or twice."""
    with listening(
        table(), sizes={"b": 9}, budget=us.Budget(epsilon=30.0, delta=1e-6), seed=seed
    ) as door:
        found = made(door, us.Pairs(bins=9, threshold=0.0))
    domain = {"a": 4, "b": 9, "c": 4, "d": 4, "e": 4}
    precision: dict[frozenset[str], float] = {}
    for m in found.measurements:
        if len(m.clique) == 2:
            cells = math.prod(domain[name] for name in m.clique)
            pair = frozenset(m.clique)
            precision[pair] = precision.get(pair, 0.0) + m.scale**-2.0 / cells ** (2 / 3)
    assert len(precision) == len(found.details["pairs"]) >= 4
    assert max(precision.values()) == pytest.approx(min(precision.values()), rel=1e-3)


def test_where_noise_drowns_every_pair_columns_are_asked_again() -> None:
    with listening(table(60), budget=us.Budget(epsilon=0.5, delta=1e-6)) as door:
        # No codes are put together, so that noise is in all of them.
        found = made(door, us.Pairs(threshold=0.0))
    assert found.notes[0] == found.details["coarser"] == ONLY_COLUMNS
    assert found.details["pairs"] == []
    assert not door.choices
    assert door.asked == [[(name,) for name in "cabed"]] * 2
    assert sum(door.shares) == pytest.approx(1, abs=1e-6)


@in_audit
def test_what_columns_are_off_by_is_in_all_pairs_so_they_may_be_asked_again() -> None:
    """With little to spend on many columns; with much, pairs tell of columns well enough."""
    names = "abcdefghijkl"
    held = planted({n: None if n == "a" else "a" for n in names}, rows=3000)
    asked_again = []
    for epsilon in (0.4, 100.0):
        with listening(held, budget=us.Budget(epsilon=epsilon, delta=1e-6)) as door:
            found = made(door)
        assert found.details["pairs"]
        ones = [question for question in door.asked if question == [(n,) for n in names]]
        asked_again.append(len(ones) > 1)
        assert sum(door.shares) == pytest.approx(1, abs=1e-6)
    assert asked_again == [True, False]


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.3])
def test_a_hopeless_budget_releases_a_sane_table(epsilon: float) -> None:
    """About as many people as are counted, each with a row at least; never one row in all."""
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(3000), rng.geometric(0.2, 3000))
    held = planted(CHAIN, rows=len(who))
    for seed in range(effort(1, 3)):
        with listening(
            held,
            people=who,
            bounding=us.Norm(),
            budget=us.Budget(epsilon=epsilon, delta=1e-6),
            seed=seed,
        ) as door:
            found = made(door)
        people = np.concatenate([batch.people for batch in found.batches])
        rows, count = len(people), len(np.unique(people))
        off = 6 / (math.sqrt(0.02 / 4) * door.budget.price)
        assert abs(count - 3000) <= 150 + off
        assert count <= rows <= 2 * len(who) + 30 * off


def test_under_norm_the_rows_that_selections_count_are_asked_with_their_cap() -> None:
    who = np.repeat(np.arange(800), 5)
    with listening(table(), people=who, bounding=us.Norm(), budget=ENOUGH) as door:
        made(door)
    totals = [q for q in door.heard if isinstance(q, Total)]
    (cap,) = {q.bounding for q in door.choices}
    assert [q.cap for q in totals][-1] == cap.cap
    assert 1 <= cap.cap <= 5


def test_what_people_repeat_is_read_off_what_was_counted() -> None:
    """Rows of one person in one cell, and in cells of their own: the same sizes, other noise."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(1500), 8)
    own = rng.integers(4, size=1500)
    alike: Table = {name: (own[who] + i) % 4 for i, name in enumerate("abc")}
    apart: Table = {name: rng.integers(4, size=len(who)) for name in "abc"}
    scales = []
    for held in (alike, apart):
        with listening(
            held, people=who, bounding=us.Norm(), budget=us.Budget(epsilon=1.0, delta=1e-6)
        ) as door:
            found = made(door)
        scales.append(found.measurements[-1].scale * len(door.asked[-1]) ** -0.5)
    assert scales[1] < 0.8 * scales[0]


@pytest.mark.parametrize("leaves", BOTH)
def test_given_the_same_answers_the_same_is_asked_without_the_person_of_most_rows(
    leaves: bool,
) -> None:
    found = replay(us.Pairs(), heavy(leaves=leaves))
    assert found.questions >= 4
    assert found.reach == pytest.approx(1)


@pytest.mark.parametrize("leaves", few(BOTH, usual=1))
def test_and_so_are_further_pairs_without_the_only_person_who_ties_any(leaves: bool) -> None:
    found = replay(us.Pairs(), lone(leaves=leaves))
    assert found.questions >= 4
    assert found.reach == pytest.approx(1)


@pytest.mark.parametrize(
    ("settings_", "error", "text"),
    [
        (
            {"selection_share": 0.48},
            BudgetError,
            "rows_share + people_share + selection_share + selection_share must be below 0.99 "
            "(got 1)",
        ),
        ({"first_share": 1.0}, BudgetError, "first_share must be above 0 and below 1 (got 1.0)"),
        ({"tree_share": 0.0}, BudgetError, "tree_share must be above 0 and below 1 (got 0.0)"),
        ({"threshold": -1.0}, UsageError, "threshold must be at least 0 (got -1.0)"),
        ({"model_limit": 0}, UsageError, "model_limit must be at least 1 (got 0)"),
        ({"within": "bins"}, UsageError, "within must be 'evenly' or 'public' (got 'bins')"),
    ],
)
def test_settings_that_cannot_be(settings_: dict[str, Any], error: type, text: str) -> None:
    with pytest.raises(error) as caught:
        us.Pairs(**settings_)
    assert str(caught.value) == text


def test_a_model_stays_as_small_as_was_said() -> None:
    held = tangled(columns=6)
    with listening(held, budget=ENOUGH) as door:
        small = made(door, us.Pairs(model_limit=1500))
    with listening(held, budget=ENOUGH) as door:
        large = made(door)
    assert small.model is not None
    assert small.model.tree.bytes <= 1500
    assert len(small.details["pairs"]) < len(large.details["pairs"])
