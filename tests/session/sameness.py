"""Whether two releases are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from understudy.release import Release


def same(one: Release, other: Release) -> bool:
    """Whether two releases are the same to the last value."""
    return (
        one.manifest == other.manifest
        and list(one.columns) == list(other.columns)
        and all(np.array_equal(one.columns[n], other.columns[n]) for n in one.columns)
        and len(one.measurements) == len(other.measurements)
        and all(
            a.clique == b.clique and np.array_equal(a.values, b.values) and a.scale == b.scale
            for a, b in zip(one.measurements, other.measurements, strict=True)
        )
    )
