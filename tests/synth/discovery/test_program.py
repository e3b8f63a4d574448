"""The program of discovery: what it declares, what it spends, and that only answers decide."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.audit.effort import effort, in_audit
from tests.vault.texts import KEY
from understudy.audit.entropy import FixedEntropy
from understudy.budget import Budget, Norm, ResolvedUnit, Unit
from understudy.engine import DuckDB
from understudy.errors import BudgetError
from understudy.ledger import Ledger
from understudy.noise import SYSTEM
from understudy.schema import Categorical, Id, Integer, Numeric, Schema, Text, Timestamp
from understudy.synth.discovery import Discovered, Discovery
from understudy.vault import PrivateDoor, PrivateTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.noise import Entropy

    Columns = dict[str, np.ndarray[Any, Any]]

BUDGET = Budget(epsilon=8.0, delta=2e-6, failure=1e-6)
PEOPLE, ROWS = 1500, 6000
NAMES = ("code", "lab", "day", "age", "flag", "note", "gone", "one")
SCHEMA = Schema("clinic", (Id(name="id"), *(Text(name=name) for name in NAMES)))


def clinic(seed: int = 0) -> Columns:
    """Simulate visits: codes with a long tail, numbers with outliers, days, free text, nothing."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, PEOPLE, ROWS)
    lab = np.round(rng.lognormal(1.5, 0.5, ROWS), 2).astype(object)
    lab[rng.random(ROWS) < 0.1] = None
    lab[:5] = 999_999
    day = np.datetime64("2019-03-05") + rng.integers(0, 300, ROWS).astype("timedelta64[D]")
    return {
        "id": np.array([f"p{i}" for i in person], dtype=object),
        "code": np.array([f"c{min(int(z), 400)}" for z in rng.zipf(1.5, ROWS)], dtype=object),
        "lab": lab,
        "day": day.astype(str).astype(object),
        "age": (person * 7919) % 90,
        "flag": np.where(person % 3 == 0, "true", "false").astype(object),
        "note": np.array([f"visit {i}: {'so it went ' * 5}" for i in range(ROWS)], dtype=object),
        "gone": np.full(ROWS, None),
        "one": np.full(ROWS, "only", dtype=object),
    }


@contextmanager
def door_onto(
    data: Columns,
    path: Path,
    budget: Budget = BUDGET,
    schema: Schema = SCHEMA,
    entropy: Entropy = SYSTEM,
) -> Iterator[PrivateDoor]:
    """Open a door on a new ledger, or on the last run of one that is there."""
    new, engine = not path.exists(), DuckDB()
    ledger = Ledger.create(path, budget=budget, key=KEY) if new else Ledger(path)
    try:
        if new:
            ledger.bind(name="clinic", unit=ResolvedUnit.of("id"))
        run = ledger.begin(budget, {}) if new else ledger.reopen()
        table = PrivateTable(engine, data, schema=schema, unit=Unit("id"), key=KEY)
        yield PrivateDoor(table, run=run, bounding=Norm(), entropy=entropy)
    finally:
        ledger.close()
        engine.close()


def found_in(data: Columns, path: Path, **settings: Any) -> Discovered:
    with door_onto(data, path) as door:
        return Discovery(**settings).run(door, progress=lambda *_: None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Discovered]:
    path = tmp_path_factory.mktemp("made") / "l.ledger"
    return path, found_in(clinic(), path)


def test_every_column_is_declared_by_its_kind(made: tuple[Path, Discovered]) -> None:
    schema = made[1].schema
    columns = {column.name: column for column in schema.columns}
    kinds = {name: type(columns[name]) for name in NAMES}
    assert kinds == {
        "code": Categorical, "lab": Numeric, "day": Timestamp, "age": Integer,
        "flag": Categorical, "note": Text, "gone": Text, "one": Categorical,
    }  # fmt: skip
    assert [c.name for c in schema.columns] == ["id", *NAMES]
    code, lab, day, age = (columns[n] for n in ("code", "lab", "day", "age"))
    assert isinstance(code, Categorical)
    assert {"c1", "c2", "c3"} <= set(code.values)
    assert set(code.values) <= {f"c{i}" for i in range(1, 401)}
    assert isinstance(lab, Numeric)
    assert lab.edges[-1] <= 64
    assert 5 <= lab.bins <= 20
    assert isinstance(day, Timestamp)
    assert "2019-03-01" <= day.min <= "2019-03-15"
    assert "2019-12-15" <= day.max <= "2019-12-31"
    assert day.resolution == "day"
    assert isinstance(age, Integer)
    assert (age.min, 85 <= age.max <= 127) == (0, True)
    assert columns["flag"] == Categorical(name="flag", values=(False, True), of="person")
    assert columns["one"] == Categorical(name="one", values=("only",))
    assert (age.of, code.of, lab.of, day.of) == ("person", "row", "row", "row")
    assert schema.order_by == ("day",)


