"""Which rows break a constraint, against a loop over rows and people."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy.schema import Categorical, Id, Integer, Numeric, Schema
from understudy.schema.breaking import broken_among, broken_rows
from understudy.schema.constraints import (
    ConstantPerPerson,
    Constraint,
    Determines,
    Implies,
    Never,
    Order,
    Sum,
    UniquePerPerson,
    sentence,
)

SAID: dict[str, tuple[Constraint, str]] = {
    "never: sex, sick": (
        Never({"sex": "M", "sick": ["yes", "(missing)"]}),
        "No row has sex M and sick yes or (missing).",
    ),
    "implies: age, sick": (
        Implies({"age": {"min": 2, "below": 4}}, {"sick": "no"}),
        "A row with age at least 2 and below 4 has sick no.",
    ),
    "home": (
        Determines("town", "county", {"a": "x", "b": "y"}, name="home"),
        "county follows from town, by a list of 2 values.",
    ),
    "order: fare, paid": (Order("fare", "paid"), "fare ≤ paid."),
    "sum: whole, age, year": (Sum("whole", ("age", "year")), "whole = age + year."),
    "unique per person: year": (
        UniquePerPerson("year"),
        "No two rows of a person have the same year.",
    ),
    "constant per person: sex": (
        ConstantPerPerson("sex"),
        "All rows of a person have the same sex.",
    ),
}
SCHEMA = Schema(
    "visits",
    (
        Id(name="who"),
        Categorical(name="sex", values=("M", "F")),
        Categorical(name="sick", values=("yes", "no")),
        Integer(name="age", min=0, max=5),
        Categorical(name="town", values=("a", "b")),
        Categorical(name="county", values=("x", "y")),
        Numeric(name="fare", edges=(0.0, 5.0, 10.0)),
        Numeric(name="paid", edges=(0.0, 5.0, 10.0)),
        Integer(name="year", min=0, max=3),
        Integer(name="whole", min=0, max=6),
    ),
    constraints=tuple(constraint for constraint, _ in SAID.values()),
)


def table(rows: int, rng: np.random.Generator) -> dict[str, Any]:
    def some(*values: Any) -> Any:
        return np.array(values, dtype=object)[rng.integers(0, len(values), rows)]

    return {
        "who": some(*range(9)),
        "sex": some("M", "F", None),
        "sick": some("yes", "no", None),
        "age": some(0, 1, 2, 3, 4, 5, None),
        "town": some("a", "b", None),
        "county": some("x", "y", None),
        "fare": some(1.0, 2.5, 6.0, None),
        "paid": some(1.0, 2.4, 6.0, 12.0, None),
        "year": some(0, 1, 2, 3, None),
        "whole": some(0, 1, 2, 3, 8, None),
    }


def obvious(rows: list[dict[str, Any]]) -> dict[str, list[bool]]:
    """Judge row by row, and a person's rows by those before."""
    county = {"a": "x", "b": "y", None: None}
    out: dict[str, list[bool]] = {name: [] for name in SAID}
    seen: set[Any] = set()
    for row in rows:
        sick, age, year = row["sick"], row["age"], row["year"]
        out["never: sex, sick"].append(row["sex"] == "M" and sick in {"yes", None})
        out["implies: age, sick"].append(age in {2, 3} and sick == "yes")
        out["home"].append(row["county"] != county[row["town"]])
        known = None not in {row["fare"], row["paid"]}
        out["order: fare, paid"].append(known and row["fare"] > row["paid"])
        whole = row["whole"]
        out["sum: whole, age, year"].append(whole is not None and whole != (age or 0) + (year or 0))
        out["unique per person: year"].append(year is not None and (row["who"], year) in seen)
        seen.add((row["who"], year))
    return out


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_break_a_constraint_are_those_of_a_loop(seed: int) -> None:
    values = table(200, np.random.default_rng(seed))
    codes, kept = SCHEMA.unconstrained.encode(values)
    assert kept.all()
    found = broken_rows(SCHEMA, codes, values) | broken_among(
        SCHEMA, codes, values["who"].astype(int)
    )
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    expected = obvious(rows)
    constant = found.pop("constant per person: sex")
    expected.pop("constant per person: sex")
    assert set(found) == set(expected)
    for name, those in expected.items():
        assert found[name].tolist() == those, name
        assert 0 < sum(those) < 200, name
    for person in range(9):
        theirs = values["who"] == person
        often = max(map(values["sex"][theirs].tolist().count, ("M", "F", None)))
        assert constant[theirs].sum() == theirs.sum() - often


@pytest.mark.parametrize("name", SAID)
def test_a_constraint_is_a_sentence(name: str) -> None:
    constraint, said = SAID[name]
    assert constraint.label == name
    assert sentence(constraint) == said


def test_a_long_list_is_cut_short() -> None:
    said = sentence(Never({"age": list(range(9))}))
    assert said == "No row has age 0 or 1 or 2 or 3 or 4 or 5 or one of 3 more."
