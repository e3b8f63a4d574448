"""Values within a bin: public ones, in their own bin, and never outside the schema."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.public import PublicTable, Within, bins_within
from understudy.schema import Integer, Numeric, Schema

EDGES = (-5.0, 0.0, 10.0, 12.0, 100.0)
values = st.one_of(
    st.floats(-20, 120), st.sampled_from([*EDGES, -1e300, 1e300, np.nan]), st.integers(-9, 110)
)


def public(numbers: list[float], *, whole: bool, missing: bool = True) -> PublicTable:
    column = Numeric(name="fare", edges=EDGES, whole=whole, missing=missing, outside="nearest")
    schema = Schema("t", (column, Integer(name="n", min=0, max=1)))
    held = np.array(numbers, dtype=np.float64)
    codes = {"fare": column.encode(held), "n": np.zeros(len(held), dtype=np.int32)}
    return PublicTable(
        schema=schema, codes=codes, people=np.arange(len(held)), numbers={"fare": held}
    )


@given(st.lists(values, min_size=1, max_size=40), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_a_redrawn_value_is_a_public_one_of_its_own_bin(
    numbers: list[float], whole: bool, seed: int
) -> None:
    table = public(numbers, whole=whole)
    column = table.schema["fare"]
    assert isinstance(column, Numeric)
    rng = np.random.default_rng(seed)
    codes = rng.integers(column.size, size=60).astype(np.int32)
    drawn = column.decode(codes, rng)
    found = Within.of(table, "fare").redraw(drawn, codes, rng)
    assert found.dtype == drawn.dtype
    known = set(numbers)
    for code, before, after in zip(codes.tolist(), drawn.tolist(), found.tolist(), strict=True):
        if code >= column.values_count:
            assert after is None or np.isnan(after)
            continue
        low, high = EDGES[code], EDGES[code + 1]
        last = code == column.values_count - 1
        inside = [
            v
            for v in known
            if low <= v and (v < high or (last and v == high)) and (not whole or v == int(v))
        ]
        assert after in inside if inside else after == before
        assert EDGES[0] <= after <= EDGES[-1]
        if whole:
            assert type(after) is int


def test_every_public_value_of_a_bin_is_as_likely_as_it_is_common() -> None:
    table = public([1.0, 1.0, 1.0, 2.0, 50.0], whole=False)
    codes = np.ones(20_000, dtype=np.int32)
    found = Within.of(table, "fare").redraw(np.zeros(20_000), codes, np.random.default_rng(1))
    assert np.mean(found == 1) == pytest.approx(0.75, abs=0.02)
    assert set(found.tolist()) == {1.0, 2.0}


def test_bins_without_public_values_are_left_as_they_were_drawn() -> None:
    table = public([1.0], whole=False)
    codes = np.array([0, 1, 2, 3, 4], dtype=np.int32)
    drawn = np.array([-3.0, 7.0, 11.0, 60.0, np.nan])
    found = Within.of(table, "fare").redraw(drawn, codes, np.random.default_rng(1))
    assert np.array_equal(found, [-3.0, 1.0, 11.0, 60.0, np.nan], equal_nan=True)
    assert drawn[1] == 7.0


def test_a_value_beyond_the_schema_stands_in_no_bin() -> None:
    """It is counted in the nearest bin, but nothing like it is ever drawn."""
    table = public([1000.0, -1000.0, 50.5], whole=True)
    within = Within.of(table, "fare")
    assert len(within.values) == 0
    assert within.starts.tolist() == [0] * 5


def test_all_numeric_columns_and_no_others_are_gathered() -> None:
    assert list(bins_within(public([1.0], whole=False))) == ["fare"]
