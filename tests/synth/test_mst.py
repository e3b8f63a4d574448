"""MST: the tree that was planted is the tree that is asked, for the price of its three parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import few, one_in
from tests.public.whole import Made
from tests.synth import rides, town
from tests.synth.planted import (
    CODES,
    Heard,
    Table,
    heavy,
    in_order,
    listening,
    pair_distance,
    passes,
    planted,
    silent,
)
from understudy.audit import replay
from understudy.door import Clique, Measure, Select
from understudy.errors import QuestionError, UnderstudyError, UsageError

CHAIN = {"a": None, "b": "a", "c": "b", "d": "c", "e": "d"}
STAR = {"c": None, "a": "c", "b": "c", "d": "c", "e": "c"}
BROOM = {"e": None, "b": "e", "a": "b", "c": "b", "d": "b"}
ORDER = "dbeac"
"""An order of columns that tells nothing of a tree."""
TREES = {"chain": CHAIN, "star": STAR, "broom": BROOM}
BUDGET = us.Budget(epsilon=2.0, delta=1e-6)
PURE = us.Budget(epsilon=4.0, delta=0)


def edges(parents: Mapping[str, str | None]) -> set[frozenset[str]]:
    return {frozenset((n, parent)) for n, parent in parents.items() if parent is not None}


def made(door: Heard, mechanism: us.MST | None = None, public: Any = None) -> Made:
    rng = np.random.default_rng(0)
    return Made.of((mechanism or us.MST()).run(door, public=public, rng=rng, progress=silent))


def asked_of(table: Table, mechanism: us.MST | None = None, **other: Any) -> list[Clique]:
    """The pairs that are asked for, after the columns."""
    with listening(table, **other) as door:
        made(door, mechanism)
    (columns, *pairs) = door.asked
    assert columns == [(name,) for name in table]
    return [pair for round_ in pairs for pair in round_]


# With almost no noise


@pytest.mark.parametrize("delta", few([1e-6, 0], usual=1))
@pytest.mark.parametrize("name", TREES)
def test_the_planted_tree_is_asked_and_nothing_else(name: str, delta: float) -> None:
    table = in_order(planted(TREES[name]), ORDER)
    pairs = asked_of(table, budget=us.Budget(epsilon=1e5, delta=delta))
    assert len(pairs) == 4
    assert {frozenset(pair) for pair in pairs} == edges(TREES[name])


def test_a_tree_is_found_whatever_people_are_and_however_they_are_bounded() -> None:
    table = in_order(planted(BROOM), ORDER)
    people = np.arange(400) // 4
    for bounding in (us.Weights(4), us.Sample(4), us.Norm()):
        pairs = asked_of(table, people=people, bounding=bounding)
        assert {frozenset(pair) for pair in pairs} == edges(BROOM), bounding


def test_rows_have_the_tables_pairs_those_that_were_not_asked_too() -> None:
    """In a chain what lies far apart follows from what lies between."""
    table = planted(CHAIN)
    with listening(table) as door:
        codes = made(door).codes
    assert len(codes["a"]) == pytest.approx(400, abs=2)
    for pair in itertools.pairwise("abcde"):
        assert pair_distance(codes, table, pair) < 0.02, pair
    assert pair_distance(codes, table, ("a", "c")) < 0.1
    # Columns that are shuffled are far off, so that these bounds can fail.
    rng = np.random.default_rng(0)
    apart = {name: rng.permutation(column) for name, column in table.items()}
    assert pair_distance(apart, table, ("a", "b")) > 0.3
    assert pair_distance(apart, table, ("a", "c")) > 0.2


# What is asked, in order


@pytest.mark.parametrize("budget", [BUDGET, PURE], ids=["gdp", "pure"])
def test_columns_are_asked_for_then_pairs_chosen_one_by_one_then_asked_together(
    budget: us.Budget,
) -> None:
    with listening(planted(STAR), budget=budget) as door:
        made(door)
    assert [type(question) for question in door.heard] == [Measure, *[Select] * 4, Measure]
    assert [len(round_) for round_ in door.asked] == [5, 4]
    chosen: list[Clique] = []
    for question, pair in zip(door.choices, door.asked[1], strict=True):
        # Each choice is among the pairs that join two parts of the tree so far.
        offered = [candidate.clique for candidate in question.candidates]
        assert set(offered) == {p for p in itertools.combinations("cabde", 2) if joins(p, chosen)}
        assert pair in offered
        chosen.append(pair)


def joins(pair: Clique, tree: list[Clique]) -> bool:
    """Whether a pair's columns are not joined by a tree yet."""
    reached = {pair[0]}
    for _ in tree:
        reached |= {name for p in tree if reached & set(p) for name in p}
    return pair[1] not in reached


