"""A small contest: its parameters.json, random trips in its schema, and a checker of its rules."""

from __future__ import annotations

import csv
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pathlib import Path

HEADER = [
    "epsilon",
    "taxi_id",
    "shift",
    "company_id",
    "pickup_community_area",
    "dropoff_community_area",
    "payment_type",
    "fare",
    "tips",
    "trip_total",
    "trip_seconds",
    "trip_miles",
]
LISTS = {
    "shift": [*range(21)],
    "company_id": [*range(4)],
    "pickup_community_area": [-1, 1, 2, 3],
    "dropoff_community_area": [-1, 1, 2, 3],
    "payment_type": [-1, 0, 1],
    "trip_day_of_week": [*range(7)],
    "trip_hour_of_day": [*range(24)],
}
RANGES = {
    "fare": 10_000,
    "tips": 1000,
    "trip_total": 9975,
    "trip_seconds": 100_000,
    "trip_miles": 2000,
}


def parameters(
    *epsilons: float, most: int = 20_000_000, each: int = 200, **changes: Any
) -> dict[str, Any]:
    """Give a parameters.json like the contest's, with few values; None leaves a column out."""
    schema: dict[str, Any] = {
        "taxi_id": {"dtype": "int64", "kind": "id", "min": 1_000_000, "max": 9_999_999}
    }
    schema |= {n: {"dtype": "int8", "kind": "categorical", "values": v} for n, v in LISTS.items()}
    schema |= {
        n: {"dtype": "int32", "kind": "numeric", "min": -1, "max": high}
        for n, high in RANGES.items()
    }
    schema |= changes
    return {
        "runs": [
            {
                "epsilon": float(epsilon),
                "delta": 2.5e-5,
                "max_records": most,
                "max_records_per_individual": each,
            }
            for epsilon in epsilons or (1, 10)
        ],
        "schema": {name: declared for name, declared in schema.items() if declared is not None},
    }


def trips(rows: int, seed: int, *, taxis: int = 40) -> dict[str, NDArray[np.int64]]:
    """Draw random trips; low codes and small numbers are the more common."""
    rng = np.random.default_rng(seed)
    table = {"taxi_id": 1_000_000 + (taxis * rng.random(rows) ** 2).astype(np.int64)}
    for name, values in LISTS.items():
        table[name] = np.array(values)[(len(values) * rng.random(rows) ** 2).astype(np.int64)]
    for name, high in RANGES.items():
        spread = 600 if name == "trip_seconds" else 15
        table[name] = np.minimum(rng.exponential(spread, rows).astype(np.int64) - 1, high)
    return table


def write_trips(path: Path, rows: int, seed: int) -> Path:
    """Write random trips as a CSV file."""
    table = trips(rows, seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    return path


def write_parameters(path: Path, *epsilons: float, **changes: Any) -> Path:
    """Write a parameters.json."""
    path.write_text(json.dumps(parameters(*epsilons, **changes)))
    return path


def check_submission(path: Path, asked: dict[str, Any]) -> dict[float, int]:
    """Hold a submission against the contest's rules; give the rows of each epsilon.

    It reads the file line by line and knows nothing of Understudy.
    """
    rows: Counter[float] = Counter()
    each: Counter[tuple[float, int]] = Counter()
    with path.open(newline="") as file:
        lines = csv.reader(file)
        assert next(lines) == HEADER
        for line in lines:
            assert len(line) == len(HEADER)
            epsilon = float(line[0])
            rows[epsilon] += 1
            for name, text in zip(HEADER[1:], line[1:], strict=True):
                value = int(text)
                assert text == str(value)
                declared = asked["schema"][name]
                if "values" in declared:
                    assert value in declared["values"]
                else:
                    assert declared["min"] <= value <= declared["max"]
            each[epsilon, int(line[1])] += 1
    limits = {run["epsilon"]: run for run in asked["runs"]}
    assert set(rows) <= set(limits)
    for epsilon, count in rows.items():
        assert count <= limits[epsilon]["max_records"]
    for (epsilon, _), count in each.items():
        assert count <= limits[epsilon]["max_records_per_individual"]
    return dict(rows)
