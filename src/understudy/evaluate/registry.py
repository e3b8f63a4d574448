"""The registry of metrics that apply to any table.

A new metric is one entry here: comparisons, the command line and the custodian's page walk it.
The contests' metrics are in a registry of their own, `understudy.contests.metrics.METRICS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.evaluate.association import ASSOCIATIONS
from understudy.evaluate.classifier import CLASSIFIER
from understudy.evaluate.constraints import CONSTRAINTS
from understudy.evaluate.marginals import COLUMNS, PAIRS, TRIPLES
from understudy.evaluate.numbers import NUMBERS
from understudy.evaluate.people import PEOPLE
from understudy.evaluate.prediction import PREDICTIONS
from understudy.evaluate.regression import REGRESSIONS

if TYPE_CHECKING:
    from understudy.evaluate.metric import Metric

METRICS: dict[str, Metric[Any]] = {
    metric.name: metric
    for metric in (
        COLUMNS,
        NUMBERS,
        ASSOCIATIONS,
        PAIRS,
        TRIPLES,
        PEOPLE,
        CLASSIFIER,
        CONSTRAINTS,
        PREDICTIONS,
        REGRESSIONS,
    )
}
"""Metrics by their names, in the order in which results are shown."""
