"""The metric of association: how much two columns say about each other, by Cramér's V.

It is one measure for columns of any kind, on their codes: 0 is nothing, 1 is all.  Few rows in
many cells look associated by chance alone; what chance adds is taken off (Bergsma, *A
bias-correction for Cramér's V and Tschuprow's T*, 2013), so that tables of different sizes compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.evaluate.matching import matched
from understudy.evaluate.metric import Figure, Lines, Metric
from understudy.evaluate.numbers import GROUP
from understudy.evaluate.sections import Matrices, Section, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.evaluate.metric import Tables
    from understudy.evaluate.sections import Results
    from understudy.evaluate.table import Coded, Counts
    from understudy.evaluate.variation import Pair

WORST_LINES = 10
MOST_COLUMNS = 24
"""The most columns of a matrix that can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Associations:
    """Cramér's V of every pair of columns, in both tables."""

    real: dict[Pair, float]
    synthetic: dict[Pair, float]

    @property
    def errors(self) -> dict[Pair, float]:
        """The absolute difference of every pair."""
        return {pair: abs(v - self.synthetic[pair]) for pair, v in self.real.items()}


def associations(tables: Tables) -> Associations | None:
    """Compute Cramér's V of every pair; None for a single column."""
    real, synthetic = tables.real, tables.synthetic
    names = list(real.sizes)
    if len(names) < 2:
        return None
    alone = {name: (real.counts([name]), synthetic.counts([name])) for name in names}
    found = {p: _both(real, synthetic, p, alone) for p in combinations(names, 2)}
    return Associations(
        real={pair: each[0] for pair, each in found.items()},
        synthetic={pair: each[1] for pair, each in found.items()},
    )


def _both(
    real: Coded, synthetic: Coded, pair: Pair, alone: dict[str, tuple[Counts, Counts]]
) -> tuple[float, float]:
    """Return a pair's association in both tables."""
    left, right = alone[pair[0]], alone[pair[1]]
    sums = [0.0, 0.0]
    for block in matched(real, synthetic, pair):
        i, j = np.divmod(block.cells, real.sizes[pair[1]])
        for side, counts in enumerate((block.real, block.synthetic)):
            there = np.flatnonzero(counts)
            expected = left[side][i[there]].astype(np.float64) * right[side][j[there]]
            sums[side] += float(np.sum(counts[there].astype(np.float64) ** 2 / expected))
    first, second = (cramers_v(sums[k], left[k], right[k]) for k in (0, 1))
    return first, second


def cramers_v(together: float, left: Counts, right: Counts) -> float:
    """Return Cramér's V without what chance adds, from Σ n²ᵢⱼ/(nᵢ nⱼ) and the counts nᵢ and nⱼ.

    A column with one value is associated with none.

    >>> halves = np.array([50, 50])
    >>> cramers_v(2.0, halves, halves), cramers_v(1.0, halves, halves)
    (1.0, 0.0)
    """
    sizes = [np.count_nonzero(each) for each in (left, right)]
    if min(sizes) < 2:
        return 0.0
    spare = max(int(left.sum()) - 1, 1)
    chance = (sizes[0] - 1) * (sizes[1] - 1) / spare
    squared = max(0.0, together - 1 - chance)
    most = min(size - (size - 1) ** 2 / spare for size in sizes) - 1
    return min(1.0, float(np.sqrt(squared / most))) if most > 0 else 0.0


def _plain(found: Associations) -> list[dict[str, Any]]:
    return [
        {"columns": list(pair), "real": v, "synthetic": found.synthetic[pair]}
        for pair, v in found.real.items()
    ]


def _lines(found: Sequence[Associations]) -> Lines:
    made, again, *_ = found
    rows = {
        " × ".join(pair): [made.synthetic[pair], again.synthetic[pair], made.real[pair]]
        for pair in worst([made.errors])[:WORST_LINES]
    }
    return Lines(
        title="Associations of columns that are farthest off (Cramér's V)",
        head=("synthetic", "resample", "real"),
        rows=rows,
    )


def _section(found: Results[Associations]) -> Section:
    pairs = worst([run.errors for run in found.runs])
    # Those of the worst pairs, in the order of the table.
    seen = list(dict.fromkeys(name for pair in pairs for name in pair))
    kept = set(seen[:MOST_COLUMNS])
    shown = [pair for pair in pairs if kept.issuperset(pair)]
    left = f" Shown are {MOST_COLUMNS} of {len(seen)} columns, those of the worst pairs."
    return Section(
        title="Associations of columns",
        paragraphs=(
            "How much two columns say about each other, by Cramér's V on their codes, without what "
            "chance adds: 0 is nothing, 1 is all. It is one measure for numbers and categories, "
            "and has no sign." + left * (len(seen) > MOST_COLUMNS),
        ),
        parts=(
            Matrices(
                title="Cramér's V",
                columns=[name for name in _names(found.runs[0]) if name in kept],
                pairs=shown,
                real=[found.runs[0].real[pair] for pair in shown],
                runs=[[run.synthetic[pair] for pair in shown] for run in found.runs],
            ),
        ),
    )


def _names(found: Associations) -> list[str]:
    return list(dict.fromkeys(name for pair in found.real for name in pair))


ASSOCIATIONS: Metric[Associations] = Metric(
    name="associations",
    title="comparison of associations",
    about="Cramér's V of every pair of columns: how much they say about each other.",
    compute=associations,
    plain=_plain,
    figures=(
        Figure(
            name="associations, mean error",
            of=lambda found: fmean(found.errors.values()),
            title="associations of pairs (Cramér's V), mean error",
        ),
        Figure(
            name="associations, largest",
            of=lambda found: max(found.errors.values()),
            title="associations of pairs (Cramér's V), largest error",
        ),
    ),
    scale="Associations, differences of Cramér's V: 0 is the same, 1 is all.",
    group=GROUP,
    lines=_lines,
    section=_section,
)
