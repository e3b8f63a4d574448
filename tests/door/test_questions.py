"""Questions as records: what is kept is what was checked, and nothing changes afterwards."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

from understudy.budget import Norm, Sample, Weights
from understudy.door import (
    Candidate,
    Distances,
    Measure,
    Merge,
    Query,
    Question,
    Rows,
    Select,
    Total,
    UnitCounts,
    UnitMode,
    Units,
    describe,
    merged_schema,
    plan,
    seen,
)
from understudy.errors import BudgetError, QuestionError
from understudy.schema import Categorical, DateTime, Id, Ignored, Integer, Schema, Split

CELLS = np.array([0, 2])
NO_SCALES = [0, -1.0, math.inf, math.nan, True, "1", None]


def candidate(**other: Any) -> Candidate:
    asked: dict[str, Any] = {"clique": ("a",), "expected": np.zeros(3)}
    return Candidate(**asked | other)


def measure(**other: Any) -> Measure:
    query = Query(clique=("a",), scale=1.0)
    asked: dict[str, Any] = {"queries": (query,), "bounding": Weights(2), "price": 9.0}
    return Measure(**asked | other)


def unit_mode(**other: Any) -> UnitMode:
    asked: dict[str, Any] = {"clique": ("a",), "scale": 1.0, "labels": np.array([0, 1, 0])}
    return UnitMode(**asked | other)


def unit_counts(**other: Any) -> UnitCounts:
    asked: dict[str, Any] = {"clique": ("a",), "cells": CELLS, "times": (1, 2), "most": 2}
    return UnitCounts(**asked | {"scale": 1.0} | other)


def select(**other: Any) -> Select:
    asked: dict[str, Any] = {"candidates": (candidate(),), "epsilon": 1.0, "bounding": Sample(2)}
    return Select(**asked | other)


def distances(**other: Any) -> Distances:
    asked: dict[str, Any] = {"candidates": (candidate(),), "scale": 1.0, "bounding": Sample(2)}
    return Distances(**asked | other)


def merge(*codes: int, column: str = "a") -> Merge:
    return Merge(column=column, codes=np.array(codes))


RECORDS = [
    Query(clique=("a",), scale=1.0),
    merge(0, 1, 0),
    candidate(),
    measure(),
    unit_mode(),
    unit_counts(),
    select(),
    distances(),
    Total(cap=2, scale=1.0),
    Units(scale=1.0),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_a_record_cannot_change_between_its_charge_and_its_count(record: Any) -> None:
    for field in fields(record):
        with pytest.raises(FrozenInstanceError):
            setattr(record, field.name, getattr(record, field.name))


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_a_record_is_itself_alone(record: Any) -> None:
    """Arrays do not compare: what is asked twice is known by its plan."""
    assert hash(record) == object.__hash__(record)


@pytest.mark.parametrize(
    "array",
    [candidate().expected, unit_mode().labels, unit_counts().cells, merge(1, 0).codes],
    ids=["expected", "labels", "cells", "codes"],
)
def test_nor_can_its_arrays(array: Any) -> None:
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_an_array_that_changes_later_was_copied() -> None:
    given = np.array([0, 2])
    asked = unit_counts(cells=given)
    given[0] = 1
    assert asked.cells.tolist() == [0, 2]
    codes = np.array([0, 1])
    merged = Merge(column="a", codes=codes)
    codes[1] = 0
    assert merged.codes.tolist() == [0, 1]


@pytest.mark.parametrize("scale", NO_SCALES)
@pytest.mark.parametrize(
    "ask",
    [
        lambda s: Query(clique=("a",), scale=s),
        lambda s: unit_mode(scale=s),
        lambda s: unit_counts(scale=s),
        lambda s: Total(cap=1, scale=s),
        lambda s: Units(scale=s),
        lambda s: select(epsilon=s),
        lambda s: distances(scale=s),
    ],
    ids=["query", "mode", "counts", "total", "units", "select", "distances"],
)
def test_scales_that_are_none(ask: Any, scale: Any) -> None:
    with pytest.raises(BudgetError, match="noise scale must be positive"):
        ask(scale)


def test_scales_that_are_small_or_whole_are_taken() -> None:
    assert Units(scale=0.001).scale == 0.001
    assert type(Units(scale=2).scale) is float


@pytest.mark.parametrize("price", [True, "1", None])
def test_a_price_that_is_no_number_becomes_none(price: Any) -> None:
    """And the charge refuses it, as every price that is not above 0."""
    assert math.isnan(measure(price=price).price)


@pytest.mark.parametrize("number", [0, -1, 2**31, True, 1.0, "1", None])
@pytest.mark.parametrize(
    "ask", [lambda n: Total(cap=n, scale=1.0), lambda n: unit_counts(most=n)], ids=["cap", "most"]
)
def test_bounds_that_are_no_whole_numbers(ask: Any, number: Any) -> None:
    with pytest.raises(BudgetError, match="positive integer"):
        ask(number)


@pytest.mark.parametrize("number", [1, 100, 2**31 - 1])
def test_bounds_that_are(number: int) -> None:
    assert Total(cap=number, scale=1.0).cap == number
    assert unit_counts(most=number).most == number


@pytest.mark.parametrize("clique", [["a"], "a", ("a", "a"), None])
@pytest.mark.parametrize(
    "ask",
    [
        lambda c: Query(clique=c, scale=1.0),
        lambda c: unit_mode(clique=c),
        lambda c: unit_counts(clique=c),
        lambda c: candidate(clique=c),
    ],
    ids=["query", "mode", "counts", "candidate"],
)
def test_cliques_that_are_none(ask: Any, clique: Any) -> None:
    twice = clique == ("a", "a")
    text = (
        "must name each column only once" if twice else "a clique must be a tuple of column names"
    )
    with pytest.raises(QuestionError, match=text):
        ask(clique)


class Shifty(str):
    """A name of the asker's own type, which may be equal to anything."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("a")


