"""Sessions: a private table in, a release out, and a ledger that says what it cost."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

import understudy as us
from tests.session.sameness import same
from understudy.budget import (
    Budget,
    Gaussian,
    ResolvedUnit,
    Sample,
    Unit,
    Weights,
    scale_upper,
    split,
)
from understudy.engine import DuckDB
from understudy.errors import (
    BudgetError,
    BudgetExhaustedError,
    LedgerMismatchError,
    MalformedFileError,
    MissingColumnError,
    MissingFileError,
    UnderstudyError,
    UsageError,
)
from understudy.ledger import Ledger, State
from understudy.noise import steps_per_unit
from understudy.public import Batches, Synthesis
from understudy.schema import Categorical, DateTime, Id, Integer, Schema
from understudy.session import Session, open_session, reopen_session
from understudy.synth import MECHANISMS
from understudy.synth.independent import Independent
from understudy.vault import PrivateTable

if TYPE_CHECKING:
    from pathlib import Path

    from understudy.door import Door
    from understudy.public import Progress

SCHEMA = Schema(
    "trips",
    (
        Id(name="taxi"),
        Categorical(name="colour", values=("red", "blue")),
        Integer(name="hour", min=0, max=3),
    ),
)
BUDGET = Budget(epsilon=2.0, delta=1e-6)
ENORMOUS = Budget(epsilon=1e8, delta=0)


def table() -> dict[str, Any]:
    """Ten taxis, taxi t with t + 1 rows."""
    taxi = np.repeat(np.arange(10), np.arange(1, 11))
    return {
        "taxi": taxi,
        "colour": np.array(["red", "blue", "green"], dtype=object)[taxi % 3],
        "hour": taxi % 4,
    }


def session(path: Path, **other: Any) -> Session:
    asked: dict[str, Any] = {
        "private": table(),
        "schema": SCHEMA,
        "unit": Unit("taxi"),
        "bounding": Weights(5),
        "budget": BUDGET,
        "ledger": path,
    }
    return open_session(**asked | other)


def read(path: Path) -> State:
    with closing(Ledger(path)) as ledger:
        return ledger.state()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "trips.ledger"


# Test mechanisms


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Gives the numbers of people and rows away, for ledgers with an enormous epsilon."""

    name: ClassVar[str] = "counting"
    cap: int = 1000

    def run(
        self, door: Door, *, public: Any, rng: np.random.Generator, progress: Progress
    ) -> Synthesis:
        del rng, progress
        people, rows = door.units(scale=0.01), door.total(cap=self.cap, scale=0.01)
        codes = {name: np.zeros(1, dtype=np.int32) for name in door.schema.domain}
        notes = (f"{people:.0f} people", f"{rows:.0f} rows")
        return Synthesis(batches=Batches.held(codes), measurements=(), notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """Asks so many of three questions that cost all there is, and fails unless mended."""

    name: ClassVar[str] = "failing"
    mended: ClassVar[bool] = False
    error: ClassVar[type[BaseException]] = BudgetError
    after: int

    def run(
        self, door: Door, *, public: Any, rng: np.random.Generator, progress: Progress
    ) -> Synthesis:
        del progress
        answers = []
        for i, price in enumerate(split(door.grains, door.currency, [1, 1, 1])):
            if i == self.after and not self.mended:
                raise self.error("no")
            scale = scale_upper(price, door.currency, bound=Fraction(1))
            answers.append(round(door.units(scale=scale)))
        codes = {
            n: rng.integers(0, size, 4, dtype=np.int32) for n, size in door.schema.domain.items()
        }
        notes = tuple(map(str, answers))
        return Synthesis(batches=Batches.held(codes), measurements=(), notes=notes)


@pytest.fixture(autouse=True)
def _mechanisms(monkeypatch: pytest.MonkeyPatch) -> None:
    for mechanism in (Counting, Failing):
        monkeypatch.setitem(MECHANISMS, mechanism.name, mechanism)


# A run


@pytest.mark.parametrize("budget", [BUDGET, Budget(epsilon=2.0, delta=0)])
@pytest.mark.parametrize("bounding", [Weights(5), Sample(5)])
def test_a_run_gives_rows_and_says_what_they_cost(
    path: Path, budget: Budget, bounding: Any
) -> None:
    told: list[tuple[str, float]] = []
    release = session(path, budget=budget, bounding=bounding).run(
        Independent(), progress=lambda stage, done: told.append((stage, done))
    )
    assert list(release.columns) == ["taxi", "colour", "hour"]
    assert {len(column) for column in release.columns.values()} == {len(release)}
    assert set(release.columns["colour"]) <= {"red", "blue", "(other)", None}
    assert set(release.columns["hour"]) <= {0, 1, 2, 3, None}
    assert told[0][0] == "reading the private table"
    manifest, state = release.manifest, read(path)
    assert json.loads(json.dumps(manifest)) == manifest
    assert (manifest["table"], manifest["rows"]) == ("trips", len(release))
    assert manifest["guarantee"]["epsilon"] == budget.epsilon
    assert manifest["guarantee"]["delta"] == budget.delta
    assert manifest["guarantee"]["unit"] == "taxi"
    assert manifest["guarantee"]["bounding"] == str(bounding)
    assert manifest["mechanism"]["name"] == "independent"
    total = state.budget.to_dict()
    assert manifest["ledger"] == {"run": 1, "total": total, "head": state.head}
    assert [c["asked"] for c in manifest["charges"]] == [
        "number of people",
        "number of rows",
        "2 marginals",
    ]
    assert sum(c["share"] for c in manifest["charges"]) == pytest.approx(1)
    assert [m.clique for m in release.measurements] == [("colour",), ("hour",)]
    run = state.runs[1]
    assert run.closed
    assert sorted(run.answers) == [0, 1, 2]
    assert [r.charge.to_dict() for r in run.reservations] == [
        c["events"] for c in manifest["charges"]
    ]
    assert budget.grains * (1 - 1e-12) < run.spent <= budget.grains


def test_the_private_table_is_not_taken_for_public(path: Path, tmp_path: Path) -> None:
    """By whatever name: a path, another path to the same file, or the table itself."""
    file, link, twin = (tmp_path / name for name in ("t.csv", "link.csv", "twin.csv"))
    file.write_text("taxi,colour,hour\n1,red,2\n")
    link.symlink_to(file)
    twin.hardlink_to(file)
    held = table()
    base = us.Database("sqlite:city.db", "trips")
    pairs: list[tuple[object, object]] = [
        (file, str(file)),
        (str(file), link),
        (file, twin),
        (held, held),
        ("sqlite:city.db#trips", base),
        (tmp_path / "none.csv", tmp_path / "none.csv"),
    ]
    for private, public in pairs:
        with pytest.raises(UsageError, match="the private table is named as the public one"):
            session(path, private=private, public=public)
    session(path, private=file, public=tmp_path / "other.csv")
    session(path, private=held, public=table())


@pytest.mark.parametrize("name", ["unit", "bounding", "budget"])
def test_what_carries_privacy_is_of_its_own_kind(path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"invalid {name} \\(got str; allowed: such as us"):
        session(path, **{name: "norm"})


def test_a_check_looks_at_columns_only_and_makes_no_ledger(path: Path, tmp_path: Path) -> None:
    """A row that is too short, far down, is not seen; a column that is missing is."""
    torn = tmp_path / "torn.csv"
    torn.write_text("taxi,colour,hour\n" + "1,red,2\n" * 100_000 + "1,red\n")
    for private in (table(), torn):
        session(path, private=private).check_columns()
    with pytest.raises(MissingColumnError, match="the table lacks columns that the schema") as told:
        session(path, private={n: c for n, c in table().items() if n != "hour"}).check_columns()
    assert told.value.got == "no 'hour'"
    assert not path.parent.exists()


def test_a_release_has_ids_of_its_own(path: Path) -> None:
    """Ids count from 1 up, whatever they were; there are rows, since noise is next to nothing."""
    private = table()
    private["taxi"] = private["taxi"] + 700_000
    release = session(path, private=private, budget=Budget(epsilon=1e4, delta=0)).run(Independent())
    assert set(release.columns["taxi"])
    assert set(release.columns["taxi"]) <= set(range(1, 700_000))


def test_a_release_has_the_noisy_number_of_rows(path: Path) -> None:
    release = session(path).run(Independent())
    run = read(path).runs[1]
    (event,) = run.reservations[1].charge.events
    assert isinstance(event, Gaussian)
    steps = steps_per_unit(event.sigma, at_least=1)
    rows = np.frombuffer(run.answers[1][1], dtype="<i8")[0] / steps
    assert len(release) == max(0, round(rows))


def test_a_new_ledger_gets_the_runs_budget_as_its_total(path: Path) -> None:
    session(path).run(Independent())
    state = read(path)
    assert (state.budget, state.name, state.unit) == (BUDGET, "trips", ResolvedUnit.of("taxi"))
    with pytest.raises(BudgetExhaustedError, match="allowed: nothing"):
        session(path).run(Independent())
    with pytest.raises(BudgetExhaustedError, match="allowed: nothing"):
        session(path, budget=Budget(epsilon=0.1, delta=1e-6)).run(Independent())
    assert read(path) == state


def test_runs_share_a_ledger_and_its_key(path: Path) -> None:
    Ledger.create(path_of(path), budget=BUDGET, key="of old").close()
    for number in (1, 2):
        session(path, budget=Budget(epsilon=0.5, delta=1e-6)).run(Independent())
        state = read(path)
        assert (state.key, len(state.runs)) == ("of old", number)
        assert state.left == BUDGET.grains - sum(r.spent for r in state.runs.values())


def path_of(path: Path) -> Path:
    path.parent.mkdir()
    return path


@pytest.mark.parametrize(
    "other",
    [
        {"unit": Unit("taxi", nulls="one")},
        {"unit": Unit.each_row()},
        {"schema": replace(SCHEMA, name="flights")},
        {"budget": Budget(epsilon=0.1, delta=0)},
    ],
)
def test_a_ledger_of_another_table_unit_or_currency_is_left_alone(
    path: Path, other: dict[str, Any]
) -> None:
    session(path).run(Independent())
    before = read(path)
    with pytest.raises(LedgerMismatchError):
        session(path, **other).run(Independent())
    assert read(path) == before


def test_the_public_names_open_a_session(path: Path, tmp_path: Path) -> None:
    (tmp_path / "trips.toml").write_text(SCHEMA.to_toml(), encoding="utf-8")
    opened = us.open(
        i_know=True,
        private=table(),
        schema=tmp_path / "trips.toml",
        unit=us.Unit("taxi"),
        bounding=us.Weights(5),
        budget=us.Budget(epsilon=2.0, delta=1e-6),
        ledger=str(path),
    )
    assert opened.schema == SCHEMA
    assert not path.parent.exists()
    assert len(opened.run(us.Independent()).columns) == 3


# Tables that are refused


def _malformed(tmp_path: Path) -> dict[str, tuple[object, type[Exception]]]:
    short = tmp_path / "short.csv"
    short.write_text("taxi,colour,hour\n1,red,2\n1,red\n")
    quoted = tmp_path / "quoted.csv"
    quoted.write_text('taxi,colour,hour\n1,"red,2\n')
    torn = tmp_path / "torn.parquet"
    torn.write_bytes(b"PAR1 and no more")
    whole = table()
    return {
        "short row": (short, MalformedFileError),
        "open quote": (quoted, MalformedFileError),
        "torn parquet": (torn, MalformedFileError),
        "uneven arrays": (whole | {"hour": np.arange(3)}, MalformedFileError),
        "no id": ({n: c for n, c in whole.items() if n != "taxi"}, MissingColumnError),
        "no column": ({n: c for n, c in whole.items() if n != "hour"}, MissingColumnError),
        "no file": (tmp_path / "none.csv", MissingFileError),
        "no table": (None, UnderstudyError),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "short row",
        "open quote",
        "torn parquet",
        "uneven arrays",
        "no id",
        "no column",
        "no file",
        "no table",
    ],
)
def test_a_refused_table_leaves_no_ledger_and_spends_nothing(
    path: Path, tmp_path: Path, kind: str
) -> None:
    private, error = _malformed(tmp_path)[kind]
    with pytest.raises(error):
        session(path, private=private).run(Independent())
    assert not path.parent.exists()
    Ledger.create(path_of(path), budget=BUDGET).close()
    before = read(path)
    with pytest.raises(error):
        session(path, private=private).run(Independent())
    assert read(path) == before


