"""What holds of every kind of column in the registry."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from tests.schema.encoders import of_every_kind
from understudy.schema import (
    KINDS,
    Categorical,
    Column,
    DateTime,
    Declaration,
    Id,
    Ignored,
    Integer,
    Numeric,
    Remainder,
    Split,
    Text,
    Timestamp,
)
from understudy.schema.plain import from_plain, to_plain

DOCS = Path(__file__).parents[3] / "docs" / "schema.md"
EXAMPLES: tuple[Declaration, ...] = (
    Categorical(name="x", values=("a", "b"), prefixes=(3, 1)),
    Integer(name="x", min=3, max=9),
    Numeric(name="x", edges=(0.0, 1.0, 5.0), special=(99.0,)),
    DateTime(name="x", part="hour"),
    Timestamp(name="x", min="2020-01-01", max="2020-12-31"),
    Split(name="x", parts=("high", "low"), step=10, max=95, special=(99,)),
    Id(name="x", min=7),
    Text(name="x", nulls=("?",), prefixes=(3, 1)),
    Ignored(name="x"),
)
PARTS = (Remainder(name="x", step=10, min=0, max=95, special=(99,)),)
"""Parts of a compound that are never declared alone."""
TYPES = {"BIGINT": "iO", "DOUBLE": "f", "VARCHAR": "O", "BOOLEAN": "bO", "TIMESTAMP": "M"}
"""The kinds of NumPy array that are written as each SQL type."""


def test_every_kind_has_an_example_here() -> None:
    assert [type(example) for example in EXAMPLES] == list(KINDS.values())
    assert [example.kind for example in EXAMPLES] == list(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_documented(kind: str) -> None:
    assert f'kind = "{kind}"' in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("declared", EXAMPLES, ids=lambda c: c.kind)
def test_a_declaration_is_written_and_read_again(declared: Declaration) -> None:
    plain = to_plain(declared)
    assert from_plain("x", plain) == declared
    assert set(plain) <= {"kind", *(f.name for f in fields(declared))}
    assert declared.summary.endswith(".")


def test_the_encoders_are_compared_for_every_kind_that_has_codes() -> None:
    compared = {type(column) for column in of_every_kind({"outside": "other"}, [None])}
    assert compared == {type(part) for each in (*EXAMPLES, *PARTS) for part in each.modelled}


@pytest.mark.parametrize(
    "column", [p for each in (*EXAMPLES, *PARTS) for p in each.modelled], ids=lambda c: c.kind
)
def test_a_column_answers_for_itself(column: Column) -> None:
    codes = np.arange(column.size, dtype=np.int32)
    values = column.decode(codes, np.random.default_rng(0))
    assert values.dtype.kind in TYPES[column.disk_type]
    assert len(column.labels()) == column.size
    assert len(column.value_labels()) == column.values_count
    assert 0 <= column.ordered_count <= column.values_count
    assert column.is_binned == isinstance(column, Numeric)
    assert column.codes_are_values == isinstance(column, (Categorical, Integer))
    assert column.released().name == column.name