@pytest.mark.parametrize("budget", [BUDGET, PURE], ids=["gdp", "pure"])
@pytest.mark.parametrize("shares", [(1 / 3, 1 / 3, 1 / 3), (5.0, 2.0, 3.0)], ids=["thirds", "own"])
def test_columns_choices_and_pairs_share_the_budget_as_was_said(
    shares: tuple[float, float, float], budget: us.Budget
) -> None:
    """Whatever the three come to, they are shares of all that there is."""
    with listening(planted(STAR), budget=budget) as door:
        made(door, us.MST(shares=shares))
    first, choosing, pairs = (share / sum(shares) for share in shares)
    wanted = [first, *[choosing / 4] * 4, pairs]
    assert door.shares == pytest.approx(wanted, rel=1e-6)
    assert sum(door.shares) <= 1


def test_a_choice_is_by_what_independent_columns_get_wrong() -> None:
    table = planted(STAR)
    with listening(table) as door:
        made(door)
    for candidate in door.choices[0].candidates:
        one, other = (np.bincount(table[name], minlength=CODES) for name in candidate.clique)
        wanted = np.outer(one, other).reshape(-1) / 400
        assert candidate.expected == pytest.approx(wanted, abs=0.5)
        assert (candidate.weight, candidate.penalty) == (1.0, 0.0)


def test_candidates_are_counted_once_for_all_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = passes(monkeypatch)
    with listening(planted(STAR), budget=BUDGET) as door:
        made(door)
    assert len(door.choices) == 4
    assert counted == [list(itertools.combinations("cabde", 2))]


@pytest.mark.parametrize("kind", [us.Weights, us.Sample], ids=lambda k: k.kind)
def test_a_person_counts_up_to_the_cap_in_every_question(kind: Any) -> None:
    with listening(
        planted(STAR), people=np.arange(400) // 5, bounding=kind(3), budget=BUDGET
    ) as door:
        made(door)
    assert {question.bounding for question in door.choices} == {kind(3)}
    shares = [0.98 / 3 * BUDGET.price**2] * 2
    for measure, price in zip(
        (m for m in door.heard if isinstance(m, Measure)), shares, strict=True
    ):
        assert measure.bounding == kind(3)
        level = math.sqrt(len(measure.queries) / price)
        assert [q.scale for q in measure.queries] == pytest.approx(
            [3 * level] * len(measure.queries)
        )


def test_under_norm_pairs_are_chosen_with_the_cap_that_noisy_sizes_give() -> None:
    """Nearly everybody has 5 rows; one person in a hundred has 40."""
    people = np.concatenate((np.repeat(np.arange(64), 5), np.full(40, 99), np.full(40, 98)))
    with listening(planted(STAR), people=people, bounding=us.Norm()) as door:
        made(door)
    (cap,) = {question.bounding for question in door.choices}
    assert isinstance(cap, us.Weights)
    assert 5 <= cap.cap <= 46
    assert {m.bounding for m in door.heard if isinstance(m, Measure)} == {us.Norm()}


