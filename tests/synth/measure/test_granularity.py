"""Fine and coarse rows: the document's example by hand, and norm 1 for any pattern."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import tried
from tests.synth.measure.grids import settled
from understudy.budget import Currency
from understudy.door import Clique, Measurement
from understudy.errors import InternalError
from understudy.synth.measure.granularity import Family, Grid, children, closure, widened

Table = NDArray[np.float64]


def matrix(grid: Grid, scale: float, currency: Currency) -> tuple[Table, list[Fraction]]:
    """The rows that are asked, 0 or 1 a cell, and the noise of each."""
    rows, noise = [], []
    for query in grid.queries(scale, currency):
        if query.rows is None:
            rows += list(np.eye(len(grid.plausible)))
            noise += [Fraction(query.scale)] * len(grid.plausible)
            continue
        for a, b in pairwise(query.rows.starts):
            row = np.zeros(len(grid.plausible))
            row[query.rows.cells[a:b]] = 1
            rows.append(row)
            noise.append(Fraction(query.scale))
    return np.array(rows), noise


def lengths(grid: Grid, scale: float, currency: Currency) -> list[Fraction]:
    """Every column's squared L2 norm (its L1 norm for Laplace), with the floats as they are."""
    rows, noise = matrix(grid, scale, currency)
    power = 2 if currency == Currency.GDP else 1
    ratios = [(Fraction(scale) / s) ** power for s in noise]
    return [
        sum((r for r, held in zip(ratios, column, strict=True) if held), Fraction(0))
        for column in rows.T
    ]


# The document's example


def example() -> Grid:
    """W, Y, Z and 1, 2 were large, X and 3 were not."""
    letters = settled(Grid.of(("letter",), (4,), []), [True, False, True, True])
    numbers = settled(Grid.of(("number",), (3,), []), [True, True, False])
    return Grid.of(("letter", "number"), (4, 3), [letters, numbers])


FINE = """
1 0 0  0 0 0  0 0 0  0 0 0
0 1 0  0 0 0  0 0 0  0 0 0
0 0 0  0 0 0  1 0 0  0 0 0
0 0 0  0 0 0  0 1 0  0 0 0
0 0 0  0 0 0  0 0 0  1 0 0
0 0 0  0 0 0  0 0 0  0 1 0
"""
"""{W, Y, Z} × {1, 2}, the cells in the order W1 W2 W3, X1 X2 X3, Y1 Y2 Y3, Z1 Z2 Z3."""
COARSE = """
0 0 1  0 0 0  0 0 0  0 0 0
0 0 0  1 1 1  0 0 0  0 0 0
0 0 0  0 0 0  0 0 1  0 0 0
0 0 0  0 0 0  0 0 0  0 0 1
0 0 0  1 0 0  0 0 0  0 0 0
0 0 0  0 1 0  0 0 0  0 0 0
0 0 1  0 0 1  0 0 1  0 0 1
"""
"""What is left of W, X, Y, Z and of 1, 2, 3, each times 1/√2."""


def written(text: str) -> Table:
    return np.array([[float(n) for n in line.split()] for line in text.strip().splitlines()])


def test_the_documents_example_has_six_fine_rows_and_seven_coarse_ones() -> None:
    both = example()
    fine, coarse = both.queries(10.0, Currency.GDP)
    assert fine.rows is not None
    assert coarse.rows is not None
    assert (fine.rows.count, coarse.rows.count, both.rows) == (6, 7, 13)
    assert (fine.scale, both.squares) == (10.0, (1, 2))
    assert coarse.scale == pytest.approx(10 * math.sqrt(2), rel=1e-15)
    rows, _ = matrix(both, 10.0, Currency.GDP)
    assert rows[:6].tolist() == written(FINE).tolist()
    assert rows[6:].tolist() == written(COARSE).tolist()


def test_the_examples_columns_all_have_norm_one() -> None:
    both = example()
    weighed = np.concatenate([written(FINE), written(COARSE) / math.sqrt(2)])
    assert np.linalg.norm(weighed, axis=0).tolist() == pytest.approx([1.0] * 12)
    total, common = both.norms()
    assert (total.tolist(), common) == ([2] * 12, 2)
    assert both.norm() == 1.0


def test_the_examples_plausible_cells_are_those_of_plausible_letters_and_numbers() -> None:
    both = example()
    shaped = both.plausible.reshape(4, 3)
    assert shaped.tolist() == [
        [True, True, False],
        [False, False, False],
        [True, True, False],
        [True, True, False],
    ]


# Any pattern


