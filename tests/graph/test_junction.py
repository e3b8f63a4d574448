"""Junction trees: they hold what was asked, hang together, and are priced beforehand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.graph.brute import trees
from understudy.errors import QuestionError
from understudy.graph.domain import Domain
from understudy.graph.junction import JunctionTree, elimination, junction_tree

TAXI = Domain(
    dict(
        zip(
            ("shift", "company", "pickup", "dropoff", "pay", "fare", "tips", "total", "secs", "mi"),
            (21, 57, 78, 78, 9, 11, 11, 11, 11, 11),
            strict=True,
        )
    )
)
OUTER = [
    ("pickup", "shift", *pair)
    for pair in (
        ("fare", "total"),
        ("total", "secs"),
        ("dropoff", "fare"),
        ("pay", "total"),
        ("fare", "mi"),
        ("company",),
        ("tips", "total"),
    )
]


@given(trees())
@settings(max_examples=200, deadline=None)
def test_the_cliques_that_hold_a_column_hang_together(tree: JunctionTree) -> None:
    assert {n for c in tree.cliques for n in c} == set(tree.domain.sizes)
    assert len(tree.edges) == len(tree.cliques) - 1
    for name in tree.domain.sizes:
        holders = [c for c in tree.cliques if name in c]
        joined = [e for e in tree.edges if name in e.separator]
        # A forest of k nodes and k − 1 edges is one tree.
        assert len(joined) == len(holders) - 1


@given(trees())
@settings(max_examples=100, deadline=None)
def test_children_come_before_their_parents_and_separators_are_what_is_shared(
    tree: JunctionTree,
) -> None:
    done: set[tuple[str, ...]] = set()
    for edge in tree.edges:
        assert edge.parent not in done
        done.add(edge.child)
        assert set(edge.separator) == set(edge.child) & set(edge.parent)


def test_the_documents_taxi_model_needs_no_fill_in() -> None:
    tree = junction_tree(TAXI, OUTER)
    assert {frozenset(c) for c in tree.cliques} == {frozenset(c) for c in OUTER}
    assert tree.cells == 2_453_724
    assert tree.bytes == 8 * tree.cells


def test_a_loop_is_filled_in_by_the_cheaper_order() -> None:
    domain = Domain({"a": 2, "b": 50, "c": 2, "d": 50})
    loop = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    tree = junction_tree(domain, loop)
    assert tree.cells == 2 * (2 * 50 * 2)
    assert junction_tree(domain, loop, order=["a", "c", "b", "d"]).cells > tree.cells
    assert sorted(elimination(domain, loop, "fill")) == sorted(domain.sizes)


def test_a_column_finds_its_smallest_home() -> None:
    tree = junction_tree(TAXI, OUTER)
    assert tree.home(["shift", "company"]) == ("shift", "company", "pickup")
    assert tree.home(["company", "fare"]) is None


def test_a_model_too_large_is_refused_by_its_worst_table_before_any_work() -> None:
    with pytest.raises(QuestionError, match=r"table over shift × pickup × dropoff × fare \(got 19"):
        junction_tree(TAXI, OUTER, limit=10**7)


def test_orders_and_columns_that_are_none() -> None:
    with pytest.raises(QuestionError, match="names every column once"):
        junction_tree(TAXI, OUTER, order=["shift"])
    with pytest.raises(QuestionError, match="does not have"):
        junction_tree(TAXI, [("nowhere",)])
    with pytest.raises(QuestionError, match="must have values"):
        Domain({"a": 0})