# Mechanisms that fail


@pytest.mark.parametrize("error", [BudgetError, ValueError])
def test_a_failure_before_the_first_question_holds_nothing_back(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    monkeypatch.setattr(Failing, "error", error)
    for number in (1, 2):
        with pytest.raises(error):
            session(path).run(Failing(after=0))
        state = read(path)
        assert (state.left, len(state.runs)) == (BUDGET.grains, number)
        assert state.runs[number].closed
    session(path).run(Independent())
    monkeypatch.setattr(Failing, "mended", True)
    with pytest.raises(LedgerMismatchError, match="run 1 is closed"):
        session(path).resume(1)


def test_a_run_stopped_by_hand_before_its_first_question_can_be_resumed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Failing, "error", KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        session(path).run(Failing(after=0))
    assert not read(path).runs[1].closed
    monkeypatch.setattr(Failing, "mended", True)
    session(path).resume()
    assert read(path).runs[1].closed


@pytest.mark.parametrize("error", [BudgetError, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("after", [1, 2])
def test_a_failure_after_the_first_question_can_be_resumed_on_a_full_budget(
    path: Path, monkeypatch: pytest.MonkeyPatch, after: int, error: type[BaseException]
) -> None:
    monkeypatch.setattr(Failing, "error", error)
    with pytest.raises(error):
        session(path).run(Failing(after=after))
    with pytest.raises(error):
        session(path).resume()
    state = read(path)
    assert not state.runs[1].closed
    assert (state.left, len(state.runs[1].answers)) == (0, after)
    with pytest.raises(
        BudgetExhaustedError, match=r"run 1 is unfinished: 'understudy resume .* --run 1'"
    ):
        session(path).run(Independent())
    monkeypatch.setattr(Failing, "mended", True)
    release = session(path).resume()
    after_all = read(path).runs[1]
    assert after_all.closed
    assert len(after_all.reservations) == len(after_all.answers) == 3
    assert BUDGET.grains * (1 - 1e-12) < after_all.spent <= BUDGET.grains
    for ordinal, stored in state.runs[1].answers.items():
        assert after_all.answers[ordinal] == stored
    assert same(release, session(path).resume(1))


def test_a_traceback_that_holds_the_table_holds_no_counts(path: Path) -> None:
    """A run that fails after a choice: what was kept of the candidates has been let go."""

    def fail(stage: str, done: float) -> None:
        del done
        if stage.startswith("round 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        session(path).run(us.MST(), progress=fail)
    held = [
        value
        for frame in stopped.traceback
        for value in frame.frame.raw.f_locals.values()
        if isinstance(value, PrivateTable)
    ]
    assert held, "else this would see nothing"
    assert not any(table._kept for table in held)


def test_a_mechanism_may_not_spend_more_than_its_run(path: Path) -> None:
    with pytest.raises(
        BudgetExhaustedError, match="run 1 has less budget left than question 0 costs"
    ):
        session(path).run(Counting())
    assert read(path).left == BUDGET.grains


# Resuming


def test_a_finished_run_gives_its_release_again_and_books_nothing(path: Path) -> None:
    Ledger.create(path_of(path), budget=BUDGET).close()
    small = session(path, budget=Budget(epsilon=0.5, delta=1e-6))
    first = small.run(Independent())
    before = read(path)
    assert same(first, small.resume())
    assert read(path) == before
    second = small.run(Independent())
    assert not same(first, second)
    before = read(path)
    # Other runs in between change nothing, and the run's own budget counts.
    assert same(first, session(path).resume(1))
    assert same(second, session(path).resume(2))
    assert same(second, small.resume())
    assert read(path) == before


def test_a_session_is_reopened_from_its_ledger_alone(path: Path) -> None:
    release = session(path, bounding=Sample(3)).run(
        Independent(people_share=0.1), note={"private": "trips.csv", "out": "there"}
    )
    opened, note = reopen_session(path, private=table())
    assert note == {"private": "trips.csv", "out": "there"}
    assert opened == replace(session(path, bounding=Sample(3)), private=opened.private)
    assert same(release, opened.resume())
    assert reopen_session(str(path), number=1)[0].private == "trips.csv"


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"schema": SCHEMA.with_columns(Integer(name="hour", min=0, max=4))}, "another schema"),
        ({"schema": replace(SCHEMA, delimiter=";")}, "another schema"),
        ({"schema": replace(SCHEMA, columns=SCHEMA.columns[::-1])}, "another schema"),
        ({"bounding": Weights(6)}, "another bounding"),
        ({"bounding": Sample(5)}, "another bounding"),
        ({"unit": Unit.each_row()}, "another unit"),
        ({"schema": replace(SCHEMA, name="flights")}, "another table"),
    ],
)
def test_a_run_is_resumed_with_what_it_was_begun_with(
    path: Path, other: dict[str, Any], told: str
) -> None:
    session(path).run(Independent())
    before = read(path)
    with pytest.raises(LedgerMismatchError, match=told):
        session(path, **other).resume()
    assert read(path) == before


