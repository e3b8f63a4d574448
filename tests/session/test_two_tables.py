"""Two private tables, from the session to two files whose ids fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import understudy as us
from tests.audit.effort import THOROUGH, effort, few
from tests.session.sameness import same
from understudy.errors import (
    LedgerMismatchError,
    MalformedFileError,
    MissingColumnError,
    SchemaError,
    UsageError,
)
from understudy.evaluate import read_private, read_synthetic, read_values
from understudy.public import PublicTable
from understudy.release import Release
from understudy.schema import Categorical, Id, Integer, Numeric, Schema, Text, Timestamp

SCHEMA = Schema(
    "clinic",
    (
        Id(name="patient", min=1000),
        Categorical(name="sex", values=("F", "M"), missing=False, of="person"),
        Timestamp(
            name="birth",
            min="1950-01-01",
            max="1999-12-31",
            resolution="day",
            missing=False,
            of="person",
        ),
        Numeric(name="height", edges=(100.0, 150.0, 200.0), missing=False, of="person"),
        Integer(name="month", min=1, max=12, missing=False),
        Categorical(name="ward", values=("heart", "teeth", "eyes"), missing=False),
    ),
    order_by=("month",),
)
UNIT = us.Unit("patient")
BUDGET = us.Budget(epsilon=20.0, delta=1e-6)
PEOPLE = effort(150, 300)
OWN = ["patient", "sex", "birth", "height"]
EVENTS = ["patient", "month", "ward"]


def clinic(people: int = 300) -> dict[str, dict[str, Any]]:
    """Every fourth patient has no visit; one stands twice, and one visitor is no patient."""
    rng = np.random.default_rng(1)
    who = [f"p{i}" for i in range(people)]
    sizes = np.where(np.arange(people) % 4, rng.integers(1, 6, people), 0)
    whose = np.repeat(np.arange(people), sizes)
    return {
        "people": {
            "patient": np.array([*who, "p1"], dtype=object),
            "sex": np.array(["FM"[i % 2] for i in range(people)] + ["F"], dtype=object),
            "birth": np.array([f"{1950 + i % 50}-03-0{1 + i % 9}" for i in range(people + 1)]),
            "height": rng.uniform(140, 190, people + 1),
        },
        "rows": {
            "patient": np.array([*(f"p{i}" for i in whose), "nobody"], dtype=object),
            "month": rng.integers(1, 13, len(whose) + 1),
            "ward": rng.choice(["heart", "teeth", "eyes"], len(whose) + 1),
        },
    }


def opened(folder: Path, **other: Any) -> us.Session:
    given = {
        "private": clinic(),
        "schema": SCHEMA,
        "unit": UNIT,
        "bounding": us.Norm(),
        "budget": BUDGET,
        "ledger": folder / "clinic.ledger",
    }
    return us.open(i_know=True, **{**given, **other})


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> tuple[us.Session, Release]:
    """A session and its release, which many tests look at."""
    session = opened(tmp_path_factory.mktemp("lives"), private=clinic(PEOPLE))
    return session, session.run(us.Lives())


def check_fit(release: Release) -> None:
    """Every row's person is in the table of people, which has each person once."""
    people, rows = release.people, release.rows
    assert list(people.columns) == OWN
    assert list(rows.columns) == EVENTS
    assert people["patient"].is_unique
    assert set(rows["patient"]) <= set(people["patient"])
    assert people["patient"].min() == 1000
    assert release.manifest["people"] == len(people)
    assert release.manifest["rows"] == len(rows) == len(release)
    flat = rows.merge(people, on="patient")
    for name in (*OWN, *EVENTS):
        whole = np.asarray(release.columns[name])
        assert pd.Series(whole).equals(pd.Series(np.asarray(flat[name]))), name


# What comes out