def test_reasons_hold_noisy_numbers_and_costs_add_up(made: tuple[Path, Discovered]) -> None:
    path, found = made
    told = {finding.column.name: finding for finding in found.findings}
    assert "free text" in told["note"].reason
    assert "too few people" in told["gone"].reason
    assert "short texts" in told["code"].reason
    with closing(Ledger(path)) as ledger:
        run = ledger.reopen().state()
    assert run.spent <= run.cap
    assert run.failure <= BUDGET.failure_grains
    assert run.spent > 0.99 * run.cap
    assert run.failure > 0.9 * BUDGET.failure_grains
    shares = sum(finding.share for finding in found.findings)
    assert shares == pytest.approx(run.spent / run.cap, rel=1e-6)


def test_given_the_same_answers_a_neighbour_has_the_same_schema(
    made: tuple[Path, Discovered],
) -> None:
    """Record and replay: with one person less, or many, only stored answers decide."""
    path, found = made
    data = clinic()
    for keep in (data["id"] != "p7", np.arange(ROWS) < 5, data["age"] < 10):
        beside = {name: column[keep] for name, column in data.items()}
        assert found_in(beside, path) == found


@in_audit
def test_a_second_round_finds_no_fewer_values_in_all(tmp_path: Path) -> None:
    once = [found_in(clinic(i), tmp_path / f"once {i}", rounds=1) for i in range(3)]
    twice = [found_in(clinic(i), tmp_path / f"twice {i}", rounds=2) for i in range(3)]

    def values(found: Discovered) -> int:
        (code,) = (f.column for f in found.findings if f.column.name == "code")
        assert isinstance(code, Categorical)
        return len(code.values)

    assert sum(map(values, twice)) >= 0.8 * sum(map(values, once))


@pytest.mark.parametrize("budget", [Budget(epsilon=1.0, delta=0), Budget(epsilon=1.0, delta=1e-6)])
def test_without_a_share_for_failures_nothing_is_asked(tmp_path: Path, budget: Budget) -> None:
    with door_onto(clinic(), tmp_path / "l", budget) as door:
        with pytest.raises(BudgetError, match="share for failure probabilities"):
            Discovery().run(door, progress=lambda *_: None)
        assert door.grains == budget.grains


def test_columns_that_are_called_as_parts_of_a_date_are_kept_apart(tmp_path: Path) -> None:
    names = ("day", "day_Month", "day_hour")
    schema = Schema("clinic", (Id(name="id"), *(Text(name=name) for name in names)))
    data = clinic()
    given = {
        "id": data["id"],
        "day": np.array([f"{day} 1{i % 10}:0{i % 7}" for i, day in enumerate(data["day"])]),
        "day_Month": data["day"],
        "day_hour": data["age"],
    }
    with door_onto(given, tmp_path / "l", schema=schema) as door:
        found = Discovery().run(door, progress=lambda *_: None).schema
    assert [c.kind for c in found.columns] == ["id", "timestamp", "timestamp", "integer"]
    assert found.timestamps[0].part_names == ("day_month_", "day_weekday_", "day_hour_")
    assert found.timestamps[0].resolution == "minute"


