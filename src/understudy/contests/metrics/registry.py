"""The registry of the contests' metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.contests.metrics.census import CENSUS
from understudy.contests.metrics.excerpts import EXCERPTS
from understudy.contests.metrics.pies import PIES
from understudy.contests.metrics.trips import TRIPS

if TYPE_CHECKING:
    from understudy.evaluate import Metric

METRICS: dict[str, Metric[Any]] = {
    metric.name: metric for metric in (TRIPS, PIES, EXCERPTS, CENSUS)
}
"""Metrics by their names, in the order in which results are shown."""
