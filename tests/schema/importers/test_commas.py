"""Numbers with a decimal comma are noticed, and other texts with commas are not taken for them."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.schema.importers.commas import with_commas
from understudy.schema.importers.draft import draft


def noticed(cells: list[object]) -> bool:
    table = {"column": np.array(cells, dtype=object)}
    return with_commas(table, draft(table, ids=())) == ["column"]


@pytest.mark.parametrize(
    "cells",
    [
        ["12,50", "3,00", "-0,5"],
        ["1.234,50", "7", "8"],
        ["1 234,5", "1'234,5"],
        ["1,234", "1,234,567.89"],
        ["12,50", "NA", "", None],
        ["12,50", "3,0", "k. A."],
        ["+4,5"],
    ],
)
def test_numbers_with_a_comma(cells: list[object]) -> None:
    assert noticed(cells)


@pytest.mark.parametrize(
    "cells",
    [
        ["12.50", "3"],
        ["red", "blue, green"],
        ["12,50", "red", "blue"],
        ["Bath, UK", "7", "8"],
        ["02139", "10001"],
        ["1,", ",5", "a,5"],
        ["1;2", "1,2,3"],
        ["", None],
        [True, False],
        [1.5, None],
    ],
)
def test_no_numbers_with_a_comma(cells: list[object]) -> None:
    assert not noticed(cells)
