"""The metric of numbers: means, standard deviations and quantiles of columns of numbers.

They are those of the values in the tables, not of codes: what binning does to them is seen too.
Rows whose cell is missing, or holds a special value, are left out.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from understudy.evaluate.metric import Figure, Lines, Metric
from understudy.evaluate.sections import (
    MOST_SHOWN,
    Box,
    Boxes,
    Group,
    Listing,
    Section,
    Series,
    worst,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.evaluate.metric import Tables
    from understudy.evaluate.sections import Results

QUANTILES = {"5 %": 0.05, "25 %": 0.25, "50 %": 0.5, "75 %": 0.75, "95 %": 0.95}
MOST_LINES = 10
"""The most columns in the text, the worst first."""
MOST_DRAWN = 24
"""The most columns with a chart of their own."""

GROUP = Group(
    title="Statistics in short",
    about="How far means, standard deviations and quantiles are off, in standard deviations of the "
    "real column, averaged over columns; and how far associations of columns are off. 0 is the "
    "same.",
    caption="Differences from the statistics of the real table",
    label="figure",
)


class Statistics(NamedTuple):
    """What is said of a column of numbers, each in the column's own unit."""

    mean: float
    deviation: float
    """The standard deviation."""
    quantiles: tuple[float, ...]
    """Those of `QUANTILES`."""

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Statistics | None:
        """Compute them; None where a column has no numbers."""
        there = values[np.isfinite(values)]
        if not len(there):
            return None
        quantiles = np.quantile(there, list(QUANTILES.values()))
        return cls(float(there.mean()), float(there.std()), tuple(map(float, quantiles)))

    def named(self) -> dict[str, float]:
        """Return all of them by their names."""
        own = {"mean": self.mean, "standard deviation": self.deviation}
        return own | dict(zip(QUANTILES, self.quantiles, strict=True))


class Both(NamedTuple):
    """A column of the real and of the synthetic table; None where it has no numbers."""

    real: Statistics | None
    synthetic: Statistics | None

    def error(self, of: Callable[[Statistics], Sequence[float]]) -> float | None:
        """Return the mean difference in standard deviations of the real column.

        It is 1 where one table alone has numbers, and None where all real numbers are the same.
        """
        if self.real is None or self.synthetic is None:
            return float(self.real is not self.synthetic)
        apart = [abs(a - b) for a, b in zip(of(self.real), of(self.synthetic), strict=True)]
        return fmean(apart) / self.real.deviation if self.real.deviation else None


Columns = dict[str, Both]


def statistics(tables: Tables) -> Columns | None:
    """Describe the numbers of both tables; None where they have no column of numbers in common."""
    real, synthetic = tables.real.numbers, tables.synthetic.numbers
    return {
        name: Both(Statistics.of(values), Statistics.of(synthetic[name]))
        for name, values in real.items()
        if name in synthetic
    } or None


def _mean_error(of: Callable[[Statistics], Sequence[float]]) -> Callable[[Columns], float | None]:
    def mean(found: Columns) -> float | None:
        errors = [each.error(of) for each in found.values()]
        told = [error for error in errors if error is not None]
        return fmean(told) if told else None

    return mean


def _all(each: Statistics) -> Sequence[float]:
    return list(each.named().values())


def _worst(runs: Sequence[Columns]) -> list[str]:
    return worst([{name: each.error(_all) or 0.0 for name, each in run.items()} for run in runs])


def _plain(found: Columns) -> dict[str, dict[str, dict[str, float] | None]]:
    return {
        name: {
            side: None if told is None else told.named() for side, told in each._asdict().items()
        }
        for name, each in found.items()
    }


def _lines(found: Sequence[Columns]) -> Lines:
    made, again, *_ = found
    rows: dict[str, Sequence[float | None]] = {}
    for name in _worst([made])[:MOST_LINES]:
        sides = made[name].synthetic, again[name].synthetic, made[name].real
        for statistic in ("mean", "5 %", "50 %", "95 %"):
            rows[f"{name}, {statistic}"] = [_one(side, statistic) for side in sides]
    left = f", of the worst {MOST_LINES} columns" * (len(made) > MOST_LINES)
    return Lines(
        title=f"Means and quantiles of numbers{left}",
        head=("synthetic", "resample", "real"),
        rows=rows,
    )


def _one(side: Statistics | None, name: str) -> float | None:
    return None if side is None else side.named()[name]


def _section(found: Results[Columns]) -> Section:
    names = _worst(found.runs)
    runs = [{n: each.synthetic for n, each in run.items()} for run in found.runs]
    others = {"real": {n: each.real for n, each in found.runs[0].items()}}
    # Of the yardsticks, the first one: shares of the rows have the same means.
    ((key, again), *_) = found.yardsticks.items()
    others[key] = {n: each.synthetic for n, each in again.items()}
    listed = [(n, told) for n in names for told in ("mean", "standard deviation", "50 %")]
    listed = listed[:MOST_SHOWN]

    def column(side: Mapping[str, Statistics | None]) -> list[float | None]:
        return [_one(side[n], told) for n, told in listed]

    table = Listing(
        caption="Means, standard deviations and medians",
        label="statistic",
        labels=[f"{n}, {'median' if told == '50 %' else told}" for n, told in listed],
        runs=[column(run) for run in runs],
        others=[
            Series(name=k, values=column(side), is_real=k == "real") for k, side in others.items()
        ],
    )
    boxes = [
        Box(
            name=name,
            runs=[_told(run[name]) for run in runs],
            others={kind: _told(side[name]) for kind, side in others.items()},
        )
        for name in names[:MOST_DRAWN]
    ]
    return Section(
        title="Means and quantiles",
        paragraphs=(
            f"{found.order} Numbers as they are in the tables; rows without one are left out.",
        ),
        parts=(table, Boxes(title="Quantiles of each column", boxes=boxes)),
    )


def _told(side: Statistics | None) -> dict[str, float | None]:
    """Return the mean and the quantiles by their names, None where there are no numbers."""
    return {name: _one(side, name) for name in ("mean", *QUANTILES)}


NUMBERS: Metric[Columns] = Metric(
    name="numbers",
    title="comparison of numbers",
    about="Means, standard deviations and quantiles of columns of numbers.",
    compute=statistics,
    plain=_plain,
    figures=(
        Figure(
            name="means, mean error",
            of=_mean_error(lambda each: [each.mean]),
            title="means, mean error",
        ),
        Figure(
            name="deviations, mean error",
            of=_mean_error(lambda each: [each.deviation]),
            title="standard deviations, mean error",
        ),
        Figure(
            name="quantiles, mean error",
            of=_mean_error(lambda each: each.quantiles),
            title="quantiles (5, 25, 50, 75 and 95 %), mean error",
        ),
    ),
    scale="Numbers, in standard deviations of the real column: 0 is the same.",
    group=GROUP,
    lines=_lines,
    section=_section,
)
"""Computed where both tables have columns of numbers."""
