"""What the custodian's page shows of comparisons, as plain data, by walking their metrics."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from understudy.evaluate.sections import OTHERS, Results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from understudy.evaluate.comparison import Comparison, Metrics
    from understudy.evaluate.sections import Section


def page_facts(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return what the page shows of several comparisons that were made by the same metrics.

    ``frontiers`` are charts of runs by epsilon and a figure, ``groups`` tables of figures, and
    ``sections`` what else metrics show.  Figures are named as in the summary of a comparison.
    """
    metrics = comparisons[0].metrics
    return {
        "frontiers": list(_frontiers(metrics)),
        "groups": list(_groups(metrics)),
        "sections": [asdict(section) for section in _sections(comparisons)],
    }


def _frontiers(metrics: Metrics) -> Iterator[dict[str, Any]]:
    for metric in metrics.values():
        for figure in metric.figures:
            if figure.axis is not None:
                yield {"name": figure.name, "axis": figure.axis, "lower": figure.lower}


def _groups(metrics: Metrics) -> Iterator[dict[str, Any]]:
    """Yield the tables of figures, in the order of their first metrics, the others' at the end."""
    named = [metric.group for metric in metrics.values() if metric.group is not None]
    for group in dict.fromkeys([*named, OTHERS]):
        figures = [
            {"name": figure.name, "title": figure.title, "best": figure.best}
            for metric in metrics.values()
            if (metric.group or OTHERS) == group
            for figure in metric.figures
            if figure.title is not None
        ]
        yield {**asdict(group), "figures": figures}


def _sections(comparisons: Sequence[Comparison]) -> Iterator[Section]:
    for name, metric in comparisons[0].metrics.items():
        found = [comparison.of_all(name) for comparison in comparisons]
        runs = [each[0] for each in found if each is not None]
        if metric.section is None or len(runs) < len(comparisons):
            continue
        first = comparisons[0].yardsticks if metric.yardsticks else {}
        yardsticks = {key: each[name] for key, each in first.items()}
        section = metric.section(Results(runs=runs, yardsticks=yardsticks))
        if section is not None:
            yield section
