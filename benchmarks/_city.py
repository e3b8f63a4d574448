"""A simulated city of many trips, in the shape of the AdaGrid document's taxi table."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from _people import MONEY, TIME

from understudy.demo import City
from understudy.engine import DuckDB
from understudy.schema import Categorical, DateTime, Id, Integer, Numeric, Schema

if TYPE_CHECKING:
    from pathlib import Path

AT_ONCE = 1_000_000
"""Trips in a file."""


def city_schema() -> Schema:
    """The shape of the document's taxi table, on the simulated city."""
    payments = ("Cash", "Credit Card", "Mobile", "Prcard", "No Charge", "Dispute", "Unknown")
    return Schema(
        "simulated-city",
        (
            Id(name="taxi_id"),
            DateTime(name="hour", source="pickup_time", part="hour", missing=False),
            Categorical(name="company", values=tuple(f"Company {i:02d}" for i in range(1, 58))),
            Integer(name="pickup_area", min=-1, max=77, missing=False),
            Integer(name="dropoff_area", min=-1, max=77, missing=False),
            Categorical(name="payment", values=payments),
            *(Numeric(name=n, edges=MONEY) for n in ("fare", "tips", "total", "miles")),
            Numeric(name="seconds", edges=TIME),
        ),
    )


OUTER = (
    ("fare", "total"),
    ("total", "seconds"),
    ("dropoff_area", "fare"),
    ("payment", "total"),
    ("fare", "miles"),
    ("company",),
    ("tips", "total"),
)
"""What the document's seven outer cliques have besides place and time."""
CITY = {
    "cliques": tuple(("pickup_area", "hour", *rest) for rest in OUTER),
    "copies": ((("dropoff_area", "pickup_area"), 8),),
    "ids_by": ("pickup_area", "hour"),
    "within": "public",
}


def write_year(folder: Path, year: int, trips: int, *, taxis: int | None = None) -> Path:
    """Write a year of the city as a folder of Parquet files."""
    folder.mkdir()
    city = City(taxis=taxis or max(1, trips // 3700), trips_per_year=trips)
    with closing(DuckDB()) as engine:
        for i, chunk in enumerate(city.chunks(year, rows=AT_ONCE)):
            engine.write(chunk, folder / f"{i:04}.parquet", types={})
    return folder
