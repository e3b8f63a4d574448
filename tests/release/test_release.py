"""A release appears whole or not at all, never in another's place, and says what it is."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import understudy as us
from tests.release.made import released
from tests.release.releases import SCHEMA, made
from understudy.door import Measurement, Rows
from understudy.errors import MissingPackageError, OutputExistsError, StorageError, UsageError
from understudy.public import batches
from understudy.release import release
from understudy.schema import Id, Integer, Schema, Text, Timestamp


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_saved_release_holds_its_rows_and_true_checksums(tmp_path: Path, form: Any) -> None:
    folder = made().save(tmp_path / "out", format=form)
    manifest = json.loads((folder / "manifest.json").read_text())
    tables = {f"rows.{form}", f"measurements.{form}"}
    assert set(manifest["files"]) == tables | {"schema.toml", "evidence.npz"}
    for name, facts in manifest["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == facts["sha256"]
    with duckdb.connect() as connection:
        read = f"read_{form}('{folder / f'rows.{form}'}')"
        assert connection.execute(f"SELECT count(*) FROM {read}").fetchall() == [(50,)]
        noisy = f"read_{form}('{folder / f'measurements.{form}'}')"
        found = connection.execute(
            f"SELECT clique, label, standard_error FROM {noisy} ORDER BY measurement, place"
        ).fetchall()
    assert found[0] == ("colour × age", "red × 0", 2.0)
    assert found[-1] == ("age", "(sum of 2 cells)", 1.0)
    assert Schema.read(folder / "schema.toml") == SCHEMA
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_a_histogram_counts_the_rows_by_code() -> None:
    rng = np.random.default_rng(0)
    codes = {n: rng.integers(0, s, 50) for n, s in SCHEMA.domain.items()}
    wanted = np.zeros((SCHEMA.domain["age"], SCHEMA.domain["colour"]), dtype=np.int64)
    np.add.at(wanted, (codes["age"], codes["colour"]), 1)
    release = made()
    assert release.histogram("age", "colour").tolist() == wanted.tolist()
    assert release.histogram().shape == tuple(SCHEMA.domain.values())
    assert release.histogram().sum() == len(release) == 50


def test_a_sum_of_one_cell_has_the_cells_name_and_says_what_is_counted() -> None:
    one = Rows(np.array([0, 1, 2]), np.array([1, 0]))
    release = made()
    measured = Measurement(
        clique=("colour",), values=np.array([3.0, 4.0]), scale=1.0, rows=one, counted="people"
    )
    told = replace(release, measurements=(measured,))._noisy_table()
    assert told["label"].tolist() == ["blue", "red"]
    assert told["counted"].tolist() == ["people", "people"]


def test_columns_are_decoded_alike_however_many_rows_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = made()
    monkeypatch.setattr(batches, "AT_ONCE", 7)
    parts = made()
    for name in ("colour", "grade", "age", "who"):
        assert parts.columns[name].tolist() == whole.columns[name].tolist()
    assert parts.histogram().tolist() == whole.histogram().tolist()


def test_types_on_disk_are_the_declared_ones_whatever_is_missing(tmp_path: Path) -> None:
    folder = made().save(tmp_path / "out")
    with duckdb.connect() as connection:
        described = connection.execute(
            f"DESCRIBE SELECT * FROM read_parquet('{folder / 'rows.parquet'}')"
        ).fetchall()
    assert {row[0]: row[1] for row in described} == {
        "who": "BIGINT",
        "colour": "VARCHAR",
        "grade": "BIGINT",
        "member": "BOOLEAN",
        "rate": "DOUBLE",
        "age": "BIGINT",
        "price": "DOUBLE",
        "weight": "BIGINT",
    }


def test_rows_are_a_data_frame_with_ids_from_the_declared_range() -> None:
    frame = made().rows
    assert list(frame.columns) == ["who", *SCHEMA.domain]
    assert frame["who"].min() == 1000
    assert frame["who"].nunique() == 20


def test_without_pandas_the_hint_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"needs pandas. Hint: .*release.columns"):
        _ = made().rows


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = made().save(tmp_path / "out")
    before = sorted(p.name for p in folder.iterdir())
    with pytest.raises(OutputExistsError, match="exists already"):
        made().save(folder)
    assert sorted(p.name for p in folder.iterdir()) == before


def test_a_folder_that_appears_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "check_target", lambda target: None)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(OutputExistsError, match="exists already"):
        made().save(tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["mine"]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(release, "checksum", full)
    with pytest.raises(StorageError, match="No space left"):
        made().save(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x" * 300, "a\x00b", "file/out"])
def test_folders_that_cannot_be_made(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"cannot write|cannot create a folder"):
        made().save(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_formats_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format"):
        made().save(tmp_path / "out", format="xlsx")  # type: ignore[arg-type]


@pytest.mark.parametrize(("delta", "warned"), [(1e-9, False), (0.01, True)])
@pytest.mark.parametrize("people", [20, None])
def test_a_delta_too_large_for_so_many_people_is_told(
    delta: float, warned: bool, people: int | None
) -> None:
    notes = made(delta=delta, people=people).manifest["notes"]
    assert any("given away" in note for note in notes) == warned


def test_columns_that_are_not_released_and_units_that_are_modelled_are_told() -> None:
    """Nothing is lost silently: neither a column, nor who has which rows."""
    rng, codes = np.random.default_rng(0), {"hour": np.arange(6)}
    hour, text = Integer(name="hour", min=0, max=23), Text(name="reason")
    schema = Schema("t", (Id(name="who"), hour, text))
    (note,) = released(codes, np.arange(6), schema, rng).manifest["notes"]
    assert "Not released" in note
    assert "reason" in note
    who = Integer(name="who", min=0, max=9)
    both = {**codes, "who": np.arange(6)}
    (note,) = released(both, np.arange(6), Schema("t", (who, hour)), rng).manifest["notes"]
    assert "do not tell which of them belong to one person" in note


def test_the_manifest_holds_no_clock() -> None:
    text = json.dumps(made().manifest)
    assert not any(word in text for word in ("seconds", "elapsed", "duration", "202"))


def test_a_column_that_the_schema_cannot_read_is_named(tmp_path: Path) -> None:
    """Seconds since 1970 are no date-times: they are missing, which costs a budget to find out."""
    rng = np.random.default_rng(3)
    table = {
        "who": np.arange(400) % 100,
        "when": rng.integers(1_700_000_000, 1_710_000_000, 400),
        "kind": rng.integers(0, 3, 400),
    }
    when = Timestamp(name="when", min="2023-11-01", max="2024-03-31")
    schema = Schema("t", (Id(name="who"), when, Integer(name="kind", min=0, max=2)))

    def notes(**changed: Any) -> list[str]:
        release = us.open(
            private={**table, **changed},
            schema=schema,
            unit=us.Unit("who"),
            bounding=us.Weights(4),
            budget=us.Budget(epsilon=15, delta=1e-6),
            ledger=tmp_path / f"{len(changed)}.ledger",
        ).run(us.Independent())
        return [n for n in release.manifest["notes"] if n.startswith("Hardly any row has a value")]

    (note,) = notes()
    assert "of when that" in note
    assert notes(when=table["when"].astype("datetime64[s]")) == []