def test_there_must_be_a_run_to_resume(path: Path) -> None:
    with pytest.raises(MissingFileError, match="no ledger"):
        session(path).resume()
    with pytest.raises(MissingFileError, match="no ledger"):
        reopen_session(path)
    assert not path.parent.exists()
    Ledger.create(path_of(path), budget=BUDGET).close()
    before = read(path)
    for resume in (session(path).resume, lambda: reopen_session(path)):
        with pytest.raises(LedgerMismatchError, match="no run yet"):
            resume()
    assert read(path) == before


def test_a_run_of_nobodys_table_is_not_reopened(path: Path) -> None:
    with closing(Ledger.create(path_of(path), budget=BUDGET)) as ledger:
        ledger.begin(BUDGET, {"note": {}})
    with pytest.raises(LedgerMismatchError, match="not been assigned to a table and unit"):
        reopen_session(path)


def test_an_unknown_mechanism_is_not_resumed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BudgetError):
        session(path).run(Failing(after=1))
    before = read(path)
    monkeypatch.delitem(MECHANISMS, "failing")
    with pytest.raises(UsageError, match="unknown mechanism"):
        session(path).resume()
    assert read(path) == before


# Whose rows they are


DATED = Schema(
    "trips",
    (
        Id(name="taxi"),
        Integer(name="hour", min=0, max=3),
        DateTime(name="week", source="when", part="week", min=2600, max=2700),
        DateTime(name="weekday", source="when", part="weekday"),
    ),
)


