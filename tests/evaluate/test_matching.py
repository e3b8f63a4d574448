from __future__ import annotations

from collections import Counter

import pytest

from tests.evaluate import obvious
from tests.evaluate.tables import random_table
from understudy.evaluate import matching
from understudy.evaluate.matching import matched

FEW = {"a": 3, "b": 4, "c": 2}
MANY = {"a": 3000, "b": 4, "c": 90_000}


@pytest.mark.parametrize("sizes", [FEW, MANY])
@pytest.mark.parametrize("block", [1, 7, 2**18])
@pytest.mark.parametrize("rows", [(0, 50), (50, 0), (50, 80), (0, 0)])
def test_every_cell_with_a_row_is_there_once_with_both_counts(
    monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int], block: int, rows: tuple[int, int]
) -> None:
    monkeypatch.setattr(matching, "BLOCK", block)
    left, right = (random_table(i, rows=n, sizes=sizes, skew=5) for i, n in enumerate(rows))
    found: list[tuple[int, int, int]] = []
    for cells in matched(left, right, ("a", "c")):
        found += zip(*(each.tolist() for each in cells), strict=True)
    p, q = (
        Counter(row["a"] * sizes["c"] + row["c"] for row in obvious.rows_of(table))
        for table in (left, right)
    )
    assert found == [(cell, p[cell], q[cell]) for cell in sorted(p | q)]


@pytest.mark.parametrize(("names", "other_way"), [(("b",), "_sorted"), (("a", "c"), "_in_place")])
def test_few_cells_are_not_sorted_and_many_are_not_laid_out(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], other_way: str
) -> None:
    left, right = (random_table(i, sizes=MANY) for i in (0, 1))
    monkeypatch.setattr(matching, other_way, lambda *_: pytest.fail("the slower way was taken"))
    assert list(matched(left, right, names))
