"""Data frames as people expect them: types by declaration, whatever is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import SchemaError
from understudy.schema import Categorical, Integer, Numeric, Schema, Timestamp

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 400
FRAME = pd.DataFrame(
    {
        "age": pd.array([30, None] * (COUNT // 2), dtype="Int64"),
        "hour": np.arange(COUNT) % 4,
        "fine": pd.array([True, False, None, True] * (COUNT // 4), dtype="boolean"),
        "ward": pd.Categorical(["a", "b", None, "c"] * (COUNT // 4)),
        "price": [12.83, 4.5] * (COUNT // 2),
        "day": pd.to_datetime(["2024-03-01", "2024-03-02"] * (COUNT // 2)),
    }
)
SCHEMA = Schema(
    "frames",
    (
        Integer(name="age", min=0, max=99),
        Integer(name="hour", min=0, max=3, missing=False, outside="drop"),
        Categorical(name="fine", values=(False, True)),
        Categorical(name="ward", values=("a", "b", "c", "d")),
        Numeric(name="price", edges=(0.0, 10.0, 20.0), digits=2),
        Timestamp(name="day", min="2024-03-01", max="2024-03-31", resolution="day"),
    ),
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    return us.open(
        private=FRAME,
        schema=SCHEMA,
        unit="each-row",
        bounding="weights:1",
        budget=us.Budget(epsilon=20, delta=1e-6),
        ledger=tmp_path_factory.mktemp("frames") / "frames.ledger",
    ).run("independent")


@pytest.mark.parametrize("how", ["rows", "sample", "read"])
def test_types_are_those_that_went_in(release: us.Release, how: str, tmp_path: Path) -> None:
    frame = release.sample(300, seed=1) if how == "sample" else release.rows
    if how == "read":
        release.save(tmp_path / "out")
        frame = us.Release.read(tmp_path / "out").rows
    assert isinstance(frame, pd.DataFrame)
    assert list(frame) == list(FRAME)
    told = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert told["age"] == "Int64"
    assert told["hour"] == "int64"
    assert told["fine"] == "boolean"
    assert told["ward"] == "category"
    assert told["day"].startswith("datetime64")
    assert {"a", "b", "c", "d"} <= set(frame["ward"].cat.categories)
    assert frame["age"].isna().mean() == pytest.approx(0.5, abs=0.15)
    assert frame["fine"].dropna().isin([True, False]).all()


def test_numbers_have_the_digits_of_their_declaration(release: us.Release) -> None:
    prices = release.rows["price"].dropna()
    assert len(prices.unique()) > 20
    assert (prices.round(2) == prices).all()
    assert ((prices >= 0) & (prices < 20)).all()


def test_digits_are_drafted_from_public_numbers() -> None:
    rng = np.random.default_rng(0)
    table = {
        "price": np.round(rng.random(3000) * 100, 2),
        "share": rng.random(3000),
        "fine": np.array(["true", "false", ""] * 1000, dtype=object),
    }
    price, share, fine = us.Schema.from_public(table, name="t").columns
    assert isinstance(price, Numeric)
    assert isinstance(share, Numeric)
    assert (price.digits, share.digits) == (2, None)
    assert fine == Categorical(name="fine", values=(False, True))


ZONED = pd.DataFrame(
    {
        "id": np.arange(COUNT) // 4,
        "when": pd.date_range("2024-06-01", periods=COUNT, freq="h", tz="Europe/Berlin"),
    }
)


def test_time_zones_come_back_as_they_went_in(tmp_path: Path) -> None:
    drafted = us.Schema.from_public(ZONED, name="zoned", ids="id")
    (when,) = drafted.timestamps
    assert when.zone == "Europe/Berlin"
    plain = {**drafted.to_dict(), "order_by": "when"}
    # Noise alone may make a missing moment, which equals none, not even itself.
    plain["columns"]["when"]["missing"] = False
    schema = us.Schema.from_dict(plain)
    release = us.open(
        private=ZONED,
        schema=schema,
        unit="id",
        bounding="weights:4",
        budget=us.Budget(epsilon=20, delta=1e-6),
        ledger=tmp_path / "zoned.ledger",
    ).run("independent")
    frame, utc = release.rows["when"], release.columns["when"]
    assert str(frame.dtype).endswith("Europe/Berlin]")
    assert (frame.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy() == utc).all()
    assert str(release.sample(5, seed=1)["when"].dtype) == str(frame.dtype)
    assert release.to_arrow().schema.field("when").type.tz == "Europe/Berlin"
    assert release.to_arrow()["when"].to_pandas().tolist() == frame.tolist()
    polars = release.to_polars()["when"]
    assert polars.dtype.time_zone == "Europe/Berlin"
    assert polars.to_list() == frame.tolist()


def test_a_time_zone_that_is_none_is_refused() -> None:
    for zone in ("Berlin", "../etc", "Europe/"):
        with pytest.raises(SchemaError, match="unknown time zone"):
            Timestamp(name="when", min="2024-01-01", max="2024-12-31", zone=zone)