def test_rare_codes_are_put_together_before_pairs_are_chosen() -> None:
    """Of 40 codes four are in use; the others are one group each that lies between."""
    table = planted(STAR) | {"a": planted(STAR)["a"] * 10}
    with listening(table, sizes={"a": 40}) as door:
        found = made(door, us.MST(threshold=30.0, bins=8))
    left = found.details["support"]["a"]["left"]
    assert 4 <= left <= 8
    sizes = {c.clique: len(c.expected) for c in door.choices[0].candidates}
    assert sizes["c", "a"] == 4 * left
    assert found.details["support"]["a"]["supported"] == 4
    # And they come back as they were.
    assert np.bincount(found.codes["a"], minlength=40)[1:10].sum() <= 1
    assert pair_distance(found.codes, table, ("c", "a"), codes=40) < 0.03


# Targets, weights and what is too large


@pytest.mark.parametrize("budget", [BUDGET, PURE], ids=["gdp", "pure"])
def test_a_target_is_asked_with_every_other_column_for_all_that_there_is(budget: us.Budget) -> None:
    """Nothing is left to be chosen: what choices would have cost is there for the pairs."""
    with listening(planted(CHAIN), budget=budget) as door:
        made(door, us.MST(targets=("d",)))
    assert door.asked[1] == [("a", "d"), ("b", "d"), ("c", "d"), ("d", "e")]
    assert door.choices == []
    assert 0.999 <= sum(door.shares) <= 1


def test_two_targets_make_more_than_a_tree() -> None:
    pairs = asked_of(planted(CHAIN), us.MST(targets=("d", "a")))
    assert len(pairs) == 7
    assert all({"a", "d"} & set(pair) for pair in pairs)


def test_beside_a_target_the_rest_of_the_tree_is_chosen() -> None:
    """a × d is too large: what joins a to the rest is chosen, and it is b."""
    table = planted(CHAIN)
    table |= {name: table[name] * 3 for name in "ad"}
    pairs = asked_of(table, us.MST(targets=("d",), most_cells=90, threshold=0.0))
    assert pairs == [("b", "d"), ("c", "d"), ("d", "e"), ("a", "b")]


ALIKE = dict.fromkeys("abc", planted({"a": None})["a"])
"""Three columns that are one: any two pairs are as wrong as any others."""


@pytest.mark.parametrize("favoured", one_in(2, [("a", "c"), ("b", "c"), ("a", "b")]), ids=str)
def test_of_pairs_that_are_wrong_alike_those_of_more_weight_are_chosen(favoured: Clique) -> None:
    pairs = list(itertools.combinations("abc", 2))
    weights = tuple((pair[::-1], 1.0 if pair == favoured else 0.9) for pair in pairs)
    first = asked_of(ALIKE, us.MST(weights=weights))
    assert first[0] == favoured
    others = tuple((pair, 1.0 if pair == favoured else 3.0) for pair in pairs)
    assert favoured not in asked_of(ALIKE, us.MST(weights=others))


def test_what_has_twice_the_weight_has_half_the_noise() -> None:
    """Columns by themselves and pairs; those that are named in another order too."""
    weights: tuple[tuple[Clique, float], ...] = ((("e",), 2.0), (("b", "c"), 2.0))
    with listening(planted(STAR), budget=BUDGET) as door:
        made(door, us.MST(weights=weights, targets=("c",)))
    measures = [m for m in door.heard if isinstance(m, Measure)]
    for measure, favoured in zip(measures, (("e",), ("c", "b")), strict=True):
        scales = {query.clique: query.scale for query in measure.queries}
        own = scales.pop(favoured)
        assert list(scales.values()) == pytest.approx([2 * own] * len(scales))


def test_pairs_of_too_many_cells_are_not_asked() -> None:
    """c has nine codes: with every other column it is over the limit, and stays alone."""
    table = planted(STAR)
    table["c"] = table["c"] * 2
    pairs = asked_of(table, us.MST(most_cells=16, threshold=0.0), sizes={"c": 9})
    assert len(pairs) == 3
    assert not any("c" in pair for pair in pairs)