@st.composite
def histories(draw: st.DrawFn) -> list[Grid]:
    """All grids of a clique's closure, each round as fine as drawn answers made it."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    names = tuple("abcd"[: len(shape)])
    sizes = dict(zip(names, shape, strict=True))
    likely = draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    grids: dict[Clique, Grid] = {}
    asked = []
    for clique in closure([tuple(draw(st.permutations(names)))]):
        grid = Grid.of(clique, tuple(sizes[n] for n in clique), children(clique, grids))
        asked.append(grid)
        grids[clique] = settled(grid, (rng.random(len(grid.plausible)) < likely).tolist())
    return asked


@given(histories(), st.floats(1e-3, 1e5))
@tried(60)
def test_every_column_has_norm_one_whatever_was_plausible(grids: list[Grid], scale: float) -> None:
    """In L2 for Gaussian noise, in L1 for Laplace noise, never above it by the least bit."""
    for grid in grids:
        total, common = grid.norms()
        assert set(total.tolist()) == {common}
        for currency in (Currency.GDP, Currency.PURE):
            for length in set(lengths(grid, scale, currency)):
                assert 1 - Fraction(1, 10**12) < length <= 1


@given(histories())
@tried(60)
def test_fine_rows_are_the_plausible_cells_and_coarse_rows_the_others(grids: list[Grid]) -> None:
    for grid in grids:
        rows, noise = matrix(grid, 1.0, Currency.GDP)
        assert len(rows) == grid.rows
        fine = rows[[s == 1 for s in noise]]
        wanted = np.eye(len(grid.plausible))[grid.plausible]
        assert fine.tolist() == wanted.tolist()
        coarse = rows[[s > 1 for s in noise]]
        assert not coarse[:, grid.plausible].any()
        assert coarse.sum() == 0 or coarse.any(axis=1).all()


@given(histories())
@tried(40)
def test_a_coarse_row_is_a_childs_row_lifted(grids: list[Grid]) -> None:
    """The slow version: a child's matrix, repeated along the columns that it lacks."""
    known = {g.clique: g for g in grids}
    for grid in grids:
        below = [known[c] for c in known if set(c) < set(grid.clique)]
        below = [g for g in below if len(g.clique) == len(grid.clique) - 1]
        rows, noise = matrix(grid, 1.0, Currency.GDP)
        held = {(tuple(r), round(s**2)) for r, s in zip(rows.tolist(), noise, strict=True)}
        places = np.indices(grid.shape).reshape(len(grid.shape), -1)
        spot = dict(zip(grid.clique, places, strict=True))
        for child in below if not grid.plausible.all() else []:
            at = np.ravel_multi_index([spot[n] for n in child.clique], child.shape)
            theirs, scales = matrix(child, 1.0, Currency.GDP)
            for row, scale in zip(theirs, scales, strict=True):
                lifted = np.where(grid.plausible, 0, row[at])
                if lifted.any():
                    assert (tuple(lifted.tolist()), round(scale**2) * len(below)) in held


def test_where_all_is_plausible_the_marginal_is_asked_as_it_is() -> None:
    (query,) = Grid.of(("a",), (5,), []).queries(3.0, Currency.GDP)
    assert query.rows is None
    assert query.scale == 3.0


def test_where_nothing_is_plausible_all_rows_are_coarse() -> None:
    nothing = [settled(Grid.of((n,), (2,), []), [False, False]) for n in "ab"]
    grid = Grid.of(("a", "b"), (2, 2), nothing)
    (query,) = grid.queries(1.0, Currency.GDP)
    assert query.rows is not None
    assert query.rows.count == 4
    later = grid.after([Measurement(clique=("a", "b"), values=np.full(4, 1e9), scale=1.0)], 5.0)
    assert not later.plausible.any()


def test_a_cell_stays_plausible_from_the_threshold_times_its_own_noise_up() -> None:
    grid = Grid.of(("a",), (4,), [])
    values = np.array([50.0, math.nextafter(50.0, 0), 1e9, -1e9])
    left = grid.after([Measurement(clique=("a",), values=values, scale=10.0)], 5.0)
    assert left.plausible.tolist() == [True, False, True, False]
    assert left.families == grid.families


def test_a_cell_that_was_not_counted_by_itself_does_not_become_plausible() -> None:
    both = example()
    fine, coarse = both.queries(1.0, Currency.GDP)
    assert fine.rows is not None
    assert coarse.rows is not None
    answers = [
        Measurement(
            clique=both.clique, values=np.full(q.rows.count, 1e6), scale=q.scale, rows=q.rows
        )
        for q in (fine, coarse)
        if q.rows is not None
    ]
    assert both.after(answers, 5.0).plausible.tolist() == both.plausible.tolist()