@pytest.mark.parametrize(
    "mechanism", few([us.Lives(), us.Independent(), us.Pairs()], usual=2), ids=lambda m: m.name
)
def test_two_tables_come_out_whose_ids_fit(
    tmp_path: Path, mechanism: Any, lives: tuple[us.Session, Release]
) -> None:
    drawn = isinstance(mechanism, us.Lives)
    release = lives[1] if drawn else opened(tmp_path).run(mechanism)
    check_fit(release)
    none = len(release.people) - release.rows["patient"].nunique()
    told = any("also draws people without rows" in note for note in release.manifest["notes"])
    if drawn:
        assert none == pytest.approx(PEOPLE / 4, abs=20)
        assert not told
    else:
        assert none == 0
        assert told
    assert f"{len(release.people)} synthetic people" in repr(release)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_saved_release_has_two_files_and_is_read_again(
    tmp_path: Path, form: Any, lives: tuple[us.Session, Release]
) -> None:
    _, release = lives
    folder = release.save(tmp_path / "out", format=form)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {f"people.{form}", f"rows.{form}"} <= set(manifest["files"])
    read = Release.read(folder)
    check_fit(read)
    assert read.two_tables
    for here, there in ((release.people, read.people), (release.rows, read.rows)):
        pd.testing.assert_frame_equal(here, there, check_dtype=False)
    load = {"parquet": pd.read_parquet, "csv": pd.read_csv}[form]
    people, rows = (load(folder / f"{name}.{form}") for name in ("people", "rows"))
    assert set(rows["patient"]) <= set(people["patient"])
    page = us.report(read, tmp_path / "report.html").read_text()
    assert f"{len(people):,} synthetic people and {len(rows):,} synthetic rows" in page
    assert len(read.sample_columns(50, where={"sex": "F"})["sex"]) == 50
    assert read.histogram("sex", "ward").sum() == len(rows)
    with (folder / f"people.{form}").open("ab") as file:
        file.write(b"\n")
    with pytest.raises(MalformedFileError, match="has changed"):
        Release.read(folder)


def test_people_and_rows_as_other_librarys_tables(lives: tuple[us.Session, Release]) -> None:
    _, release = lives
    assert release.to_arrow(people=True).column_names == OWN
    assert release.to_arrow().column_names == EVENTS
    assert release.to_polars(people=True).columns == OWN
    assert release.to_polars().height == len(release)


def test_a_run_that_is_resumed_makes_the_same_people(
    tmp_path: Path, lives: tuple[us.Session, Release]
) -> None:
    session, first = lives
    again = session.resume(1)
    assert same(first, again)
    pd.testing.assert_frame_equal(first.people, again.people)
    with pytest.raises(LedgerMismatchError, match="another number of private tables"):
        opened(tmp_path, private=flat(), ledger=session.ledger).resume(1)


def test_columns_of_people_that_are_yet_to_be_discovered_are_no_columns_to_draw(
    tmp_path: Path,
) -> None:
    texts = [Text(name=c.name, of="person") for c in SCHEMA.columns if c.name in OWN[1:]]
    schema = SCHEMA.with_columns(*texts)
    with pytest.raises(SchemaError, match="two tables need columns of people"):
        opened(tmp_path, schema=schema).run(us.Lives())
    assert not (tmp_path / "clinic.ledger").exists()


# One table


def flat(people: int = 300) -> dict[str, Any]:
    """The same as one table."""
    tables = {name: pd.DataFrame(table) for name, table in clinic(people).items()}
    one = tables["people"].drop_duplicates("patient")
    return {n: c.to_numpy() for n, c in tables["rows"].merge(one, on="patient").items()}


@pytest.mark.parametrize(
    "mechanism", few([us.Independent(), us.Lives(), us.Pairs()], usual=1), ids=lambda m: m.name
)
def test_a_flat_run_has_people_too(tmp_path: Path, mechanism: Any) -> None:
    release = opened(tmp_path, private=flat(effort(120, 300))).run(mechanism)
    assert not release.two_tables
    assert list(release.people.columns) == OWN
    assert set(release.rows.columns) == {*OWN, *EVENTS}
    assert sorted(release.people["patient"]) == sorted(set(release.rows["patient"]))
    # A person's value is one of theirs, of their most common bin.
    codes, _ = SCHEMA.released().encode(release.columns)
    mine = SCHEMA["height"].encode(release.people_columns["height"])
    for i, who in enumerate(release.people["patient"][:40]):
        own = codes["height"][release.columns["patient"] == who]
        tally = np.bincount(own, minlength=4)
        assert tally[mine[i]] == tally.max()
        theirs = release.rows["height"][release.rows["patient"] == who].tolist()
        assert release.people["height"][i] in theirs
    release.save(tmp_path / "out")
    assert not (tmp_path / "out" / "people.parquet").exists()
    assert "people" not in Release.read(tmp_path / "out").manifest
    pd.testing.assert_frame_equal(release.people, Release.read(tmp_path / "out").people)


