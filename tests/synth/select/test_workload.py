"""Workloads: which marginals matter, what may be asked to serve them, and what it weighs."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.door import Clique
from understudy.errors import QuestionError
from understudy.schema import Domain
from understudy.synth.select.workload import all_of, candidates

SIZES = Domain({"d": 5, "a": 2, "c": 4, "b": 3})
FREE = 10**9


@pytest.mark.parametrize(("degree", "count"), [(2, 6), (3, 4), (4, 1), (9, 1)])
def test_all_of_so_many_columns_matter_alike(degree: int, count: int) -> None:
    """And all columns together, where there are not as many."""
    found = all_of(SIZES, degree, [])
    assert len({clique for clique, _ in found}) == len(found) == count
    assert {len(clique) for clique, _ in found} == {min(degree, 4)}
    assert {weight for _, weight in found} == {1.0}


def test_with_targets_only_marginals_with_one_of_them_matter() -> None:
    one = [clique for clique, _ in all_of(SIZES, 2, ["a"])]
    assert one == [("d", "a"), ("a", "c"), ("a", "b")]
    two = {clique for clique, _ in all_of(SIZES, 3, ["a", "b"])}
    assert two == {("d", "a", "c"), ("d", "a", "b"), ("d", "c", "b"), ("a", "c", "b")}
    without = [clique for clique, _ in all_of(SIZES, 2, ["a", "b"])]
    assert ("d", "c") not in without
    assert len(without) == 5


def test_candidates_are_marginals_of_the_workload_and_all_within_them() -> None:
    found = candidates([(("b", "a", "d"), 1.0), (("c", "b"), 1.0), (("c",), 1.0)], SIZES, FREE)
    # Columns of a candidate are in the schema's order; smaller ones come first.
    assert list(found) == [("a", "b"), ("c", "b"), ("d", "a"), ("d", "b"), ("d", "a", "b")]


def test_a_candidate_weighs_as_many_columns_as_it_shares_with_what_matters() -> None:
    found = candidates([(("b", "a", "d"), 0.5), (("c", "b"), 3.0), (("c",), 10.0)], SIZES, FREE)
    assert found["d", "a", "b"] == 3 * 0.5 + 1 * 3.0
    assert found["d", "a"] == 2 * 0.5
    assert found["c", "b"] == 1 * 0.5 + 2 * 3.0 + 1 * 10.0


cliques = st.lists(st.sampled_from(sorted(SIZES)), min_size=1, unique=True).map(tuple)


@given(
    st.lists(st.tuples(cliques, st.floats(0.1, 10)), min_size=1, max_size=5),
    st.sampled_from([6, 12, 24, FREE]),
)
@tried(60)
def test_candidates_are_those_found_by_hand_in_whatever_order_things_are_named(
    workload: list[tuple[Clique, float]], most: int
) -> None:
    slow: dict[frozenset[str], float] = {}
    for size in range(2, 5):
        for part in map(frozenset, itertools.combinations(SIZES, size)):
            within = any(part <= set(clique) for clique, _ in workload)
            if within and math.prod(SIZES[n] for n in part) <= most:
                slow[part] = sum(c * len(part & set(clique)) for clique, c in workload)
    found = candidates(workload, SIZES, most)
    assert {frozenset(c): w for c, w in found.items()} == pytest.approx(slow)
    assert all(list(c) == [n for n in SIZES if n in c] for c in found)
    turned = [(clique[::-1], weight) for clique, weight in reversed(workload)]
    assert list(candidates(turned, SIZES, most)) == list(found)


def test_what_has_as_many_cells_as_allowed_is_a_candidate_and_with_one_more_it_is_none() -> None:
    workload: list[tuple[Clique, float]] = [(("a", "b", "c"), 1.0)]
    assert ("a", "c", "b") in candidates(workload, SIZES, 24)
    # What is within it may still be asked, and weighs as before.
    assert candidates(workload, SIZES, 23) == {("a", "b"): 2.0, ("a", "c"): 2.0, ("c", "b"): 2.0}
    assert candidates(workload, SIZES, 5) == {}


KNOWN = "allowed: d, a, c, b)"


@pytest.mark.parametrize(
    ("clique", "text"),
    [
        (
            ("a", "road", "path"),
            f"a clique names columns that the schema does not model (got road, path; {KNOWN}",
        ),
        ((), f"a clique names columns that the schema does not model (got no column; {KNOWN}"),
        (("a", "b", "a"), "a clique names a column twice (got a × b × a)"),
    ],
)
def test_a_workload_of_other_columns_is_refused(clique: Clique, text: str) -> None:
    with pytest.raises(QuestionError) as caught:
        candidates([(("a", "b"), 1.0), (clique, 1.0)], SIZES, FREE)
    assert str(caught.value) == text
