"""Junction trees: they hold what was asked, hang together, and are priced beforehand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from tests.graph.brute import trees
from understudy.errors import QuestionError
from understudy.graph import Clique, Domain, best_order, junction_tree
from understudy.graph.junction import JunctionTree, elimination, joined

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
@tried(200)
def test_the_cliques_that_hold_a_column_hang_together(tree: JunctionTree) -> None:
    assert {n for c in tree.cliques for n in c} == set(tree.domain.sizes)
    assert len(tree.edges) == len(tree.cliques) - 1
    for name in tree.domain.sizes:
        holders = [c for c in tree.cliques if name in c]
        joined = [e for e in tree.edges if name in e.separator]
        # A forest of k nodes and k − 1 edges is one tree.
        assert len(joined) == len(holders) - 1


@given(trees())
@tried(100)
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


@given(trees())
@tried(100)
def test_a_walk_goes_from_any_clique_to_all_others_by_neighbours(tree: JunctionTree) -> None:
    near = {frozenset((e.child, e.parent)): set(e.separator) for e in tree.edges}
    for root in tree.cliques:
        walk = tree.walk(root)
        assert walk[0] == root
        assert sorted(walk) == sorted(tree.cliques)
        for i, clique in enumerate(walk[1:], 1):
            (before,) = [c for c in walk[:i] if frozenset((c, clique)) in near]
            # What it shares with all that came before is what it shares with its neighbour.
            seen = {n for c in walk[:i] for n in c}
            assert near[frozenset((before, clique))] == seen & set(clique)


@given(trees())
@tried(100)
def test_columns_that_few_cliques_hold_come_first(tree: JunctionTree) -> None:
    held = [sum(n in c for c in tree.cliques) for n in tree.domain.sizes]
    assert held == sorted(held)
    for clique in (*tree.cliques, *(e.separator for e in tree.edges)):
        assert clique == tree.domain.clique(clique)
    tables = tree.tables()
    assert tables.flat.shape == (tree.cells,)
    assert {c: t.shape for c, t in tables.views.items()} == {
        c: tree.domain.shape(c) for c in tree.cliques
    }


def test_a_column_finds_its_smallest_home() -> None:
    tree = junction_tree(TAXI, OUTER)
    assert set(tree.home(["shift", "company"]) or ()) == {"shift", "company", "pickup"}
    assert tree.home(["company", "fare"]) is None
    assert tree.home([]) == min(tree.cliques, key=tree.domain.cells)


def test_a_model_too_large_is_refused_by_its_worst_table_before_any_work() -> None:
    with pytest.raises(QuestionError, match=r"bytes in all, 11,243,232 for that one") as caught:
        junction_tree(TAXI, OUTER, limit=10**7)
    assert caught.value.got == "19,629,792 bytes in all, 11,243,232 for that one"
    named = caught.value.what.removeprefix("the model would need a table over ").split(" × ")
    assert set(named) == {"shift", "pickup", "dropoff", "fare"}
    assert junction_tree(TAXI, OUTER, limit=19_629_792).bytes == 19_629_792


@pytest.mark.parametrize("order", [["shift"], [*TAXI.sizes, "shift"], ["nowhere", *TAXI.sizes]])
def test_orders_that_are_none(order: list[str]) -> None:
    with pytest.raises(QuestionError, match="must name every column once"):
        junction_tree(TAXI, OUTER, order=order)


def test_columns_that_are_none() -> None:
    with pytest.raises(QuestionError, match=r"unknown columns \(got nowhere; allowed: shift, "):
        junction_tree(TAXI, [("nowhere",)])
    with pytest.raises(QuestionError, match=r"must have values \(got b, c"):
        Domain({"a": 1, "b": 0, "c": -1})


def test_a_model_without_columns() -> None:
    with pytest.raises(QuestionError, match="column"):
        junction_tree(Domain({}), [])


@pytest.mark.parametrize(
    "cliques",
    [[("a", "b"), ("b", "c"), ("c", "a")], [("a", "b")]],
    ids=["a loop", "a column left out"],
)
def test_cliques_that_make_no_tree(cliques: list[Clique]) -> None:
    with pytest.raises(
        QuestionError,
        match=r"do not make a junction tree \(got \w+ in no clique, or in cliques that",
    ):
        joined(Domain({"a": 2, "b": 2, "c": 2}), cliques)


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=4, max_size=14),
    st.lists(st.tuples(st.integers(2, 60), st.integers(2, 60)), min_size=8, max_size=8),
)
def test_by_a_given_order_a_tree_never_grows_when_columns_shrink(
    pairs: list[tuple[int, int]], sizes: list[tuple[int, int]]
) -> None:
    """What a plan says of the worst case must hold for any other."""
    cliques = [(f"c{a}", f"c{b}") for a, b in pairs if a != b]
    worst = Domain({f"c{i}": max(two) for i, two in enumerate(sizes)})
    real = Domain({f"c{i}": min(two) for i, two in enumerate(sizes)})
    order = best_order(worst, cliques)
    planned = junction_tree(worst, cliques).cells
    assert junction_tree(real, cliques, order=order).cells <= planned
