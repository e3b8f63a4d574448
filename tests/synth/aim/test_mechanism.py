"""AIM through the whole house: what its workload asks, what it tells, and what is refused."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import effort, few
from tests.public.whole import Made
from tests.synth import rides, town
from tests.synth.planted import (
    Heard,
    Table,
    heavy,
    listening,
    pair_distance,
    planted,
    silent,
    sizes_of,
)
from understudy.audit import replay
from understudy.budget import Currency
from understudy.door import Clique, Measure
from understudy.errors import BudgetError, QuestionError, UnderstudyError, UsageError
from understudy.synth.aim.mechanism import MOST_NOISE, check_rounds

BOTH = (pytest.param(True, id="leaves"), pytest.param(False, id="arrives"))
CHAIN = {"a": None, "b": "a", "c": "b", "d": "c", "e": "d"}
BUDGET = us.Budget(epsilon=4.0, delta=1e-6)
PURE = us.Budget(epsilon=4.0, delta=0)
WAYS = ("exponential", "gaussian")


def made(door: Heard, settings: us.AIM | None = None) -> Made:
    rng = np.random.default_rng(0)
    return Made.of((settings or us.AIM()).run(door, public=None, rng=rng, progress=silent))


def offered(settings: us.AIM, table: Table | None = None, **other: Any) -> set[Clique]:
    """All that there was to choose from; what is asked is among it, and each of it in turn."""
    with listening(table or planted(CHAIN), **other) as door:
        made(door, settings)
    found = {c.clique for question in door.choices for c in question.candidates}
    asked = {clique for round_ in door.asked[1:] for clique in round_}
    assert asked <= found
    assert all(len(round_) == 1 for round_ in door.asked[1:])
    return found


# The workload


@pytest.mark.parametrize("way", few(WAYS, usual=1))
def test_a_workload_of_one_triple_asks_for_marginals_within_it_alone(way: Any) -> None:
    settings = us.AIM(workload=((("d", "a", "b"), 2.0),), rounds=5, selection=way)
    assert offered(settings) == {("a", "b"), ("a", "d"), ("b", "d"), ("a", "b", "d")}


def test_without_a_workload_all_of_a_degree_matter_and_all_within_them() -> None:
    pairs = set(itertools.combinations("abcde", 2))
    assert offered(us.AIM(rounds=2)) == pairs
    assert offered(us.AIM(rounds=2, degree=3)) == pairs | set(itertools.combinations("abcde", 3))


def test_with_targets_pairs_without_one_are_not_asked() -> None:
    found = offered(us.AIM(rounds=3, targets=("d", "b")))
    wanted = {pair for pair in itertools.combinations("abcde", 2) if {"b", "d"} & set(pair)}
    assert found == wanted


def test_columns_of_a_workload_by_themselves_add_to_what_serves_them() -> None:
    """Both pairs are wrong alike; a by itself matters too, and a × b has it."""
    one = planted({"a": None, "b": "a"})
    table = {"a": one["a"], "b": one["b"], "c": one["a"], "d": one["b"]}
    for alone, first in (("a", ("a", "b")), ("d", ("c", "d"))):
        workload = ((("a", "b"), 1.0), (("c", "d"), 1.0), ((alone,), 1.0))
        with listening(table) as door:
            made(door, us.AIM(workload=workload, rounds=2))
        assert door.asked[1] == [first]


def test_rows_have_the_pairs_of_the_table() -> None:
    columns = "abcde"[: effort(4, 5)]
    table = planted({name: CHAIN[name] for name in columns})
    with listening(table) as door:
        found = made(door)
    assert len(found.codes["a"]) == pytest.approx(400, abs=2)
    for pair in itertools.combinations(columns, 2):
        assert pair_distance(found.codes, table, pair) < 0.04, pair
    rng = np.random.default_rng(0)
    apart = {name: rng.permutation(column) for name, column in table.items()}
    assert pair_distance(apart, table, ("a", "b")) > 0.3


# What is asked, in order, and what is told of it


@pytest.mark.parametrize("budget", few([BUDGET, PURE], usual=1))
def test_columns_have_their_share_and_two_rounds_a_column_the_rest(budget: us.Budget) -> None:
    with listening(planted(CHAIN), budget=budget) as door:
        made(door, us.AIM(first_share=0.25, selection_share=0.3))
    assert door.asked[0] == [(name,) for name in "abcde"]
    first, choice, answer, *_ = door.shares
    assert first == pytest.approx(0.25)
    assert choice == pytest.approx(0.75 / 10 * 0.3, rel=1e-6)
    assert answer == pytest.approx(0.75 / 10 * 0.7, rel=1e-6)
    assert 1 - 1e-9 <= sum(door.shares) <= 1


@pytest.mark.parametrize("bounding", [us.Weights(3), us.Sample(3)], ids=lambda b: b.kind)
def test_a_person_counts_up_to_the_cap_in_every_question(bounding: Any) -> None:
    with listening(
        planted(CHAIN), people=np.arange(400) // 5, bounding=bounding, budget=BUDGET
    ) as door:
        made(door, us.AIM(rounds=3))
    asked = [q for q in door.heard if isinstance(q, Measure)]
    assert {question.bounding for question in (*asked, *door.choices)} == {bounding}
    # People and their sizes have two of a hundred parts, columns 30 % of the rest.
    sizes = [r.what for r in door._run.state().reservations][:2]
    assert sizes == ["people by number of rows", "number of people"]
    assert door.shares[2] == pytest.approx(0.98 * 0.3, rel=1e-6)
    for measure, share in zip(asked[1:], door.shares[4::2], strict=True):
        level = 3 / np.sqrt(share) / BUDGET.price
        assert [q.scale for q in measure.queries] == pytest.approx([level])


def test_a_column_alone_has_all_of_the_budget() -> None:
    table = {"a": planted(CHAIN)["a"]}
    with listening(table, budget=BUDGET) as door:
        found = made(door)
    assert door.asked == [[("a",)]]
    assert door.choices == []
    assert door.shares == pytest.approx([1.0])
    assert found.details["rounds"] == 0


def test_a_release_tells_its_rounds_its_model_and_all_that_was_asked() -> None:
    with listening(planted(CHAIN)) as door:
        found = made(door, us.AIM(workload=((("a", "b"), 1.0), (("b", "c"), 1.0)), rounds=2))
    assert found.details["rounds"] == 2
    # Two pairs that meet in b, and two columns by themselves.
    assert found.details["model"] == "a model of 40 cells in 4 tables"
    asked = [tuple(told["clique"]) for told in found.details["cliques"]]
    assert asked == [m.clique for m in found.measurements] == [c for r in door.asked for c in r]
    assert found.details["support"]["a"] == {"codes": 4, "supported": 4, "left": 4}


def test_rare_codes_are_put_together_before_anything_else_is_asked() -> None:
    """Of 40 codes four are in use: pairs have as many cells as are left, not as there might be."""
    table = planted(CHAIN)
    table["a"] = table["a"] * 10
    with listening(table, sizes={"a": 40}) as door:
        found = made(door, us.AIM(threshold=30.0, bins=8, rounds=5, most_cells=40))
    left = found.details["support"]["a"]["left"]
    assert 4 <= left <= 8
    sizes = {c.clique: len(c.expected) for c in door.choices[0].candidates}
    assert sizes["a", "b"] == left * 4
    assert found.details["support"]["a"]["supported"] == 4
    assert sizes_of(table)["a"] == 31


# Answers alone decide


def test_the_table_is_let_go_before_the_last_fit() -> None:
    seen: dict[str, set[bool]] = {}
    with listening(planted(CHAIN), budget=BUDGET) as door:
        us.AIM(rounds=2).run(
            door,
            public=None,
            rng=np.random.default_rng(0),
            progress=lambda stage, _: seen.setdefault(stage, set()).add(door._closed),
        )
    assert seen == {
        "counting rows": {False},
        "round 1, columns": {False},
        "measuring what the model gets most wrong": {False},
        "fitting the model": {True},
        "drawing rows": {True},
    }


def test_progress_says_how_much_of_the_rounds_is_spent() -> None:
    told: list[float] = []
    with listening(planted(CHAIN)) as door:
        us.AIM(rounds=4, selection="gaussian").run(
            door,
            public=None,
            rng=np.random.default_rng(0),
            progress=lambda stage, done: told.append(done) if "wrong" in stage else None,
        )
    assert told == pytest.approx([0, 0.25, 0.5, 0.75])


@pytest.mark.parametrize("leaves", few(BOTH, usual=1))
@pytest.mark.parametrize("way", WAYS)
def test_given_the_same_answers_the_same_is_asked_without_the_person_of_most_rows(
    way: Any, leaves: bool
) -> None:
    found = replay(us.AIM(rounds=3, selection=way), heavy(leaves=leaves))
    # How many rows people have, people, columns, and two questions a round.
    assert found.questions >= 3 + 2 * 2
    assert found.reach == pytest.approx(1)


# What is refused, before anything is spent


CLIQUE = "a clique names columns that the schema does not model (got "


@pytest.mark.parametrize(
    ("settings", "other", "error", "text"),
    [
        ({"targets": ("sex", "road")}, {}, QuestionError, town.NAMED),
        ({"ids_by": ("road",)}, {"public": town.PUBLIC}, QuestionError, town.NAMED),
        ({"ids_by": ("sex",)}, {}, UsageError, town.IDS_BY),
        (
            {"within": "public"},
            {},
            UsageError,
            "within = 'public' needs a public table. Hint: use one, or 'evenly'",
        ),
        (
            {"workload": ((("sex", "age"), 1.0), (("sex", "road"), 1.0))},
            {},
            QuestionError,
            f"{CLIQUE}road; allowed: {town.KNOWN})",
        ),
        (
            {"workload": (((), 1.0),)},
            {},
            QuestionError,
            f"{CLIQUE}no column; allowed: {town.KNOWN})",
        ),
        (
            {"workload": ((("sex", "age", "sex"), 1.0),)},
            {},
            QuestionError,
            "a clique names a column twice (got sex × age × sex)",
        ),
        # Single columns alone, and no pair of so few cells.
        *(
            (
                settings,
                {},
                QuestionError,
                "the workload has no marginal that can be measured (allowed: marginals of two "
                f"columns or more, of at most {most} cells). "
                "Hint: single columns are always measured",
            )
            for settings, most in (
                ({"workload": ((("sex",), 1.0), (("age",), 2.0))}, "100,000"),
                ({"most_cells": 7}, "7"),
            )
        ),
        # sex × rent, and 32 + 6 + 10 + 11 cells of columns, of eight bytes.
        (
            {"model_limit": 535},
            {},
            QuestionError,
            "model_limit is too small for all columns and one marginal (got 535 bytes; "
            "allowed: at least 536). Hint: raise model_limit",
        ),
        (
            {"rounds": 10**14},
            {},
            BudgetError,
            "more rounds than the budget allows (got 100,000,000,000,000 rounds, with noise of "
            "2.67e+07 rows in each; allowed: noise of at most 1,000,000 rows). "
            "Hint: lower rounds, or raise epsilon",
        ),
        # Noise for a million rows a person cannot be drawn of any size.
        (
            {"rounds": 10**11},
            {"bounding": us.Weights(10**6)},
            BudgetError,
            "more rounds than the budget allows (got 100,000,000,000 rounds, with noise of "
            "8.43e+05 rows in each; allowed: noise of at most 17,180 rows). "
            "Hint: lower rounds, or raise epsilon",
        ),
        (
            {"rounds": 2},
            {"budget": us.Budget(epsilon=1e-6, delta=0)},
            BudgetError,
            "more rounds than the budget allows (got 2 rounds, with noise of 2.86e+06 rows in "
            "each; allowed: noise of at most 1,000,000 rows). "
            "Hint: lower rounds, or raise epsilon",
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
        held.run(us.AIM(**settings))
    assert type(caught.value) is error
    assert str(caught.value) == text
    town.check_untouched(tmp_path)


@pytest.mark.parametrize("budget", [BUDGET, PURE], ids=["gdp", "pure"])
def test_as_many_rounds_as_the_budget_allows_and_not_one_more(budget: us.Budget) -> None:
    """Laplace noise grows with the number of rounds, Gaussian noise with its root."""
    price = 1e-4
    most = round((MOST_NOISE * price) ** (2 if budget.currency == Currency.GDP else 1))
    with listening(planted(CHAIN), budget=budget) as door:
        check_rounds(door, price * (1 + 1e-9), most)
        with pytest.raises(BudgetError, match="more rounds than the budget allows"):
            check_rounds(door, price * (1 - 1e-9), most)


def test_ids_by_needs_public_people(tmp_path: Path) -> None:
    public = {n: c for n, c in rides.PUBLIC.items() if n != "who"}
    with pytest.raises(UsageError) as caught:
        rides.session(tmp_path, public=public).run(us.AIM(ids_by=("zone",)))
    assert str(caught.value) == town.IDS_BY
    state = rides.read(tmp_path)
    assert state.left == state.total
