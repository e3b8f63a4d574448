"""Batches: all rows, about a million at a time, the same ones each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.public.whole import whole
from understudy.public import Batch, Batches, Draw, batches

sizes = st.integers(0, 500)
at_once = st.integers(1, 60)


def numbered() -> Draw:
    """Draw rows that are numbered on, with some chance beside it."""
    last = 0

    def draw(rows: int, rng: np.random.Generator) -> Batch:
        nonlocal last
        first, last = last, last + rows
        number = np.arange(first, last, dtype=np.int32)
        chance = rng.integers(0, 2**31, rows, dtype=np.int32)
        return Batch({"number": number, "chance": chance}, (number // 2).astype(np.int64))

    return draw


@given(sizes, at_once, st.integers(0, 2**32))
def test_batches_add_up_to_the_whole_and_are_the_same_again(
    rows: int, most: int, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "AT_ONCE", most)
        made = Batches.drawn(rows, numbered, people=rows // 2, rng=np.random.default_rng(seed))
    assert made.rows == rows
    assert max(made.sizes) - min(made.sizes) <= 1
    assert max(made.sizes) <= most
    assert len(made.sizes) == max(1, -(-rows // most))
    one, two = whole(made), whole(made)
    assert one.codes["number"].tolist() == list(range(rows))
    assert one.codes["chance"].tolist() == two.codes["chance"].tolist()
    assert one.people is not None
    assert one.people.tolist() == [n // 2 for n in range(rows)]
    # Chance is another in every batch.
    seen = one.codes["chance"].tolist()
    assert len(set(seen)) == rows


def test_another_seed_gives_other_rows() -> None:
    found = [
        whole(Batches.drawn(20, numbered, people=10, rng=np.random.default_rng(seed)))
        for seed in (1, 1, 2)
    ]
    one, two, other = (batch.codes["chance"].tolist() for batch in found)
    assert one == two != other


def test_one_may_begin_again_before_the_end() -> None:
    made = Batches.drawn(20, numbered, people=10, rng=np.random.default_rng(0))
    first = iter(made)
    next(first)
    assert whole(made).codes["number"].tolist() == list(range(20))


@given(sizes, at_once, st.sampled_from([2, 256, 257, 70_000]), st.booleans())
def test_rows_that_are_held_are_given_in_slices(
    rows: int, most: int, size: int, owned: bool
) -> None:
    rng = np.random.default_rng(rows)
    codes = {n: rng.integers(0, size, rows).astype(np.int32) for n in "ab"}
    people = rng.integers(0, 9, rows) if owned else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "AT_ONCE", most)
        made = Batches.held(codes, people)
    assert max(made.sizes) <= most
    for batch in made:
        assert all(c.dtype == np.int32 for c in batch.codes.values())
    found = whole(made)
    assert {n: c.tolist() for n, c in found.codes.items()} == {
        n: c.tolist() for n, c in codes.items()
    }
    if people is None:
        assert found.people is None
        assert made.people is None
    else:
        assert found.people is not None
        assert found.people.tolist() == people.tolist()
        assert made.people == int(people.max(initial=-1)) + 1


@pytest.mark.parametrize(("size", "each"), [(2, 1), (256, 1), (257, 2), (70_000, 4)])
def test_codes_are_held_in_as_few_bytes_as_they_need(size: int, each: int) -> None:
    codes: Any = np.arange(size, dtype=np.int32)
    held = Batches.held({"a": codes}).begin.__closure__
    assert held is not None
    (small,) = (c.cell_contents for c in held if isinstance(c.cell_contents, dict))
    assert small["a"].itemsize == each