def test_names_of_the_askers_own_type_are_refused() -> None:
    for ask in (
        lambda: Query(clique=(Shifty("a"),), scale=1.0),
        lambda: candidate(clique=("b", Shifty("a"))),
        lambda: Merge(column=Shifty("a"), codes=np.array([0, 1])),
    ):
        with pytest.raises(QuestionError, match="a clique must be a tuple of column names"):
            ask()


@pytest.mark.parametrize(
    "times", [(), (0,), (0, 1), (2, 0), (1, 1), (-1,), (1.0,), ("1",), (1, None)]
)
def test_times_that_are_none(times: Any) -> None:
    with pytest.raises(QuestionError, match="distinct positive integers"):
        unit_counts(times=times)


def test_times_are_kept_as_plain_whole_numbers_in_their_order() -> None:
    times = unit_counts(times=(np.int64(3), 1)).times
    assert times == (3, 1)
    assert {type(t) for t in times} == {int}


@pytest.mark.parametrize("cells", [[], [1, 1], [0, 1, 0]])
def test_cells_that_are_none(cells: list[int]) -> None:
    with pytest.raises(QuestionError, match="at least one cell is needed, and no cell twice"):
        unit_counts(cells=np.array(cells, dtype=np.int64))


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight": 0},
        {"weight": -1.0},
        {"weight": math.inf},
        {"weight": math.nan},
        {"weight": True},
        {"penalty": math.nan},
        {"penalty": math.inf},
        {"penalty": 2.0**36},
        {"penalty": -(2.0**36)},
        {"expected": np.array([2.0**36, 0, 0])},
        {"expected": np.array([-(2.0**35), 2.0**35, 0])},
        {"expected": np.array([2.0**35, 0, 0]), "penalty": -(2.0**35)},
        {"expected": np.array([math.inf, 0, 0])},
    ],
    ids=str,
)
def test_candidates_out_of_reach(wrong: dict[str, Any]) -> None:
    """Beyond them a sum of steps could outgrow its 64 bits; one among good ones is enough."""
    for ask in (select, distances):
        with pytest.raises(QuestionError, match="out of range"):
            ask(candidates=(candidate(), candidate(**wrong), candidate()))


@pytest.mark.parametrize(
    "right",
    [
        {"weight": 0.001},
        {"weight": 1e9},
        {"penalty": -(2.0**35)},
        {"expected": np.array([2.0**35, 0, 0])},
        {"expected": np.array([2.0**36 - 1, 0, 0])},
    ],
    ids=str,
)
def test_candidates_within_reach(right: dict[str, Any]) -> None:
    assert select(candidates=(candidate(**right),)).candidates
    assert distances(candidates=(candidate(**right),)).candidates


@pytest.mark.parametrize("bounding", [Norm(), None, 5], ids=str)
def test_boundings_without_a_cap(bounding: Any) -> None:
    """What bounds an L2 length, or nothing, says nothing of an L1 distance."""
    for ask in (select, distances):
        with pytest.raises(QuestionError, match="needs a cap on a person's rows"):
            ask(bounding=bounding)


def test_a_candidate_has_weight_1_and_no_penalty_unless_it_says_so() -> None:
    assert (candidate().weight, candidate().penalty) == (1.0, 0.0)


# Merged codes


