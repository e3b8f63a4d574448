"""A synthesizer is a session in scikit-learn's manner, and costs what its sessions cost."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import understudy as us
from understudy.errors import BudgetExhaustedError, UsageError
from understudy.ledger import Ledger
from understudy.schema import Categorical, Id, Integer, Schema

SCHEMA = Schema(
    "trips",
    (
        Id(name="taxi"),
        Categorical(name="colour", values=("red", "blue"), missing=False),
        Integer(name="hour", min=0, max=3, missing=False),
    ),
)


def table() -> dict[str, Any]:
    taxi = np.arange(400) % 100
    colours = np.array(["red", "blue"], dtype=object)
    return {"taxi": taxi, "colour": colours[taxi % 2], "hour": taxi % 4}


def made(path: Path, **other: Any) -> us.Synthesizer:
    asked: dict[str, Any] = {
        "mechanism": us.MST(),
        "schema": SCHEMA,
        "unit": us.Unit("taxi"),
        "bounding": us.Weights(4),
        "budget": us.Budget(epsilon=5, delta=1e-6),
        "ledger": path / "trips.ledger",
    }
    return us.Synthesizer(**asked | other)


def test_fit_gives_a_release_and_sample_its_rows(tmp_path: Path) -> None:
    synthesizer = made(tmp_path)
    assert synthesizer.fit(table()) is synthesizer
    rows = synthesizer.sample()
    assert rows.equals(synthesizer.release_.rows)
    assert list(rows.columns) == ["taxi", "colour", "hour"]


def test_more_rows_are_drawn_free_of_charge(tmp_path: Path) -> None:
    synthesizer = made(tmp_path).fit(table())
    with closing(Ledger(tmp_path / "trips.ledger")) as ledger:
        before = ledger.state().head
    rows = synthesizer.sample(1000, seed=3)
    assert len(rows) == 1000
    assert rows.equals(synthesizer.sample(1000, seed=3))
    assert not rows.equals(synthesizer.sample(1000, seed=4))
    assert synthesizer.sample(people=5, seed=3)["taxi"].nunique() == 5
    blue = synthesizer.sample(50, where={"colour": "blue"})
    assert set(blue["colour"]) == {"blue"}
    with closing(Ledger(tmp_path / "trips.ledger")) as ledger:
        assert ledger.state().head == before


def test_without_pandas_rows_are_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synthesizer = made(tmp_path).fit(table())
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert list(synthesizer.sample()) == ["taxi", "colour", "hour"]
    assert len(synthesizer.sample(7)["hour"]) == 7


def test_to_fit_twice_is_to_spend_twice(tmp_path: Path) -> None:
    synthesizer = made(tmp_path, mechanism=us.Independent()).fit(table())
    with pytest.raises(BudgetExhaustedError, match="less budget left"):
        synthesizer.fit(table())


def test_the_mechanism_is_auto_where_none_is_named(tmp_path: Path) -> None:
    synthesizer = made(tmp_path, mechanism=None).fit(table(), None)
    assert synthesizer.mechanism is None
    assert synthesizer.release_.manifest["mechanism"]["name"] == "auto"


def test_a_public_table_is_passed_on(tmp_path: Path) -> None:
    public = {"taxi": np.arange(50), "colour": np.array(["red"] * 50), "hour": np.arange(50) % 4}
    synthesizer = made(tmp_path, mechanism=us.Archetypes(kinds=2), public=public).fit(table())
    assert synthesizer.release_.manifest["mechanism"]["name"] == "archetypes"


def test_sample_before_fit(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no release yet .*fit\(private\) first"):
        made(tmp_path).sample(3)


def test_scikit_learn_clones_it_without_its_release(tmp_path: Path) -> None:
    synthesizer = made(tmp_path, public=table()).fit(table())
    other = clone(synthesizer)
    assert type(other) is us.Synthesizer
    assert not hasattr(other, "release_")
    for name in ("mechanism", "schema", "unit", "bounding", "budget", "ledger"):
        assert getattr(other, name) == getattr(synthesizer, name)
    assert isinstance(other.public, dict)
    assert list(other.public) == ["taxi", "colour", "hour"]


def test_settings_are_read_and_changed_by_name(tmp_path: Path) -> None:
    synthesizer = made(tmp_path)
    asked = synthesizer.get_params(deep=False)
    assert list(asked) == [
        "mechanism", "schema", "unit", "bounding", "budget", "ledger", "public", "i_know",
        "known", "screening",
    ]  # fmt: skip
    assert us.Synthesizer(**asked).get_params() == asked
    new = us.Budget(epsilon=1, delta=1e-9)
    assert synthesizer.set_params(budget=new, mechanism=us.Independent()) is synthesizer
    assert synthesizer.budget == new
    with pytest.raises(
        UsageError, match=r"unknown parameter of Synthesizer \(got epsilon; allowed: mechanism, sc"
    ):
        synthesizer.set_params(epsilon=1)


def test_it_shows_settings_and_no_table(tmp_path: Path) -> None:
    canary = {"taxi": [1], "colour": ["canary"], "hour": [1]}
    synthesizer = made(tmp_path, public=canary).fit(dict(canary))
    shown = repr(synthesizer)
    assert shown.startswith("Synthesizer(MST(")
    assert shown.endswith("public=dict)")
    assert "epsilon=5" in shown
    assert "canary" not in shown
    assert "canary" not in repr(vars(synthesizer) | {"public": None})
    assert "public='last.csv')" in repr(made(tmp_path, public="last.csv"))
    assert "public" not in repr(made(tmp_path))
