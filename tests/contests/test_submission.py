"""Files appear whole or not at all; a submission grows by a release at a time."""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pytest

from tests.release.releases import SCHEMA, made
from understudy.contests.submission import Submission, manifest_path, write_manifest
from understudy.errors import OutputExistsError, StorageError
from understudy.release import new_file
from understudy.schema import Id

if TYPE_CHECKING:
    from pathlib import Path

ORDER = ["epsilon", "who", *SCHEMA.domain]


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file.csv"
    with new_file(target) as partial:
        partial.write_text("rows")
        (partial.parent / "scratch").write_text("not to be kept")
        assert not target.exists()
    assert target.read_text() == "rows"
    assert [p.name for p in target.parent.iterdir()] == ["file.csv"]


def half(path: Path, error: BaseException) -> None:
    with new_file(path) as partial:
        partial.write_text("half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OutputExistsError])
def test_a_file_that_is_given_up_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error):
        half(tmp_path / "file.csv", error("why"))
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No space"), new_file(tmp_path / "file.csv"):
        raise OSError(28, "No space left on device")
    with pytest.raises(StorageError, match="cannot write"), new_file(tmp_path / "a\x00b"):
        pass
    assert not list(tmp_path.iterdir())


def overtaken(path: Path) -> None:
    with new_file(path) as partial:
        partial.write_text("mine")
        path.write_text("another's")


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    def none(*names: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not links:
        monkeypatch.setattr(os, "link", none)
    with new_file(tmp_path / "first.csv") as partial:
        partial.write_text("mine")
    assert (tmp_path / "first.csv").read_text() == "mine"
    with pytest.raises(OutputExistsError, match="exists already"):
        overtaken(tmp_path / "second.csv")
    assert (tmp_path / "second.csv").read_text() == "another's"
    assert len(list(tmp_path.iterdir())) == 2


def lines(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_submission_holds_the_rows_of_all_releases(tmp_path: Path) -> None:
    target, rng = tmp_path / "s.csv", np.random.default_rng(0)
    one, two = made(rows=30), made(rows=50, delta=1e-6)
    with new_file(target) as partial:
        submission = Submission(partial, ORDER)
        assert submission.add(one, epsilon=1, most=30, rng=rng) == 30
        assert submission.add(two, epsilon=2.5, most=10, rng=rng) == 10
        assert submission.add(made(rows=0), epsilon=3, most=10, rng=rng) == 0
    found = lines(target)
    assert list(found[0]) == ORDER
    assert [line["epsilon"] for line in found] == ["1.0"] * 30 + ["2.5"] * 10
    assert [int(line["who"]) for line in found[:30]] == one.columns["who"].tolist()
    manifest = write_manifest(target, [target], submission.manifests, {"recipe": "soup"})
    assert [run["rows_submitted"] for run in manifest["runs"]] == [30, 10, 0]
    assert manifest["recipe"] == "soup"
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    assert manifest["files"]["s.csv"]["sha256"] == digest
    assert {p.name for p in tmp_path.iterdir()} == {"s.csv", manifest_path(target).name}
    with pytest.raises(OutputExistsError, match="exists already"):
        write_manifest(target, [target], submission.manifests, {})


def test_a_manifest_is_of_all_files_that_there_are(tmp_path: Path) -> None:
    files = [tmp_path / f"s-{epsilon}.csv" for epsilon in (1, 2)]
    for file in files:
        file.write_text(file.name)
    manifest = write_manifest(tmp_path / "s.csv", files, [{"rows": 1}, {"rows": 2}], {})
    assert manifest["runs"] == [{"rows": 1}, {"rows": 2}]
    assert manifest["files"] == {
        f.name: {"sha256": hashlib.sha256(f.name.encode()).hexdigest(), "bytes": len(f.name)}
        for f in files
    }
    assert json.loads((tmp_path / "s.csv.manifest.json").read_text()) == manifest


@pytest.mark.parametrize("null", ["", "N", "NA", "it's none"])
def test_a_missing_value_is_written_as_one_is_told(tmp_path: Path, null: str) -> None:
    """Of a list, of whole numbers and of others; all else is as it was, the header too."""
    release = made(rows=200)
    texts = {}
    for name, told in (("plain.csv", ""), ("s.csv", null)):
        submission = Submission(tmp_path / name, list(SCHEMA.domain), null=told)
        submission.add(release, epsilon=1, most=None, rng=np.random.default_rng(0))
        texts[name] = lines(tmp_path / name)
    assert list(texts["s.csv"][0]) == list(SCHEMA.domain)
    for one, other in zip(texts["plain.csv"], texts["s.csv"], strict=True):
        assert other == {column: text or null for column, text in one.items()}
    for column in ("grade", "age", "price", "weight"):
        values = release.columns[column].tolist()
        gone = [value is None or str(value) == "nan" for value in values]
        assert [line[column] == null for line in texts["s.csv"]] == gone
        assert any(gone)


def test_a_value_that_reads_like_a_missing_one_is_kept_apart(tmp_path: Path) -> None:
    """As the excerpts have it: N is a value of some columns, and nothing in others."""
    release = made(rows=50)
    colours = np.where(release.columns["colour"] == "red", "N", release.columns["colour"])
    submission = Submission(tmp_path / "s.csv", ["colour", "age"], null="N")
    release.columns["colour"] = colours
    submission.add(release, epsilon=1, most=None, rng=np.random.default_rng(0))
    found = [line["colour"] for line in lines(tmp_path / "s.csv")]
    assert found == [value or "N" for value in colours.tolist()]
    with duckdb.connect() as connection:
        read = f"read_csv('{tmp_path / 's.csv'}', nullstr = 'N', allow_quoted_nulls = false)"
        kept = connection.execute(f"SELECT colour, age FROM {read}").fetchall()
    assert [colour for colour, _ in kept] == colours.tolist()
    assert [age for _, age in kept] == release.columns["age"].tolist()


def test_rows_of_ids_outside_their_range_are_left_out(tmp_path: Path) -> None:
    release = replace(made(), schema=SCHEMA.with_columns(Id(name="who", min=1000, max=1004)))
    submission = Submission(tmp_path / "s.csv", ORDER)
    count = submission.add(release, epsilon=1, most=99, rng=np.random.default_rng(0))
    assert count == np.count_nonzero(release.columns["who"] <= 1004) > 0
    assert max(int(line["who"]) for line in lines(tmp_path / "s.csv")) == 1004