@pytest.mark.parametrize(
    "codes", [[1], [0, 2], [1, 2], [0, 1, 3], [-1, 0], [-1, 0, 1], [5, 5], []], ids=str
)
def test_merged_codes_that_leave_one_out(codes: list[int]) -> None:
    with pytest.raises(QuestionError) as caught:
        Merge(column="city", codes=np.array(codes, dtype=np.int64))
    assert caught.value.what == "merged codes of city must be 0, 1, … without a gap"
    assert caught.value.got == f"{len(codes)} codes"


@pytest.mark.parametrize("codes", [np.array([0.0, 1.0]), np.array(["0"]), np.array([True, False])])
def test_merged_codes_that_are_no_whole_numbers(codes: Any) -> None:
    with pytest.raises(QuestionError, match=r"an array has the wrong dtype \(got .*allowed: int64"):
        Merge(column="city", codes=codes)


@pytest.mark.parametrize(
    ("codes", "got"),
    [(np.array([[0, 1], [1, 0]]), 4), (np.array([[0]]), 1), (np.array(0), 1)],
    ids=["2", "2 of one", "0"],
)
def test_merged_codes_of_other_dimensions(codes: Any, got: int) -> None:
    with pytest.raises(QuestionError) as caught:
        Merge(column="city", codes=codes)
    assert caught.value.what == "merged codes of city must be 0, 1, … without a gap"
    assert caught.value.got == f"{got} codes"


@pytest.mark.parametrize("far", [2**31, 2**62, 2**63 - 1, -(2**63)])
def test_merged_codes_as_far_as_numbers_go_are_refused_and_not_counted_up_to(far: int) -> None:
    with pytest.raises(QuestionError, match="without a gap"):
        merge(0, far)


def test_merged_codes_are_a_column_of_whole_numbers() -> None:
    merged = Merge(column="city", codes=np.array([2, 0, 1, 0, 2], dtype=np.int8))
    assert merged.codes.dtype == np.int64
    assert merged.size == 3
    assert merged.declaration() == Integer(name="city", min=0, max=2, missing=False)
    assert Merge(column="city", codes=np.zeros(4, dtype=np.int64)).size == 1


WAGE = Split(name="wage", parts=("high", "low"), step=10, max=99, missing=False)
SCHEMA = Schema(
    "t",
    (
        Ignored(name="note"),
        Categorical(name="a", values=("x", "y"), missing=False),
        WAGE,
        Id(name="who"),
        DateTime(name="hour", part="hour", source="when"),
    ),
)


def test_a_schema_with_merged_codes_has_the_same_columns_with_fewer_codes() -> None:
    assert SCHEMA.domain == {"a": 3, "high": 10, "low": 10, "hour": 25}
    merged = merged_schema(SCHEMA, (merge(*[0] * 24, 1, column="hour"), merge(0, 0, 1)))
    assert merged.domain == {"a": 2, "high": 10, "low": 10, "hour": 2}
    assert (merged.name, merged.ids) == (SCHEMA.name, SCHEMA.ids)
    assert merged["high"] == WAGE.modelled[0]
    parts = merged_schema(SCHEMA, (merge(*[0] * 5, *[1] * 5, column="high"),))
    assert list(parts.domain) == list(SCHEMA.domain)
    assert parts.domain["high"] == 2


def test_a_question_is_seen_in_the_schema_of_its_merged_codes() -> None:
    (codes,) = merged = (merge(0, 0, 1),)
    for question in (measure(merged=merged), select(merged=merged), distances(merged=merged)):
        assert seen(SCHEMA, question).domain == merged_schema(SCHEMA, [codes]).domain
    for other in (measure(), select(), distances(), unit_mode(), Units(scale=1.0)):
        assert seen(SCHEMA, other) is SCHEMA


def test_questions_of_nothing() -> None:
    with pytest.raises(QuestionError, match="at least one query"):
        measure(queries=())
    for ask in (select, distances):
        with pytest.raises(QuestionError, match="nothing to select"):
            ask(candidates=())


# The plan, under which an answer is stored


