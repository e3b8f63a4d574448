"""Cells of the comparison: what was measured, as Markdown and as figures with their bars."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from _figures import figure

if TYPE_CHECKING:
    from collections.abc import Sequence

OURS = "understudy"
YARDSTICK = ""
"""The maker of a yardstick."""
MEASURES = {
    "pairs": "mean error of pairs",
    "triples": "mean error of triples",
    "fit": "seconds to fit",
    "sample": "seconds to draw rows",
    "peak": "peak memory, GB",
}
ERRORS = ("pairs", "triples")
TITLES = {
    "adult": "Adult, 48,842 × 14",
    "flights": "Flights, 336,776 × 9",
    "fire": "Fire calls, 305,119 × 30",
    "plane": "People with many rows: planes of a half year",
    "plane-week": "People with many rows: planes in a week",
}
BARS: dict[tuple[str, str], dict[str, float]] = {
    ("adult", "MST"): {"pairs": 0.053, "fit": 5},
    ("adult", "AIM"): {"pairs": 0.039, "triples": 0.090, "fit": 90, "peak": 1},
    ("adult", "AdaGrid"): {"pairs": 0.050, "fit": 20},
    ("flights", "MST"): {"pairs": 0.0528, "fit": 5},
    ("fire", "MST"): {"pairs": 0.0505, "fit": 30},
    ("plane", "AdaGrid, ε = 1"): {"pairs": 0.22},
    ("plane", "AdaGrid, ε = 10"): {"pairs": 0.075},
    ("plane-week", "AdaGrid, ε = 1"): {"pairs": 0.065},
    ("plane-week", "AdaGrid, ε = 10"): {"pairs": 0.025},
}
"""What the means of our own runs must not pass."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What was measured of one run; NaN where there is nothing to measure."""

    pairs: float
    triples: float
    fit: float = math.nan
    sample: float = math.nan
    peak: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Cell:
    """All runs of one maker's mechanism on one table."""

    table: str
    mechanism: str
    maker: str
    runs: tuple[Run, ...]
    said: str = ""
    """Why there are no more runs."""

    def mean(self, measure: str) -> float:
        """Give the mean of a measure over all runs, NaN where there are none."""
        seen = [float(getattr(run, measure)) for run in self.runs]
        return float(np.mean(seen)) if seen else math.nan

    def shown(self, measure: str) -> str:
        """Write a measure for people: errors with their spread, nothing where there is none."""
        mean = self.mean(measure)
        if math.isnan(mean):
            return ""
        if measure in ERRORS:
            spread = float(np.std([getattr(run, measure) for run in self.runs]))
            return f"{mean:.4f}" + (f" ± {spread:.4f}" if len(self.runs) > 1 else "")
        return f"{mean:.2f}" if mean < 10 else f"{mean:,.0f}"

    @property
    def label(self) -> str:
        """Name the cell within its table."""
        return f"{self.mechanism} {self.maker}".strip()

    @property
    def where(self) -> str:
        """Name the cell among all."""
        return f"{self.table}: {self.label}"


def markdown(cells: Sequence[Cell]) -> str:
    """Lay all cells out, a section a table."""
    parts = []
    for table in dict.fromkeys(cell.table for cell in cells):
        parts += [f"## {TITLES[table]}", ""]
        parts += ["| | by | pairs | triples | fit, s | rows, s | peak, GB | |"]
        parts += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
        parts += [_row(cell) for cell in cells if cell.table == table]
        parts += [""]
    return "\n".join(parts)


def _row(cell: Cell) -> str:
    name = cell.mechanism if cell.maker else f"({cell.mechanism})"
    said = cell.said.replace("|", "¦")
    columns = (name, cell.maker, *(cell.shown(measure) for measure in MEASURES), said)
    return f"| {' | '.join(columns)} |"


def keep(cells: Sequence[Cell]) -> None:
    """Keep every cell's figures, ours beside their bars."""
    mst = [c for c in cells if (c.table, c.mechanism, c.maker) == ("flights", "MST", OURS)]
    for cell in cells:
        bars = BARS.get((cell.table, cell.mechanism), {}) if cell.maker == OURS else {}
        for measure, name in MEASURES.items():
            mean, work = cell.mean(measure), f"{cell.where}, {name}"
            if measure in bars:
                limit = bars[measure]
                figure(work, mean, f"<= {limit:g}", meets=bool(cell.runs) and mean <= limit)
            elif not math.isnan(mean):
                figure(work, mean)
        if (cell.table, cell.mechanism, cell.maker) == ("flights", "AIM", OURS) and mst:
            ratio = cell.mean("pairs") / mst[0].mean("pairs")
            figure(f"{cell.where}, error of pairs, of MST's", ratio, "< 1", meets=ratio < 1)
