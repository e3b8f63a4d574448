"""The array kernels against NumPy's plain ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import blas
from threadpoolctl import threadpool_info, threadpool_limits

from tests.audit.effort import tried
from tests.graph.brute import Table
from understudy.graph import Clique
from understudy.graph.kernels import (
    AT_ONCE,
    SMALL,
    add,
    largest,
    least,
    product,
    ratio,
    scale,
    single_threaded,
    spread,
    summed,
)

NAMES: Clique = tuple("abcdefg")


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, Clique, Clique]:
    """A table below or above what is small, its columns, and some of them to keep."""
    shape = draw(st.lists(st.integers(1, 9), max_size=7))
    while np.prod(shape) > 20 * SMALL:
        shape.pop()
    if shape:
        shape[draw(st.integers(0, len(shape) - 1))] *= draw(st.sampled_from([1, 50]))
    names = NAMES[: len(shape)]
    kept = draw(st.sets(st.sampled_from(NAMES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.normal(size=shape), names, tuple(n for n in names if n in kept)


def gone(names: Clique, keep: Clique) -> tuple[int, ...]:
    """Give the axes that are not kept."""
    return tuple(i for i, n in enumerate(names) if n not in keep)


@given(tables())
@tried(300)
def test_sums_are_those_of_numpy(case: tuple[Table, Clique, Clique]) -> None:
    table, names, keep = case
    before = table.copy()
    true = before.sum(axis=gone(names, keep))
    found = summed(table, names, keep)
    assert found.shape == true.shape
    assert np.allclose(found, true, rtol=1e-12, atol=1e-10)
    into = np.full(true.shape, np.nan)
    assert np.shares_memory(summed(table, names, keep, out=into), into)
    assert np.array_equal(into, found)
    assert np.array_equal(table, before)


@pytest.mark.parametrize(
    "keep", ["", "a", "b", "e", "ab", "de", "be", "ae", "ac", "ace", "bd", "abde", "abcde"]
)
@pytest.mark.parametrize(
    "shape", [(4, 4, 4, 4, 4), (2, 3, 200, 3, 2), (40, 2, 1, 2, 40), (2, 900, 2, 1, 1)]
)
def test_sums_over_leading_trailing_and_middle_runs(keep: str, shape: tuple[int, ...]) -> None:
    """Tables large enough for products with ones, with one to three kept runs."""
    table = np.random.default_rng(0).random(shape)
    assert table.size >= SMALL
    names = NAMES[:5]
    found = summed(table, names, tuple(keep))
    true = table.sum(axis=gone(names, tuple(keep)))
    assert found.shape == true.shape
    assert np.allclose(found, true, rtol=1e-12, atol=0)


@given(tables())
@tried(50)
def test_extremes_are_those_of_numpy_and_spread_back_over_the_table(
    case: tuple[Table, Clique, Clique],
) -> None:
    table, names, keep = case
    top, bottom = largest(table, names, keep), least(table, names, keep)
    assert np.array_equal(top, table.max(axis=gone(names, keep)))
    assert np.array_equal(bottom, table.min(axis=gone(names, keep)))
    wide = np.expand_dims(top, gone(names, keep))
    assert np.array_equal(spread(top, keep, names), wide)
    assert np.all(spread(top, keep, names) >= table)
    assert np.all(spread(bottom, keep, names) <= table)


@st.composite
def factors(draw: st.DrawFn) -> tuple[Table, Clique, Table, Clique, set[str]]:
    """Two tables with some columns in common, in orders of their own, and what to keep."""
    some = st.lists(st.sampled_from(NAMES), unique=True, max_size=5).map(tuple)
    a, b = draw(some), draw(some)
    sizes = {n: draw(st.integers(1, 6)) for n in NAMES}
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    one, other = (rng.normal(size=[sizes[n] for n in names]) for names in (a, b))
    return one, a, other, b, draw(st.sets(st.sampled_from(NAMES)))


@given(factors())
@tried(300)
def test_products_are_those_of_einsum(case: tuple[Table, Clique, Table, Clique, set[str]]) -> None:
    a, a_names, b, b_names, keep = case
    found, names = product(a, a_names, b, b_names, keep=keep)
    assert set(names) == (set(a_names) | set(b_names)) & keep
    one, other, into = map("".join, (a_names, b_names, names))
    true = np.einsum(f"{one},{other}->{into}", a, b)
    assert found.shape == np.shape(true)
    assert np.allclose(found, true, rtol=1e-10, atol=1e-9)


def test_what_has_no_mass_gets_none() -> None:
    above, below = np.array([0.0, 6.0, 0.0]), np.array([0.0, 3.0, 5.0])
    assert ratio(above, below).tolist() == [0.0, 2.0, 0.0]


def test_vectors_are_changed_in_place_also_where_they_are_views() -> None:
    held = np.arange(6.0)
    scale(held[2:4], 10.0)
    assert held.tolist() == [0.0, 1.0, 20.0, 30.0, 4.0, 5.0]
    add(np.ones(3), -2.0, onto=held[3:])
    assert held.tolist() == [0.0, 1.0, 20.0, 28.0, 2.0, 3.0]


@pytest.mark.parametrize("length", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 7])
@pytest.mark.parametrize("factor", [1.0, -1.0, 0.0, 0.3, -2.5])
def test_multiples_of_vectors_are_those_of_a_library(length: int, factor: float) -> None:
    """However many are multiplied at once; the vector that is added stays as it was."""
    rng = np.random.default_rng(length)
    vector, onto = rng.normal(size=(2, length))
    before = vector.copy()
    true = blas.daxpy(vector, onto.copy(), a=factor) if length else onto.copy()
    add(vector, factor, onto=onto)
    assert np.allclose(onto, true, rtol=1e-15, atol=1e-15)
    assert np.array_equal(vector, before)
    scale(vector, factor)
    assert np.array_equal(vector, before * factor)


def test_the_linear_algebra_library_is_held_to_one_thread_for_a_while() -> None:
    with threadpool_limits(limits=2):
        before = library_threads()
        assert 2 in before
        with single_threaded():
            assert set(library_threads()) == {1}
        assert library_threads() == before


def library_threads() -> list[int]:
    """Other packages may have threads of their own, which are theirs to limit."""
    return [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]


def test_the_limit_on_threads_ends_with_the_last_who_asked_for_it() -> None:
    with threadpool_limits(limits=2):
        before = library_threads()
        assert 2 in before
        first, second = single_threaded(), single_threaded()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(library_threads()) == {1}
        second.__exit__(None, None, None)
        assert library_threads() == before
