"""Small random tables in codes, and the real Chicago days."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.schema.data import data_file
from understudy.evaluate import Coded
from understudy.public import read_public

SIZES = {"place": 4, "time": 3, "to": 4, "fare": 5, "company": 2}
MONEY = ("fare", "tips", "trip_total", "trip_miles")


def random_table(
    seed: int,
    *,
    rows: int = 120,
    people: int | None = 9,
    sizes: dict[str, int] | None = None,
    skew: float = 1.0,
) -> Coded:
    """Draw a table whose low codes are the more common, the more so the larger the skew."""
    rng = np.random.default_rng(seed)
    sizes = sizes or SIZES
    codes = {n: (size * rng.random(rows) ** skew).astype(np.int64) for n, size in sizes.items()}
    # Numbers of people need not start at 0 nor be without gaps.
    owners = None if people is None else 3 * rng.integers(0, people, size=rows) + 7
    return Coded(codes=codes, sizes=sizes, people=owners)


def chicago(*, month: str) -> Coded:
    """Give a Chicago day with the contest's bins, times in eight blocks of three hours."""
    public = read_public(data_file("chicago-taxi", "Taxi_Trips_2022_03.parquet"))
    found = read_public(data_file("chicago-taxi", f"Taxi_Trips_2022_{month}.parquet"))
    areas = [str(area) for area in range(1, 78)]
    day = found["trip_start_timestamp"].astype("datetime64[D]")
    hours = (found["trip_start_timestamp"] - day) // np.timedelta64(3, "h")
    codes: dict[str, NDArray[np.int64]] = {
        "pickup": listed(found["pickup_community_area"], areas),
        "time": hours.astype(np.int64),
        "dropoff": listed(found["dropoff_community_area"], areas),
    }
    sizes = {"pickup": 78, "time": 8, "dropoff": 78}
    for name in ("company", "payment_type"):
        names = sorted({value for value in public[name] if value is not None})
        codes[name], sizes[name] = listed(found[name], names), len(names) + 1
    for name, edges in (
        *((m, range(0, 91, 10)) for m in MONEY),
        ("trip_seconds", range(0, 1801, 200)),
    ):
        values = np.nan_to_num(found[name].astype(np.float64), nan=-1)
        codes[name], sizes[name] = np.digitize(values, list(edges)), len(edges) + 1
    # Rows without an id together are one person.
    people = np.unique([taxi or "" for taxi in found["taxi_id"]], return_inverse=True)[1]
    return Coded(codes=dict(codes), sizes=sizes, people=people.astype(np.int64))


def listed(values: NDArray[np.object_], names: list[str]) -> NDArray[np.int64]:
    """Give each value its place in a list from 1; what is missing or not listed is 0."""
    code = {name: i for i, name in enumerate(names, start=1)}
    return np.array([code.get(value, 0) for value in values], dtype=np.int64)
