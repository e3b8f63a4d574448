"""Settings that several mechanisms have: what is taken, and how what is not is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import understudy as us
from understudy.errors import BudgetError, QuestionError, UnderstudyError, UsageError
from understudy.synth import mechanism_from_dict, mechanism_to_dict
from understudy.synth.settings import (
    check_at_least,
    check_columns,
    check_finite,
    check_shares,
    check_weights,
    check_word,
)

DOMAIN = {"sex": 2, "age": 60, "city": 13}
BOUND = "must be above 0 and below 1 (got "
WEIGHT = "must be above 0 and finite (got "


def given(**settings: Any) -> SimpleNamespace:
    return SimpleNamespace(**settings)


def test_what_is_right_is_taken() -> None:
    check_columns([], DOMAIN)
    check_columns(["city", "sex", "city"], DOMAIN)
    check_shares(given(a=0.5, b=0.49), "a", "b")
    check_shares(given(a=0.999), "a")
    check_at_least(given(most=None, least=1), 1, "most", "least")
    check_weights("weights", [])
    check_weights("weights", [(("sex",), 1e-9), (("sex", "age"), 1e9)])
    check_word(given(within="public"), "within", "evenly", "public")


@pytest.mark.parametrize(
    ("check", "arguments", "error", "text"),
    [
        (
            check_columns,
            (["town", "age", "road"], DOMAIN),
            QuestionError,
            "settings name columns that the schema does not model (got road, town; "
            "allowed: sex, age, city)",
        ),
        (
            check_shares,
            (given(a=0.5, b=0.5), "a", "b"),
            BudgetError,
            "a + b must be below 1 (got 1)",
        ),
        (check_shares, (given(a=0.0, b=0.5), "a", "b"), BudgetError, f"a {BOUND}0.0)"),
        (check_shares, (given(a=0.5, b=-0.1), "a", "b"), BudgetError, f"b {BOUND}-0.1)"),
        (check_shares, (given(a=1.0), "a"), BudgetError, f"a {BOUND}1.0)"),
        (check_shares, (given(a=math.nan), "a"), BudgetError, f"a {BOUND}nan)"),
        (check_at_least, (given(n=0), 1, "n"), UsageError, "n must be at least 1 (got 0)"),
        (check_at_least, (given(n=math.nan), 0, "n"), UsageError, "n must be at least 0 (got nan)"),
        (check_finite, (given(n=math.inf), "n"), UsageError, "n must be finite (got inf)"),
        (
            check_word,
            (given(within="other"), "within", "evenly", "public"),
            UsageError,
            "within must be 'evenly' or 'public' (got 'other')",
        ),
        *(
            (
                check_weights,
                ("weights", [(("sex",), 1.0), (("age", "city"), weight)]),
                BudgetError,
                f"the weight of age × city in weights {WEIGHT}{weight})",
            )
            for weight in (0.0, math.inf, math.nan)
        ),
    ],
)
def test_what_is_wrong_is_refused_with_what_was_given(
    check: Callable[..., None], arguments: tuple[Any, ...], error: type[UnderstudyError], text: str
) -> None:
    with pytest.raises(error) as caught:
        check(*arguments)
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
                (kind, {"rows_share": 0}, BudgetError, f"rows_share {BOUND}0)"),
                (
                    kind,
                    {"people_share": 0.99},
                    BudgetError,
                    "rows_share + people_share must be below 1 (got 1.01)",
                ),
                (kind, {"most_each": 0}, UsageError, "most_each must be at least 1 (got 0)"),
                (kind, {"threshold": -1.0}, UsageError, "threshold must be at least 0 (got -1.0)"),
                (kind, {"bins": 0}, UsageError, "bins must be at least 1 (got 0)"),
                (kind, {"most_cells": -5}, UsageError, "most_cells must be at least 1 (got -5)"),
                (kind, {"model_limit": 0}, UsageError, "model_limit must be at least 1 (got 0)"),
                (
                    kind,
                    {"rare": "nearly"},
                    UsageError,
                    "rare must be 'neighbours' or 'other' (got 'nearly')",
                ),
                (
                    kind,
                    {"within": "nearly"},
                    UsageError,
                    "within must be 'evenly' or 'public' (got 'nearly')",
                ),
            )
        ),
        (
            MST,
            {"weights": ((("a", "b"), 0.0),)},
            BudgetError,
            f"the weight of a × b in weights {WEIGHT}0.0)",
        ),
        (AIM, {"workload": ((("a",), 0),)}, BudgetError, f"the weight of a in workload {WEIGHT}0)"),
        (AIM, {"degree": 1}, UsageError, "degree must be at least 2 (got 1)"),
        (AIM, {"rounds": 0}, UsageError, "rounds must be at least 1 (got 0)"),
        (AIM, {"at_once": 0}, UsageError, "at_once must be at least 1 (got 0)"),
        (MST, {"shares": (1, 1)}, BudgetError, "shares must be three numbers above 0 (got (1, 1))"),
        (
            MST,
            {"shares": (1, 1, 1, 1)},
            BudgetError,
            "shares must be three numbers above 0 (got (1, 1, 1, 1))",
        ),
        (
            MST,
            {"shares": (1, 0, 1)},
            BudgetError,
            "shares must be three numbers above 0 (got (1, 0, 1))",
        ),
        (
            MST,
            {"shares": (1, 1, math.inf)},
            BudgetError,
            "shares must be three numbers above 0 (got (1, 1, inf))",
        ),
        (
            MST,
            {"shares": (math.nan, 1, 1)},
            BudgetError,
            "shares must be three numbers above 0 (got (nan, 1, 1))",
        ),
        (AIM, {"first_share": 0.0}, BudgetError, f"first_share {BOUND}0.0)"),
        (AIM, {"selection_share": 1.0}, BudgetError, f"selection_share {BOUND}1.0)"),
        (
            AIM,
            {"selection": "laplace"},
            UsageError,
            "selection must be 'exponential' or 'gaussian' (got 'laplace')",
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


WEIGHTED = "[[[a string, …], a number], …]"


@pytest.mark.parametrize(
    ("name", "setting", "value", "got", "allowed"),
    [
        ("mst", "shares", [1, 2], "[1, 2]", "[a number, a number, a number]"),
        ("mst", "shares", "thirds", "'thirds'", "[a number, a number, a number]"),
        ("mst", "targets", "a", "'a'", "[a string, …]"),
        ("mst", "weights", [["a", 1]], "[['a', 1]]", WEIGHTED),
        ("mst", "threshold", "high", "'high'", "a number"),
        ("mst", "rare", "none", "'none'", "'neighbours' or 'other'"),
        ("aim", "workload", [["a", "b"]], "[['a', 'b']]", WEIGHTED),
        ("aim", "degree", 2.5, "2.5", "an integer"),
        ("aim", "rounds", True, "True", "an integer"),
        ("aim", "selection", "laplace", "'laplace'", "'exponential' or 'gaussian'"),
        ("aim", "most_each", [3], "[3]", "an integer"),
        ("aim", "model_limit", "8 MB", "'8 MB'", "an integer"),
    ],
)
def test_plain_data_of_another_type_are_refused(
    name: str, setting: str, value: Any, got: str, allowed: str
) -> None:
    with pytest.raises(UsageError) as caught:
        mechanism_from_dict({"name": name, "settings": {setting: value}})
    assert str(caught.value) == (
        f"the setting {setting} of {name} has the wrong type (got {got}; allowed: {allowed})"
    )


def test_a_setting_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        mechanism_from_dict({"name": "mst", "settings": {"degree": 2}})
    assert str(caught.value) == (
        "mst has no such setting (got degree; allowed: ids_by, most_each, within, rows_share, "
        "people_share, threshold, rare, bins, targets, weights, most_cells, model_limit, shares)"
    )


def test_settings_that_would_be_ignored_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        MST(weights=((("a", "b", "c"), 2.0),))
    assert str(caught.value) == (
        "weights can only be set for columns and pairs (got a × b × c). "
        "Hint: use aim with a workload for larger marginals"
    )
    with pytest.raises(UsageError) as caught:
        AIM(workload=((("a", "b"), 1.0),), targets=("a",))
    assert (
        str(caught.value)
        == "targets and workload cannot both be set. Hint: put the marginals into workload"
    )