ROWS = Rows(np.array([0, 1, 2]), np.array([0, 1]))
DIFFERENT: list[Question] = [
    measure(),
    measure(price=8.0),
    measure(bounding=Weights(3)),
    measure(bounding=Sample(2)),
    measure(queries=(Query(clique=("a",), scale=2.0),)),
    measure(queries=(Query(clique=("b",), scale=1.0),)),
    measure(queries=(Query(clique=("a",), scale=1.0, rows=ROWS),)),
    measure(queries=(Query(clique=("a",), scale=1.0), Query(clique=("b",), scale=1.0))),
    measure(queries=(Query(clique=("b",), scale=1.0), Query(clique=("a",), scale=1.0))),
    measure(queries=(Query(clique=("a", "b"), scale=1.0),)),
    measure(queries=(Query(clique=("b", "a"), scale=1.0),)),
    measure(merged=(merge(0, 1, 0),)),
    measure(merged=(merge(0, 1, 1),)),
    measure(merged=(merge(0, 1, 0, 0),)),
    measure(merged=(merge(0, 1, 0, column="b"),)),
    measure(merged=(merge(0, 1, 0), merge(0, 1, 0, column="b"))),
    measure(merged=(merge(0, 1, 0, column="b"), merge(0, 1, 0))),
    unit_mode(),
    unit_mode(labels=None),
    unit_mode(labels=np.array([0, 1, 1])),
    unit_mode(labels=np.array([0, 1, 0, 0])),
    unit_mode(clique=("b",)),
    unit_mode(scale=2.0),
    unit_counts(),
    unit_counts(cells=np.array([2, 0])),
    unit_counts(times=(2, 1)),
    unit_counts(most=1),
    unit_counts(scale=2.0),
    unit_counts(upwards=True),
    select(),
    select(epsilon=2.0),
    select(bounding=Weights(2)),
    select(candidates=(candidate(), candidate())),
    select(candidates=(candidate(weight=2),)),
    select(candidates=(candidate(penalty=2),)),
    select(candidates=(candidate(expected=np.array([0, 0, 1.0])),)),
    select(merged=(merge(0, 1, 0),)),
    select(merged=(merge(0, 1, 1),)),
    distances(),
    distances(scale=2.0),
    distances(bounding=Weights(2)),
    distances(bounding=Sample(3)),
    distances(candidates=(candidate(), candidate())),
    distances(candidates=(candidate(penalty=2),)),
    distances(candidates=(candidate(clique=("b",)),)),
    distances(candidates=(candidate(expected=np.array([0, 0, 1.0])),)),
    distances(merged=(merge(0, 1, 0),)),
    distances(merged=(merge(0, 1, 1),)),
    Total(cap=2, scale=1.0),
    Total(cap=3, scale=1.0),
    Total(cap=2, scale=2.0),
    Units(scale=1.0),
    Units(scale=2.0),
]


def test_questions_that_differ_in_anything_have_different_plans() -> None:
    """Else one could be given under the charge, or with the answer, of the other."""
    assert len({plan(question) for question in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (unit_counts(), unit_counts(cells=np.array([0, 9, 2, 9])[::2])),
        (unit_counts(), unit_counts(cells=CELLS.astype(np.int32), times=(np.int8(1), 2))),
        (select(), select(candidates=(candidate(weight=1),))),
        (Total(cap=2, scale=1), Total(cap=2, scale=1.0)),
        (
            measure(merged=(merge(0, 1),)),
            measure(merged=(Merge(column="a", codes=np.arange(0, 4, 2) // 2),)),
        ),
    ],
    ids=["a view", "other types", "a whole weight", "a whole scale", "the same codes"],
)
def test_questions_that_say_the_same_have_the_same_plan(one: Any, other: Any) -> None:
    assert plan(one) == plan(other)


def test_a_question_without_merged_codes_is_what_it_was_before_there_were_any() -> None:
    """These very digests were made by the code of before: a run of then can be resumed."""
    for ask in (measure, select, distances):
        assert "merged" not in describe(ask())
        assert "merged" not in describe(ask(merged=()))
        (told,) = describe(ask(merged=(merge(0, 1),)))["merged"]
        assert (told["question"], told["column"]) == ("Merge", "a")
    assert plan(measure()) == "58c5dfeab206ed86403f4a64815f405b3b7e1ad92827a4b003a4128766100300"
    assert plan(select()) == "a93468118662927e52eaf779cab3b97b91eb736dcbd2e9e3134e69c4fb3e2176"


def test_a_plan_does_not_hang_on_where_it_is_made() -> None:
    """A run may be resumed years later, on another machine: this very text is in its ledger."""
    assert describe(Total(cap=2, scale=1.0)) == {"question": "Total", "cap": 2, "scale": 1.0}
    assert describe(measure())["bounding"] == {"kind": "weights", "cap": 2}
    assert plan(Total(cap=2, scale=1.0)) == (
        "20293be723507852f6c1e238b610014b3cd8904b9f0f93961d55a2908712dd02"
    )
    assert plan(unit_counts()) == (
        "e42c9c37d72311c3769b5941dfa75cfbe05c85f6976b202e9e155214fc552380"
    )
    assert plan(distances()) == "b87cccf08853546bf44c2aac90e328ccf0f956c8a9dc5cb46da0114a656b815e"
