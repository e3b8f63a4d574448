"""Missing date-times: each part tells how many rows have none, and all together tell it better.

Tied by ``tests/synth/measure/test_missing.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from understudy.door import Measurement
    from understudy.schema import Schema
    from understudy.synth.measure.support import Rule


def missing_dates(
    schema: Schema, measured: Sequence[Measurement], rule: Callable[[str], Rule]
) -> dict[str, bool]:
    """Return whether rows without a date-time stand out, for all parts of date-times.

    A part that says so alone would be contradicted by the others, and the rows be lost.
    """
    columns = {c.name: (c, m) for c, m in zip(schema.modelled, measured, strict=False)}
    found: dict[str, bool] = {}
    for stamp in schema.timestamps:
        parts = [columns[name] for name in stamp.part_names if name in columns]
        told = [(m.values[c.missing_code], m) for c, m in parts if c.missing_code is not None]
        if not told or len(told) < len(parts):
            continue
        trust = np.array([m.scale**-2.0 for _, m in told])
        deviations = float(trust @ [rows for rows, _ in told]) / float(trust.sum()) ** 0.5
        least = max(rule(c.name).threshold for c, _ in parts)
        found |= {c.name: deviations >= least for c, _ in parts}
    return found
