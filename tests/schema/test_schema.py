"""A schema: its columns by name, tables to codes and back, and what it may not be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from understudy.errors import MissingColumnError, SchemaError
from understudy.schema import (
    Categorical,
    DateTime,
    Declaration,
    Id,
    Ignored,
    Integer,
    Numeric,
    Schema,
    Text,
)

if TYPE_CHECKING:
    from pathlib import Path

HOUR = Integer(name="hour", min=0, max=23)
PLAIN: dict[str, Any] = {"name": "t", "columns": {"hour": {"kind": "integer", "min": 0, "max": 23}}}


def test_columns_by_name() -> None:
    schema = Schema("t", (Id(name="who"), HOUR, Ignored(name="note")))
    assert schema["hour"] is HOUR
    assert schema.modelled == (HOUR,)
    assert schema.ids == (Id(name="who"),)
    assert schema.domain == {"hour": 25}
    for name in ("who", "note", "nothing"):
        with pytest.raises(SchemaError) as caught:
            schema[name]
        assert caught.value.what == f"no modelled column {name!r}"
        assert caught.value.allowed == "hour"


def test_a_schema_of_nothing_to_model_says_what_it_has() -> None:
    """As discovery writes it of a few people."""
    schema = Schema("t", (Id(name="who"), Text(name="age"), Text(name="city")))
    with pytest.raises(SchemaError, match="no column that could be modelled") as caught:
        _ = schema.domain
    assert caught.value.got == "kind text: age, city"


def test_with_columns() -> None:
    schema = Schema("t", (Id(name="who"), HOUR), delimiter=";")
    half = Integer(name="hour", min=0, max=11)
    more = Ignored(name="note")
    changed = schema.with_columns(more, half)
    assert changed.columns == (Id(name="who"), half, more)
    assert changed.delimiter == ";"


def test_released_describes_the_table_that_comes_out() -> None:
    hour = DateTime(name="hour", source="when", part="hour", outside="other", missing=False)
    fare = Numeric(name="fare", source="price", edges=(0.0, 1.0))
    who, note = Id(name="who", min=1), Ignored(name="note")
    schema = Schema("t", (note, hour, who, fare), delimiter=";", quote="'")
    released = schema.released()
    whole = Integer(name="hour", min=0, max=23, outside="other", missing=False)
    assert released == Schema("t", (who, whole, Numeric(name="fare", edges=(0.0, 1.0))))
    assert released.domain == schema.domain


def test_encode_keeps_the_rows_that_every_column_keeps() -> None:
    strict: dict[str, Any] = {"outside": "drop", "missing": False}
    a = Integer(name="a", min=0, max=9, **strict)
    b = Categorical(name="b", source="B", values=("x", "y"), **strict)
    table = {"a": np.array([1, 99, 3, 4]), "B": np.array(["x", "y", "z", "y"])}
    codes, kept = Schema("t", (a, b)).encode(table)
    assert kept.tolist() == [True, False, False, True]
    assert {n: c.tolist() for n, c in codes.items()} == {"a": [1, 4], "b": [0, 1]}


def test_encode_needs_every_column() -> None:
    b = Integer(name="b", source="B", min=0, max=9)
    with pytest.raises(MissingColumnError) as caught:
        Schema("t", (HOUR, b)).encode({"b": np.array([1])})
    assert caught.value.what == "the table lacks columns that the schema names"
    assert caught.value.got == "no 'B', 'hour'"


# --- what a schema may not be -------------------------------------------------------------


def refused(data: Any) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(data)
    return caught.value


@pytest.mark.parametrize(
    ("data", "got"),
    [
        ({"name": "t"}, "no columns"),
        ({"name": "t", "columns": []}, "no columns"),
        ({**PLAIN, "version": 1, "author": "me"}, "author, version"),
    ],
)
def test_tables_that_are_no_schema(data: dict[str, Any], got: str) -> None:
    error = refused(data)
    told = "a schema has a name, [columns.…], and perhaps order_by, [csv] and [[constraints]]"
    assert error.what == told
    assert error.got == got


OWNED = {
    "name": "panel",
    "order_by": ["when", "wage"],
    "columns": {
        "who": {"kind": "id"},
        "born": {"kind": "datetime", "part": "month", "of": "person"},
        "when": {"kind": "timestamp", "min": "2020-01-01", "max": "2020-12-31"},
        "wage": {"kind": "numeric", "edges": [0.0, 10.0, 20.0]},
        "job": {"kind": "categorical", "values": ["a", "b"]},
    },
}


def test_a_schema_says_what_is_a_persons_own_and_what_orders_their_rows(tmp_path: Path) -> None:
    schema = Schema.from_dict(OWNED)
    assert schema.own == ("born",)
    (timestamp,) = schema.timestamps
    assert schema.ordering == (*timestamp.in_order, "wage")
    assert timestamp.in_order == [f"({timestamp.name}: date)", f"{timestamp.name}_hour"]
    assert [c.name for c in schema.encoded if c not in schema.modelled] == timestamp.in_order[:1]
    (tmp_path / "panel.toml").write_text(schema.to_toml())
    assert Schema.read(tmp_path / "panel.toml") == schema
    assert Schema.from_dict({**OWNED, "order_by": "wage"}).order_by == ("wage",)
    assert schema.released().ordering == schema.ordering
    assert schema.released().own == schema.own


@pytest.mark.parametrize("order_by", [["job"], ["born"], ["who"], ["none"], ["wage", "wage"]])
def test_what_cannot_order_rows_is_refused(order_by: list[str]) -> None:
    error = refused({**OWNED, "order_by": order_by})
    assert error.what == "order_by must name columns of numbers or date-times, each once"
    assert error.allowed == "wage, when"


@pytest.mark.parametrize("order_by", [{"when": 1}, 3, [3], True])
def test_order_by_is_a_list_of_names(order_by: object) -> None:
    error = refused({**OWNED, "order_by": order_by})
    assert error.what == "order_by must be a column's name, or a list of names"


def test_a_value_is_a_rows_or_a_persons() -> None:
    columns = {"born": {"kind": "integer", "min": 1900, "max": 2020, "of": "plane"}}
    error = refused({"name": "t", "columns": columns})
    assert error.what == "column 'born': unknown owner of its values"
    assert error.allowed == "'row', 'person'"


@pytest.mark.parametrize("csv", [[], {"separator": ";"}, {"delimiter": ";", "escape": "!"}])
def test_unknown_keys_in_csv(csv: object) -> None:
    error = refused({**PLAIN, "csv": csv})
    assert error.what == "unknown keys in [csv]"
    assert error.allowed == "delimiter, quote, encoding"


@pytest.mark.parametrize(
    ("delimiter", "quote"),
    [("", '"'), (",,", '"'), (",", ""), (",", ","), ("\n", '"'), (",", "\r"), ("\x00", '"')],
)
def test_marks(delimiter: str, quote: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema("t", (HOUR,), delimiter=delimiter, quote=quote)
    assert caught.value.what == "delimiter and quote must be two different characters"
    assert caught.value.got == f"{delimiter!r} and {quote!r}"


@pytest.mark.parametrize("name", ["", "  "])
def test_a_table_needs_a_name(name: str) -> None:
    assert refused({**PLAIN, "name": name}).what == "the table has no name"
    without = {k: v for k, v in PLAIN.items() if k != "name"}
    assert refused(without).hint == 'add name = "my-table" to the schema'


def test_columns_declared_twice() -> None:
    with pytest.raises(SchemaError) as caught:
        Schema("t", (HOUR, Ignored(name="Hour"), Ignored(name="b"), Id(name="b")))
    assert caught.value.what == "columns declared twice"
    assert caught.value.got == "Hour, b, hour"
    assert caught.value.hint is not None
    assert "differ only in case" in caught.value.hint


@pytest.mark.parametrize("columns", [(), (Id(name="a"), Ignored(name="b"))])
def test_a_schema_needs_a_column_to_model(columns: tuple[Declaration, ...]) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema("t", columns)
    assert caught.value.what == "no column to model"
    assert caught.value.allowed == "at least one column that is not an id"


def column_refused(column: object) -> SchemaError:
    return refused({"name": "t", "columns": {"x": column}})


@pytest.mark.parametrize(
    ("column", "got"),
    [
        ({}, "None"),
        ({"kind": "real"}, "'real'"),
        ({"kind": "remainder", "step": 10, "min": 0, "max": 99}, "'remainder'"),
        ({"kind": ["integer"]}, "['integer']"),
        ("integer", "no table"),
        (7, "no table"),
    ],
)
def test_columns_need_a_kind(column: object, got: str) -> None:
    error = column_refused(column)
    assert error.what == "column 'x' needs a kind"
    assert error.got == got
    assert error.allowed == (
        "categorical, integer, numeric, datetime, timestamp, split, id, text, ignored"
    )


@pytest.mark.parametrize(
    ("column", "got", "needed"),
    [
        ({"kind": "integer"}, "none", "max, min"),
        ({"kind": "integer", "min": 0}, "min", "max, min"),
        ({"kind": "integer", "min": 0, "max": 1, "step": 1}, "max, min, step", "max, min"),
        ({"kind": "numeric", "min": 0, "max": 1}, "max, min", "edges"),
        ({"kind": "numeric", "edges": [0, 1], "top": 1}, "edges, top", "edges"),
        ({"kind": "numeric", "edges": [0, 1], "step": 1}, "edges, step", "edges"),
        ({"kind": "numeric", "min": 0, "max": 1, "step": 1, "bins": 1}, "bins, edges", "edges"),
        ({"kind": "numeric", "min": 0, "max": 1, "top": 1}, "max, min, top", "edges"),
        ({"kind": "split", "max": 9, "step": 2}, "max, step", "max, parts, step"),
        ({"kind": "categorical", "values_from": "x.json"}, "values_from", "values"),
        ({"kind": "categorical", "name": "y", "values": [1]}, "name, values", "values"),
        ({"kind": "categorical", "keys": ["1"], "values": [1]}, "keys, values", "values"),
        ({"kind": "datetime"}, "none", "part"),
        ({"kind": "timestamp", "min": "2020-01-01"}, "min", "max, min"),
        ({"kind": "ignored", "source": "y"}, "source", None),
    ],
)
def test_keys_of_columns(column: dict[str, Any], got: str, needed: str | None) -> None:
    error = column_refused(column)
    kind = column["kind"]
    assert error.what == f"column 'x': unknown or missing keys of a {kind} column"
    assert error.got == got
    assert error.allowed is not None
    assert error.hint == (f"needed: {needed}" if needed else None)


@pytest.mark.parametrize(
    ("key", "value", "got"),
    [
        ("source", 1, "int"),
        ("outside", False, "bool"),
        ("missing", 1, "int"),
        ("nulls", "NA", "str"),
        ("nulls", [1], "tuple"),
        ("values", "abc", "str"),
        ("values", [["a"]], "tuple"),
        ("values", [{}], "tuple"),
        ("other", ["a"], "tuple"),
        ("missing_value", {}, "dict"),
        ("groups", "x", "str"),
        ("groups", [1], "tuple"),
    ],
)
def test_types_in_lists(key: str, value: object, got: str) -> None:
    error = column_refused({"kind": "categorical", "values": ["a"], key: value})
    assert (error.what, error.got) == (f"column 'x': {key} has the wrong type", got)


@pytest.mark.parametrize(
    ("column", "key", "got"),
    [
        ({"kind": "integer", "min": 0.0, "max": 1}, "min", "float"),
        ({"kind": "integer", "min": 0, "max": True}, "max", "bool"),
        ({"kind": "numeric", "edges": 3}, "edges", "int"),
        ({"kind": "numeric", "edges": [0, "1"]}, "edges", "tuple"),
        ({"kind": "numeric", "edges": [0, 1], "whole": 1}, "whole", "int"),
        ({"kind": "datetime", "part": 1}, "part", "int"),
        ({"kind": "datetime", "part": "hour", "format": 1}, "format", "int"),
        ({"kind": "id", "min": "1"}, "min", "str"),
        ({"kind": "timestamp", "min": 2020, "max": "2020-12-31"}, "min", "int"),
        ({"kind": "timestamp", "min": "2020-01-01", "max": True}, "max", "bool"),
        ({"kind": "numeric", "edges": [0, 1], "special": 9}, "special", "int"),
        ({"kind": "numeric", "edges": [0, 1], "special": ["9"]}, "special", "tuple"),
        ({"kind": "numeric", "edges": [0, 1], "top_coded": 1}, "top_coded", "int"),
        ({"kind": "split", "parts": "ab", "max": 9, "step": 2}, "parts", "str"),
        ({"kind": "split", "parts": ["a", 1], "max": 9, "step": 2}, "parts", "tuple"),
        ({"kind": "split", "parts": ["a", "b"], "max": 9, "step": 2.0}, "step", "float"),
        ({"kind": "split", "parts": ["a", "b"], "max": 9, "step": 2, "top": True}, "top", "bool"),
    ],
)
def test_types_of_other_columns(column: dict[str, Any], key: str, got: str) -> None:
    error = column_refused(column)
    assert (error.what, error.got) == (f"column 'x': {key} has the wrong type", got)


def test_edges_beyond_all_numbers() -> None:
    error = column_refused({"kind": "numeric", "edges": [-(10**400), 0, 10**400]})
    assert error.what == "column 'x': edges must be finite and increasing"


@pytest.mark.parametrize("wrong", [{"min": "0"}, {"max": None}, {"bins": 2.5}], ids=str)
def test_bins_of_the_wrong_type(wrong: dict[str, Any]) -> None:
    error = column_refused({"kind": "numeric", "min": 0, "max": 1, "bins": 2} | wrong)
    assert error.what == "column 'x': min, max and bins must be numbers"


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        ({"bins": 0}, "0 bins, 0 to 1"),
        ({"bins": 10**12}, "1000000000000 bins, 0 to 1"),
        ({"min": 1}, "2 bins, 1 to 1"),
        ({"max": float("nan")}, "2 bins, 0 to nan"),
        ({"max": float("inf")}, "2 bins, 0 to inf"),
        ({"min": -(10**400)}, "2 bins, -inf to 1"),
        ({"max": 10**400}, "2 bins, 0 to inf"),
    ],
)
def test_bins_that_cannot_be(wrong: dict[str, Any], got: str) -> None:
    error = column_refused({"kind": "numeric", "min": 0, "max": 1, "bins": 2} | wrong)
    assert error.what == "column 'x': bins must be positive, and min below max"
    assert error.got == got
    assert error.allowed == "at most 65536 bins between finite ends"


STEPS: dict[str, Any] = {"kind": "numeric", "min": 0, "max": 100, "step": 10}


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        ({"step": 0}, "0, 100, 0, 100"),
        ({"step": -1.5}, "0, 100, -1.5, 100"),
        ({"max": 0}, "0, 0, 10, 0"),
        ({"min": "0"}, "0, 100, 10, 100"),
        ({"max": True}, "0, True, 10, True"),
        ({"step": float("nan")}, "0, 100, nan, 100"),
        ({"max": float("inf")}, "0, inf, 10, inf"),
        ({"top": 0}, "0, 100, 10, 0"),
        ({"top": 101}, "0, 100, 10, 101"),
        ({"top": "50"}, "0, 100, 10, 50"),
        ({"max": 655_361}, "0, 655361, 10, 655361"),
        ({"top": 655_361, "max": 10**9}, "0, 1000000000, 10, 655361"),
        ({"max": 10**400}, f"0, {10**400}, 10, {10**400}"),
        ({"min": -(10**400)}, f"{-(10**400)}, 100, 10, 100"),
        ({"top": 10**400}, f"0, 100, 10, {10**400}"),
        ({"top": 50, "max": 2**52}, f"0, {2**52}, 10, 50"),
        ({"step": 2**40, "min": -(2**52)}, f"{-(2**52)}, 100, {2**40}, 100"),
    ],
    ids=lambda case: str(case)[:50],
)
def test_steps_that_cannot_be(wrong: dict[str, Any], got: str) -> None:
    error = column_refused(STEPS | wrong)
    assert error.what == "column 'x': steps need min < max, and a top between them if given"
    assert error.got == got
    assert error.allowed == "numbers, min < top <= max, a step above 0, at most 65536 steps"


@pytest.mark.parametrize(
    ("special", "got"),
    [([10**400], "inf"), ([-(10**400)], "-inf"), ([9, 1], "9, 1"), ([9, 9.0], "9, 9")],
    ids=["far", "far below", "an edge", "twice"],
)
def test_special_values_that_cannot_be(special: list[Any], got: str) -> None:
    error = column_refused({"kind": "numeric", "edges": [0, 1], "special": special})
    assert error.what == "column 'x': special values must be distinct numbers outside the bins"
    assert error.got == got


@pytest.mark.parametrize("special", [10**400, -(10**400), 2**52, 4], ids=str)
def test_special_values_of_a_split_that_cannot_be(special: Any) -> None:
    """They are those of its steps, which are whole."""
    split = {"kind": "split", "parts": ["a", "b"], "step": 2, "max": 9}
    error = column_refused(split | {"special": [special]})
    assert error.what == "column 'a': special values must be distinct numbers outside the bins"


@pytest.mark.parametrize("special", [1e300, 10.5, 11.0, True, "11"], ids=str)
def test_special_values_of_a_split_are_whole_numbers(special: Any) -> None:
    split = {"kind": "split", "parts": ["a", "b"], "step": 2, "max": 9}
    error = column_refused(split | {"special": [special]})
    assert error.what == "column 'x': special has the wrong type"


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"max": 10**400}, "a split needs a step of at least 2, and min < top <= max"),
        ({"top": 10**400}, "a split needs a step of at least 2, and min < top <= max"),
        ({"top": 5}, "top must lie on a step"),
        ({"max": 8}, "max must not be the first number of a step"),
        ({"top": 8, "max": 8}, "max must not be the first number of a step"),
    ],
    ids=lambda case: str(case)[:50],
)
def test_splits_that_cannot_be(wrong: dict[str, Any], what: str) -> None:
    split = {"kind": "split", "parts": ["a", "b"], "step": 2, "max": 9}
    assert column_refused(split | wrong).what == f"column 'x': {what}"


def test_an_encoding_is_declared_kept_and_known() -> None:
    plain = {"name": "t", "columns": {"x": {"kind": "integer", "min": 0, "max": 1}}}
    schema = Schema.from_dict(plain | {"csv": {"encoding": "latin-1"}})
    assert schema.encoding == "latin-1"
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.released().encoding == "utf-8"
    with pytest.raises(
        SchemaError, match=r"unknown encoding .got 'cp37'; allowed: utf-8 or latin-1"
    ):
        Schema.from_dict(plain | {"csv": {"encoding": "cp37"}})
