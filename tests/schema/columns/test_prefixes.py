"""Prefixes: a code that is not listed is read as its longest prefix that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.schema.encoders import SOURCE, by_numpy, by_sql
from understudy.engine import DuckDB
from understudy.errors import SchemaError
from understudy.schema import Categorical, Schema, Text
from understudy.schema.encoding import reading
from understudy.schema.plain import from_plain, to_plain

CODES = ("E11.9", "E11", "E", "I10", "250", "25")
COLUMN = Categorical(name="code", source=SOURCE, values=CODES, prefixes=(3, 1))
characters = st.sampled_from("Ee1.20 -é日N'A(")
codes = st.text(characters, max_size=6) | st.just("(other)")


def slowly(column: Categorical, cell: str) -> int:
    """Read one cell, by the words of the docs."""
    text = reading.text(cell)
    assert text is not None
    labels = list(column.keys)
    if text in labels:
        return labels.index(text)
    if text in column.nulls or text == "":
        return column.if_missing
    if text == "(other)" and column.outside == "other":
        return column.if_invalid
    for length in column.prefixes:
        shortened = reading.text(text[:length])
        if shortened in labels:
            return labels.index(shortened)
    return column.if_invalid


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        ("E11.9", "E11.9"),
        ("E11.8", "E11"),
        (" E11.8 ", "E11"),
        ("E11", "E11"),
        ("E1", "E"),
        ("E78.00", "E"),
        ("e11.9", "(other)"),
        ("I10.0", "I10"),
        ("I1", "(other)"),
        # As far as a text, not a number: 25 has two characters, which is no length here.
        (250.01, "250"),
        (2504, "250"),
        (25, "25"),
        ("25.1", "(other)"),
        ("(other)", "(other)"),
        ("", "(missing)"),
        (None, "(missing)"),
        ("NA", "(missing)"),
    ],
)
def test_a_cell_is_read_as_its_longest_listed_prefix(cell: Any, read: str) -> None:
    (code,) = COLUMN.encode(np.array([cell], dtype=object)).tolist()
    assert COLUMN.labels()[code] == read


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    started = DuckDB()
    yield started
    started.close()


@given(
    values=st.lists(
        codes.filter(lambda c: c.strip(" ")), min_size=1, max_size=6, unique_by=reading.text
    ),
    lengths=st.sets(st.integers(1, 7), max_size=3),
    cells=st.lists(codes, min_size=1, max_size=12),
    rules=st.fixed_dictionaries(
        {"outside": st.sampled_from(["other", "drop"]), "missing": st.booleans()}
    ),
)
@tried(150, usual=20)
def test_both_encoders_do_what_the_obvious_version_does(
    engine: DuckDB, values: list[str], lengths: set[int], cells: list[str], rules: dict[str, Any]
) -> None:
    column = Categorical(
        name="code",
        source=SOURCE,
        values=tuple(values),
        prefixes=tuple(sorted(lengths, reverse=True)),
        **rules,
    )
    expected = {i: (code,) for i, c in enumerate(cells) if (code := slowly(column, c)) >= 0}
    held, schema = np.array(cells, dtype=object), Schema("t", (column,))
    assert by_numpy(schema, held) == expected
    assert by_sql(engine, schema, {SOURCE: held, "row": np.arange(len(cells))}) == expected


def test_a_prefix_is_released_as_a_value_and_read_back_as_itself() -> None:
    column = Categorical(name="code", values=("E11", "("), prefixes=(3, 1))
    shown = column.decode(np.arange(column.size, dtype=np.int32), np.random.default_rng(0))
    assert shown.tolist() == ["E11", "(", None, "(other)"]
    released = column.released()
    assert isinstance(released, Categorical)
    assert released.prefixes == (3, 1)
    # Not "(", which its prefix is.
    assert released.encode(shown).tolist() == list(range(column.size))
    elsewhere = Categorical(name="code", values=("E11", "e"), prefixes=(3, 1), other="elsewhere")
    assert elsewhere.encode(np.array(["elsewhere", "else"], dtype=object)).tolist() == [3, 1]


def test_another_spelling_of_a_value_is_nobodys_prefix() -> None:
    column = Categorical(name="truth", values=(True, "x"), prefixes=(1,))
    assert column.encode(np.array(["1", "12", "xy"], dtype=object)).tolist() == [0, 3, 1]


def test_a_prefix_that_means_missing_is_a_prefix_only_if_it_is_listed() -> None:
    cells = np.array(["NAB", "NA"], dtype=object)
    assert Categorical(name="c", values=("a",), prefixes=(2,)).encode(cells).tolist() == [2, 1]
    assert Categorical(name="c", values=("NA",), prefixes=(2,)).encode(cells).tolist() == [0, 0]


@pytest.mark.parametrize("declared", [COLUMN, Text(name="code", prefixes=(3, 1))], ids=str)
def test_prefixes_are_written_and_read_again(declared: Any) -> None:
    assert to_plain(declared)["prefixes"] == [3, 1]
    assert from_plain("code", to_plain(declared)) == declared
    schema = Schema("t", (declared,))
    assert Schema.from_dict(schema.to_dict()) == schema
    assert "prefixes = [3, 1]" in schema.to_toml()


@pytest.mark.parametrize("make", [Categorical, Text])
@pytest.mark.parametrize(
    "lengths",
    [(1, 3), (3, 3), (0,), (3, -1), (201,), (True,), (1.0,), ("3",), 3.5, "3", None],
    ids=str,
)
def test_prefixes_that_are_none(make: Any, lengths: Any) -> None:
    needed = {"values": ("a",)} if make is Categorical else {}
    with pytest.raises(SchemaError) as caught:
        make(name="code", prefixes=lengths, **needed)
    assert caught.value.what == (
        "column 'code': prefixes must be lengths in characters, the longest first"
    )
    assert caught.value.allowed == "whole numbers from 1 to 200, each less than the one before"


def test_a_file_with_prefixes_that_are_none_is_refused() -> None:
    for lengths, what in ((3, "wrong type"), (["3"], "wrong type"), ([1, 3], "longest first")):
        with pytest.raises(SchemaError, match=what):
            from_plain("code", {"kind": "text", "prefixes": lengths})


def test_a_list_is_a_tuple() -> None:
    listed: Any = [3, 1]
    assert Text(name="code", prefixes=listed) == Text(name="code", prefixes=(3, 1))
