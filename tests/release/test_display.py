"""What is shown of releases and their kin is short, escaped, and never private."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import understudy as us
from understudy.errors import MissingPackageError
from understudy.graph import Domain, Model, junction_tree
from understudy.ledger import Ledger
from understudy.public import Batches, Synthesis
from understudy.release import build
from understudy.release.display import html_list, html_table, numbered, text_table
from understudy.schema import Categorical, Id, Ignored, Integer, Numeric, Schema, Timestamp

BAD = "<script>alert('&')</script>"
SCHEMA = Schema(
    "shop",
    (
        Id(name="who"),
        Categorical(name="colour", values=("red", "blue")),
        Categorical(name="member", values=(False, True), outside="drop"),
        Integer(name="age", min=0, max=9),
        Numeric(name="price", edges=(0.0, 1.5, 9.0)),
        Numeric(name="weight", edges=(0.0, 10.0, 20.0), whole=True),
        Timestamp(name="when", min="2020-01-01", max="2020-03-31"),
        Ignored(name="remark"),
    ),
)


def made(rows: int = 60, *, schema: Schema = SCHEMA, notes: tuple[str, ...] = ()) -> us.Release:
    rng = np.random.default_rng(0)
    codes = {n: rng.integers(0, s, rows).astype(np.int32) for n, s in schema.domain.items()}
    return build(
        Synthesis(batches=Batches.held(codes, np.arange(rows) % 20), measurements=(), notes=notes),
        schema=schema,
        unit=us.Unit("who"),
        bounding=us.Weights(5),
        budget=us.Budget(epsilon=1, delta=1e-9),
        mechanism={"name": "auto", "settings": {}, "chosen": {"name": "mst"}},
        charges=[],
        ledger={"run": 1, "head": "abc"},
        rng=rng,
    )


# Other libraries' tables


def plain(values: list[Any]) -> list[Any]:
    """Put None in the place of NaN and NaT, and read moments by their text."""
    return [
        None if pd.isna(v) else str(np.datetime64(v, "us")) if hasattr(v, "year") else v
        for v in values
    ]


def test_the_same_rows_come_out_for_every_library() -> None:
    release = made()
    arrow, polars = release.to_arrow(), release.to_polars()
    assert arrow.column_names == polars.columns == list(release.columns)
    for name, column in release.columns.items():
        own = column.astype("datetime64[us]") if column.dtype.kind == "M" else column
        wanted = plain(own.tolist())
        assert plain(arrow[name].to_pylist()) == wanted
        assert plain(polars[name].to_list()) == wanted
    for name in ("colour", "age", "price", "weight", "when"):
        assert 0 < arrow[name].null_count == polars[name].null_count()


@pytest.mark.parametrize("rows", [60, 0])
def test_types_are_the_declared_ones_whatever_is_missing(rows: int) -> None:
    release = made(rows)
    assert [str(field.type) for field in release.to_arrow().schema] == [
        "int64", "string", "bool", "int64", "double", "int64", "timestamp[us]",
    ]  # fmt: skip
    assert list(map(str, release.to_polars().dtypes)) == [
        "Int64", "String", "Boolean", "Int64", "Float64", "Int64",
        "Datetime(time_unit='us', time_zone=None)",
    ]  # fmt: skip


@pytest.mark.parametrize(("package", "way"), [("pyarrow", "to_arrow"), ("polars", "to_polars")])
def test_a_library_that_is_not_there_is_named(
    package: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingPackageError, match=rf"release.{way}\(\) needs {package}. Hint: .*release.columns"
    ):
        getattr(made(), way)()


def private() -> dict[str, list[Any]]:
    return {"taxi": [1, 1, 2, 3], "colour": ["red", "blue", None, "red"], "hour": [0, 3, None, 2]}


TRIPS = Schema(
    "trips",
    (
        Id(name="taxi"),
        Categorical(name="colour", values=("red", "blue")),
        Integer(name="hour", min=0, max=3),
    ),
)


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_what_goes_in_comes_out(kind: Any, tmp_path: Path) -> None:
    release = us.open(
        i_know=True,
        private=kind(private()),
        schema=TRIPS,
        unit=us.Unit("taxi"),
        bounding=us.Weights(2),
        budget=us.Budget(epsilon=1e6, delta=0),
        ledger=tmp_path / "ledger",
    ).run(us.Independent())
    # With next to no noise, every table is counted alike.
    assert np.round(release.estimate("colour").estimate).tolist() == [2, 1, 1, 0]
    assert np.round(release.estimate("hour").estimate).tolist() == [1, 0, 1, 1, 1]
    for frame in (release.rows, release.to_polars(), release.to_arrow().to_pandas()):
        assert list(frame.columns) == ["taxi", "colour", "hour"]
        assert len(frame) == len(release) == 4
        assert sorted(map(str, plain(list(frame["colour"])))) == ["None", "blue", "red", "red"]


# Shown


def test_a_release_says_what_it_is_and_costs() -> None:
    shown = repr(made(notes=("Take care.",)))
    assert shown.splitlines()[0] == "Release"
    for fact in (
        "shop",
        "60 synthetic",
        "8: colour, member, age, price",
        "epsilon = 1, delta = 1e-09 for one who more or less, with all of its rows",
        "auto, which chose mst",
        "0 % of that budget, in 0 queries",
        "note: Take care.",
    ):
        assert fact in shown
    assert "red" not in shown
    assert all(fact in made()._repr_html_() for fact in ("shop", "60", "which chose mst"))


def test_many_columns_are_not_all_named() -> None:
    many = Schema("wide", tuple(Integer(name=f"c{i}", min=0, max=1) for i in range(30)))
    shown = repr(made(schema=many))
    assert "30: c0, c1" in shown
    assert "and 22 more" in shown
    assert "c12" not in shown
    assert repr(many).endswith("c7 (3 codes) and 22 more)")
    assert many._repr_html_().count("<tr>") == 30


def test_a_schema_names_its_columns_in_a_line() -> None:
    assert repr(TRIPS) == (
        "Schema('trips', 3 columns: taxi (id), colour (4 codes), hour (5 codes))"
    )
    assert "when (4 × 8 × 25 codes), remark (ignored)" in repr(SCHEMA)


def model() -> Model:
    domain = Domain({"a": 2, BAD: 3})
    tree = junction_tree(domain, [("a", BAD)])
    return Model(tree, {c: np.ones(domain.shape(c)) for c in tree.cliques})


def test_a_model_says_how_large_it_is() -> None:
    assert repr(model()) == (
        f"Model of 2 columns: 1 cliques with 6 cells in all, the largest a × {BAD} with 6; "
        "total 6.0"
    )


def test_all_html_is_escaped() -> None:
    schema = Schema(BAD, (Categorical(name=BAD, values=(BAD,)), Integer(name="n", min=0, max=1)))
    release = made(schema=schema, notes=(BAD,))
    release.manifest["mechanism"]["name"] = BAD
    for shown in (
        release._repr_html_(),
        schema._repr_html_(),
        model()._repr_html_(),
        html_table({BAD: [BAD]}, 0),
        html_list([BAD]),
    ):
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown


def test_tables_are_aligned_and_long_texts_cut() -> None:
    shown = text_table({"name": ["x" * 80, "two\nlines"], "n": ["1", "22"]}, right=1)
    lines = shown.splitlines()
    assert len(lines) == 3
    assert {len(line) for line in lines} == {40 + 2 + 2}
    assert lines[1].endswith("x…   1")
    assert "two lines" in lines[2]
    assert html_table({"n": ["1"]}, right=1, more=1234).endswith("<p>… 1,234 more</p>")
    assert html_list([]) == ""


def test_numbers_have_the_digits_that_mean_something() -> None:
    assert numbered(np.array([1234.567]), 250.0) == ["1,235"]
    assert numbered(np.array([1234.567]), 0.031) == ["1,234.567"]
    assert numbered(np.array([0.5]), float("inf")) == ["0"]


# Never private


def test_nothing_that_is_shown_holds_a_private_value(tmp_path: Path) -> None:
    canary, number = "canary-of-the-mine", 48151623
    frame = pd.DataFrame({"taxi": [number] * 3, "colour": [canary] * 3, "hour": [1, number, 3]})
    session = us.open(
        i_know=True,
        private=frame,
        public=frame.assign(colour="red"),
        schema=TRIPS,
        unit=us.Unit("taxi"),
        bounding=us.Weights(2),
        budget=us.Budget(epsilon=1, delta=1e-6),
        ledger=tmp_path / "ledger",
    )
    release = session.run(us.Independent())
    synthesizer = us.Synthesizer(
        us.Independent(),
        schema=TRIPS,
        unit=us.Unit("taxi"),
        bounding=us.Weights(2),
        budget=us.Budget(epsilon=1, delta=1e-6),
        ledger=tmp_path / "other",
    ).fit(frame)
    with closing(Ledger(tmp_path / "ledger")) as ledger:
        things: list[Any] = [
            session, release, release.schema, release.estimate("colour"), synthesizer, ledger,
            ledger.state(), release.model, synthesizer.release_, release.measurements,
        ]  # fmt: skip
        for thing in things:
            html = [thing._repr_html_()] if hasattr(thing, "_repr_html_") else []
            for shown in (repr(thing), str(thing), *html):
                assert canary not in shown
                assert str(number) not in shown
    assert "private" not in repr(session)
    assert "Schema('trips'" in repr(session)
    other = replace(session, private="elsewhere")
    assert repr(other) == repr(session)


def test_every_public_name_says_what_it_is() -> None:
    for name in us.__all__:
        if name != "__version__":
            told = getattr(us, name).__doc__
            assert told, name
            assert told.split("\n")[0].rstrip().endswith("."), name
    assert not set(us.__all__) - {"__version__"} - set(us._HOMES)
