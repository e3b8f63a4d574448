"""All rows of a synthesis at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.door import Measurement
from understudy.public import Batch, Batches, Synthesis
from understudy.schema import Codes


@dataclass(frozen=True)
class Made:
    """What a mechanism made, with all of its rows."""

    codes: dict[str, Codes]
    people: NDArray[np.int64] | None
    measurements: tuple[Measurement, ...]
    details: Mapping[str, Any]

    @classmethod
    def of(cls, synthesis: Synthesis) -> Made:
        rows = whole(synthesis.batches)
        return cls(rows.codes, rows.people, synthesis.measurements, synthesis.details)


def whole(batches: Batches) -> Batch:
    """Put batches together."""
    parts = list(batches)
    codes = {n: np.concatenate([p.codes[n] for p in parts]) for n in parts[0].codes}
    people = [p.people for p in parts if p.people is not None]
    return Batch(codes, np.concatenate(people) if people else None)
