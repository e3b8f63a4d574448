"""Counting a table, and errors that are raised for one."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from understudy.budget import Unit, Weights
from understudy.engine import DuckDB
from understudy.errors import UnderstudyError
from understudy.schema import Schema
from understudy.vault import PrivateTable
from understudy.vault.marginals import marginals

if TYPE_CHECKING:
    from collections.abc import Callable


ONE = Schema.from_dict(
    {"name": "one", "columns": {"c": {"kind": "categorical", "values": ["a", "b"]}}}
)


def count(data: object, declared: Schema = ONE) -> list[int]:
    """Count the single column of a table, each row a person."""
    with closing(DuckDB()) as engine:
        table = PrivateTable(engine, data, schema=declared, unit=Unit.each_row(), key="k")
        found = dict(marginals(table, [("c",)], table.bounded(Weights(1))))[("c",)]
        return [int(n) // Weights.unit_weight for n in found]


def refused(kind: type[UnderstudyError], call: Callable[[], object]) -> UnderstudyError:
    """Expect an error of our own with one line of text and nothing behind it."""
    with pytest.raises(UnderstudyError) as caught:
        call()
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value
