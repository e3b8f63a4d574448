"""Means and quantiles of numbers; Python's own statistics are the judge."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.evaluate.tables import random_table
from understudy.budget import Unit
from understudy.evaluate import METRICS, Coded, Tables, compare, page_facts, read_private
from understudy.evaluate.numbers import QUANTILES, Statistics
from understudy.evaluate.numbers import statistics as described
from understudy.schema import Categorical, Integer, Numeric, Schema


def with_numbers(seed: int, *, off: float = 0.0, rows: int = 400) -> Coded:
    rng = np.random.default_rng(seed)
    fare = rng.gamma(2.0, 10.0, rows) + off
    fare[::7] = np.nan
    return replace(
        random_table(seed, rows=rows), numbers={"fare": fare, "flat": np.full(rows, 3.0)}
    )


def test_they_are_what_python_says() -> None:
    values = with_numbers(0).numbers["fare"]
    there = [float(v) for v in values if v == v]  # noqa: PLR0124  NaN is not itself
    found = Statistics.of(values)
    assert found is not None
    assert found.mean == pytest.approx(statistics.fmean(there))
    assert found.deviation == pytest.approx(statistics.pstdev(there))
    cuts = statistics.quantiles(there, n=20, method="inclusive")
    assert found.quantiles == pytest.approx([cuts[i] for i in (0, 4, 9, 14, 18)])


def test_errors_are_in_standard_deviations_of_the_real_column() -> None:
    real = with_numbers(0)
    known = described(Tables(real=real, synthetic=real))
    assert known is not None
    assert known["fare"].real is not None
    moved = {"fare": real.numbers["fare"] + known["fare"].real.deviation / 2}
    found = compare(real, replace(real, numbers=moved)).synthetic.summary()
    assert found["means, mean error"] == pytest.approx(0.5)
    assert found["quantiles, mean error"] == pytest.approx(0.5)
    assert found["deviations, mean error"] == pytest.approx(0, abs=1e-9)
    same = compare(real, real).synthetic.summary()
    assert same["means, mean error"] == same["quantiles, mean error"] == 0


def test_a_resample_is_nearer_than_a_table_that_is_off() -> None:
    found = compare(with_numbers(0), with_numbers(1, off=9))
    off, again, *_ = (
        each.summary()["quantiles, mean error"]
        for each in (found.synthetic, *found.yardsticks.values())
    )
    assert again < 0.2
    assert off > 0.4


def test_a_column_without_numbers_in_one_table_is_off_by_one() -> None:
    real = with_numbers(0)
    none = {name: np.full(real.rows, np.nan) for name in real.numbers}
    found = compare(real, replace(real, numbers=none))
    assert found.synthetic.summary()["means, mean error"] == 1
    told = json.loads(json.dumps(found.to_dict()))["synthetic"]["numbers"]
    assert told["fare"]["synthetic"] is None
    assert set(told["fare"]["real"]) == {"mean", "standard deviation", *QUANTILES}
    assert "fare, mean" in found.table()
    (section,) = [s for s in page_facts([found])["sections"] if s["title"] == "Means and quantiles"]
    assert section["parts"][0]["runs"][0][0] is None


def test_tables_without_numbers_have_no_such_figures() -> None:
    found = compare(random_table(0), random_table(1))
    assert found.synthetic["numbers"] is None
    assert "means, mean error" not in found.table()


def test_numbers_are_read_as_they_are_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("fare,age,area\n1.25,7,1\n200,99,2\n,3,1\n-7,x,2\n")
    schema = Schema(
        "trips",
        (
            Numeric(name="fare", edges=(0.0, 10.0, 100.0), special=(-7.0,)),
            Integer(name="age", min=0, max=30),
            Categorical(name="area", values=("1", "2")),
        ),
    )
    table = read_private(path, schema=schema, unit=Unit.each_row())
    assert set(table.numbers) == {"fare", "age"}
    # The bins end at 100; what a custodian wants to know is what that does to the mean.
    assert sorted(table.numbers["fare"][~np.isnan(table.numbers["fare"])]) == [1.25, 200]
    assert sorted(table.numbers["age"][~np.isnan(table.numbers["age"])]) == [3, 7, 99]


def test_it_is_registered() -> None:
    assert METRICS["numbers"].about.startswith("Means")
