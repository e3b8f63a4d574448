"""The pie score: the metric of the first sprint of NIST's contest, for any table.

A pie is how the rows of one cell, such as a place and a time, are split by another column.  Only
slices of at least 5 % count.  A pie scores 1 less the Jensen–Shannon distance of the true and
the released one, less 0.2 for each slice that the true one does not have, and less 0.25 where
the numbers of rows differ by more than 500; but never below 0, and always 1 where no count
differs.  The contest's columns are pie = (neighborhood, year, month), slices = incident_type.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contests.metrics.scores import SCORES
from understudy.errors import QuestionError
from understudy.evaluate.metric import Figure, Metric, Option
from understudy.evaluate.table import check_alike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.evaluate import Coded, Tables

LEAST_SHARE = 0.05
FALSE_SLICE = 0.2
"""The penalty for a slice that only the released pie has."""
WRONG_SIZE = 0.25
"""The penalty for a larger difference in rows than allowed."""
ROWS_OFF = 500
SMOOTHING = 1e-9
"""Added to every slice, so that an empty pie has shares too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PieScore:
    """The mean score of some pies, from 0 to 1, higher is closer.

    >>> PieScore(mean=0.75, pies=200).score
    150.0
    """

    mean: float
    pies: int

    @property
    def score(self) -> float:
        """Return the contest's score, the sum over pies."""
        return self.mean * self.pies


def pie_score(real: Coded, synthetic: Coded, *, pie: Sequence[str], slices: str) -> PieScore:
    """Score a synthetic table, with a pie for each cell of some columns, with rows or without.

    A column's code for missing values makes a cell too.
    """
    check_alike(real, synthetic)
    if not pie or len({*pie, slices}) <= len(pie):
        raise QuestionError(
            "a pie score needs columns for its pies, and a different one for their slices",
            got=f"pies of {', '.join(pie) or 'nothing'}; slices of {slices}",
        )
    shape = real.cells(pie), real.cells([slices])
    true, released = (table.counts([*pie, slices]).reshape(shape) for table in (real, synthetic))
    return PieScore(mean=float(pie_scores(true, released).mean()), pies=len(true))


def pie_scores(true: NDArray[Any], released: NDArray[Any]) -> NDArray[np.float64]:
    """Score each pie, from 0 to 1; both arrays hold a row of counts for each.

    >>> pie_scores(np.array([[3, 1], [0, 0]]), np.array([[3, 1], [0, 4]])).round(3)
    array([1.   , 0.242])
    """
    if true.ndim != 2 or true.shape != released.shape:
        raise QuestionError(
            "true and released pies must have the same shape, pies × slices",
            got=f"{true.shape} and {released.shape}",
        )
    for counts in (true, released):
        # The counts themselves are private: the message says only what is allowed.
        if not np.all((counts >= 0) & (counts < np.inf)):
            raise QuestionError(
                "counts of pies are out of range", allowed="finite numbers, 0 or more"
            )
    scores = np.ones(len(true))
    differ = (true != released).any(axis=1)
    true, released = (counts[differ].astype(np.float64) for counts in (true, released))
    off = np.abs(true.sum(axis=1) - released.sum(axis=1)) > ROWS_OFF
    true, released = _large(true), _large(released)
    false = np.count_nonzero((true == 0) & (released > 0), axis=1)
    lost = _distances(true, released) + FALSE_SLICE * false + WRONG_SIZE * off
    scores[differ] = np.clip(1 - lost, 0, 1)
    return scores


def _large(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leave out the slices that are too small to count; an empty pie has only such slices."""
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(counts / np.where(totals > 0, totals, 1) < LEAST_SHARE, 0, counts)


def _distances(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Jensen–Shannon distance, base 2, of each row's shares."""
    p, q = left + SMOOTHING, right + SMOOTHING
    p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
    middle = (p + q) / 2
    divergence = (p * np.log2(p / middle) + q * np.log2(q / middle)).sum(axis=1) / 2
    # Rounding could go below 0, the distance of equal shares.
    distances: NDArray[np.float64] = np.sqrt(np.maximum(divergence, 0))
    return distances


def _compute(tables: Tables, *, pie: Sequence[str], slices: str) -> PieScore:
    return pie_score(tables.real, tables.synthetic, pie=pie, slices=slices)


def _plain(found: PieScore) -> dict[str, Any]:
    return {**asdict(found), "score": found.score}


PIES: Metric[PieScore] = Metric(
    name="pies",
    title="pie score",
    about="The score of NIST's first sprint: how the rows of each cell, such as a place and a "
    "time, are split by another column.",
    compute=_compute,
    plain=_plain,
    options=(
        Option(
            name="pie",
            kind="columns",
            metavar="COLUMN,COLUMN…",
            help="for a pie score: the columns of its cells",
        ),
        Option(name="slices", help="for a pie score: the column that splits each cell"),
    ),
    figures=(
        Figure(
            name="pie score, mean",
            of=lambda found: found.mean,
            title="mean pie score",
            best=1,
            axis="mean pie score",
        ),
        Figure(name="pie score, sum", of=lambda found: found.score),
    ),
    scale="Pie scores: a mean of 1 is the same.",
    group=SCORES,
)
