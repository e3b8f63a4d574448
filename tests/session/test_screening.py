"""Screening: a run that cannot read its table stops at its first question, and says so."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from tests.audit.effort import few, one_in
from understudy.audit.entropy import FixedEntropy
from understudy.door import Measure, Query
from understudy.engine import engine_for
from understudy.errors import BudgetError, QuestionError, UnreadableError
from understudy.ledger import Ledger, State
from understudy.schema import Categorical, Id, Integer, Schema, Timestamp
from understudy.schema.columns import Released
from understudy.synth import MECHANISMS
from understudy.synth.screening import AGAIN, SHARE
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault.counts import exact

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = 400
SCHEMA = Schema(
    "visits",
    (
        Id(name="id"),
        Timestamp(name="day", min="2024-01-01", max="2024-12-31", resolution="day"),
        Integer(name="age", min=0, max=9, missing=False),
        Categorical(name="sex", values=("m", "f")),
        Integer(name="lab", min=0, max=3),
    ),
)
GERMAN = [f"{i % 28 + 1:02}.12.2024" for i in range(2 * PEOPLE)]
GDP, PURE = us.Budget(epsilon=8.0, delta=1e-6), us.Budget(epsilon=16.0, delta=0)


def table(**changes: Any) -> dict[str, Any]:
    """Two rows a person; nobody has a lab."""
    count = 2 * PEOPLE
    return {
        "id": [str(i // 2) for i in range(count)],
        "day": [f"2024-{i % 12 + 1:02}-11" for i in range(count)],
        "age": [i % 10 for i in range(count)],
        "sex": ["m" if i % 3 else "f" for i in range(count)],
        "lab": [None] * count,
    } | changes


@pytest.fixture(autouse=True)
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the same noise each time: of real noise one run in a thousand is told otherwise."""
    door = partial(PrivateDoor, entropy=FixedEntropy(27))
    monkeypatch.setattr("understudy.session.session.PrivateDoor", door)


def opened(folder: Path, **other: Any) -> us.Session:
    asked: dict[str, Any] = {
        "private": table(),
        "schema": SCHEMA,
        "unit": "id",
        "bounding": us.Weights(2),
        "budget": GDP,
        "ledger": folder / "visits.ledger",
        "screening": SHARE,
    }
    return us.open(**asked | other)


def read(folder: Path) -> State:
    with closing(Ledger(folder / "visits.ledger")) as ledger:
        return ledger.state()


UNREADABLE: dict[str, dict[str, Any]] = {
    "another format": {"day": GERMAN},
    "no numbers": {"age": ["x"] * 2 * PEOPLE},
    "out of range": {"age": [70] * 2 * PEOPLE},
    "another list": {"sex": ["1", "2"] * PEOPLE},
}


@pytest.mark.parametrize(
    ("case", "budget"),
    few([*product(UNREADABLE, [GDP]), *product(UNREADABLE, [PURE])], usual=len(UNREADABLE) + 1),
    ids=str,
)
def test_a_table_that_cannot_be_read_stops_the_run_and_keeps_the_rest(
    tmp_path: Path, case: str, budget: us.Budget
) -> None:
    changes = UNREADABLE[case]
    (column,) = changes
    session = opened(tmp_path, private=table(**changes), budget=budget)
    with pytest.raises(UnreadableError) as stopped:
        session.run(us.Independent())
    assert f"got {column} (about " in str(stopped.value)
    assert "% of the run's budget, epsilon " in str(stopped.value)
    assert "lab" not in str(stopped.value)
    state = read(tmp_path)
    run = state.runs[1]
    assert run.closed
    assert 0 < run.spent <= (1 + AGAIN) * SHARE * run.cap
    assert state.left == state.total - run.spent
    with pytest.raises(UnreadableError) as again:
        session.resume()
    assert str(again.value) == str(stopped.value)
    assert read(tmp_path).left == state.left


