"""A kind of column that nobody knew of goes the whole road: one class, one entry of the registry.

The toy is a number on a circle, such as an hour: 25 o'clock is 1 o'clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.schema.encoders import SOURCE, by_numpy, by_sql
from understudy.engine import DuckDB
from understudy.errors import SchemaError
from understudy.release.release import FORMATS
from understudy.schema import Array, Codes, Schema
from understudy.schema.columns import KINDS, LARGEST, Column
from understudy.schema.encoding import reading
from understudy.schema.encoding.cell import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Cyclic(Column):
    """A whole number on a circle: only what is left of whole turns counts."""

    kind: ClassVar[str] = "cyclic"
    turn: int

    @property
    def values_count(self) -> int:
        return self.turn

    @property
    def disk_type(self) -> str:
        return "BIGINT"

    def encode(self, values: Array) -> Codes:
        numbers, absent = reading.numbers(values, self.null_keys)
        invalid = ~(np.abs(numbers) < LARGEST)
        codes = np.mod(np.floor(np.where(invalid, 0, numbers)), self.turn)
        return self.by_rule(codes, invalid=invalid, absent=absent)

    def encode_sql(self, cell: Cell) -> str:
        number, absent = map(cell.take, cell.number(self.null_keys))
        whole = f"floor({number})"
        code = f"{whole} - {self.turn} * floor({whole} / CAST({self.turn} AS DOUBLE))"
        invalid = f"{number} IS NULL OR abs({number}) >= {LARGEST}"
        return self.by_rule_sql(code, invalid=invalid, absent=absent)

    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        del rng
        return reading.nullable(codes.astype(np.int64), codes >= self.turn)

    def value_labels(self) -> list[str]:
        return [str(value) for value in range(self.turn)]


TOML = """
name = "watch"

[columns.who]
kind = "id"

[columns.hour]
kind = "cyclic"
source = "clock"
turn = 12
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, Cyclic.kind, Cyclic)


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    path = tmp_path / "watch.toml"
    path.write_text(TOML, encoding="utf-8")
    return Schema.read(path)


def test_it_is_declared_in_a_file(schema: Schema) -> None:
    hour = Cyclic(name="hour", source="clock", turn=12)
    assert schema["hour"] == hour
    assert schema.domain == {"hour": 13}
    assert repr(schema) == "Schema('watch', 2 columns: who (id), hour (13 codes))"
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.to_toml() == TOML.lstrip()


@pytest.mark.parametrize("turn", ["12", 12.0, True, [12]], ids=repr)
def test_its_fields_have_types(turn: Any) -> None:
    declared = {"kind": "cyclic", "turn": turn}
    with pytest.raises(SchemaError, match="column 'hour': turn has the wrong type"):
        Schema.from_dict({"name": "watch", "columns": {"hour": declared}})


@pytest.mark.parametrize("keys", [{}, {"turn": 12, "colour": "red"}], ids=["lacking", "unknown"])
def test_its_fields_are_its_keys(keys: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="unknown or missing keys of a cyclic column"):
        Schema.from_dict({"name": "watch", "columns": {"hour": {"kind": "cyclic", **keys}}})


VALUES = {
    "whole": np.array([0, 1, 12, 25, -1, -12, -13, 10**9]),
    "float": np.array([0.5, -0.5, 11.999, 12.0, np.nan, np.inf, -np.inf, 2.0**52, 1e300]),
    "object": np.array(["3", " 15 ", "-1", "true", "never", "", "NA", None, "1e2"], dtype=object),
    "moment": np.array(["2020-01-01", "NaT"], dtype="datetime64[s]"),
}


@pytest.mark.parametrize("outside", ["nearest", "other", "drop"])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("kind", VALUES)
def test_numpy_and_sql_agree(kind: str, outside: Any, missing: Any) -> None:
    hour = Cyclic(name="hour", source=SOURCE, turn=12, outside=outside, missing=missing)
    schema, values, engine = Schema("t", (hour,)), VALUES[kind], DuckDB()
    try:
        found = by_sql(engine, schema, {SOURCE: values, "row": np.arange(len(values))})
    finally:
        engine.close()
    assert found == by_numpy(schema, values)
    assert {code for (code,) in found.values()} <= set(range(hour.size))


def test_from_a_table_to_a_release(schema: Schema, tmp_path: Path) -> None:
    people = np.arange(600)
    private = {"who": people, "clock": np.where(people % 3, 15 + 12 * people, 7.0)}
    session = us.open(
        i_know=True,
        private=private,
        schema=schema,
        unit=us.Unit("who"),
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=50, delta=1e-6),
        ledger=tmp_path / "watch.ledger",
    )
    release = session.run(us.Independent())
    counts = release.histogram("hour")
    assert np.argsort(counts)[-2:].tolist() == [7, 3]
    assert release.labels("hour")[3] == "3"

    for form in FORMATS:
        folder = release.save(tmp_path / form, format=form)
        again = us.Release.read(folder)
        assert isinstance(again.schema["hour"], Cyclic)
        assert again.columns["hour"].tolist() == release.columns["hour"].tolist()
        assert again.histogram("hour").tolist() == counts.tolist()
    table = pq.read_table(tmp_path / "parquet" / "rows.parquet")
    assert str(table.schema.field("hour").type) == "int64"


def test_without_its_entry_nobody_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(KINDS, Cyclic.kind)
    with pytest.raises(SchemaError, match="column 'hour' needs a kind") as caught:
        Schema.from_dict({"name": "watch", "columns": {"hour": {"kind": "cyclic", "turn": 12}}})
    assert caught.value.allowed == ", ".join(KINDS)