def dated() -> dict[str, Any]:
    """Give eight rows of three taxis and of none, over three days of two weeks."""
    return {
        "taxi": np.array(["a", "a", "a", "b", "b", "c", None, ""], dtype=object),
        "driver": np.array(["x", "y", "y", "x", None, "y", "x", "y"], dtype=object),
        "hour": np.arange(8) % 4,
        "when": np.array(
            [
                "2020-03-06 10:00:00",  # a Friday
                "2020-03-08 23:59:59",  # Sunday of the same week
                "2020-03-09 00:00:00",  # Monday of the next
                "2020-03-06 11:00:00",
                "2020-03-06 12:00:00",
                "NaT",
                "2020-03-09 01:00:00",
                "2020-03-09 02:00:00",
            ],
            dtype="datetime64[s]",
        ),
    }


@pytest.mark.parametrize(
    ("unit", "people", "rows"),
    [
        (Unit.each_row(), 8, 8),
        (Unit("taxi"), 3, 6),
        (Unit("taxi", nulls="one"), 4, 8),
        (Unit("driver"), 2, 7),
        # ax, ay, ay, bx, b-, cy, -x, -y
        (Unit("taxi", "driver"), 4, 5),
        (Unit("taxi", "driver", nulls="one"), 5, 8),
        (Unit("driver", "taxi"), 4, 5),
        # Without a date, a row has no person.
        (Unit("when:date"), 3, 7),
        (Unit("taxi", "when:date"), 4, 5),
        (Unit("taxi", "when:week"), 3, 5),
        (Unit("taxi", "when:week", nulls="one"), 4, 8),
        # The schema's own date-time columns mean the same.
        (Unit("taxi", "week"), 3, 5),
        (Unit("week"), 2, 7),
        (Unit("weekday"), 3, 7),
        (Unit("when:hour"), 7, 7),
        # A modelled column counts as the table has it.
        (Unit("hour"), 4, 8),
    ],
)
def test_people_are_counted_by_the_unit(path: Path, unit: Unit, people: int, rows: int) -> None:
    release = session(
        path, private=dated(), schema=DATED, unit=unit, bounding=Weights(9), budget=ENORMOUS
    ).run(Counting())
    assert release.manifest["notes"][:2] == [f"{people} people", f"{rows} rows"]