@pytest.mark.parametrize("budget", [GDP, PURE], ids=["gdp", "pure"])
def test_people_who_cannot_be_told_from_none_are_a_note_and_not_asked_for_again(
    tmp_path: Path, budget: us.Budget
) -> None:
    changes: dict[str, Any] = {"id": [None] * 2 * PEOPLE, "day": GERMAN}
    session = opened(tmp_path, private=table(**changes), budget=budget)
    release = session.run(us.Independent())
    *_, note = release.manifest["notes"]
    assert re.fullmatch(
        r"The number of people could not be told from none \(noise \d+\): if there should be more, "
        r"check that the unit \(id\) names the id's column and that its cells are not null\.",
        note,
    )
    first, *others = release.manifest["charges"]
    assert first["share"] == pytest.approx(SHARE)
    assert [c["asked"] for c in others] == ["number of people", "number of rows", "5 marginals"]
    assert session.resume().manifest["notes"] == release.manifest["notes"]


def test_so_are_rows_and_a_large_table_has_no_such_note(tmp_path: Path) -> None:
    few = {name: column[:10] for name, column in table().items()}
    told = "The number of rows could not be told from none"
    for private, unit, noted in ((few, "each-row", True), (table(), "id", False)):
        folder = tmp_path / unit
        folder.mkdir()
        release = opened(folder, private=private, unit=unit).run(us.Independent())
        assert any(note.startswith(told) for note in release.manifest["notes"]) == noted
        assert noted or not any("told from none" in note for note in release.manifest["notes"])


@pytest.mark.parametrize("budget", [GDP, PURE], ids=["gdp", "pure"])
def test_a_column_of_nulls_is_as_declared_and_one_percent_is_spent(
    tmp_path: Path, budget: us.Budget
) -> None:
    release = opened(tmp_path, budget=budget).run(us.Independent())
    charges = release.manifest["charges"]
    assert charges[0]["asked"] == "4 marginals"
    assert charges[0]["share"] == pytest.approx(SHARE)
    assert sum(c["share"] for c in charges) <= 1
    assert release.manifest["guarantee"]["epsilon"] == budget.epsilon


@pytest.mark.parametrize("name", one_in(12, sorted(set(MECHANISMS) - {"usercounts"})))
def test_every_mechanism_spends_what_screening_left(tmp_path: Path, name: str) -> None:
    release = opened(tmp_path, public=table()).run(name)
    charges = release.manifest["charges"]
    assert charges[0]["asked"] == "4 marginals"
    run = read(tmp_path).runs[1]
    assert 0.9 * run.cap < run.spent <= run.cap


