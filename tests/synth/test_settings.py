"""Settings that several mechanisms have: what is taken, and how what is not is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import understudy as us
from understudy.errors import BudgetError, QuestionError, UnderstudyError, UsageError
from understudy.synth import mechanism_from_dict, mechanism_to_dict
from understudy.synth.settings import (
    check_columns,
    check_most_each,
    check_share,
    check_shares,
    check_weights,
    check_words,
)

DOMAIN = {"sex": 2, "age": 60, "city": 13}
SHARES = "shares must be positive and sum to less than 1 (got "
SHARE = "a share lies between 0 and 1 (got "


def test_what_is_right_is_taken() -> None:
    check_columns([], DOMAIN)
    check_columns(["city", "sex", "city"], DOMAIN)
    check_shares(0.5, 0.49)
    check_share(0.999)
    check_most_each(None)
    check_most_each(1)
    check_weights([])
    check_weights([(("sex",), 1e-9), (("sex", "age"), 1e9)])
    check_words("public", "other")
    check_words("evenly", "neighbours")


@pytest.mark.parametrize(
    ("check", "given", "error", "text"),
    [
        (
            check_columns,
            (["town", "age", "road"], DOMAIN),
            QuestionError,
            "settings name columns that the schema does not model (got road, town; "
            "allowed: sex, age, city)",
        ),
        (check_shares, (0.5, 0.5), BudgetError, f"{SHARES}(0.5, 0.5))"),
        (check_shares, (0.0, 0.5), BudgetError, f"{SHARES}(0.0, 0.5))"),
        (check_shares, (-0.1, 0.5), BudgetError, f"{SHARES}(-0.1, 0.5))"),
        (check_shares, (1.0,), BudgetError, f"{SHARES}(1.0,))"),
        (check_shares, (math.nan, 0.1), BudgetError, f"{SHARES}(nan, 0.1))"),
        (check_share, (0.0,), BudgetError, f"{SHARE}0.0)"),
        (check_share, (1.0,), BudgetError, f"{SHARE}1.0)"),
        (check_share, (math.nan,), BudgetError, f"{SHARE}nan)"),
        (check_words, ("other", "public"), UsageError, "unknown setting (got public, other)"),
        (check_most_each, (0,), BudgetError, "a person has at least one row (got 0)"),
        (
            check_weights,
            ([(("sex",), 1.0), (("age",), 0.0)],),
            BudgetError,
            "weights must be above 0 (got [1.0, 0.0])",
        ),
        (
            check_weights,
            ([(("sex",), math.inf)],),
            BudgetError,
            "weights must be above 0 (got [inf])",
        ),
        (
            check_weights,
            ([(("sex",), math.nan)],),
            BudgetError,
            "weights must be above 0 (got [nan])",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_what_was_given(
    check: Callable[..., None], given: tuple[Any, ...], error: type[UnderstudyError], text: str
) -> None:
    with pytest.raises(error) as caught:
        check(*given)
    assert type(caught.value) is error
    assert str(caught.value) == text


# What MST and AIM make of them


MST, AIM = us.MST, us.AIM


@pytest.mark.parametrize(
    ("kind", "settings", "error", "text"),
    [
        *(
            case
            for kind in (MST, AIM)
            for case in (
                (kind, {"rows_share": 0}, BudgetError, f"{SHARES}(0, 0.02))"),
                (kind, {"people_share": 0.99}, BudgetError, f"{SHARES}(0.02, 0.99))"),
                (kind, {"most_each": 0}, BudgetError, "a person has at least one row (got 0)"),
            )
        ),
        (
            MST,
            {"weights": ((("a", "b"), 0.0),)},
            BudgetError,
            "weights must be above 0 (got [0.0])",
        ),
        (AIM, {"workload": ((("a",), 0),)}, BudgetError, "weights must be above 0 (got [0])"),
        (MST, {"shares": (1, 1)}, BudgetError, "three shares, each above 0 (got (1, 1))"),
        (
            MST,
            {"shares": (1, 1, 1, 1)},
            BudgetError,
            "three shares, each above 0 (got (1, 1, 1, 1))",
        ),
        (MST, {"shares": (1, 0, 1)}, BudgetError, "three shares, each above 0 (got (1, 0, 1))"),
        (
            MST,
            {"shares": (1, 1, math.inf)},
            BudgetError,
            "three shares, each above 0 (got (1, 1, inf))",
        ),
        (
            MST,
            {"shares": (math.nan, 1, 1)},
            BudgetError,
            "three shares, each above 0 (got (nan, 1, 1))",
        ),
        (AIM, {"first_share": 0.0}, BudgetError, f"{SHARE}0.0)"),
        (AIM, {"selection_share": 1.0}, BudgetError, f"{SHARE}1.0)"),
        (
            AIM,
            {"selection": "laplace"},
            UsageError,
            "unknown setting (got laplace; allowed: exponential or gaussian)",
        ),
    ],
)
def test_a_mechanism_refuses_settings_that_are_none(
    kind: Callable[..., Any], settings: dict[str, Any], error: type[UnderstudyError], text: str
) -> None:
    with pytest.raises(error) as caught:
        kind(**settings)
    assert type(caught.value) is error
    assert str(caught.value) == text


UNKNOWN = "unknown setting (got "


@pytest.mark.parametrize(
    ("kind", "settings", "text"),
    [
        (MST, {"threshold": -1.0}, f"{UNKNOWN}-1.0, 32, 1000000, 8000000)"),
        (MST, {"threshold": math.nan}, f"{UNKNOWN}nan, 32, 1000000, 8000000)"),
        (MST, {"bins": 0}, f"{UNKNOWN}3.0, 0, 1000000, 8000000)"),
        (MST, {"most_cells": 0}, f"{UNKNOWN}3.0, 32, 0, 8000000)"),
        (MST, {"model_limit": 0}, f"{UNKNOWN}3.0, 32, 1000000, 0)"),
        (AIM, {"threshold": -1.0}, f"{UNKNOWN}-1.0, (1, 1, 16, 32, 100000))"),
        (AIM, {"threshold": math.nan}, f"{UNKNOWN}nan, (1, 1, 16, 32, 100000))"),
        # Of columns there must be one more than one.
        (AIM, {"degree": 1}, f"{UNKNOWN}3.0, (0, 1, 16, 32, 100000))"),
        (AIM, {"rounds": 0}, f"{UNKNOWN}3.0, (1, 0, 16, 32, 100000))"),
        (AIM, {"at_once": 0}, f"{UNKNOWN}3.0, (1, 1, 0, 32, 100000))"),
        (AIM, {"bins": 0}, f"{UNKNOWN}3.0, (1, 1, 16, 0, 100000))"),
        (AIM, {"most_cells": -5}, f"{UNKNOWN}3.0, (1, 1, 16, 32, -5))"),
        (AIM, {"model_limit": 0}, f"{UNKNOWN}3.0, (1, 1, 16, 32, 100000))"),
    ],
)
def test_numbers_that_cannot_be_are_refused(
    kind: Callable[..., Any], settings: dict[str, Any], text: str
) -> None:
    with pytest.raises(UsageError) as caught:
        kind(**settings)
    assert str(caught.value) == text


@pytest.mark.parametrize("kind", [MST, AIM])
@pytest.mark.parametrize(
    ("name", "got"), [("rare", "nearly, evenly"), ("within", "neighbours, nearly")]
)
def test_words_that_are_none_are_refused(kind: Callable[..., Any], name: str, got: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind(**{name: "nearly"})
    assert str(caught.value) == f"{UNKNOWN}{got})"


# Settings as TOML or JSON gives them


@pytest.mark.parametrize(
    "mechanism",
    [
        us.MST(
            targets=("a",),
            weights=((("a", "b"), 2.0),),
            rare="other",
            ids_by=("c",),
            shares=(0.5, 0.2, 0.3),
        ),
        us.AIM(
            workload=((("a", "b", "c"), 1.0), (("c",), 0.5)),
            rounds=7,
            selection="gaussian",
            within="public",
        ),
        us.MST(),
        us.AIM(targets=("b",)),
        us.AIM(),
    ],
    ids=lambda m: m.name,
)
def test_settings_survive_being_written_down(mechanism: Any) -> None:
    written = mechanism_to_dict(mechanism)
    assert mechanism_from_dict(written) == mechanism
    listed = mechanism_from_dict({**written, "settings": as_lists(written["settings"])})
    assert listed == mechanism
    assert hash(listed) == hash(mechanism)


def as_lists(value: Any) -> Any:
    """Plain data as a file gives them, which has no tuples."""
    if isinstance(value, dict):
        return {name: as_lists(held) for name, held in value.items()}
    return [as_lists(held) for held in value] if isinstance(value, tuple) else value


WEIGHTED = "[[[a text, …], a number], …]"


@pytest.mark.parametrize(
    ("name", "setting", "value", "got", "allowed"),
    [
        ("mst", "shares", [1, 2], "[1, 2]", "[a number, a number, a number]"),
        ("mst", "shares", "thirds", "'thirds'", "[a number, a number, a number]"),
        ("mst", "targets", "a", "'a'", "[a text, …]"),
        ("mst", "weights", [["a", 1]], "[['a', 1]]", WEIGHTED),
        ("mst", "threshold", "high", "'high'", "a number"),
        ("mst", "rare", "none", "'none'", "'neighbours' or 'other'"),
        ("aim", "workload", [["a", "b"]], "[['a', 'b']]", WEIGHTED),
        ("aim", "degree", 2.5, "2.5", "a whole number"),
        ("aim", "rounds", True, "True", "a whole number"),
        ("aim", "selection", "laplace", "'laplace'", "'exponential' or 'gaussian'"),
        ("aim", "most_each", [3], "[3]", "a whole number"),
        ("aim", "model_limit", "8 MB", "'8 MB'", "a whole number"),
    ],
)
def test_plain_data_of_another_type_are_refused(
    name: str, setting: str, value: Any, got: str, allowed: str
) -> None:
    with pytest.raises(UsageError) as caught:
        mechanism_from_dict({"name": name, "settings": {setting: value}})
    assert str(caught.value) == (
        f"the setting {setting} of {name} cannot be this (got {got}; allowed: {allowed})"
    )


def test_a_setting_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        mechanism_from_dict({"name": "mst", "settings": {"degree": 2}})
    assert str(caught.value) == (
        "mst has no such setting (got degree; allowed: ids_by, most_each, within, rows_share, "
        "people_share, targets, weights, threshold, rare, bins, most_cells, model_limit, shares)"
    )


def test_settings_that_would_be_ignored_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        MST(weights=((("a", "b", "c"), 2.0),))
    assert str(caught.value) == "weights are of columns and of pairs (got a × b × c). Hint: see aim"
    with pytest.raises(UsageError) as caught:
        AIM(workload=((("a", "b"), 1.0),), targets=("a",))
    assert (
        str(caught.value)
        == "targets choose among all marginals, a workload names its own. Hint: give one"
    )