def test_a_text_that_is_no_date_names_nobody(path: Path) -> None:
    private = dated()
    texts = private["when"].astype(str).astype(object)
    private["when"] = np.where(texts == "NaT", "has no full date", texts)
    release = session(
        path, private=private, schema=DATED, unit=Unit("taxi", "when:week"), budget=ENORMOUS
    ).run(Counting())
    assert release.manifest["notes"][:2] == ["3 people", "5 rows"]


@pytest.mark.parametrize(("cap", "rows"), [(1, 4), (2, 7), (3, 8), (1000, 8)])
def test_a_persons_rows_count_up_to_a_cap(path: Path, cap: int, rows: int) -> None:
    release = session(
        path, private=dated(), schema=DATED, unit=Unit("taxi", nulls="one"), budget=ENORMOUS
    ).run(Counting(cap=cap))
    assert release.manifest["notes"][:2] == ["4 people", f"{rows} rows"]


def test_parts_of_an_id_are_kept_apart(path: Path) -> None:
    private = {"one": np.array(["1", "12"]), "two": np.array(["23", "3"]), "hour": np.arange(2)}
    schema = Schema("trips", (Integer(name="hour", min=0, max=3),))
    release = session(
        path, private=private, schema=schema, unit=Unit("one", "two"), budget=ENORMOUS
    ).run(Counting())
    assert release.manifest["notes"][0] == "2 people"