def test_a_run_that_is_killed_after_screening_goes_on_and_asks_it_no_more(tmp_path: Path) -> None:
    def killed(stage: str, done: float) -> None:
        if stage == "measuring marginals":
            raise KeyboardInterrupt

    session = opened(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        session.run(us.Independent(), progress=killed)
    (first, *_) = before = read(tmp_path).runs[1].reservations
    release = us.open(
        private=table(), schema=SCHEMA, unit="id", bounding=us.Weights(2), budget=GDP,
        ledger=tmp_path / "visits.ledger", screening=0,
    ).resume()  # fmt: skip
    after = read(tmp_path).runs[1].reservations
    assert after[: len(before)] == before
    assert [r.plan for r in after].count(first.plan) == 1
    assert len(after) == len(release.manifest["charges"]) == len(before) + 1


def test_what_a_mechanism_refuses_by_itself_still_costs_nothing(tmp_path: Path) -> None:
    session = opened(tmp_path, private=table(day=GERMAN))
    with pytest.raises(QuestionError, match="got nobody"):
        session.run(us.MST(weights=((("nobody",), 2.0),)))
    assert read(tmp_path).left == read(tmp_path).total


def test_a_mechanism_that_goes_on_after_it_was_stopped_is_stopped_again(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Stubborn:
        name: ClassVar[str] = "stubborn"

        def run(self, door: Any, **_given: object) -> Any:
            for _ in range(2):
                with pytest.raises(UnreadableError):
                    door.units(scale=1.0)
            door.close()
            with pytest.raises(QuestionError, match="the door is closed"):
                door.units(scale=1.0)
            raise KeyboardInterrupt

    session = opened(tmp_path, private=table(day=GERMAN))
    with pytest.raises(KeyboardInterrupt):
        session.run(Stubborn())
    (asked,) = read(tmp_path).runs[1].reservations
    assert asked.what == "4 marginals"


def test_without_a_share_as_published_and_of_a_stream_nothing_is_asked(tmp_path: Path) -> None:
    unset = us.open(
        private=table(day=GERMAN), schema=SCHEMA, unit="id", bounding=us.Weights(2), budget=GDP,
        ledger=tmp_path / "visits.ledger",
    )  # fmt: skip
    assert len(unset.run(us.Independent()).manifest["charges"]) == 3
    stream = pa.table(table()).to_reader()
    asked: list[tuple[dict[str, Any], Any]] = [
        ({}, us.TwoRound(published=True)),
        ({"private": stream}, us.Independent()),
    ]
    for number, (given, mechanism) in enumerate(asked):
        folder = tmp_path / str(number)
        folder.mkdir()
        release = opened(folder, **given).run(mechanism)
        assert "screening" not in read(folder).runs[1].request
        assert release.manifest["charges"][0]["asked"] != "4 marginals"


@pytest.mark.parametrize("share", [-0.01, 0.2, float("nan"), "1", None.__class__])
def test_a_share_that_is_none_is_refused(tmp_path: Path, share: object) -> None:
    with pytest.raises(BudgetError, match="screening must be a share of the budget"):
        opened(tmp_path, screening=share)


def counted(data: Any, schema: Schema) -> dict[str, list[int]]:
    """Count as screening does, in whole steps."""
    queries = tuple(Query(clique=(name,), scale=1.0) for name in schema.screened.domain)
    with closing(engine_for(data)) as engine:
        seen = PrivateTable(engine, data, schema=schema.screened, unit=us.Unit("id"), key="k")
        asked = Measure(queries=queries, bounding=us.Weights(1), price=100.0)
        found = exact(asked, seen).reshape(len(queries), 3)
    return dict(zip(schema.screened.domain, found.tolist(), strict=True))


ROWS: dict[str, list[str | None]] = {
    "id": ["a", "a", "b", "b", "b", None, "c", "c"],
    "day": ["2024-01-01", "31.12.2024", "", None, "2023-01-01", "2024-01-01", "NA", "x"],
    "age": ["0", "-1", "x", "", "9.0", "3", "10", "5"],
    "sex": ["m", "M", "f", "d", "m", "m", None, "nan"],
    "lab": ["3", "4", None, "NULL", "0", "1", "2", "?"],
}
OBVIOUS = {
    "a": {"day": [1, 0, 1], "age": [1, 0, 1], "sex": [1, 0, 1], "lab": [1, 0, 1]},
    "b": {"day": [0, 2, 1], "age": [1, 1, 1], "sex": [2, 0, 1], "lab": [1, 2, 0]},
    "c": {"day": [0, 1, 1], "age": [1, 0, 1], "sex": [0, 2, 0], "lab": [1, 0, 1]},
}


@pytest.mark.parametrize(
    ("engine", "leavers"), [("duckdb", (None, *OBVIOUS)), ("spark", few(("b", None), usual=1))]
)
def test_each_person_weighs_one_and_moves_nobody_else(
    engine: str, leavers: tuple[str | None, ...], request: pytest.FixtureRequest
) -> None:
    for leaver in leavers:
        kept = [i for i, who in enumerate(ROWS["id"]) if who is None or who != leaver]
        cells = {name: [column[i] for i in kept] for name, column in ROWS.items()}
        data: Any = pa.table({n: pa.array(column, pa.string()) for n, column in cells.items()})
        slow = {
            name: np.sum(
                [
                    np.array(found[name]) * (2**16 // sum(found[name]))
                    for who, found in OBVIOUS.items()
                    if who != leaver
                ],
                axis=0,
            ).tolist()
            for name in SCHEMA.screened.domain
        }
        if engine == "spark":
            data = request.getfixturevalue("spark").createDataFrame(data)
        assert counted(data, SCHEMA) == slow


def test_rows_that_would_be_dropped_are_screened_too() -> None:
    columns = [
        replace(c, outside="drop", missing=False) if isinstance(c, Released) else c
        for c in SCHEMA.columns
    ]
    data = pa.table({n: pa.array(column, pa.string()) for n, column in ROWS.items()})
    assert counted(data, replace(SCHEMA, columns=tuple(columns))) == counted(data, SCHEMA)


def test_a_table_of_spark_is_screened(spark: Any, tmp_path: Path) -> None:
    short = replace(SCHEMA, columns=SCHEMA.columns[:2])
    frame = spark.createDataFrame(pa.table(table(day=GERMAN)).select(["id", "day"]))
    with pytest.raises(UnreadableError, match=r"got day \(about "):
        opened(tmp_path, private=frame, schema=short).run(us.Independent())
