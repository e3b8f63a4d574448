"""Fitting: a model of columns and pairs, from noisy answers and from what public rows say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.graph import estimate, totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.door import Measurement
    from understudy.graph import Model
    from understudy.synth.measure.compression import Compressed
    from understudy.synth.pairs.prior import Prior


def fitted(
    columns: Compressed,
    ones: Sequence[Measurement],
    measured: Sequence[Measurement],
    prior: Prior,
    start: Model | None,
    *,
    most: int,
    stalled: float,
) -> Model:
    """Fit a model to what was measured of columns and pairs, from a start or from public rows."""
    total, said = columns.crowd.rows, []
    if not prior.doubted:
        total = totals(columns.domain, ones)[None] if total is None else total
        said = prior.says(ones, measured, start, total)
        start = None if prior.doubted else start or prior.model
    zeros = columns.zeros([*(m.clique for m in measured), *prior.pairs])
    return estimate(
        columns.domain,
        [*ones, *measured, *said],
        total=total,
        zeros=[*zeros, *prior.room(zeros)],
        start=start,
        most=most,
        stalled=stalled,
    ).model
