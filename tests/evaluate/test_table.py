from __future__ import annotations

import numpy as np
import pytest

from tests.evaluate.tables import random_table
from understudy.errors import QuestionError
from understudy.evaluate import Coded
from understudy.evaluate.table import Codes, check_alike


def test_a_histogram_is_the_share_of_rows_in_each_cell() -> None:
    table = random_table(0)
    shares = table.histogram(["fare", "time"]).reshape(5, 3)
    assert shares.sum() == pytest.approx(1)
    mine = (table.codes["fare"] == 2) & (table.codes["time"] == 1)
    assert shares[2, 1] == np.mean(mine)


def test_blocks_of_rows_add_up() -> None:
    table = random_table(0, rows=600_000)
    expected = np.bincount(table.codes["fare"].astype(int) * 4 + table.codes["to"], minlength=20)
    assert table.counts(["fare", "to"]).tolist() == expected.tolist()


def test_a_table_without_rows_has_an_empty_histogram() -> None:
    assert random_table(0, rows=0).histogram(["fare"]).tolist() == [0] * 5


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint64])
def test_any_whole_numbers_are_codes(kind: type) -> None:
    codes: dict[str, Codes] = {"a": np.array([0, 1, 1], kind), "b": np.array([2, 0, 0], kind)}
    table = Coded(codes=codes, sizes={"a": 2, "b": 3}, people=None)
    assert table.counts(["a", "b"]).tolist() == [0, 0, 1, 2, 0, 0]


def test_taking_rows_takes_their_people_along() -> None:
    table = random_table(3)
    taken = table.take(np.array([5, 5, 0]))
    assert table.people is not None
    assert taken.people is not None
    assert taken.people.tolist() == table.people[[5, 5, 0]].tolist()
    assert taken.codes["to"].tolist() == table.codes["to"][[5, 5, 0]].tolist()
    assert random_table(3, people=None).take(np.array([1])).people is None


def test_a_table_does_not_show_its_rows() -> None:
    table = Coded(codes={"a": np.array([7777])}, sizes={"a": 8000}, people=None)
    assert "7777" not in repr(table)


ONE = np.array([0, 1])


@pytest.mark.parametrize(
    ("codes", "sizes", "people", "words"),
    [
        ({}, {}, None, "needs columns"),
        ({"a": ONE}, {"b": 2}, None, "a size for each"),
        ({"a": ONE}, {"a": 1}, None, "codes outside its domain"),
        ({"a": ONE - 1}, {"a": 2}, None, "codes outside its domain"),
        ({"a": ONE * 0.5}, {"a": 2}, None, "one-dimensional integer array"),
        ({"a": ONE.reshape(1, 2)}, {"a": 2}, None, "one-dimensional integer array"),
        (
            {"a": ONE, "b": ONE[:1]},
            {"a": 2, "b": 2},
            None,
            "column b .* differs from others in its number of rows",
        ),
        ({"a": ONE}, {"a": 2}, ONE[:1], "people .* differs from others in its number of rows"),
        ({"a": ONE}, {"a": 2}, ONE * 0.5, "people .* one-dimensional integer array"),
    ],
)
def test_a_table_that_does_not_fit_together_is_refused(
    codes: dict[str, np.ndarray], sizes: dict[str, int], people: np.ndarray | None, words: str
) -> None:
    with pytest.raises(QuestionError, match=words):
        Coded(codes=codes, sizes=sizes, people=people)


def test_columns_and_cells_that_cannot_be_are_refused() -> None:
    table = random_table(0, sizes={"a": 2**31, "b": 2**31, "c": 2**31})
    with pytest.raises(QuestionError, match=r"does not have .*nowhere"):
        table.cells(["a", "nowhere"])
    with pytest.raises(QuestionError, match="too many cells to number"):
        table.cells(["a", "b", "c"])
    with pytest.raises(QuestionError, match="too many cells for a histogram"):
        table.histogram(["a"])


def test_tables_with_other_columns_or_sizes_are_refused() -> None:
    check_alike(random_table(0), random_table(1))
    with pytest.raises(QuestionError, match="a difference in x"):
        check_alike(
            random_table(0, sizes={"x": 2, "y": 2}), random_table(0, sizes={"x": 3, "y": 2})
        )