def test_a_session_never_shows_its_rows() -> None:
    secret = np.array(["canary-7f3a"], dtype=object)
    session = us.open(
        i_know=True,
        private={"id": secret},
        schema=Schema("t", (Integer(name="a", min=0, max=1),)),
        unit=us.Unit("id"),
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=1, delta=1e-6),
        ledger="nowhere",
    )
    assert "canary" not in repr(session)


def test_a_date_time_column_in_a_unit_is_its_part_and_not_its_moment() -> None:
    """Six flights of one plane in one week are one person, by whatever name the week goes."""
    when = np.datetime64("2020-01-06T00:00:00") + np.arange(6) * np.timedelta64(3600, "s")
    table = {"plane": np.array(["a"] * 6, dtype=object), "when": when}
    schema = Schema("t", (DateTime(name="when", part="week", min=0, max=9999),))
    engine = DuckDB()
    held = PrivateTable(engine, table, schema=schema, unit=us.Unit("plane", "when"), key="k")
    assert str(held.unit) == "plane × when:week"
    assert engine.fetch("SELECT count(*) AS n FROM people")["n"].tolist() == [1]
    engine.close()


def test_different_binary_ids_are_different_people() -> None:
    ids = np.empty(2, dtype=object)
    ids[:] = [b"\x80", b"\x81"]
    engine = DuckDB()
    schema = Schema("t", (Integer(name="a", min=0, max=1),))
    table = {"id": ids, "a": np.array([0, 1])}
    PrivateTable(engine, table, schema=schema, unit=us.Unit("id"), key="k")
    assert engine.fetch("SELECT count(*) AS n FROM people")["n"].tolist() == [2]
    engine.close()
