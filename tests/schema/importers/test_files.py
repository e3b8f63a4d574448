"""Schema files of our own: there and back, and every way in which one is refused."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.audit.effort import THOROUGH, effort, few
from understudy.errors import MissingFileError, SchemaError
from understudy.schema import (
    Categorical,
    DateTime,
    Declaration,
    Id,
    Ignored,
    Integer,
    Numeric,
    Schema,
    Split,
    Text,
    Timestamp,
)
from understudy.schema.columns import KINDS
from understudy.schema.columns.timestamp import RESOLUTIONS
from understudy.schema.encoding import reading
from understudy.schema.encoding.calendar import PARTS

if TYPE_CHECKING:
    from pathlib import Path

HOUR = Integer(name="hour", min=0, max=23)
PLAIN: dict[str, Any] = {"name": "t", "columns": {"hour": {"kind": "integer", "min": 0, "max": 23}}}

words = st.text(st.characters(codec="utf-8"), max_size=6)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(str.strip)
scalars = st.one_of(words, st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.booleans())
rules: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "source": words,
        "missing": st.booleans(),
        "nulls": st.lists(words, max_size=3).map(tuple),
    },
)
outside = st.sampled_from(["nearest", "other", "drop"])


@st.composite
def of_numbers(draw: st.DrawFn, kind: type[Declaration], name: str) -> Declaration:
    shared: dict[str, Any] = {"name": name, "outside": draw(outside), **draw(rules)}
    low = draw(st.integers(-1000, 1000))
    if kind is Split:
        either = st.integers(1 - 2**52, low - 1) | st.integers(low + 100, 2**52 - 1)
        step = draw(st.sampled_from([2, 4, 5, 7, 10, 49, 100, 1000]))
        tops = st.integers(1, 98 // step).map(lambda n: low + n * step) if step < 99 else st.none()
        return Split(
            parts=(f"{name} high", f"{name} low"),
            min=low,
            max=low + 99,
            step=step,
            top=draw(st.none() | tops),
            special=tuple(draw(st.sets(either, max_size=3))),
            **shared,
        )
    if kind is Timestamp:
        ends = sorted(str(draw(st.dates())) for _ in range(2))
        return Timestamp(
            min=ends[0],
            max=ends[1],
            resolution=draw(st.sampled_from(sorted(RESOLUTIONS))),
            format=draw(st.sampled_from([None, "%Y%m%d"])),
            **shared,
        )
    if kind is Integer:
        return Integer(min=low, max=low + draw(st.integers(0, 99)), **shared)
    if kind is DateTime:
        written = draw(st.sampled_from([None, "%Y%m%d", "%d.%m.%y %I'%M \" %p"]))
        part = draw(st.sampled_from(sorted(PARTS)))
        return DateTime(part=part, min=low, max=low + 9, format=written, **shared)
    edge = st.floats(allow_nan=False, allow_infinity=False)
    edges = draw(st.lists(edge, min_size=2, max_size=5, unique_by=lambda e: e + 0.0))
    beyond = st.floats(-(2**52), 2**52, exclude_min=True, exclude_max=True)
    drawn = draw(st.lists(beyond, max_size=3, unique_by=lambda e: e + 0.0))
    special = tuple(v for v in drawn if not min(edges) <= v <= max(edges))
    top_coded = draw(st.booleans())
    return Numeric(edges=tuple(sorted(edges)), special=special, top_coded=top_coded, **shared)


@st.composite
def declarations(draw: st.DrawFn, name: str) -> Declaration:
    kind = draw(st.sampled_from(sorted(KINDS.values(), key=str)))
    if kind is Ignored:
        return Ignored(name=name)
    if kind is Text:
        return Text(name=name, source=draw(words), nulls=tuple(draw(st.lists(words, max_size=3))))
    if kind is Id:
        end = st.none() | st.integers()
        return Id(name=name, min=draw(end), max=draw(end))
    if kind is Categorical:
        values = draw(st.lists(scalars, min_size=1, max_size=5, unique_by=reading.text))
        named = st.lists(words, min_size=len(values), max_size=len(values)).map(tuple)
        return Categorical(
            name=name,
            values=tuple(values),
            outside=draw(st.sampled_from(["other", "drop"])),
            other=draw(st.none() | scalars),
            missing_value=draw(st.none() | st.sampled_from(values)),
            groups=draw(st.just(()) | named),
            **draw(rules),
        )
    return draw(of_numbers(kind, name))


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    listed = draw(st.lists(names, max_size=4, unique_by=str.lower))
    columns = [draw(declarations(n)) for n in listed if n.lower() != "hour"]
    marks = draw(st.sampled_from([(",", '"'), ("\t", "'"), (";", '"'), ("é", "\\")]))
    return Schema(draw(names), (HOUR, *columns), delimiter=marks[0], quote=marks[1])


@settings(
    max_examples=effort(40, 150),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(schemas())
def test_there_and_back(schema: Schema) -> None:
    assert Schema.from_dict(tomllib.loads(schema.to_toml())) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_files_there_and_back(tmp_path: Path) -> None:
    schema = Schema("trips", (HOUR, Categorical(name="größe", values=("µ", 1, 0.5, True))))
    (tmp_path / "a.toml").write_text(schema.to_toml(), encoding="utf-8")
    (tmp_path / "B.TOML").write_text(schema.to_toml(), encoding="utf-8-sig")
    (tmp_path / "c.json").write_text(json.dumps(schema.to_dict()), encoding="utf-8")
    for path in sorted(tmp_path.iterdir()):
        assert Schema.read(path) == schema
        assert Schema.read(str(path)) == schema


def test_what_is_at_its_default_is_not_written() -> None:
    assert Schema("t", (HOUR,)).to_dict() == PLAIN
    when = DateTime(name="when", part="hour", format="%Y%m%d")
    assert Schema("t", (when,)).to_dict()["columns"]["when"] == {
        "kind": "datetime",
        "part": "hour",
        "min": 0,
        "max": 23,
        "format": "%Y%m%d",
    }
    marked = Schema("t", (HOUR,), delimiter=";")
    assert marked.to_dict()["csv"] == {"delimiter": ";", "quote": '"'}


def test_bins_may_stand_for_edges() -> None:
    column = {"kind": "numeric", "min": 0, "max": 10, "bins": 4, "outside": "drop"}
    schema = Schema.from_dict({"name": "t", "columns": {"fare": column}})
    assert schema["fare"] == Numeric(name="fare", edges=(0.0, 2.5, 5.0, 7.5, 10.0), outside="drop")


@pytest.mark.parametrize(
    ("column", "edges", "top_coded"),
    [
        ({"max": 10, "step": 4}, (0.0, 4.0, 8.0, 10.0), False),
        ({"max": 8, "step": 4}, (0.0, 4.0, 8.0), False),
        ({"max": 1, "step": 0.25}, (0.0, 0.25, 0.5, 0.75, 1.0), False),
        ({"max": 10, "step": 4, "top": 10}, (0.0, 4.0, 8.0, 10.0), False),
        ({"max": 10, "step": 4, "top": 8}, (0.0, 4.0, 8.0, 10.0), True),
        ({"max": 99, "step": 4, "top": 5}, (0.0, 4.0, 5.0, 99.0), True),
        ({"max": 99, "step": 400, "top": 5}, (0.0, 5.0, 99.0), True),
    ],
    ids=str,
)
def test_steps_may_stand_for_edges(
    column: dict[str, Any], edges: tuple[float, ...], top_coded: bool
) -> None:
    given = {"kind": "numeric", "min": 0, **column}
    schema = Schema.from_dict({"name": "t", "columns": {"fare": given}})
    assert schema["fare"] == Numeric(name="fare", edges=edges, top_coded=top_coded)
    assert Schema.from_dict(schema.to_dict()) == schema


@pytest.mark.parametrize("step", few((0.1, 1 / 3, 0.001, 0.3, 0.7, 1.1), usual=3))
@pytest.mark.parametrize("low", few((-1.1, 1000, 0), usual=2))
def test_steps_of_fractions_meet_the_end_and_leave_no_sliver(low: float, step: float) -> None:
    most = [65_535] if THOROUGH or low == -1.1 else []
    for count in [*few((*range(1, 60), 999), usual=20), *most]:
        end = low + count * step
        topped = [{"max": end}, {"max": end + 5 * step, "top": end}]
        for more, bins in zip(topped, (count, count + 1), strict=True):
            given = {"kind": "numeric", "min": low, "step": step, **more}
            column = Schema.from_dict({"name": "t", "columns": {"fare": given}})["fare"]
            assert isinstance(column, Numeric)
            assert column.bins == bins
            assert column.edges[count] == end
            widths = np.diff(column.edges[: count + 1])
            assert np.allclose(widths, step, rtol=1e-6)


@pytest.mark.parametrize(
    ("column", "edges"),
    [({"max": 99}, (0.0, 99.0)), ({"max": 99, "top": 5}, (0.0, 5.0, 99.0))],
    ids=["to the end", "to the top"],
)
def test_a_step_may_be_far_longer_than_the_range(
    column: dict[str, Any], edges: tuple[float, ...]
) -> None:
    given = {"kind": "numeric", "min": 0, "step": 10**12, **column}
    fare = Schema.from_dict({"name": "t", "columns": {"fare": given}})["fare"]
    assert isinstance(fare, Numeric)
    assert fare.edges == edges


def test_a_last_step_that_is_short_but_no_sliver_is_kept() -> None:
    given = {"kind": "numeric", "min": 0, "max": 2.1001, "step": 0.3}
    column = Schema.from_dict({"name": "t", "columns": {"fare": given}})["fare"]
    assert column.values_count == 8


# --- what a file may not be ---------------------------------------------------------------


def file_refused(path: Path, content: bytes) -> SchemaError:
    path.write_bytes(content)
    with pytest.raises(SchemaError) as caught:
        Schema.read(path)
    return caught.value


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(MissingFileError) as caught:
            Schema.read(path)
        assert caught.value.what == f"cannot read the schema file {path}"


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    error = file_refused(tmp_path / "s.toml", 'name = "größe"'.encode("latin-1"))
    assert error.what == "s.toml is not UTF-8 text"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.toml", b"name = "),
        ("s.json", b"{'a': 1}"),
        ("s.json", b'{"a": 1'),
        ("s.json", b""),
        ("s.json", b"[" * 100_000),
        ("s.json", b'{"a": ' + b"1" * 5000 + b"}"),
        ("s.yaml", b"a: [1"),
        ("s.yml", b"a: 2021-02-30"),
    ],
)
def test_files_that_do_not_parse(tmp_path: Path, name: str, content: bytes) -> None:
    error = file_refused(tmp_path / name, content)
    assert error.what == f"{name} does not parse"
    assert error.got
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("name", "content", "got"),
    [
        ("s.json", b"[1]", "list"),
        ("s.json", b"null", "NoneType"),
        ("s.yaml", b"", "NoneType"),
        ("s.yaml", b"1: {possible_values: [a]}", "dict"),
    ],
)
def test_files_without_a_table(tmp_path: Path, name: str, content: bytes, got: str) -> None:
    error = file_refused(tmp_path / name, content)
    assert error.what == f"{name} has no table of columns"
    assert error.got == got
    assert error.allowed == "a table whose keys are strings"


@pytest.mark.parametrize(
    ("data", "got"),
    [
        ({}, "keys "),
        ({"a": "b", "c": 1}, "keys 'a', 'c'"),
        ({"a": True}, "keys 'a'"),
        ({"a": 2, "b": 3, "c": 4, "d": 5, "e": None}, "keys 'a', 'b', 'c', 'd'"),
        ({"a": {"maxval": 3}, "b": {}}, "keys 'a', 'b'"),
        ({"runs": []}, "keys 'runs'"),
    ],
    ids=str,
)
def test_files_of_no_known_kind(tmp_path: Path, data: dict[str, Any], got: str) -> None:
    error = file_refused(tmp_path / "s.json", json.dumps(data).encode())
    assert error.what == "s.json is not a supported schema file"
    assert error.got == got
    assert error.allowed is not None
    assert error.allowed.startswith("our TOML, a contest's parameters.json, or metadata of SDV")
