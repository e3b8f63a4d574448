"""The edges of what may be asked and counted: the last cell, the widest column, the exact price."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.vault.worlds import SCHEMA, obvious, opened
from understudy.budget import Currency, Unit, Weights
from understudy.door import Clique, Measure, Query, Question, Rows, UnitCounts, UnitMode
from understudy.engine import DuckDB
from understudy.errors import BudgetError, QuestionError
from understudy.schema import Integer, Schema
from understudy.vault import PrivateTable, marginals
from understudy.vault.counts import check, exact
from understudy.vault.sensitivity import charge


def _marginals(*cliques: Clique) -> Measure:
    queries = tuple(Query(clique=clique, scale=1.0) for clique in cliques)
    return Measure(queries=queries, bounding=Weights(1), price=9.0)


@pytest.mark.parametrize("size", [255, 256, 257, 511, 513, 65535, 65536, 65537, 131_073])
def test_a_column_of_any_size_holds_its_last_value(size: int) -> None:
    """Codes are kept as narrow as they may be, never narrower: else a cell would be an error."""
    schema = Schema("t", (Integer(name="a", min=0, max=size - 1, missing=False),))
    table = {"id": np.array(["x", "y"], dtype=object), "a": np.array([0, size - 1])}
    engine = DuckDB()
    try:
        held = PrivateTable(engine, table, schema=schema, unit=Unit("id"), key="k")
        found = exact(_marginals(("a",)), held)
    finally:
        engine.close()
    assert len(found) == size
    assert np.flatnonzero(found).tolist() == [0, size - 1]


def _in_cells(cells: list[int]) -> UnitCounts:
    return UnitCounts(clique=("a",), cells=np.array(cells), times=(1,), most=1, scale=1.0)


def _labelled(labels: list[int]) -> UnitMode:
    return UnitMode(clique=("a",), scale=1.0, labels=np.array(labels))


def _summed(cells: list[int]) -> Measure:
    rows = Rows(np.array([0, len(cells)]), np.array(cells))
    query = Query(clique=("a",), scale=1.0, rows=rows)
    return Measure(queries=(query,), bounding=Weights(1), price=9.0)


@pytest.mark.parametrize(
    "question",
    [
        _in_cells([0]),
        _in_cells([2]),
        _in_cells([2, 0, 1]),
        _labelled([0, 0, 0]),
        _labelled([-1, -1, 0]),
        _labelled([5, -1, 0]),
        _summed([2]),
        _summed([0]),
    ],
)
def test_cells_and_labels_at_the_edge_are_counted(question: Question) -> None:
    people = {"ann": [(0, 0, 0)], "bob": [(2, 1, 3)], "cy": [(1, 0, 0), (2, 0, 0), (2, 1, 1)]}
    check(SCHEMA, question)
    with opened(people) as table:
        assert exact(question, table).tolist() == obvious(people).exact(question).tolist()


@pytest.mark.parametrize(
    "question",
    [
        _in_cells([3]),
        _in_cells([0, 3]),
        _in_cells([-1]),
        _in_cells([0, -1]),
        _labelled([-1, -1, -1]),
        _labelled([0, 0]),
        _labelled([0, 0, 0, 0]),
        _summed([3]),
        _summed([0, 3]),
    ],
)
def test_and_beyond_it_refused(question: Question) -> None:
    with pytest.raises(QuestionError):
        check(SCHEMA, question)


def test_one_clique_in_two_orders_is_counted_in_both() -> None:
    people = {"ann": [(0, 1, 0), (2, 0, 3)], "bob": [(2, 1, 3)]}
    with opened(people) as table:
        found = exact(_marginals(("a", "b"), ("b", "a"), ("a",)), table)
    one, other, alone = found[:6].reshape(3, 2), found[6:12].reshape(2, 3), found[12:]
    assert one.sum() > 0
    assert other.tolist() == one.T.tolist()
    assert alone.tolist() == one.sum(axis=1).tolist()


def test_the_largest_marginal_is_still_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals, "MOST_CELLS", 6)
    assert marginals.cells(SCHEMA, ("a", "b")) == 6
    with pytest.raises(QuestionError, match="too large"):
        marginals.cells(SCHEMA, ("b", "c"))


def test_a_hundred_million_cells_are_the_most() -> None:
    """So many counts are 800 MB; a mechanism that asks for more has lost its way."""
    wide = Schema("t", tuple(Integer(name=n, min=0, max=9999, missing=False) for n in ("a", "b")))
    assert marginals.cells(wide, ("a", "b")) == 10**8
    longer = wide.with_columns(Integer(name="b", min=0, max=10_000, missing=False))
    with pytest.raises(QuestionError, match="too large"):
        marginals.cells(longer, ("a", "b"))


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
def test_a_price_that_is_exactly_met_is_enough(currency: Currency) -> None:
    def ask(price: float) -> Measure:
        query = Query(clique=("a",), scale=2.0)
        return Measure(queries=(query,), bounding=Weights(4), price=price)

    assert charge(ask(2.0), SCHEMA, currency).grains(currency) == (
        4 * 2**80 if currency == Currency.GDP else 2 * 2**80
    )
    with pytest.raises(BudgetError, match="cost more than their price"):
        charge(ask(math.nextafter(2.0, 0.0)), SCHEMA, currency)
