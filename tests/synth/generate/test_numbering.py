"""Numbering: in order, whether few numbers or many could be."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from understudy.synth.generate.numbering import MOST_DENSE, numbered


@given(st.lists(st.integers(0, 99), min_size=1, max_size=30))
def test_numbers_keep_their_order_whether_few_or_many_could_be(numbers: list[int]) -> None:
    order = sorted(set(numbers))
    for size in (100, MOST_DENSE + 1):
        distinct, places = numbered(np.array(numbers), size)
        assert distinct.tolist() == order
        assert places.tolist() == [order.index(n) for n in numbers]
