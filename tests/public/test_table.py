"""Public tables: people together, whatever the file's order, and free of charge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.budget import Unit
from understudy.errors import MalformedFileError, MissingColumnError, UsageError
from understudy.public import PublicTable, read_public
from understudy.schema import Categorical, Id, Integer, Numeric, Schema

SCHEMA = Schema(
    "rides",
    (
        Id(name="who"),
        Categorical(name="colour", values=("red", "blue")),
        Integer(name="hour", min=0, max=3, missing=False),
        Numeric(name="fare", edges=(0.0, 10.0, 20.0)),
    ),
)


def table(order: Any = slice(None)) -> dict[str, Any]:
    """Seven rows of three people, one value odd and one missing."""
    columns = {
        "who": ["b", "a", "b", "c", "a", "b", "c"],
        "colour": ["red", "blue", "green", "red", "blue", "red", "blue"],
        "hour": [0, 3, 1, 2, 9, 0, 2],
        "fare": ["1.5", "12", "x", "", "99", "19.99", "10"],
    }
    return {n: np.array(v, dtype=object if n != "hour" else int)[order] for n, v in columns.items()}


def read(data: Any, unit: Unit | None = None) -> PublicTable:
    return PublicTable.read(data, schema=SCHEMA, unit=unit or Unit("who"))


def test_rows_of_a_person_are_together_and_people_rise_from_nought() -> None:
    public = read(table())
    assert public.people is not None
    assert public.people.tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert public.sizes().tolist() == [2, 3, 2]
    assert len(public) == 7


def test_codes_are_those_of_the_schema() -> None:
    public = read(table())
    codes, kept = SCHEMA.encode(table())
    assert kept.all()
    for name in SCHEMA.domain:
        assert sorted(public.codes[name].tolist()) == sorted(codes[name].tolist())
    counts = public.marginal(("colour", "hour"))
    slow = np.zeros(len(counts), dtype=int)
    for one, other in zip(codes["colour"], codes["hour"], strict=True):
        slow[one * SCHEMA.domain["hour"] + other] += 1
    assert counts.tolist() == slow.tolist()
    assert public.marginal(()).tolist() == [7]


def test_the_order_of_a_file_does_not_matter() -> None:
    first = read(table())
    for seed in range(5):
        other = read(table(np.random.default_rng(seed).permutation(7)))
        assert other.people.tolist() == first.people.tolist()  # type: ignore[union-attr]
        for name in SCHEMA.domain:
            assert other.codes[name].tolist() == first.codes[name].tolist()
        assert np.array_equal(other.numbers["fare"], first.numbers["fare"], equal_nan=True)


def test_numbers_are_what_numeric_columns_read() -> None:
    public = read(table())
    assert list(public.numbers) == ["fare"]
    found = public.numbers["fare"]
    assert sorted(found[~np.isnan(found)].tolist()) == [1.5, 10, 12, 19.99, 99]
    # Each beside its own code.
    column = SCHEMA["fare"]
    assert isinstance(column, Numeric)
    inside = ~np.isnan(found)
    assert column.encode(found[inside]).tolist() == public.codes["fare"][inside].tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_is_read_like_a_table(tmp_path: Path, suffix: str) -> None:
    import pandas as pd

    path = tmp_path / f"public.{suffix}"
    frame = pd.DataFrame(table())
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    first, other = read(table()), read(path)
    assert other.people.tolist() == first.people.tolist()  # type: ignore[union-attr]
    for name in SCHEMA.domain:
        assert other.codes[name].tolist() == first.codes[name].tolist()
    assert set(us.read_public(path)) == {"who", "colour", "hour", "fare"}


def test_without_the_units_columns_its_people_are_not_known() -> None:
    public = read({n: c for n, c in table().items() if n != "who"})
    assert public.people is None
    assert public.marginal(("hour",)).sum() == 7
    with pytest.raises(UsageError, match="does not show how many rows people have"):
        public.sizes()


def test_a_modelled_column_must_be_there() -> None:
    lacking = {n: c for n, c in table().items() if n != "hour"}
    for unit in (Unit("who"), Unit.each_row()):
        with pytest.raises(MissingColumnError, match="no 'hour'"):
            read(lacking, unit)


def test_where_every_row_is_a_person_all_are_different() -> None:
    public = read(table(), Unit.each_row())
    assert public.people is not None
    assert public.people.tolist() == list(range(7))


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(UsageError, match="has no rows"):
        read(table(slice(0, 0)))


def test_lists_are_read_by_the_text_that_they_are_encoded_by(tmp_path: Path) -> None:
    table = pa.table(
        {"who": [1, 1, 2], "tags": [None, ["a", "b"], ["c"]], "st": [{"x": 1}, {"x": 2}, None]}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    read = read_public(tmp_path / "t.parquet")
    drafted = Schema.from_public(read, name="t", ids="who")
    assert drafted["tags"].labels()[:2] == ["[a, b]", "[c]"]
    public = PublicTable.read(tmp_path / "t.parquet", schema=drafted, unit=Unit("who"))
    for name in ("tags", "st"):
        column = drafted[name]
        assert sorted(public.codes[name]) == sorted(column.encode(read[name]))
        assert set(public.codes[name].tolist()) == {0, 1, column.missing_code}


def test_a_public_file_that_is_malformed_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,a\n1,2\n3\n4,5,6\n")
    with pytest.raises(MalformedFileError, match="the table is malformed"):
        read_public(tmp_path / "t.csv")


def test_some_rows_are_taken_with_their_people_renumbered() -> None:
    public = read(table())
    assert public.people is not None
    taken = public.take(public.people != 1)
    assert taken.people is not None
    assert taken.people.tolist() == [0, 0, 1, 1]
    assert taken.codes["hour"].tolist() == public.codes["hour"][[0, 1, 5, 6]].tolist()
    assert len(taken.numbers["fare"]) == 4
    bare = PublicTable(schema=SCHEMA, codes=public.codes, people=None, numbers={})
    assert bare.take(np.array([0, 2])).people is None
