"""Constraints: how they are declared, what they mean for codes, and what is refused."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest

from understudy.errors import SchemaError
from understudy.schema import Categorical, Declaration, Integer, Numeric, Schema, Timestamp
from understudy.schema.constraints import (
    ConstantPerPerson,
    Constraint,
    Determines,
    Implies,
    Never,
    Order,
    Sum,
    UniquePerPerson,
)
from understudy.schema.constraints.files import from_plain

COLUMNS: tuple[Declaration, ...] = (
    Categorical(name="sex", values=("M", "F")),
    Categorical(name="pregnant", values=("yes", "no")),
    Integer(name="age", min=0, max=99),
    Categorical(name="town", values=("Evanston", "Aurora", "Elgin")),
    Categorical(name="county", values=("Cook", "Kane")),
    Categorical(name="state", values=("IL",), missing=False, outside="drop"),
    Numeric(name="fare", edges=(0.0, 10.0, 20.0, 50.0)),
    Numeric(name="tips", edges=(0.0, 5.0, 10.0), whole=True),
    Numeric(name="total", edges=(0.0, 100.0)),
    Timestamp(name="when", min="2020-01-01", max="2020-12-31"),
)
TOWNS = {"Evanston": "Cook", "Aurora": "Kane"}


def schema(*constraints: Constraint) -> Schema:
    return Schema("trips", COLUMNS, constraints=constraints)


ALL: tuple[Constraint, ...] = (
    Never({"sex": "M", "pregnant": "yes"}, name="no pregnant men"),
    Implies({"age": {"below": 15}}, {"pregnant": ["no"]}, otherwise="nearest"),
    Determines("town", "county", TOWNS),
    Order("tips", "fare", otherwise="nearest"),
    Sum("total", ("fare", "tips"), tolerance=0.5, name="what is paid"),
    UniquePerPerson("age"),
    ConstantPerPerson("sex"),
)


def test_a_schema_file_holds_what_was_declared() -> None:
    declared = schema(*ALL)
    again = Schema.from_dict(tomllib.loads(declared.to_toml()))
    assert again == declared
    assert again.constraints == ALL
    assert 'name = "no pregnant men"\nnever = { sex = "M", pregnant = "yes" }' in again.to_toml()


def test_what_follows_from_others_is_not_modelled() -> None:
    declared = schema(*ALL)
    assert not {"county", "total"} & set(declared.domain)
    assert {"county", "total"} <= {c.name for c in declared.released_columns}
    assert {"county", "total"} <= set(declared.unconstrained.domain)
    assert declared.own == ("sex",)


@pytest.mark.parametrize(
    ("condition", "codes"),
    [
        ({"below": 15}, range(15)),
        ({"min": 90}, range(90, 100)),
        ({"above": 3, "max": 5}, (4, 5)),
        (7, (7,)),
        ([7, "9"], (7, 9)),
        ("(missing)", (100,)),
    ],
)
def test_a_condition_means_codes(condition: Any, codes: Any) -> None:
    (relation,) = schema(Never({"age": condition})).keeper.declared
    assert np.flatnonzero(~relation.table()).tolist() == list(codes)


def test_a_range_of_bins_ends_at_edges() -> None:
    (relation,) = schema(Never({"fare": {"min": 10, "below": 20}})).keeper.declared
    assert np.flatnonzero(~relation.table()).tolist() == [1]
    (relation,) = schema(Never({"tips": {"max": 4}})).keeper.declared
    assert np.flatnonzero(~relation.table()).tolist() == [0]


def test_what_follows_may_also_be_missing() -> None:
    (relation,) = schema(Implies({"sex": "M"}, {"pregnant": "no"})).keeper.declared
    banned = np.argwhere(~relation.table()).tolist()
    assert banned == [[0, 0], [0, 3]], "yes and (other), but not (missing)"


def test_a_condition_on_a_determined_column_is_one_on_its_source() -> None:
    declared = schema(ALL[2], Never({"county": "Kane", "sex": "M"}))
    (relation,) = declared.keeper.declared
    assert relation.scope == ("town", "sex")
    assert np.argwhere(~relation.table()).tolist() == [[1, 0]]


REFUSED: dict[str, tuple[tuple[Constraint, ...], str]] = {
    "unknown column": ((Never({"six": "M"}),), "unknown columns .got 'six'"),
    "unknown value": ((Never({"sex": "X"}),), "'sex' has no such value"),
    "a range of categories": ((Never({"sex": {"min": 1}}),), "needs a column of numbers"),
    "a range that cuts a bin": ((Never({"fare": {"below": 15}}),), r"cuts \[10, 20\)"),
    "a moment as a whole": ((Never({"when": 3}),), "when_month"),
    "an order of categories": ((Order("age", "sex"),), "an order is of numbers"),
    "moments and numbers in order": ((Order("age", "when"),), "moments and numbers together"),
    "an order in a circle": (
        (Order("age", "fare"), Order("fare", "age", name="b")),
        "ordered in a circle",
    ),
    "a sum of categories": ((Sum("total", ("fare", "sex")),), "a sum is of numbers"),
    "a sum of moments": ((Sum("total", ("when",)),), "a sum is of numbers"),
    "a moment that determines": ((Determines("when", "sex", {1: "M"}),), "determine nothing"),
    "a value twice": (
        (Determines("fare", "sex", {1.0: "M", 2.0: "F"}),),
        r"determines '\[0, 10\)' twice",
    ),
    "values that say too little": ((Determines("town", "state", {"Elgin": "IL"}),), "every value"),
    "values that would be dropped": (
        (Determines("town", "state", {"Elgin": "WI"}),),
        "the schema drops",
    ),
    "a column that follows twice": (
        (Sum("total", ("fare",)), Sum("total", ("tips",), name="b")),
        "by two constraints",
    ),
    "columns that follow from each other": (
        (Sum("total", ("fare",)), Sum("fare", ("total",), name="b")),
        "in a circle",
    ),
    "what is said of a sum": ((Sum("total", ("fare",)), Order("fare", "total")), "is computed"),
    "two of a name": ((Never({"sex": "M"}), Never({"sex": "F"})), "the same name"),
    "a conflict": (
        (
            Never({"town": "Elgin"}, name="none of Elgin"),
            Never({"sex": ["M", "F"]}, name="no sex"),
            Never({"sex": ["(missing)", "(other)"]}, name="a sex"),
        ),
        "together .got 'no sex', 'a sex'",
    ),
    "an order that bins cannot have": (
        (
            Order("age", "tips"),
            Never({"age": {"below": 50}}, name="old"),
            Never({"age": "(missing)"}, name="known"),
            Never({"tips": "(missing)"}, name="told"),
        ),
        "'order: age, tips', 'old', 'known', 'told'",
    ),
    "a row's column that determines a person's": (
        (Determines("town", "county", TOWNS), ConstantPerPerson("county")),
        "a person's own",
    ),
    "unique moments": ((UniquePerPerson("when"),), "modelled as several"),
}


@pytest.mark.parametrize(("constraints", "told"), REFUSED.values(), ids=REFUSED)
def test_constraints_that_cannot_be_are_refused(
    constraints: tuple[Constraint, ...], told: str
) -> None:
    with pytest.raises(SchemaError, match=told):
        schema(*constraints)


PLAIN: dict[str, tuple[Any, str]] = {
    "no table": (3, "says one thing"),
    "nothing said": ({"name": "x"}, "says one thing"),
    "two things": ({"never": {"a": 1}, "order": ["a", "b"]}, "got never, order"),
    "an unknown key": ({"never": {"a": 1}, "rule": "x"}, "got rule"),
    "a name that is none": ({"never": {"a": 1}, "name": 3}, "a name that is no text"),
    "never without columns": ({"never": {}}, "needs columns and their values"),
    "never of a text": ({"never": "a"}, "got str"),
    "an end that is none": ({"never": {"a": {"under": 3}}}, "under = 3"),
    "an if without then": ({"if": {"a": 1}}, "then needs columns"),
    "an unknown rule": ({"never": {"a": 1}, "otherwise": "mend"}, "'drop', 'nearest'"),
    "an order of one": ({"order": ["a"]}, "at least two columns"),
    "an order of no names": ({"order": "a"}, "needs names of columns"),
    "a sum of itself": ({"sum": {"a": ["a"]}}, "not itself"),
    "a sum of nothing": ({"sum": ["a"]}, "what belongs to it"),
    "a tolerance below 0": ({"sum": {"a": ["b"]}, "tolerance": -1}, "at least 0"),
    "a determined column that is none": ({"determines": {"a": 3}, "values": {}}, "two columns"),
    "no values": ({"determines": {"a": "b"}}, "needs values"),
    "values that are none": ({"determines": {"a": "b"}, "values": {}}, "lists no values"),
}


@pytest.mark.parametrize(("data", "told"), PLAIN.values(), ids=PLAIN)
def test_a_file_that_says_something_else_is_refused(data: Any, told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        from_plain(data)


def test_constraints_of_a_file_are_a_list() -> None:
    plain = schema().to_dict() | {"constraints": {"never": {"sex": "M"}}}
    with pytest.raises(SchemaError, match="must be a list"):
        Schema.from_dict(plain)
