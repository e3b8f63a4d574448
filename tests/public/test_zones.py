"""Time zones of public Parquet files: by their names, where a file has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import polars as pl
import pytest

from understudy.public import zones, zones_of

if TYPE_CHECKING:
    from pathlib import Path

FRAME = pd.DataFrame(
    {
        "here": pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin"),
        "apart": pd.date_range("2024-01-01", periods=3, tz="+02:00"),
        "none": pd.date_range("2024-01-01", periods=3),
        "day": pd.date_range("2024-01-01", periods=3).date,
        "text": ["a", "b", "c"],
    }
)
FOUND = {"here": "Europe/Berlin", "apart": None}


def test_a_file_and_a_folder_name_their_zones(tmp_path: Path) -> None:
    (tmp_path / "all" / "year=2024").mkdir(parents=True)
    for file in (tmp_path / "t.parquet", tmp_path / "all" / "year=2024" / "t.parquet"):
        FRAME.to_parquet(file)
    odd = tmp_path / "it's [1].parquet"
    FRAME.to_parquet(odd)
    places = (tmp_path / "t.parquet", str(tmp_path / "t.parquet"), str(tmp_path / "all"), odd)
    for place in places:
        assert zones_of(place) == FOUND


def test_files_of_other_programs(tmp_path: Path) -> None:
    pl.from_pandas(FRAME[["here", "none"]]).write_parquet(tmp_path / "polars.parquet")
    assert zones_of(tmp_path / "polars.parquet") == {"here": "Europe/Berlin"}
    path = str(tmp_path / "duckdb.parquet")
    duckdb.sql(f"COPY (SELECT TIMESTAMPTZ '2024-01-01 00:00:00+02' AS t) TO '{path}'")
    assert zones_of(path) == {"t": "UTC"}


def test_without_pyarrow_there_are_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FRAME.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(zones, "find_spec", lambda _: None)
    assert zones_of(tmp_path / "t.parquet") == dict.fromkeys(FOUND)


def test_what_is_no_parquet_file_has_none(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv")
    for other in (str(tmp_path / "t.csv"), FRAME, {"a": [1]}, "sqlite:city.db#trips"):
        assert zones_of(other) == {}
