"""Auto: the choice follows from the unit and the public table, and the run says why."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import THOROUGH
from understudy.errors import QuestionError
from understudy.ledger import Ledger
from understudy.schema import Id, Integer, Schema
from understudy.synth.auto import LOOK

ROWS = us.Unit.each_row()
VAST = us.Budget(epsilon=1e6, delta=1e-9)


def schema(columns: int, size: int = 4) -> us.Schema:
    return us.Schema(
        "t",
        tuple(Integer(name=f"c{i}", min=0, max=size - 1, missing=False) for i in range(columns)),
    )


def public(columns: int, *, people: bool) -> us.PublicTable:
    table: dict[str, Any] = {f"c{i}": np.arange(40) % 4 for i in range(columns)}
    unit = us.Unit("who") if people else ROWS
    return us.PublicTable.read(
        table | {"who": np.arange(40) // 4}, schema=schema(columns), unit=unit
    )


@pytest.mark.parametrize("columns", [1, 2, 14, 48])
@pytest.mark.parametrize("unit", [ROWS, us.Unit("who")], ids=str)
def test_without_a_public_table_pairs_are_asked_as_far_as_they_pay(
    columns: int, unit: us.Unit
) -> None:
    assert us.auto(schema(columns), unit=unit).mechanism == us.Pairs()


def test_people_are_drawn_where_the_schema_says_what_is_theirs() -> None:
    plain = schema(3)
    own = plain.with_columns(Integer(name="c0", min=0, max=3, missing=False, of="person"))
    for told in (own, replace(plain, order_by=("c1",))):
        assert us.auto(told, unit=us.Unit("who")).mechanism == us.Lives()
        assert us.auto(told, unit=ROWS).mechanism == us.Pairs()


def test_rows_are_given_to_people_by_what_public_people_keep_to() -> None:
    """Everyone keeps to their c0, but for one row of 40; c1 is the same for all, c2 goes about."""
    who = np.arange(40) // 4
    columns: dict[str, Any] = {"c0": who % 4, "c1": np.full(40, 2), "c2": np.arange(40) % 4}
    columns["c0"][0] = 3
    known = us.PublicTable.read(columns | {"who": who}, schema=schema(3), unit=us.Unit("who"))
    choice = us.auto(schema(3), unit=us.Unit("who"), public=known).mechanism
    assert isinstance(choice, us.Pairs)
    assert choice.ids_by == ("c0",)


@pytest.mark.parametrize("unit", [ROWS, us.Unit("who")], ids=str)
def test_values_within_bins_are_public_ones(unit: us.Unit) -> None:
    choice = us.auto(schema(3), unit=unit, public=public(3, people=not unit.is_row))
    assert choice.mechanism == us.Pairs(within="public")


@pytest.mark.parametrize("said", ["own", "order"])
def test_people_are_drawn_where_the_schema_knows_them_though_others_are_public(said: str) -> None:
    """Rows that are drawn first and then dealt out to people have little to do with one another."""
    known = schema(3)
    if said == "own":
        (first, *_) = known.released_columns
        known = known.with_columns(replace(first, of="person"))
    else:
        known = replace(known, order_by=("c0",))
    choice = us.auto(known, unit=us.Unit("who"), public=public(3, people=True))
    assert choice.mechanism == us.Lives(within="public")


@pytest.mark.parametrize(
    ("unit", "known"),
    [
        (ROWS, None),
        (ROWS, public(5, people=False)),
        (us.Unit("who"), None),
        (us.Unit("who"), public(5, people=True)),
    ],
)
def test_it_says_why_in_one_sentence(unit: us.Unit, known: us.PublicTable | None) -> None:
    choice = us.auto(schema(5), unit=unit, public=known)
    assert choice.why.startswith("There are 5 columns")
    assert choice.why.endswith(f"({choice.mechanism.name}).")
    assert "\n" not in choice.why


def session(folder: Path) -> us.Session:
    table = {f"c{i}": np.arange(60) * (i + 1) % 4 for i in range(3)}
    return us.open(
        i_know=True,
        private=table,
        schema=schema(3),
        unit=ROWS,
        bounding=us.Weights(1),
        budget=VAST,
        ledger=folder / "t.ledger",
    )


def test_what_was_chosen_is_run_and_told(tmp_path: Path) -> None:
    release = session(tmp_path).run(us.Auto())
    told = release.manifest["mechanism"]
    assert (told["name"], told["settings"]) == ("auto", {})
    assert told["chosen"]["name"] == "pairs"
    assert told["why"] == us.auto(schema(3), unit=ROWS).why
    assert len(told["pairs"]) >= 2
    assert sum(c["share"] for c in release.manifest["charges"]) == pytest.approx(1, abs=1e-6)
    assert "support" in told


def test_a_run_is_resumed_as_it_was_chosen(tmp_path: Path) -> None:
    held = session(tmp_path)
    first = held.run(us.Auto())
    again = held.resume(1)
    assert again.manifest["mechanism"] == first.manifest["mechanism"]
    assert all(again.columns[n].tolist() == first.columns[n].tolist() for n in first.columns)
    with closing(Ledger(tmp_path / "t.ledger")) as ledger:
        assert len(ledger.state().runs) == 1


def test_a_table_that_is_too_wide_is_refused_with_its_number_before_anything_is_spent(
    tmp_path: Path,
) -> None:
    wide = schema(201)
    session = us.open(
        private={f"c{i}": np.zeros(3, dtype=np.int64) for i in range(201)},
        schema=wide,
        unit=ROWS,
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=1.0, delta=1e-6),
        ledger=tmp_path / "t.ledger",
        screening=0.01,
    )
    with pytest.raises(QuestionError, match=r"got 201 columns with codes; allowed: at most 200"):
        session.run()
    with closing(Ledger(tmp_path / "t.ledger")) as ledger:
        state = ledger.state()
    assert state.left == state.total


# Where public people are like private ones


def trips(seed: int, *, late: float, people: int = 1000) -> dict[str, Any]:
    """Taxis of the early and of the late hours, of one firm each."""
    rng = np.random.default_rng(seed)
    night = np.repeat(rng.random(people) < late, 5)
    rows = len(night)
    return {
        "who": np.repeat(np.arange(people), 5),
        "c0": np.where(night, 15, 0) + rng.integers(15, size=rows),
        "c1": np.where(night, 0, 15) + rng.integers(15, size=rows),
        "c2": np.repeat(rng.integers(30, size=people), 5),
    }


def chosen(folder: Path, *, late: float, epsilon: float) -> dict[str, Any]:
    release = us.open(
        private=trips(1, late=late),
        public=trips(2, late=0.1),
        schema=Schema("t", (Id(name="who"), *schema(3, 30).columns)),
        unit=us.Unit("who"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=epsilon, delta=1e-6),
        ledger=folder / "t.ledger",
    ).run(us.Auto())
    told: dict[str, Any] = release.manifest
    return told


def test_public_people_stand_in_where_noise_would_cost_more_than_what_has_changed(
    tmp_path: Path,
) -> None:
    told = chosen(tmp_path, late=0.1, epsilon=1)
    assert told["mechanism"]["chosen"]["name"] == "archetypes"
    assert "public people stand in" in told["mechanism"]["why"]
    assert told["mechanism"]["chosen"]["settings"]["attribute"] == "c2"
    look, *others = told["charges"]
    assert look["share"] == pytest.approx(LOOK, rel=0.01)
    assert look["share"] + sum(c["share"] for c in others) == pytest.approx(1, abs=1e-3)


def test_they_do_not_where_much_has_changed(tmp_path: Path) -> None:
    told = chosen(tmp_path, late=1.0, epsilon=1)
    assert told["mechanism"]["chosen"]["name"] == "pairs"
    assert sum(c["share"] for c in told["charges"]) <= 1 + 1e-9


class ChosenError(Exception):
    """What stops a run whose mechanism was chosen."""


def stop(stage: str, done: float) -> None:
    if stage.startswith("chose "):
        raise ChosenError(stage.removeprefix("chose "))


def paid(folder: Path, *, cash: float, people: int = 1000, whole: bool = True) -> str:
    """What is chosen for taxis that are as before, but for what they are paid with."""

    def table(seed: int, share: float, count: int) -> dict[str, Any]:
        found = trips(seed, late=0.1, people=count)
        rng = np.random.default_rng(seed)
        other = rng.integers(30, size=5 * count)
        return found | {"c3": other, "c4": (rng.random(5 * count) < share).astype(np.int64)}

    session = us.open(
        private=table(1, cash, people),
        public=table(2, 0.1, 1000),
        schema=Schema("t", (Id(name="who"), *schema(5, 30).columns)),
        unit=us.Unit("who"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=1.0, delta=1e-6),
        ledger=folder / f"{cash}-{people}.ledger",
    )
    if not whole:
        with pytest.raises(ChosenError) as chosen:
            session.run(us.Auto(), progress=stop)
        return str(chosen.value)
    release = session.run(us.Auto())
    charges = [c["share"] for c in release.manifest["charges"]]
    assert sum(charges) <= 1 + 1e-9
    told: str = release.manifest["mechanism"]["chosen"]["name"]
    return told


def test_they_do_not_where_a_column_has_changed_that_says_nothing_of_kinds(tmp_path: Path) -> None:
    assert paid(tmp_path, cash=0.1, whole=THOROUGH) == "archetypes"
    assert paid(tmp_path, cash=0.9, whole=THOROUGH) == "pairs"


def test_they_do_not_where_private_people_are_many_more(tmp_path: Path) -> None:
    assert paid(tmp_path, cash=0.1, people=20_000, whole=THOROUGH) == "pairs"


def test_nothing_is_asked_where_there_is_little_noise(tmp_path: Path) -> None:
    told = chosen(tmp_path, late=0.1, epsilon=19)
    assert told["mechanism"]["chosen"]["name"] == "pairs"
    assert told["charges"][0]["share"] != pytest.approx(LOOK, rel=0.01)


@pytest.mark.parametrize("people", [1, 2, 6])
def test_a_public_table_of_few_people_will_do(tmp_path: Path, people: int) -> None:
    """An extract may be as small as a sample of rows in a manual."""
    who = np.arange(300) // 3
    table: dict[str, Any] = {f"c{i}": who * (i + 1) % 4 for i in range(3)} | {"who": who}
    release = us.open(
        private=table,
        public={name: column[: 3 * people] for name, column in table.items()},
        schema=Schema("t", (Id(name="who"), *schema(3).columns)),
        unit=us.Unit("who"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=2.0, delta=1e-6),
        ledger=tmp_path / "t.ledger",
    ).run(us.Auto())
    assert len(release) > 0
