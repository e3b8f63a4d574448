"""Spreads and kinds: people by cells of numbers and moments, and by what their values are."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.audit.effort import PLANTED, effort, tried
from tests.vault.test_discovery import door_onto
from tests.vault.texts import SCHEMA, Held, People, by_hash, opened, read
from understudy.audit.distance import check_distance
from understudy.budget import GRAIN, Budget, Currency, Unit
from understudy.door import CYCLES, KINDS_OF_VALUE, Kinds, Spread
from understudy.errors import BudgetError, QuestionError
from understudy.schema.encoding import reading
from understudy.vault.counts import exact
from understudy.vault.sensitivity import charge

texts = st.one_of(
    st.none(),
    st.sampled_from(
        [
            *("1", "2.5", "-7", "1e3", "inf", "true", "False", "2020-01-02", "+5", ".5", "0"),
            *("01067", "-07", "00.5", "-0"),
            *(
                "2021-03-04 05:06:07",
                "1969-12-31 23:00:00",
                "x",
                "NA",
                "12345678901234567",
                "1999-13-01",
            ),
            *("a" * 41, "b" * 201),
        ]
    ),
    st.integers(-1000, 1000).map(str),
    st.floats(-100, 100).map(repr),
)
held = st.lists(st.tuples(texts, st.none()), min_size=1, max_size=8)
worlds = st.dictionaries(st.sampled_from("pqrstuvw"), held, max_size=5)
SECONDS = tuple(86400.0 * day for day in (0, 18000, 18262, 18263, 18690, 18691))
spreads = st.one_of(
    st.builds(
        Spread,
        column=st.just("code"),
        reading=st.just("number"),
        edges=st.lists(st.floats(-200, 200), min_size=1, max_size=9, unique=True).map(
            lambda edges: tuple(sorted(edges))
        ),
        most=st.integers(1, 4),
        scale=st.floats(0.5, 9),
    ),
    st.builds(
        Spread,
        column=st.just("code"),
        reading=st.just("moment"),
        edges=st.just(SECONDS),
        most=st.integers(1, 4),
        scale=st.floats(0.5, 9),
    ),
    st.builds(
        Spread,
        column=st.just("code"),
        reading=st.sampled_from(["of_day", "of_hour", "of_minute"]),
        edges=st.sampled_from([(0.0, 1.0), (-30.0, 7.0, 367.0, 18367.0)]),
        most=st.integers(1, 4),
        scale=st.floats(0.5, 9),
    ),
)
currencies = st.sampled_from([Currency.GDP, Currency.PURE])


def values_of(rows: Held) -> set[str]:
    return {value for text, _ in rows if (value := read(text, "code")) is not None}


def number(value: str) -> float:
    numbers, _ = reading.numbers(np.array([value], dtype=object), ())
    return float(numbers[0])


def seconds(value: str) -> float:
    found, _ = reading.seconds(np.array([value], dtype=object), None, ())
    return float(found[0])


def slowly_spread(people: People, question: Spread) -> list[int]:
    counts = [0] * (len(question.edges) + 1)
    for person, rows in people.items():
        readings = list(map(number if question.reading == "number" else seconds, values_of(rows)))
        if question.reading in CYCLES:
            readings = [math.fmod(x, CYCLES[question.reading]) for x in readings]
        cells = {bisect_right(question.edges, x) for x in readings if not math.isnan(x)}
        chosen = by_hash(person, "code", {str(cell) for cell in cells})[: question.most]
        for cell in chosen:
            counts[int(cell)] += math.isqrt(2**32 // len(chosen))
    return counts


def slowly_kinds(people: People, columns: tuple[str, ...]) -> list[int]:
    counts = []
    for column in columns:
        held = [
            [v for row in rows if (v := read(row[column == "place"], column)) is not None]
            for rows in people.values()
        ]
        tests: dict[str, Any] = {
            "any": lambda _: True,
            "boolean": lambda v: v in {"true", "True", "TRUE", "false", "False", "FALSE"},
            "whole": lambda v: re.fullmatch("-?(0|[1-9][0-9]{0,14})", v) is not None,
            "number": lambda v: not math.isnan(number(v)) and not re.match("-?0[0-9]", v),
            "moment": lambda v: not math.isnan(seconds(v)),
            "code": lambda v: len(v) <= 40,
        }
        counts += [sum(all(map(tests[k], vs)) for vs in held if vs) for k in tests]
        counts += [sum(len(vs) > 1 for vs in held)]
        counts += [sum(len(vs) > 1 and len(set(vs)) == 1 for vs in held)]
    return counts


@given(worlds, spreads)
@tried(120, usual=8)
def test_the_engine_spreads_people_as_the_obvious_version_does(
    people: People, question: Spread
) -> None:
    with opened(people) as table:
        assert exact(question, table).tolist() == slowly_spread(people, question)


@given(worlds)
@tried(80, usual=5)
def test_the_engine_counts_kinds_as_the_obvious_version_does(people: People) -> None:
    question = Kinds(columns=("code", "place"), scale=1.0)
    with opened(people) as table:
        assert exact(question, table).tolist() == slowly_kinds(people, question.columns)


@given(worlds, held, spreads, currencies)
@settings(max_examples=effort(8 if PLANTED else 3, 80), deadline=None)
def test_one_person_more_moves_them_by_what_is_charged_and_nobody_else(
    people: People, newcomer: Held, spread: Spread, currency: Currency
) -> None:
    kinds = Kinds(columns=("code", "place"), scale=spread.scale)
    new = {"newcomer": newcomer}
    own = (slowly_spread(new, spread), slowly_kinds(new, kinds.columns))
    with opened(people) as before, opened({**people, **new}) as after:
        for question, unit, alone in ((spread, 2**16, own[0]), (kinds, 1, own[1])):
            moved = exact(question, after) - exact(question, before)
            assert moved.tolist() == alone
            power = 2 if currency == Currency.GDP else 1
            scale = Fraction(question.scale)
            spent = sum((Fraction(int(m), unit) / scale) ** power for m in moved)
            assert spent <= charge(question, SCHEMA, currency).grains(currency) * GRAIN
            check_distance(question, moved, SCHEMA)


def test_the_bounds_are_reached() -> None:
    rows: Held = [(str(10 * i), None) for i in range(4)]
    question = Spread(column="code", reading="number", edges=(5.0, 15.0, 25.0), most=4, scale=1.0)
    with opened({"p": rows}) as table:
        found = exact(question, table)
        assert found.tolist() == [2**15] * 4
        ones = exact(Kinds(columns=("code",), scale=1.0), table)
    # Whole numbers are numbers, and codes; not booleans, nor moments.
    assert dict(zip(KINDS_OF_VALUE, ones.tolist(), strict=True)) == {
        "any": 1, "boolean": 0, "whole": 1, "number": 1, "moment": 0, "code": 1,
        "again": 1, "alike": 0,
    }  # fmt: skip
    assert charge(question, SCHEMA, Currency.PURE).grains(Currency.PURE) == 2 * 2**80


def test_where_each_row_is_a_person_each_value_weighs_one() -> None:
    people: People = {"p": [("1", None), ("1", None), ("7", None), ("x", None)]}
    with opened(people, unit=Unit.each_row()) as table:
        question = Spread(column="code", reading="number", edges=(5.0,), most=1, scale=1.0)
        assert exact(question, table).tolist() == [2 * 2**16, 2**16]
        found = exact(Kinds(columns=("code",), scale=1.0), table).tolist()
    assert found == [4, 0, 3, 3, 0, 4, 0, 0]


def test_answers_are_the_counts_but_for_their_noise() -> None:
    people: People = {f"p{i}": [(str(i), "2020-01-02")] for i in range(40)}
    with door_onto(people) as door:
        found = door.spread("code", reading="number", edges=(10.0, 30.0), most=1, scale=0.01)
        assert np.abs(found - [10, 20, 10]).max() < 0.5
        moments = door.spread("place", reading="moment", edges=SECONDS, most=1, scale=0.01)
        assert np.abs(moments - [0, 0, 0, 0, 40, 0, 0]).max() < 0.5
        kinds = door.kinds(("code", "place"), scale=0.01)
    assert kinds.shape == (2, len(KINDS_OF_VALUE))
    assert np.abs(kinds - [[40, 0, 40, 40, 0, 40, 0, 0], [40, 0, 0, 0, 40, 40, 0, 0]]).max() < 0.5


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"reading": "colour"}, "needs a reading"),
        ({"edges": ()}, "0 edges"),
        ({"edges": (2.0, 1.0)}, "increasing order"),
        ({"edges": (1.0, 1.0)}, "increasing order"),
        ({"edges": (1.0, math.inf)}, "increasing order"),
        ({"edges": ("a", 1.0)}, "increasing order"),
        ({"most": 0}, "positive integer"),
        ({"most": 1001}, "too many cells"),
        ({"scale": 0.0}, "noise scale"),
    ],
)
def test_spreads_that_are_none(given: dict[str, Any], match: str) -> None:
    asked: dict[str, Any] = {"column": "code", "reading": "number", "edges": (1.0,), "most": 1}
    with pytest.raises((QuestionError, BudgetError), match=match):
        Spread(**{**asked, "scale": 1.0, **given})


def test_questions_that_do_not_fit_are_refused_and_cost_nothing() -> None:
    with door_onto({}, budget=Budget(epsilon=1.0, delta=1e-6)) as door:
        with pytest.raises(QuestionError, match="does not declare as text"):
            door.spread("id", reading="number", edges=(1.0,), most=1, scale=9.0)
        with pytest.raises(QuestionError, match="does not declare as text"):
            door.kinds(("code", "nowhere"), scale=9.0)
        with pytest.raises(QuestionError, match="at least one column"):
            door.kinds((), scale=9.0)
        with pytest.raises(QuestionError, match="each column only once"):
            door.kinds(("code", "code"), scale=9.0)
        assert door.grains == door.budget.grains
        # Neither has a failure probability, so no share is needed.
        door.kinds(("code",), scale=9e3)
        door.spread("code", reading="number", edges=(1.0,), most=1, scale=9e3)