def coded(rng: np.random.Generator) -> Columns:
    """Simulate codes of which some are common, some have a common beginning, and some neither."""
    person = rng.integers(0, PEOPLE, ROWS)
    rare = [f"E{i % 100:02d}.{i // 100}" for i in range(ROWS)]
    common = np.where(person % 2 == 0, "I10", "J45.0")
    middle = np.array([f"E11.{i:04d}" for i in range(ROWS)], dtype=object)
    which = rng.integers(0, 3, ROWS)
    code = np.where(which == 0, common, np.where(which == 1, middle, np.array(rare, dtype=object)))
    lone = np.where(np.arange(ROWS) == 7, "Z99.secret", code)
    numbers = np.array([f"25{i % 10}.{i:04d}" for i in range(ROWS)], dtype=object)
    return {"id": np.array([f"p{i}" for i in person], dtype=object), "code": lone, "old": numbers}


CODED = Schema(
    "clinic",
    (
        Id(name="id"),
        Text(name="icd", source="code", nulls=("?",), prefixes=(3, 1)),
        Text(name="old", prefixes=(3,)),
        Text(name="plain", source="old"),
    ),
)


def test_values_too_rare_to_be_told_are_told_by_their_prefixes(tmp_path: Path) -> None:
    data = coded(np.random.default_rng(0))
    with door_onto(data, tmp_path / "l", schema=CODED) as door:
        found = Discovery().run(door, progress=lambda *_: None)
    icd, old, plain = (finding.column for finding in found.findings)
    assert isinstance(icd, Categorical)
    assert (icd.source, icd.nulls, icd.prefixes) == ("code", ("?",), (3, 1))
    assert {"I10", "J45.0", "E11", "E"} <= set(icd.values)
    assert set(icd.values) <= {"I10", "J45.0", "E", *(f"E{i:02d}" for i in range(100))}
    # Codes that look like numbers are codes where prefixes are declared, and numbers elsewhere.
    assert old == Categorical(name="old", values=tuple(f"25{i}" for i in range(10)), prefixes=(3,))
    assert isinstance(plain, Numeric)
    rows = icd.decode(icd.encode(data["code"]), np.random.default_rng(0))
    assert set(rows) == {*icd.values, "(other)"}
    assert (rows == "(other)").sum() == 1
    told = {finding.column.name: finding for finding in found.findings}
    assert "prefixes of length 3 reach" in told["icd"].reason
    assert "prefixes of length 1 reach" in told["icd"].reason
    assert "no value reaches" in told["old"].reason
    assert not any("secret" in finding.reason for finding in found.findings)
    with closing(Ledger(tmp_path / "l")) as ledger:
        run = ledger.reopen().state()
    assert run.spent <= run.cap
    assert 0.9 * BUDGET.failure_grains < run.failure <= BUDGET.failure_grains
    shares = sum(finding.share for finding in found.findings)
    assert shares == pytest.approx(run.spent / run.cap, rel=1e-6)
    asked = [reservation.what for reservation in run.reservations if "values" in reservation.what]
    assert asked == [
        *["values of icd, old"] * 2,
        "values of icd (prefixes of length 3), old (prefixes of length 3)",
        "values of icd (prefixes of length 1)",
    ]
    # Record and replay: only stored answers decide.
    fewer = {name: column[:9] for name, column in data.items()}
    with door_onto(fewer, tmp_path / "l", schema=CODED) as door:
        assert Discovery().run(door, progress=lambda *_: None) == found


def test_a_column_of_which_nothing_was_told_keeps_its_prefixes(tmp_path: Path) -> None:
    data = {name: column[:200] for name, column in coded(np.random.default_rng(1)).items()}
    data["code"] = np.array([f"{i:03d}.0" for i in range(200)], dtype=object)
    schema = Schema("clinic", (Id(name="id"), Text(name="code", prefixes=(3,))))
    with door_onto(data, tmp_path / "l", schema=schema) as door:
        found = Discovery().run(door, progress=lambda *_: None)
    assert found.schema == schema
    assert "no prefix of length 3 reaches" in found.findings[0].reason


def firms(people: int = 800) -> Columns:
    """Simulate a small panel: a firm has a row a year."""
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(people), rng.integers(1, 12, people))
    count = len(person)
    return {
        "id": person,
        "sector": np.array(["mfg", "svc", "agri", "fin"], dtype=object)[person % 4],
        "country": np.array(["DE", "FR", "IT"], dtype=object)[person % 3],
        "staff": np.ceil(np.exp(rng.normal(4, 1.5, people)))[person].astype(np.int64),
        "revenue": np.round(np.exp(rng.normal(8, 1, count)), 1),
        "founded": np.array([f"{1850 + i % 40}-03-01" for i in person], dtype=object),
    }


