"""Pieces of SQL that others compose queries of: date-times and parts, texts and names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.audit.effort import one_in
from tests.schema.encoders import FORMATS, MOMENTS
from understudy.engine import DuckDB
from understudy.schema import Array
from understudy.schema.encoding import reading
from understudy.schema.encoding.calendar import PARTS
from understudy.schema.encoding.dialect import literal, quote
from understudy.schema.encoding.expressions import part_of, seconds_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

STAMPS = np.array(
    ["2020-02-29T23:59:59.999999", "1969-12-31T23:59:59.5", "0001-01-01", "9999-12-31", "NaT"],
    dtype="datetime64[us]",
)


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    started = DuckDB()
    yield started
    started.close()


def fetched(engine: DuckDB, values: Array, sql: str) -> list[object]:
    """Evaluate an expression of s.x over values, in their order."""
    name = "source"
    table = {"x": values, "row": np.arange(len(values))}
    engine.attach(table, name=name, delimiter=",", quote_mark='"')
    found = engine.fetch(f"SELECT {sql} AS y FROM {name} AS s ORDER BY s.row")["y"]
    engine.run(f"DROP VIEW {name}")
    return [None if y is None or y != y else y for y in found.tolist()]  # noqa: PLR0124  NaN


@pytest.mark.parametrize("written", one_in(2, FORMATS))
def test_seconds_of_texts(engine: DuckDB, written: str | None) -> None:
    values = np.array([*MOMENTS, None], dtype=object)
    wanted, _ = reading.seconds(values, written, ())
    sql = seconds_of("s.x", "text", written, engine.dialect)
    found = fetched(engine, values, f"CAST({sql} AS DOUBLE)")
    assert found == [None if np.isnan(w) else w for w in wanted.tolist()]
    assert any(second is not None for second in found)


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_stamps(engine: DuckDB, part: str) -> None:
    seconds, _ = reading.seconds(STAMPS, None, ())
    wanted = reading.part(seconds, part).tolist()
    sql = part_of(seconds_of("s.x", "moment", None, engine.dialect), part, engine.dialect)
    found = fetched(engine, STAMPS, f"CAST({sql} AS DOUBLE)")
    assert found == [*wanted[:-1], None]


def test_texts_of_stamps(engine: DuckDB) -> None:
    found = fetched(engine, STAMPS, text_of("s.x", "moment", engine.dialect))
    assert found == reading.texts(STAMPS).tolist()
    assert found[0] == "2020-02-29 23:59:59"


@pytest.mark.parametrize("text", ["it's", "'", "''; DROP TABLE t; --", "\\", "\n", "é", ""])
def test_quoted_texts_and_names_are_what_they_were(engine: DuckDB, text: str) -> None:
    name = f'"{text}"'
    found = engine.fetch(f"SELECT {literal(text)} AS {quote(name)}")
    assert found[name].tolist() == [text]