def test_a_release_without_own_columns_has_no_people(tmp_path: Path) -> None:
    nobody = Schema("clinic", tuple(c for c in SCHEMA.columns if c.name in EVENTS))
    release = opened(tmp_path, private=clinic()["rows"], schema=nobody).run(us.Independent())
    with pytest.raises(UsageError, match="no people with columns of their own"):
        release.people  # noqa: B018  a property that raises


def test_a_table_of_two_columns_called_people_and_rows_is_one_table(tmp_path: Path) -> None:
    schema = Schema(
        "odd", (Integer(name="people", min=0, max=3), Integer(name="rows", min=0, max=3))
    )
    release = us.open(
        i_know=True,
        private={"people": [1, 2, 3], "rows": [3, 2, 1]},
        schema=schema,
        unit=us.Unit.each_row(),
        bounding=us.Weights(1),
        budget=BUDGET,
        ledger=tmp_path / "ledger",
    ).run(us.Independent())
    assert list(release.columns) == ["people", "rows"]


# What goes in


def as_files(tables: dict[str, Any], folder: Path) -> dict[str, Any]:
    found = {}
    for name, table in tables.items():
        found[name] = folder / f"{name}.{'csv' if name == 'people' else 'parquet'}"
        frame = pd.DataFrame(table)
        frame.to_csv(found[name], index=False) if name == "people" else frame.to_parquet(
            found[name]
        )
    return {name: str(path) for name, path in found.items()}


