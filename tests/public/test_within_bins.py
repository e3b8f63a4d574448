"""Values within a bin: public ones, in their own bin, and never outside the schema."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.public import PublicTable, Within
from understudy.schema import Array, Codes, Integer, Numeric, Schema

EDGES = (-5.0, 0.0, 10.0, 12.0, 100.0)
RNG = np.random.default_rng(0)
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


def redrawn(table: PublicTable, drawn: Array, codes: Codes, rng: np.random.Generator) -> Array:
    """Values with public ones in their place, where there are any."""
    better, known = Within(table).drawn({"fare": codes}, ["fare"], rng)["fare"]
    out = drawn.copy()
    out[known] = better[known]
    return out


@given(st.lists(values, min_size=1, max_size=40), st.booleans(), st.integers(0, 2**32))
@tried(150)
def test_a_redrawn_value_is_a_public_one_of_its_own_bin(
    numbers: list[float], whole: bool, seed: int
) -> None:
    table = public(numbers, whole=whole)
    column = table.schema["fare"]
    assert isinstance(column, Numeric)
    rng = np.random.default_rng(seed)
    codes = rng.integers(column.size, size=60).astype(np.int32)
    drawn = column.decode(codes, rng)
    found = redrawn(table, drawn, codes, rng)
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
    found = redrawn(table, np.zeros(20_000), codes, np.random.default_rng(1))
    assert np.mean(found == 1) == pytest.approx(0.75, abs=0.02)
    assert set(found.tolist()) == {1.0, 2.0}


def test_bins_without_public_values_are_left_as_they_were_drawn() -> None:
    table = public([1.0], whole=False)
    codes = np.array([0, 1, 2, 3, 4], dtype=np.int32)
    drawn = np.array([-3.0, 7.0, 11.0, 60.0, np.nan])
    found = redrawn(table, drawn, codes, np.random.default_rng(1))
    assert np.array_equal(found, [-3.0, 1.0, 11.0, 60.0, np.nan], equal_nan=True)
    assert drawn[1] == 7.0


def test_a_value_beyond_the_schema_stands_in_no_bin() -> None:
    """It is counted in the nearest bin, but nothing like it is ever drawn."""
    table = public([1000.0, -1000.0, 50.5], whole=True)
    codes = np.arange(5, dtype=np.int32)
    ((_, known),) = Within(table).drawn(codes={"fare": codes}, among=["fare"], rng=RNG).values()
    assert not known.any()


def test_all_numeric_columns_and_no_others_are_gathered() -> None:
    table = public([1.0], whole=False)
    codes = {name: np.zeros(3, dtype=np.int32) for name in ("fare", "n")}
    assert list(Within(table).drawn(codes, ["fare", "n"], RNG)) == ["fare"]
    assert Within(table).drawn(codes, ["n"], RNG) == {}


def several(rows: int, seed: int) -> tuple[PublicTable, dict[str, Numeric]]:
    """Fares, tips and totals that are their sum; and a number that has nothing to do with them."""
    rng = np.random.default_rng(seed)
    fare, tips = rng.uniform(0, 40, rows).round(2), rng.uniform(0, 10, rows).round(2)
    numbers = {"fare": fare, "tips": tips, "total": fare + tips, "luck": rng.uniform(0, 50, rows)}
    columns = {name: Numeric(name=name, edges=tuple(np.arange(0.0, 61.0, 5.0))) for name in numbers}
    codes = {name: columns[name].encode(held) for name, held in numbers.items()}
    schema = Schema("t", tuple(columns.values()))
    table = PublicTable(schema=schema, codes=codes, people=None, numbers=numbers)
    return table, columns


def test_related_columns_come_from_one_public_row() -> None:
    table, columns = several(4000, 1)
    asked, _ = several(2000, 2)
    found = Within(table).drawn(asked.codes, list(columns), RNG)
    values = {name: each for name, (each, _) in found.items()}
    all_known = np.logical_and.reduce([known for _, known in found.values()])
    kept = np.abs(values["fare"] + values["tips"] - values["total"]) < 1e-9
    assert all_known.mean() > 0.99
    assert kept[all_known].mean() > 0.95, "one row in twenty has bins that no public row has"
    for name, column in columns.items():
        known = found[name][1]
        assert np.array_equal(column.encode(values[name])[known], asked.codes[name][known])


def test_columns_of_too_many_bins_together_are_drawn_apart() -> None:
    columns = [Numeric(name=f"x{i}", edges=tuple(np.arange(0.0, 2000.0))) for i in range(7)]
    numbers = {c.name: np.full(3, 7.5) for c in columns}
    table = PublicTable(
        schema=Schema("t", tuple(columns)),
        codes={c.name: c.encode(numbers[c.name]) for c in columns},
        people=None,
        numbers=numbers,
    )
    found = Within(table).drawn(table.codes, list(numbers), RNG)
    assert all(known.all() and (values == 7.5).all() for values, known in found.values())
