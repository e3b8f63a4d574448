"""Packed numbers are the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import tried
from tests.public.test_within_bins import several
from understudy.public import PublicTable, Within, packed
from understudy.public.packed import Packed
from understudy.synth.archetypes.filling import CopiedRows

numbers = st.one_of(st.sampled_from([0.0, 2.5, np.nan, -7.25, 1e300, -np.inf, np.inf]), st.floats())


@given(st.lists(numbers, min_size=1), st.integers(1, 9), st.integers(1, 9))
@tried(200)
def test_whatever_is_packed_is_there_again(values: list[float], long: int, few: int) -> None:
    held = np.array(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "LONG", long)
        patch.setattr(packed, "FEW", few)
        found = packed.packed(held)
    distinct = len(np.unique(held))
    assert isinstance(found, Packed) == (len(held) >= long and distinct <= few)
    assert len(found) == len(held)
    for rows in (slice(None), slice(None, None, 2), np.arange(len(held))[::-1], held > 0):
        assert np.array_equal(found[rows], held[rows], equal_nan=True)


def test_a_packed_table_gives_what_a_plain_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, columns = several(300, 3)
    told = {name: [str(value) for value in values[:]] for name, values in whole.numbers.items()}

    def read() -> PublicTable:
        return PublicTable.read(told, schema=whole.schema, unit=us.Unit.each_row())

    plain = read()
    monkeypatch.setattr(packed, "LONG", 100)
    table = read()
    assert all(isinstance(held, Packed) for held in table.numbers.values())
    drawn = [
        Within(t).drawn(whole.codes, list(columns), np.random.default_rng(1))
        for t in (plain, table, table.take(np.arange(300)))
    ]
    for name in columns:
        for other in drawn[1:]:
            assert np.array_equal(other[name][0], drawn[0][name][0])
            assert np.array_equal(other[name][1], drawn[0][name][1])
    names, place = list(columns), np.arange(0, 300, 7)
    made = [CopiedRows.copied(t, names, place).numbers() for t in (plain, table)]
    for name in names:
        assert np.array_equal(made[0][name], made[1][name])
