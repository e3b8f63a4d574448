"""Filling: columns drawn given the values of others, which come out as they were drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from understudy.public import PublicTable
from understudy.schema import Categorical, Id, Integer, Numeric, Schema
from understudy.synth.archetypes import Archetypes
from understudy.synth.archetypes.filling import CopiedRows, Values

UNIT = us.Unit("taxi")
CONDITIONALS = (("fare", ("area",)), ("tips", ("area", "fare")), ("total", ("fare", "tips")))


def numeric(name: str, **other: Any) -> Numeric:
    return Numeric(name=name, edges=(0.0, 10.0, 20.0, 60.0), **other)


SCHEMA = Schema(
    "trips",
    (
        Id(name="taxi"),
        Integer(name="area", min=0, max=4, missing=False),
        Categorical(name="firm", values=("red", "blue"), missing=False),
        *map(numeric, ("fare", "tips", "total")),
    ),
)


def trips(seed: int, rows: int = 600) -> dict[str, Any]:
    """Draw trips whose total is the fare and the tips, to the cent; some have no fare."""
    rng = np.random.default_rng(seed)
    taxi = np.sort(rng.integers(60, size=rows))
    area = rng.integers(5, size=rows)
    fare = np.round(5 * area + rng.exponential(5, rows), 2)
    tips = np.round(fare * rng.choice([0.0, 0.2, 0.25], rows), 2)
    fare[::50] = np.nan
    return {
        "taxi": taxi,
        "area": area,
        "firm": np.array(["red", "blue"], dtype=object)[taxi % 2],
        "fare": fare,
        "tips": tips,
        "total": np.round(fare + tips, 2),
    }


PUBLIC = PublicTable.read(trips(1), schema=SCHEMA, unit=UNIT)


def test_values_are_told_apart_within_a_bin_and_what_is_no_number_is_by_its_code() -> None:
    fares = Values.of(PUBLIC, "fare")
    numbers, codes = PUBLIC.numbers["fare"][:], PUBLIC.codes["fare"]
    found = fares.numbers[fares.rows]
    inside = (numbers >= 0) & (numbers <= 60)
    assert np.array_equal(found[inside], numbers[inside])
    assert np.isnan(found[~inside]).all()
    assert len(np.unique(fares.rows[~inside])) == len(np.unique(codes[~inside]))


@pytest.mark.parametrize("by_bins", [True, False])
def test_a_column_is_drawn_given_values_and_not_bins(by_bins: bool) -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(0, len(PUBLIC), 2000)
    rows = CopiedRows.copied(PUBLIC, ("area", "firm"), place)
    rows.fill(dict(CONDITIONALS), ("area",), rng, by_bins=by_bins)
    made = rows.numbers()
    known = np.isfinite(made["fare"]) & np.isfinite(made["total"])
    assert known.mean() > 0.9
    assert np.abs(made["fare"] + made["tips"] - made["total"])[known].max() < 0.006
    # Given the area alone, totals would be those of other fares.
    apart = CopiedRows.copied(PUBLIC, ("area", "firm"), place)
    apart.fill({name: ("area",) for name, _ in CONDITIONALS}, ("area",), rng)
    made = apart.numbers()
    assert np.nanmean(np.abs(made["fare"] + made["tips"] - made["total"])) > 1


def test_values_that_nobody_has_are_looked_up_by_their_bins_or_else_by_the_features() -> None:
    few = PUBLIC.take(np.flatnonzero(PUBLIC.codes["area"] == 0)[:5])
    for by_bins in (True, False):
        rows = CopiedRows.copied(few, ("area",), np.arange(5))
        strange = len(rows.known["fare"].numbers) - 1
        rows.codes["fare"] = np.full(5, few.codes["fare"][0])
        rows.values["fare"] = np.full(5, strange)
        rows.fill({"total": ("fare",)}, ("area",), np.random.default_rng(0), by_bins=by_bins)
        same = np.isin(
            rows.codes["total"], few.codes["total"][few.codes["fare"] == few.codes["fare"][0]]
        )
        assert len(rows.codes["total"]) == 5
        assert same.all() or not by_bins


@pytest.mark.parametrize("published", [False, True])
def test_relations_of_public_rows_come_out_of_a_release(tmp_path: Path, published: bool) -> None:
    mechanism = Archetypes(
        features=("area",),
        kinds=2,
        attribute="firm",
        conditionals=CONDITIONALS,
        published=published,
    )
    release = us.open(
        private=trips(2),
        public=PUBLIC,
        schema=SCHEMA,
        unit=UNIT,
        bounding=us.Norm(),
        budget=us.Budget(epsilon=4, delta=1e-6),
        ledger=tmp_path / "ledger",
    ).run(mechanism)
    fare, tips, total = (
        np.array(release.columns[n], dtype=np.float64) for n in ("fare", "tips", "total")
    )
    known = np.isfinite(fare) & np.isfinite(total)
    assert len(fare) > 100
    assert np.abs(fare + tips - total)[known].max() < 0.006