# What is refused


def family(places: list[int], square: int) -> Family:
    """Rows of one column's cells, each the row that it is said to be in."""
    rows = np.arange(max(places) + 1)
    return Family(("a",), rows, np.array(places, dtype=np.int32), square)


@pytest.mark.parametrize(
    "families",
    [
        (family([0, 1, -1], 1),),
        (family([0, 1, 2], 1), family([0, 0, -1], 2)),
        (family([0, 1, -1], 1), family([-1, -1, 0], 2)),
    ],
    ids=["a cell in no row", "a cell in two rows", "a cell of norm 1/√2"],
)
def test_a_grid_whose_columns_do_not_have_norm_one_is_refused(families: tuple[Family, ...]) -> None:
    broken = Grid(("a",), (3,), np.ones(3, dtype=bool), families)
    with pytest.raises(InternalError, match="queries on a does not have norm 1"):
        broken.check()


def test_a_broken_child_is_noticed_before_anything_is_asked() -> None:
    twice = family([0, 1], 1)
    broken = Grid(("a",), (2,), np.zeros(2, dtype=bool), (twice, twice))
    with pytest.raises(InternalError, match="a × b does not have norm 1"):
        Grid.of(("a", "b"), (2, 2), [broken, Grid.of(("b",), (2,), [])])


# Scales


@given(st.floats(1e-6, 1e9), st.fractions(min_value=Fraction(1, 100), max_value=10_000))
@tried(200)
def test_a_scale_is_widened_to_the_next_number_that_is_enough(
    scale: float, square: Fraction
) -> None:
    for currency, power in ((Currency.GDP, 2), (Currency.PURE, 1)):
        found = widened(scale, square, currency)
        needed = Fraction(scale) ** power * square
        assert Fraction(found) ** power >= needed
        assert Fraction(found * (1 - 1e-15)) ** power <= needed


# Closure and children


def test_the_documents_workload_is_59_marginals_in_four_rounds() -> None:
    outer = [
        ("pickup", "shift", *more)
        for more in (
            ("fare", "total"),
            ("total", "seconds"),
            ("dropoff", "fare"),
            ("payment", "total"),
            ("fare", "miles"),
            ("company",),
            ("tips", "total"),
        )
    ]
    found = closure(outer)
    assert [sum(len(c) == k for c in found) for k in (1, 2, 3, 4)] == [10, 23, 20, 6]
    assert len(found) == 59
    # With seven more copies of dropoff × pickup, the document's 66.
    assert any(set(c) == {"dropoff", "pickup"} for c in found)


@given(
    st.lists(
        st.sets(st.sampled_from("abcdef"), min_size=1, max_size=4).map(lambda s: tuple(sorted(s))),
        min_size=1,
        max_size=4,
    )
)
def test_the_closure_is_every_subset_once_the_smallest_first(cliques: list[Clique]) -> None:
    found = closure(cliques)
    slow = {
        frozenset(part)
        for clique in cliques
        for size in range(1, len(clique) + 1)
        for part in combinations(clique, size)
    }
    assert {frozenset(c) for c in found} == slow
    assert len(found) == len(slow)
    assert [len(c) for c in found] == sorted(len(c) for c in found)


def test_the_order_of_a_cliques_columns_does_not_make_it_another() -> None:
    assert len(closure([("a", "b"), ("b", "a")])) == 3


def test_children_are_the_largest_subsets_that_were_measured() -> None:
    grids = {c: Grid.of(c, (2,) * len(c), []) for c in closure([("a", "b"), ("c",)])}
    assert [g.clique for g in children(("c", "b", "a"), grids)] == [("c",), ("a", "b")]
    assert [g.clique for g in children(("b", "a"), grids)] == [("a",), ("b",)]
    assert children(("a",), grids) == []


def test_a_cell_between_three_children_is_measured_by_each_times_one_over_root_three() -> None:
    ones: dict[Clique, Grid] = {(n,): settled(Grid.of((n,), (2,), []), [True, True]) for n in "abc"}
    pairs: dict[Clique, Grid] = {
        c: settled(Grid.of(c, (2, 2), children(c, ones)), [True, True, True, False])
        for c in combinations("abc", 2)
    }
    grid = Grid.of(("a", "b", "c"), (2, 2, 2), children(("a", "b", "c"), ones | pairs))
    assert grid.squares == (1, 3)
    fine, coarse = grid.queries(1.0, Currency.PURE)
    assert (fine.scale, coarse.scale) == (1.0, 3.0)
