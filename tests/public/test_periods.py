"""A public table of another time: its months are read as those of the private one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import understudy as us
from understudy.public import moved
from understudy.schema import Integer, Schema, Timestamp

ROWS = us.Unit.each_row()


def schema(first: str, last: str) -> Schema:
    return Schema(
        "t",
        (
            Timestamp(name="when", min=first, max=last, resolution="day"),
            Integer(name="size", min=0, max=3),
        ),
    )


def days(*texts: str) -> dict[str, Any]:
    return {"when": np.array(texts, dtype=object), "size": np.arange(len(texts)) % 4}


def months(table: dict[str, Any], declared: Schema) -> list[int]:
    read = us.PublicTable.read(table, schema=declared, unit=ROWS)
    assert read.schema == declared
    return sorted(read.codes["when_month"].tolist())


@pytest.mark.parametrize("year", [2018, 2019, 2020, 2023])
def test_another_years_months_are_the_same_months(year: int) -> None:
    table = days(*(f"{year}-{m:02}-05" for m in (1, 3, 3, 12)))
    assert months(table, schema("2020-01-01", "2020-12-31")) == [0, 2, 2, 11]


def test_half_a_year_is_moved_by_half_a_year() -> None:
    table = days("2013-01-09", "2013-02-09", "2013-06-09")
    assert months(table, schema("2013-07-01", "2013-12-31")) == [0, 1, 5]


def test_whole_years_are_chosen_where_they_bring_as_much() -> None:
    """March to June of 2019 fit into 2020 in many ways: as March to June."""
    table = days("2019-03-09", "2019-06-09")
    assert months(table, schema("2020-01-01", "2020-12-31")) == [2, 5]


def test_a_table_that_is_inside_stays_where_it_is() -> None:
    declared = schema("2019-11-15", "2020-12-31")
    table = days("2019-11-09", "2020-02-09", "never")
    assert moved(table, declared) == declared
    assert months(table, declared) == [0, 3, 14]


def test_what_cannot_be_read_moves_nothing() -> None:
    declared = schema("2020-01-01", "2020-12-31")
    assert moved(days("never", "03/04/2019"), declared) == declared
    assert moved({"size": np.arange(3)}, declared) == declared
