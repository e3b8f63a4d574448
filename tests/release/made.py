"""Releases of given rows, for tests of what is done with them."""

from __future__ import annotations

from typing import Any

import numpy as np

import understudy as us
from understudy.public import Batches, Synthesis
from understudy.release import build
from understudy.schema import Schema


def released(
    codes: dict[str, Any], who: Any, schema: Schema, rng: np.random.Generator, **more: Any
) -> us.Release:
    """Release codes as rows of the people ``who``, without a model."""
    held = Batches.held({n: c.astype(np.int32) for n, c in codes.items()}, who)
    return build(
        Synthesis(batches=held, measurements=()),
        schema=schema,
        unit=us.Unit("who"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=1, delta=1e-9),
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={"run": 1, "head": "abc"},
        rng=rng,
        **more,
    )
