"""Supports of columns, for tests of drawing."""

from __future__ import annotations

import numpy as np

from understudy.door import Measurement
from understudy.schema import Integer
from understudy.synth.measure.support import Rule, Support, find_support


def support(size: int, seen: int | None = None) -> Support:
    """A support in which every code stands for itself, or all from ``seen`` on are merged."""
    values = np.full(size, 1e4)
    if seen is not None:
        values[seen:] = 0.0
    return find_support(
        Integer(name="x", min=0, max=size - 1, missing=False),
        Measurement(clique=("x",), values=values, scale=1.0),
        Rule(threshold=3.0, rare="neighbours", most=100, bins=100),
        None,
    )
