"""Holdings: the slow obvious count, whatever number of rows is looked at together."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.synth.generate import holdings
from understudy.synth.generate.holdings import Holdings, summed

crowds = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=9), min_size=1, max_size=9)


@given(crowds, st.integers(1, 12))
@tried(200)
def test_rows_are_counted_by_person_and_cell(crowd: list[list[int]], at_once: int) -> None:
    people = np.repeat(np.arange(len(crowd)), [len(rows) for rows in crowd])
    cells = np.array([cell for rows in crowd for cell in rows], dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holdings, "AT_ONCE", at_once)
        held = Holdings.of(people, cells)
    counted = Counter(zip(people.tolist(), cells.tolist(), strict=True))
    assert list(zip(held.people.tolist(), held.cells.tolist(), strict=True)) == sorted(counted)
    assert held.rows.tolist() == [counted[pair] for pair in sorted(counted)]
    best = [max(rows.count(cell) for cell in rows) for rows in crowd]
    found = held.commonest().tolist()
    assert [rows.count(c) for rows, c in zip(crowd, found, strict=True)] == best


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1), st.booleans())
@tried(100)
def test_rows_of_equal_keys_are_added(pairs: list[tuple[int, int]], large: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holdings, "LARGEST", 1 if large else 2**62)
        keys, rows = summed(*(np.array(column) for column in zip(*pairs, strict=True)))
    added: defaultdict[int, int] = defaultdict(int)
    for key, row in pairs:
        added[key] += row
    assert dict(zip(keys.tolist(), rows.tolist(), strict=True)) == added
    assert keys.tolist() == sorted(added)
