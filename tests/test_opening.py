"""Opening a session as people write it, and budgets that hardly protect anyone."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import understudy as us
from understudy.errors import (
    BudgetError,
    MissingColumnError,
    SchemaError,
    UnderstudyError,
    UsageError,
)
from understudy.schema import Categorical, Id, Schema

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = Schema("shop", (Id(name="who"), Categorical(name="colour", values=("red", "blue"))))
ROWS = {"who": list(range(60)), "colour": ["red", "blue", "red"] * 20}


def opened(folder: Path, **changes: Any) -> us.Session:
    given: dict[str, Any] = {
        "private": ROWS,
        "schema": SCHEMA,
        "unit": us.Unit("who"),
        "bounding": us.Weights(1),
        "budget": us.Budget(epsilon=5.0, delta=1e-6),
        "ledger": folder / "shop.ledger",
    }
    return us.open(**given | changes)


@pytest.mark.parametrize(
    "mechanism", ["independent", "Independent", us.Independent, us.Independent()]
)
def test_a_mechanism_may_be_its_name_its_class_or_itself(tmp_path: Path, mechanism: Any) -> None:
    assert opened(tmp_path).run(mechanism).manifest["mechanism"]["name"] == "independent"


def test_without_a_mechanism_auto_chooses(tmp_path: Path) -> None:
    assert opened(tmp_path).run().manifest["mechanism"]["name"] == "auto"


@pytest.mark.parametrize(
    "words",
    [
        {"unit": "who", "bounding": "weights:1"},
        {"unit": ["who"], "bounding": us.Weights(1)},
        {"schema": SCHEMA.to_dict()},
    ],
)
def test_words_open_the_same_session_as_objects(tmp_path: Path, words: dict[str, Any]) -> None:
    assert opened(tmp_path, **words) == opened(tmp_path)


def test_each_row_may_be_a_word(tmp_path: Path) -> None:
    assert (
        opened(tmp_path, unit="each-row").person == opened(tmp_path, unit=us.Unit.each_row()).person
    )


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        ({"unit": 3}, UsageError, r"invalid unit \(got int; allowed: us.Unit"),
        ({"bounding": 5}, UsageError, r"invalid bounding \(got 5; allowed: such as us.Norm"),
        ({"bounding": "nrom"}, BudgetError, "did you mean 'norm'"),
        ({"budget": "1"}, UsageError, r"invalid budget \(got '1'; allowed: such as us.Budget"),
        ({"ledger": None}, UsageError, "invalid ledger"),
        ({"schema": None}, UsageError, "invalid schema"),
    ],
)
def test_what_is_not_understood_says_what_to_write(
    tmp_path: Path, wrong: dict[str, Any], kind: type[UnderstudyError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        opened(tmp_path, **wrong)


@pytest.mark.parametrize(
    ("wrong", "said"), [("mts", "did you mean 'mst'"), (3, "not a mechanism"), (dict, "not a mech")]
)
def test_what_is_no_mechanism_says_which_there_are(tmp_path: Path, wrong: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        opened(tmp_path).run(wrong)
    assert not (tmp_path / "shop.ledger").exists()


def test_a_unit_that_is_almost_a_column(tmp_path: Path) -> None:
    with pytest.raises(MissingColumnError, match=r"got no .whoo..* did you mean .who."):
        opened(tmp_path, unit="whoo").run()


def test_numbers_as_text_are_shown_as_text() -> None:
    with pytest.raises(BudgetError, match="got '1'; allowed: a number"):
        us.Budget(epsilon="1", delta=1e-6)  # type: ignore[arg-type]


def test_a_schema_is_drafted_from_a_table_and_a_single_id() -> None:
    assert us.Schema.from_public(ROWS, name="t", ids="who").ids == (Id(name="who"),)
    with pytest.raises(SchemaError, match="from_public takes a table, not a path"):
        us.Schema.from_public("rows.csv", name="t")


# Budgets that hardly protect anyone


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (us.Budget(epsilon=20.5, delta=1e-6), "an epsilon this large .* i_know=True"),
        (us.Budget(epsilon=100, delta=0), "an epsilon this large"),
        (us.Budget(epsilon=1, delta=0.5), "a delta this large .* i_know=True"),
        (us.Budget(epsilon=1, delta=0.01), "a delta this large"),
    ],
)
def test_a_budget_without_meaning_is_refused_unless_known(
    tmp_path: Path, budget: us.Budget, said: str
) -> None:
    with pytest.raises(BudgetError, match=said):
        opened(tmp_path, budget=budget)
    assert opened(tmp_path, budget=budget, i_know=True).budget == budget


def test_a_weak_budget_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    opened(tmp_path)
    assert not caplog.records
    opened(tmp_path, budget=us.Budget(epsilon=5.5, delta=1e-6))
    assert [r.getMessage()[:31] for r in caplog.records] == ["epsilon 5.5 is a weak promise: "]


def test_a_synthesizer_takes_words_and_refuses_too(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "schema": SCHEMA,
        "unit": "who",
        "bounding": "weights:1",
        "ledger": tmp_path / "shop.ledger",
    }
    weak = us.Synthesizer("independent", budget=us.Budget(epsilon=50, delta=1e-6), **given)
    with pytest.raises(BudgetError, match="an epsilon this large"):
        weak.fit(ROWS)
    weak.set_params(i_know=True).fit(ROWS)
    with closing(us.Ledger(tmp_path / "shop.ledger")) as ledger:
        assert len(ledger.state().runs) == 1


def test_tab_completion_lists_the_public_names() -> None:
    assert dir(us) == sorted(us.__all__)
