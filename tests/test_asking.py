"""What determines what, asked of the private table: charged, promised, replayed, or refused."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from understudy.asking import in_two
from understudy.errors import SchemaError, UsageError
from understudy.ledger import Ledger
from understudy.schema import Categorical, Id, Numeric, Schema

TOWNS = tuple(f"t{i}" for i in range(6))
COUNTY = {town: "xyz"[i % 3] for i, town in enumerate(TOWNS)}
COLUMNS = (
    Id(name="who"),
    Categorical(name="town", values=TOWNS),
    Categorical(name="county", values=("x", "y", "z")),
    Numeric(name="paid", edges=(0.0, 1.0, 2.0)),
)
RULE = us.Determines("town", "county", asked=True)
SCHEMA = Schema("homes", COLUMNS, constraints=(RULE,))
WHOLE = us.Budget(epsilon=4.0, delta=1e-6)


def homes(people: int = 600, *, rare: bool = False) -> dict[str, Any]:
    town = np.resize(np.array(TOWNS[:5] if rare else TOWNS), people)
    return {
        "who": np.arange(people),
        "town": town,
        "county": np.array([COUNTY[each] for each in town]),
        "paid": np.full(people, 0.5),
    }


def ask(folder: Path, schema: Schema = SCHEMA, **more: Any) -> Schema:
    first, _ = in_two(WHOLE, 0.5)
    given: dict[str, Any] = {"private": homes(), "budget": first, "total": WHOLE}
    unit, ledger = us.Unit("who"), folder / "a.ledger"
    return us.ask_determined(**given | more, schema=schema, unit=unit, ledger=ledger)


def test_the_answer_is_used_and_both_runs_are_promised(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="still to be asked of the private table"):
        ask_release(tmp_path, SCHEMA)
    found = ask(tmp_path)
    (rule,) = found.constraints
    assert isinstance(rule, us.Determines)
    assert dict(rule.pairs) == COUNTY
    assert "county" not in found.domain
    # The same call repeats the answer, at no cost, and the rest of the budget is there.
    assert ask(tmp_path) == found
    release = ask_release(tmp_path, found)
    rows = release.columns
    assert release.manifest["guarantee"]["epsilon"] == pytest.approx(4.0, abs=1e-6)
    assert all(COUNTY.get(t, c) == c for t, c in zip(rows["town"], rows["county"], strict=True))
    said = release.manifest["constraints"][0]["says"]
    assert (
        said
        == "county follows from town, by a list of 6 values, asked of the private table with noise."
    )
    with closing(Ledger(tmp_path / "a.ledger")) as ledger:
        runs = ledger.state().runs
    assert [len(run.reservations) for run in runs.values()] == [1, len(release.manifest["charges"])]
    assert Schema.from_dict(found.to_dict()) == found


def ask_release(folder: Path, schema: Schema) -> us.Release:
    return us.open(
        private=homes(),
        schema=schema,
        unit="who",
        bounding="norm",
        budget=in_two(WHOLE, 0.5)[1],
        ledger=folder / "a.ledger",
    ).run("independent")


def test_what_too_few_have_is_told_by_the_public_table_or_by_what_is_common(tmp_path: Path) -> None:
    private = homes(rare=True)
    # Everybody else's county is mostly x or y, and the sixth town has nobody.
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    alone = ask(tmp_path / "a", private=private).constraints[0]
    told = ask(tmp_path / "b", private=private, public=homes(60)).constraints[0]
    assert isinstance(alone, us.Determines)
    assert isinstance(told, us.Determines)
    assert dict(told.pairs) == COUNTY
    assert dict(alone.pairs)["t5"] in {"x", "y"}


def test_pure_epsilon_asks_too(tmp_path: Path) -> None:
    pure = us.Budget(epsilon=3.0, delta=0)
    (rule,) = ask(tmp_path, budget=in_two(pure, 0.5)[0], total=pure).constraints
    assert isinstance(rule, us.Determines)
    assert dict(rule.pairs) == COUNTY


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.5])
def test_two_parts_of_a_budget_are_no_more_than_the_whole(delta: float, share: float) -> None:
    whole = us.Budget(epsilon=1.0, delta=delta)
    first, rest = in_two(whole, share)
    assert 0 <= whole.grains - first.grains - rest.grains < whole.grains * 1e-9
    assert first.grains == pytest.approx(whole.grains * share, rel=1e-9)


def test_a_schema_file_says_it(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA.to_toml(), encoding="utf-8")
    assert '[[constraints]]\ndetermines = { town = "county" }\nasked = true' in path.read_text()
    assert Schema.read(path) == SCHEMA
    assert ask(tmp_path, Schema("homes", COLUMNS)) == Schema("homes", COLUMNS)
    with pytest.raises(SchemaError, match=r"asked is true or false \(got 1\)"):
        us.Determines("town", "county", asked=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ((us.Determines("paid", "county", asked=True),), "only of columns of values can it be"),
        ((RULE, us.Never({"county": "x", "town": "t1"})), "and others are about its column (got"),
        ((RULE, us.ConstantPerPerson("county")), "'county' is a person's own column"),
    ],
)
def test_what_could_not_hold_is_refused_before_anything_is_asked(
    rules: Any, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SchemaError) as refused:
        ask(tmp_path, Schema("homes", COLUMNS, constraints=rules))
    assert said in str(refused.value)
    with pytest.raises(UsageError, match="does not exist, and needs a total"):
        ask(tmp_path, total=None)
    assert not (tmp_path / "a.ledger").exists()