def test_where_every_pair_is_too_large_nothing_is_spent() -> None:
    with (
        listening(planted(CHAIN)) as door,
        pytest.raises(QuestionError, match="no pair of columns is small enough") as caught,
    ):
        made(door, us.MST(most_cells=8))
    assert str(caught.value).endswith("allowed: at most 8). Hint: raise most_cells")
    assert door.asked == []


# Answers alone decide


def test_the_table_is_let_go_before_the_model_is_fitted() -> None:
    seen: dict[str, set[bool]] = {}
    with listening(planted(STAR), budget=BUDGET) as door:
        us.MST().run(
            door,
            public=None,
            rng=np.random.default_rng(0),
            progress=lambda stage, _: seen.setdefault(stage, set()).add(door._closed),
        )
    assert seen == {
        "counting rows": {False},
        "round 1, columns": {False},
        "choosing pairs": {False},
        "round 2, pairs": {False},
        "fitting the model": {True},
        "drawing rows": {True},
    }


@pytest.mark.parametrize("leaves", [True, False], ids=["leaves", "arrives"])
def test_given_the_same_answers_the_same_is_asked_without_the_person_of_most_rows(
    leaves: bool,
) -> None:
    found = replay(us.MST(), heavy(leaves=leaves))
    # How many rows people have, people, columns, two choices and the pairs.
    assert found.questions == 6
    assert found.reach == pytest.approx(1)


# What is refused, before anything is spent


@pytest.mark.parametrize(
    ("settings", "other", "error", "text"),
    [
        ({"targets": ("sex", "road")}, {}, QuestionError, town.NAMED),
        ({"ids_by": ("road",)}, {"public": town.PUBLIC}, QuestionError, town.NAMED),
        ({"weights": ((("sex", "road"), 2.0),)}, {}, QuestionError, town.NAMED),
        ({"ids_by": ("sex",)}, {}, UsageError, town.IDS_BY),
        (
            {"within": "public"},
            {},
            UsageError,
            "within = 'public' needs a public table. Hint: use one, or 'evenly'",
        ),
        (
            {"most_cells": 31},
            {},
            QuestionError,
            "the clique age is too large (got 32 cells; allowed: at most 31). "
            "Hint: drop a column of it, declare fewer bins, or raise most_cells",
        ),
        (
            {"model_limit": 519},
            {},
            QuestionError,
            "the cliques make too large a model together, with a table over age "
            "(got 0 MB; allowed: 0 MB). Hint: drop sex, which leaves 0 MB, or raise model_limit",
        ),
        (
            {"model_limit": 20_000, "targets": ("age", "tens")},
            {},
            QuestionError,
            "the cliques make too large a model together, with a table over age × tens × rest "
            "(got 0 MB; allowed: 0 MB). Hint: drop age × rest, which leaves 0 MB, "
            "or raise model_limit",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(
    tmp_path: Path,
    settings: dict[str, Any],
    other: dict[str, Any],
    error: type[UnderstudyError],
    text: str,
) -> None:
    held = town.session(tmp_path, **other)
    with pytest.raises(error) as caught:
        held.run(us.MST(**settings))
    assert type(caught.value) is error
    assert str(caught.value) == text
    town.check_untouched(tmp_path)


def test_a_model_of_columns_alone_is_as_large_as_is_said(tmp_path: Path) -> None:
    """2 + 32 + 6 + 10 + 11 + 4 cells of eight bytes: one byte less was refused."""
    town.session(tmp_path, budget=town.BUDGET).run(us.MST(model_limit=520))
    town.check_spent(tmp_path)


def test_ids_by_needs_public_people(tmp_path: Path) -> None:
    public = {n: c for n, c in rides.PUBLIC.items() if n != "who"}
    with pytest.raises(UsageError) as caught:
        rides.session(tmp_path, public=public).run(us.MST(ids_by=("zone",)))
    assert str(caught.value) == town.IDS_BY
    state = rides.read(tmp_path)
    assert state.left == state.total
