"""What a metric shows on the custodian's page, as plain data: no page is made in this package.

Runs come without names, in their order: the page names them, so that names are unique.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

R = TypeVar("R")

MOST_SHOWN = 60
"""A chart with more rows than this shows only the worst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A table of the page, with the figures of several metrics.

    Where all of them have a best value, a chart shows each as a share of it.
    """

    title: str
    about: str
    caption: str
    label: str
    """The heading of the column of names."""
    chart: str = "Shares"
    """The chart's title."""


OTHERS = Group(
    title="Other metrics",
    about="What other metrics found.",
    caption="Other metrics, beside those of the yardsticks",
    label="metric",
)
"""For figures of metrics without a group of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results(Generic[R]):
    """What a metric found: a result for each run, and for each yardstick by its name."""

    runs: Sequence[R]
    yardsticks: Mapping[str, R]

    @property
    def order(self) -> str:
        """Return a sentence on the order of `worst`."""
        alone = len(self.runs) == 1
        return "The worst first." if alone else "The worst first, by the mean of all runs."

    def columns(self, values: Callable[[R], Sequence[float]]) -> dict[str, Any]:
        """Return the columns of a `Dots` or `Listing`: of runs, and then of yardsticks."""
        return {
            "runs": [values(run) for run in self.runs],
            "others": [Series(name=n, values=values(each)) for n, each in self.yardsticks.items()],
        }


def worst(runs: Sequence[Mapping[Any, float]]) -> list[Any]:
    """Order what was measured of all runs by its mean, the largest first."""
    return sorted(runs[0], key=lambda name: -fmean(run[name] for run in runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A series of a chart or table that is not a run."""

    name: str
    values: Sequence[float | None]
    is_real: bool = False
    """Whether it is drawn in the colour of the real table; in grey otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """A chart with a line of dots for each label: one for each run and each other series."""

    title: str
    about: str
    label: str
    """What a label names, such as a column."""
    value: str
    """What a dot measures."""
    labels: Sequence[str]
    runs: Sequence[Sequence[float | None]]
    others: Sequence[Series]
    kind: str = field(default="dots", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A table with a row for each label, and a column for each run and each other series."""

    caption: str
    label: str
    labels: Sequence[str]
    runs: Sequence[Sequence[float | None]]
    others: Sequence[Series]
    kind: str = field(default="listing", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A column's mean and quantiles, by their names, in each run and in each other table."""

    name: str
    runs: Sequence[Mapping[str, float | None]]
    others: Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    """A chart for each of some columns: from which quantile to which its numbers lie."""

    title: str
    boxes: Sequence[Box]
    kind: str = field(default="boxes", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Bars of the real and the synthetic counts of a few classes, drawn as shares."""

    title: str
    labels: Sequence[str]
    real: Sequence[int]
    runs: Sequence[Sequence[int]]
    of: str
    """What is counted, such as people."""
    kind: str = field(default="bars", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices:
    """A matrix of all pairs of columns: real, synthetic, and their difference, for each run."""

    title: str
    columns: Sequence[str]
    """In the order in which they are drawn."""
    pairs: Sequence[tuple[str, str]]
    real: Sequence[float]
    """A value from 0 to 1 for each pair."""
    runs: Sequence[Sequence[float]]
    kind: str = field(default="matrices", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histograms:
    """Bars of the real and the synthetic counts of a few columns, the first that were counted."""

    title: str
    columns: Sequence[str]
    kind: str = field(default="histograms", init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of the page; one with the title of the section before it continues that section."""

    title: str
    paragraphs: Sequence[str]
    parts: Sequence[Dots | Listing | Bars | Boxes | Matrices | Histograms]
