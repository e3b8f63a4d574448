"""Whatever a table's columns are called, none of them stands for anything else."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
import pytest

from tests.audit.effort import one_in
from understudy.budget import AnyUnit, Unit, Weights, resolve
from understudy.engine import DuckDB
from understudy.errors import MalformedFileError
from understudy.schema import Categorical, DateTime, Integer, Numeric, Schema
from understudy.vault import PrivateTable
from understudy.vault.marginals import marginals

OURS = [
    *("id", "ID ", "id ", "person", "n", "w", "row", "rows", "rowid", "coded", "taken", "source"),
    *("unit 0 ", "UNIT 0 ", "number x", "s0", "S1", "u0", "U0", "c0", "C1", "v0", "a0", "v0_0"),
    *("r", "s", "p", "e", "k", "t", "label", "cell", "place", "again", "h", "when:week", '"', "'"),
]
"""Names that are, or were, ours somewhere on the way."""


def counted(table: dict[str, Any], schema: Schema, unit: AnyUnit) -> Any:
    with closing(DuckDB()) as engine:
        held = PrivateTable(engine, table, schema=schema, unit=unit, key="k")
        (people,) = engine.fetch("SELECT count(*) AS n FROM sizes")["n"]
        sizes = sorted(engine.fetch("SELECT n FROM sizes")["n"].tolist())
        found = dict(marginals(held, [tuple(schema.domain)], held.bounded(Weights(2))))
        return int(people), sizes, [v.tolist() for v in found.values()]


@pytest.mark.parametrize("ours", one_in(5, OURS))
def test_a_column_of_one_of_our_names_is_a_column_as_any_other(ours: str) -> None:
    """As the unit, as what is modelled, and as one that nobody asked for."""
    who, x = np.array(["a", "a", "b", "c", "c", "c"]), np.array([0, 1, 1, 2, 2, 0])

    def schema(name: str) -> Schema:
        return Schema("t", (Integer(name=name, min=0, max=2), Integer(name="other", min=0, max=2)))

    expected = counted({"who": who, "x": x, "other": x}, schema("x"), Unit("who"))
    assert expected[:2] == (3, [1, 2, 3])
    if ours != "when:week":  # as a unit it would be the week of a column
        assert counted({ours: who, "x": x, "other": x}, schema("x"), Unit(ours)) == expected
    assert counted({"who": who, ours: x, "other": x}, schema(ours), Unit("who")) == expected
    beside = {"who": who, "x": x, "other": x, ours: np.arange(6).astype(str)}
    assert counted(beside, schema("x"), Unit("who")) == expected


def test_a_column_called_as_a_part_of_a_date_is_not_that_part() -> None:
    declared = Schema(
        "t",
        (
            DateTime(name="week", source="when", part="week", min=2600, max=2700),
            Numeric(name="x", edges=(0.0, 1.0, 2.0)),
        ),
    )
    days = np.array(["2020-01-06", "2020-01-07", "2020-01-14"])
    plain = {"who": np.array(["a", "a", "a"]), "when": days, "x": np.array([0.0, 1.0, 1.0])}
    for unit in (Unit("who", "week"), Unit("who", "when:week")):
        people, sizes, _ = counted(plain, declared, unit)
        assert (people, sizes) == (2, [1, 2])
        odd = {**plain, "when:week": np.array(["1", "2", "3"])}
        assert counted(odd, declared, unit) == counted(plain, declared, unit)


def test_a_unit_is_resolved_once_however_often_it_is_handed_on() -> None:
    """A driver's column of the table is called person, and a person's is called car."""
    crossed = Schema(
        "crossed",
        (
            Categorical(name="driver", source="person", values=("a", "b")),
            Categorical(name="person", source="car", values=("x", "y")),
        ),
    )
    table = {"person": np.array(["a", "a", "b"]), "car": np.array(["x", "y", "x"])}
    table["car"][2] = "z"
    unit = Unit("driver")
    for handed in (unit, unit.resolved(crossed), resolve(unit.resolved(crossed), crossed)):
        people, sizes, _ = counted(table, crossed, handed)
        assert (people, sizes) == (2, [1, 2])


def test_columns_that_differ_in_capitals_only_are_refused() -> None:
    table = {"Who": np.array(["a", "b"]), "who": np.array(["a", "a"]), "x": np.array([0, 1])}
    schema = Schema("t", (Integer(name="x", min=0, max=1), Categorical(name="z", values=("a",))))
    with (
        closing(DuckDB()) as engine,
        pytest.raises(MalformedFileError, match="differ only in case"),
    ):
        PrivateTable(engine, table, schema=schema, unit=Unit("who"), key="k")