FORMS: dict[str, Callable[[dict[str, Any], Path], dict[str, Any]]] = {
    "files": as_files,
    "pandas": lambda tables, _: {n: pd.DataFrame(t) for n, t in tables.items()},
    "polars": lambda tables, _: {n: pl.DataFrame(t) for n, t in tables.items()},
    "Arrow": lambda tables, _: {
        n: pa.table({c: pa.array(v.tolist()) for c, v in t.items()}) for n, t in tables.items()
    },
    "streams": lambda tables, _: {
        n: pa.table({c: pa.array(v.tolist()) for c, v in t.items()}).to_reader()
        for n, t in tables.items()
    },
    "a file and a frame": lambda tables, folder: {
        "people": pd.DataFrame(tables["people"]),
        "rows": as_files(tables, folder)["rows"],
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_each_may_be_anything_that_one_table_can_be(tmp_path: Path, form: str) -> None:
    vast = us.Budget(epsilon=1e6, delta=1e-6)
    people = effort(100, 300)
    private = FORMS[form](clinic(people), tmp_path)
    # Only Lives draws people without rows, and takes its time.
    mechanism = us.Lives() if THOROUGH else us.Independent()
    release = opened(tmp_path, private=private, budget=vast).run(mechanism)
    assert len(release.people) == (people if THOROUGH else people * 3 // 4)
    assert len(release) == pytest.approx(len(clinic(people)["rows"]["patient"]) - 1, rel=0.05)


def test_a_public_pair_is_read_with_own_columns_from_people(tmp_path: Path) -> None:
    pair, one = clinic(), flat()
    read = PublicTable.read(pair, schema=SCHEMA, unit=UNIT)
    joined = PublicTable.read(one, schema=SCHEMA, unit=UNIT)
    assert len(read) == len(joined)
    assert read.marginal(("ward",)).tolist() == joined.marginal(("ward",)).tolist()
    assert read.sizes().tolist() == joined.sizes().tolist()
    assert np.nansum(read.numbers["height"]) == pytest.approx(
        np.nansum(joined.numbers["height"]), rel=0.05
    )
    release = opened(tmp_path, private=clinic(PEOPLE), public=clinic(50)).run(us.Lives())
    check_fit(release)
    lost = {"people": {"sex": ["F"]}, "rows": pair["rows"]}
    with pytest.raises(MissingColumnError, match="table of people lacks"):
        PublicTable.read(lost, schema=SCHEMA, unit=UNIT)


def test_months_of_a_public_pair_are_moved_table_by_table() -> None:
    when = Timestamp(name="when", min="2020-01-01", max="2020-12-31", resolution="day")
    schema = Schema("clinic", (*SCHEMA.columns[:3], when))
    pair = {
        "people": {"patient": ["a"], "sex": ["F"], "birth": ["1960-05-05"]},
        "rows": {"patient": ["a", "a"], "when": ["2019-03-03", "2019-04-04"]},
    }
    read = PublicTable.read(pair, schema=schema, unit=UNIT)
    assert sorted(read.codes["when_month"].tolist()) == [2, 3]


def test_evaluate_reads_both_forms(tmp_path: Path, lives: tuple[us.Session, Release]) -> None:
    real = read_private(clinic(), schema=SCHEMA, unit=UNIT)
    assert real.rows == read_private(flat(), schema=SCHEMA, unit=UNIT).rows
    folder = lives[1].save(tmp_path / "out")
    made = read_synthetic(folder, schema=SCHEMA, unit=UNIT)
    assert made.rows == Release.read(folder).manifest["rows"]
    assert dict(made.sizes) == dict(real.sizes)
    for table in (clinic(), folder):
        with pytest.raises(UsageError, match="raw values"):
            read_values(table, schema=SCHEMA)


# What is refused, with nothing spent


@pytest.mark.parametrize(
    ("private", "got"),
    [
        ({"people": "a.csv", "visits": "b.csv"}, "people, visits"),
        ({"rows": "b.csv"}, "rows"),
        ({"people": "a.csv", "rows": "b.csv", "wards": "c.csv"}, "people, rows, wards"),
        ({"people": "a.csv", "rows": [1, 2]}, "people, rows"),
    ],
)
def test_tables_of_other_names(tmp_path: Path, private: Any, got: str) -> None:
    with pytest.raises(UsageError, match="named people and rows") as caught:
        opened(tmp_path, private=private)
    assert caught.value.got == got


@pytest.mark.parametrize("which", ["people", "rows"])
def test_neither_table_is_taken_for_public(tmp_path: Path, which: str) -> None:
    files = as_files(clinic(), tmp_path)
    with pytest.raises(UsageError, match="named as the public one"):
        opened(tmp_path, private=files, public=files[which])


@pytest.mark.parametrize(
    ("lost", "error", "told"),
    [
        (("people", "height"), MissingColumnError, "the table of people lacks"),
        (("people", "patient"), MissingColumnError, "the table of people lacks"),
        (("rows", "patient"), MissingColumnError, "the table of rows lacks"),
        (("rows", "ward"), MissingColumnError, "the table of rows lacks"),
    ],
)
def test_a_missing_column_spends_nothing(
    tmp_path: Path, lost: tuple[str, str], error: type[Exception], told: str
) -> None:
    private = clinic()
    del private[lost[0]][lost[1]]
    session = opened(tmp_path, private=private)
    for act in (session.check_columns, lambda: session.run(us.Lives())):
        with pytest.raises(error, match=told):
            act()
    assert not (tmp_path / "clinic.ledger").exists()


@pytest.mark.parametrize("keep", [OWN, EVENTS], ids=["only people", "only rows"])
def test_a_schema_of_one_kind_of_column_spends_nothing(tmp_path: Path, keep: list[str]) -> None:
    schema = Schema("clinic", tuple(c for c in SCHEMA.columns if c.name in keep))
    with pytest.raises(SchemaError, match="columns of people, and columns of rows"):
        opened(tmp_path, schema=schema).run(us.Lives())
    assert not (tmp_path / "clinic.ledger").exists()


def test_a_table_of_spark_and_one_of_another_kind(tmp_path: Path) -> None:
    private = {"people": "patients.csv", "rows": us.SparkTable("visits")}
    with pytest.raises(UsageError, match="in the same engine"):
        opened(tmp_path, private=private).run(us.Lives())
    clusters = {"people": us.SparkTable("a", "local[1]"), "rows": us.SparkTable("b", "local[2]")}
    with pytest.raises(UsageError, match="two clusters"):
        opened(tmp_path, private=clusters).run(us.Lives())


def test_a_session_shows_neither_table(tmp_path: Path) -> None:
    assert "p17" not in repr(opened(tmp_path))
