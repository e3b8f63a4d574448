"""Borders: people are cut from a line of rows, most of them of one group."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from understudy.synth.generate.borders import cut_at_borders


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 4)), min_size=1), st.integers(0, 2**32))
def test_cuts_move_to_borders_and_leave_everyone_rows_within_the_limit(
    people: list[tuple[int, int]], seed: int
) -> None:
    sizes, slack = np.array(people).T
    groups = np.sort(np.random.default_rng(seed).integers(0, 4, sizes.sum()))
    found = cut_at_borders(sizes, groups, sizes + slack)
    assert found.sum() == sizes.sum()
    assert (found >= 1).all()
    assert (found <= sizes + slack).all()
    if len(sizes) > 1 and slack.min() == 4:
        free = cut_at_borders(sizes, groups, np.full(len(sizes), sizes.sum()))
        ends = set(np.cumsum(free).tolist())
        borders = np.flatnonzero(np.diff(groups)) + 1
        assert len(borders) == 0 or ends & {*borders.tolist(), *np.cumsum(sizes).tolist()}
