"""A release that is read again is the one that was saved, or it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.release.modelled import made as with_model
from tests.release.releases import made
from understudy.door import Measurement, Rows
from understudy.errors import MalformedFileError, MissingFileError
from understudy.public import batches
from understudy.release.evidence import load_evidence, save_evidence


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("rows", [0, 50])
def test_all_of_it_is_as_it_was(tmp_path: Path, form: Any, rows: int) -> None:
    release = made(rows)
    again = us.Release.read(release.save(tmp_path / "out", format=form))
    assert len(again) == rows
    assert again.schema == release.schema.released()
    assert {k: v for k, v in again.manifest.items() if k != "files"} == release.manifest
    assert list(again.columns) == list(release.columns)
    if rows:
        for names in (("colour",), ("age", "price"), ("member", "rate", "grade")):
            assert np.array_equal(again.histogram(*names), release.histogram(*names))
    for one, other in zip(again.measurements, release.measurements, strict=True):
        assert np.array_equal(one.values, other.values)
        assert (one.clique, one.scale) == (other.clique, other.scale)


def test_rows_are_read_a_batch_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = made(250)
    folder = release.save(tmp_path / "out")
    monkeypatch.setattr(batches, "AT_ONCE", 100)
    again = us.Release.read(folder)
    assert again.decoded.sizes == (83, 83, 84)
    parts = [batch["who"] for batch in again.decoded]
    assert [len(part) for part in parts] == [83, 83, 84]
    assert np.array_equal(np.concatenate(parts), release.columns["who"])


def test_a_model_comes_back(tmp_path: Path) -> None:
    release = with_model()
    again = us.Release.read(release.save(tmp_path / "out"))
    assert release.model is not None
    assert again.model is not None
    for clique, table in release.model.tables.items():
        assert np.array_equal(again.model.tables[clique], table)
    assert {n: c.tolist() for n, c in again.merged.items()} == {"colour": [0, 1, 1]}


def test_evidence_keeps_every_part_of_a_measurement(tmp_path: Path) -> None:
    whole = Measurement(
        clique=("a", "b"),
        values=np.array([1.5, -2.0]),
        scale=3.0,
        rows=Rows(np.array([0, 2, 3]), np.array([0, 1, 5])),
        weights=np.array([0.5, 0.5, 1.0]),
        group="question 0",
        counted="people there 2 times",
        merged={"b": np.array([0, 0, 1])},
    )
    save_evidence(tmp_path / "e.npz", [whole], {})
    (again,), merged = load_evidence(tmp_path / "e.npz")
    assert merged == {}
    for name in ("clique", "scale", "group", "counted"):
        assert getattr(again, name) == getattr(whole, name)
    assert again.rows is not None
    assert again.rows.cells.tolist() == [0, 1, 5]
    assert again.rows.starts.tolist() == [0, 2, 3]
    assert again.weights is not None
    assert again.weights.tolist() == [0.5, 0.5, 1.0]
    assert {n: c.tolist() for n, c in again.merged.items()} == {"b": [0, 0, 1]}


@pytest.mark.parametrize("text", [b"", b"no npz", b"PK\x03\x04 torn"])
def test_what_is_no_evidence_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "e.npz").write_bytes(text)
    with pytest.raises(MalformedFileError, match="is not a release's evidence file, or is damaged"):
        load_evidence(tmp_path / "e.npz")


def test_evidence_of_another_form_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", header=np.array(json.dumps({"format": "other"})))
    with pytest.raises(MalformedFileError, match="is not a release's evidence file, or is damaged"):
        load_evidence(tmp_path / "e.npz")


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    for text in (None, "{", "\udcff"):
        if text is not None:
            (tmp_path / "manifest.json").write_text(text, errors="surrogateescape")
        with pytest.raises(
            MissingFileError, match=r"is not a release \(got no manifest.json in it\)"
        ):
            us.Release.read(tmp_path)
    others: list[Any] = [{}, {"files": 3, "rows": 1}, {"files": {}, "rows": None}, []]
    for other in others:
        (tmp_path / "manifest.json").write_text(json.dumps(other))
        with pytest.raises(MalformedFileError, match="is not an Understudy manifest"):
            us.Release.read(tmp_path)


@pytest.mark.parametrize("name", ["rows.parquet", "schema.toml", "evidence.npz"])
@pytest.mark.parametrize("how", ["changed", "gone"])
def test_a_release_that_was_changed_is_refused(tmp_path: Path, name: str, how: str) -> None:
    folder = made().save(tmp_path / "out")
    if how == "gone":
        (folder / name).unlink()
    else:
        (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    kind, told = (
        (MissingFileError, "is missing")
        if how == "gone"
        else (MalformedFileError, "has changed since the release was saved")
    )
    with pytest.raises(kind, match=f"{name} {told}"):
        us.Release.read(folder)
