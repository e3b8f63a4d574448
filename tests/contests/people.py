"""Small tables of two contests about people: their files, and rows drawn from code lists."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Column = NDArray[Any]

# The census of 1940

ENDS = {"SEX": 2, "AGE": 99, "CITY": 99, "MARST": 6, "RENT": 20, "INCWAGE": 999_999}
"""The largest code of each column, as the contest's file has it."""
LISTS = {"SEX": [1, 2], "CITY": [0, 10, 20, 30, 40], "MARST": [1, 2, 3, 4, 5, 6], "BPL": [1]}
"""Codes of most columns, and of one that the file does not declare."""
STATES = {"10": "Colorado", "20": "Colorado", "30": "Ohio"}


def written(path: Path, content: object) -> Path:
    """Write a JSON file."""
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def write_table(path: Path, table: Mapping[str, Column]) -> Path:
    """Write a table as a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    return path


def drawn(rng: np.random.Generator, values: list[Any] | range, rows: int) -> Column:
    """Draw from a list; what comes first is the more common."""
    places = (len(values) * rng.random(rows) ** 2).astype(np.int64)
    return np.array([values[place] for place in places.tolist()])


def census(
    rows: int, seed: int, ends: Mapping[str, int], lists: Mapping[str, list[Any]]
) -> dict[str, Column]:
    """Draw people of 1940; one in three has no wage, and half have no house."""
    rng = np.random.default_rng(seed)
    table = {n: drawn(rng, lists.get(n, range(min(end, 60) + 1)), rows) for n, end in ends.items()}
    if "INCWAGE" in ends:
        table["INCWAGE"] = np.where(np.arange(rows) % 3, rng.integers(0, 6000, rows), 999_998)
    if "VALUEH" in ends:
        table["VALUEH"] = np.where(np.arange(rows) % 2, 5 * rng.integers(0, 6000, rows), 9_999_998)
    return table


def census_files(folder: Path, rows: int = 300, ends: Mapping[str, int] = ENDS) -> dict[str, Any]:
    """Write all that the recipe census-1940 asks for, and name it as the recipe does."""
    declared = {name: {"type": "enum", "maxval": end} for name, end in ends.items()}
    return {
        "private": write_table(folder / "1940.csv", census(rows, 1, ends, LISTS)),
        "parameters": written(folder / "specs.json", declared),
        "lists": written(folder / "domain.json", LISTS),
        "groups": {"CITY": written(folder / "states.json", STATES)},
        "ledger": folder / "census.ledger",
        "out": folder / "submission.csv",
    }


# Excerpts of the American Community Survey

EXCERPTS: dict[str, dict[str, Any]] = {
    "PUMA": {"dtype": "object", "values": ["01-01301", "06-07502", "06-08507"]},
    "AGEP": {"dtype": "int64", "min": 0, "max": 95},
    "SEX": {"dtype": "int64", "values": [1, 2]},
    "MSP": {"has_null": True, "null_value": "N", "dtype": "object", "values": ["N", "1", "2"]},
    "DENSITY": {"dtype": "float64", "min": 16, "max": 52_864},
    "PINCP": {
        "has_null": True, "null_value": "N", "dtype": "object", "min": -9000, "max": 1_327_000,
    },
    "POVPIP": {"has_null": True, "null_value": "N", "dtype": "object", "min": 0, "max": 501},
}  # fmt: skip


def excerpt(rows: int, seed: int) -> dict[str, Column]:
    """Draw people of 2019; one in three has no income, and one in four no poverty ratio."""
    rng = np.random.default_rng(seed)
    table: dict[str, Column] = {}
    for name, declared in EXCERPTS.items():
        whole = range(declared.get("min", 0), declared.get("max", 0) + 1)
        table[name] = drawn(rng, declared.get("values", whole), rows)
    table["DENSITY"] = np.round(table["DENSITY"] * 0.9, 1)
    for name, every in (("PINCP", 3), ("POVPIP", 4)):
        table[name] = np.where(np.arange(rows) % every, table[name].astype(str), "N")
    return table


def excerpt_files(folder: Path, rows: int = 300, *columns: str) -> dict[str, Any]:
    """Write all that the recipe acs-2019 asks for, of some columns or of all."""
    kept = [name for name in EXCERPTS if name in columns or not columns]
    table = excerpt(rows, 1)
    return {
        "private": write_table(folder / "2019.csv", {name: table[name] for name in kept}),
        "parameters": written(folder / "schema.json", {"schema": {n: EXCERPTS[n] for n in kept}}),
        "ledger": folder / "acs.ledger",
        "out": folder / "submission.csv",
    }


def read_rows(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Read a CSV file as a contest would: its header, and its lines as texts."""
    with path.open(newline="") as file:
        lines = csv.DictReader(file)
        rows = list(lines)
        return list(lines.fieldnames or ()), rows