def test_where_people_are_few_unclear_columns_are_asked_about_again(tmp_path: Path) -> None:
    """One question at 6 % of the budget leaves most columns of 800 people open, and loses them."""
    data = firms()
    names = ("sector", "country", "staff", "revenue")
    schema = Schema("clinic", (Id(name="id"), *(Text(name=name) for name in names)))
    budget = Budget(epsilon=0.5, delta=1e-6, failure=2e-7)
    kinds: dict[str, list[type]] = {name: [] for name in names}
    runs = effort(2, 4)
    for i in range(runs):
        with door_onto(data, tmp_path / f"{i}", budget, schema, FixedEntropy(i)) as door:
            found = Discovery().run(door, progress=lambda *_: None)
        for finding in found.findings:
            kinds[finding.column.name].append(type(finding.column))
    wanted = {"sector": Categorical, "country": Categorical, "revenue": Numeric}
    lost = [name for name, told in kinds.items() for kind in told if kind is Text]
    # Asked but once, 13 of 16 were lost.
    assert len(lost) <= 2, kinds
    for name, kind in wanted.items():
        assert kinds[name].count(kind) >= runs - 1, kinds


def test_years_of_few_people_are_years_and_no_bin_of_two_centuries(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    data = {"id": np.repeat(np.arange(800), 5), "year": rng.integers(2000, 2020, 4000)}
    schema = Schema("clinic", (Id(name="id"), Text(name="year")))
    budget = Budget(epsilon=0.2, delta=1e-6, failure=2e-7)
    with door_onto(data, tmp_path / "l", budget, schema, FixedEntropy(0)) as door:
        found = Discovery().run(door, progress=lambda *_: None)
    (year,) = (finding.column for finding in found.findings)
    assert isinstance(year, Integer)
    assert (1990 <= year.min <= 2005, 2014 <= year.max <= 2029) == (True, True)


def test_dates_of_another_century_are_a_range(tmp_path: Path) -> None:
    schema = Schema("clinic", (Id(name="id"), Text(name="founded")))
    with door_onto(firms(), tmp_path / "l", schema=schema, entropy=FixedEntropy(0)) as door:
        found = Discovery().run(door, progress=lambda *_: None)
    (column,) = (finding.column for finding in found.findings)
    assert isinstance(column, Timestamp)
    assert "1848" <= column.min <= "1850-03-01"
    assert "1889-03-01" <= column.max <= "1892"


def test_where_everything_is_noise_everything_is_left_out(tmp_path: Path) -> None:
    few = {name: column[:3] for name, column in clinic().items()}
    budget = Budget(epsilon=0.1, delta=2e-6, failure=1e-6)
    schema = replace(SCHEMA, columns=SCHEMA.columns[: effort(4, 9)])
    with door_onto(few, tmp_path / "l", budget, schema) as door:
        found = Discovery().run(door, progress=lambda *_: None)
    assert found.schema == schema
    assert {type(finding.column) for finding in found.findings} == {Text}


def test_days_of_birth_are_found_and_most_people_are_within_their_range(tmp_path: Path) -> None:
    """The range was asked for in thousands of days, more than the door allows."""
    people, rng = 5000, np.random.default_rng(0)
    born = np.datetime64("1930-01-01") + rng.integers(0, 31_000, people).astype("timedelta64[D]")
    data = {"id": np.arange(people), "birth": born.astype(str).astype(object)}
    schema = Schema("clinic", (Id(name="id"), Text(name="birth")))
    budget = Budget(epsilon=2.0, delta=1e-6, failure=5e-7)
    for i in range(effort(2, 5)):
        with door_onto(data, tmp_path / f"{i}", budget, schema, FixedEntropy(i)) as door:
            (found,) = Discovery().run(door, progress=lambda *_: None).findings
        assert isinstance(found.column, Timestamp)
        low, high = np.datetime64(found.column.min), np.datetime64(found.column.max)
        assert ((born >= low) & (born <= high)).mean() > 0.97
        assert "of people's dates lie from its first to its last day" in found.reason
        assert "give or take" not in found.reason
        assert "95 % interval" in found.reason
