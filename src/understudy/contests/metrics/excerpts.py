"""The excerpt score: the k-marginal of SDNist 2, on NIST's excerpts of the census's survey.

Numbers are cut into 20 bins by their rank in the real table; a frequent value, such as 501 of
POVPIP, may have a bin of its own.  Densities are cut at 150 and then by their logarithm.  Every
pair of features, within each place where the tables have it, is compared over the whole table.
1000 is the same, 0 has no cell in common.

SDNist's published figures are those of ``own_bin={}``, where 501 is ranked with the others; some
of its versions count INDP too, which is ``left_out=()``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contests.metrics.scores import SCORES
from understudy.errors import QuestionError
from understudy.evaluate.metric import Figure, Metric, Option
from understudy.evaluate.values import Column, coded, listed, shared_names
from understudy.evaluate.variation import Pair, total_variation
from understudy.schema.columns.column import NULLS
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from understudy.evaluate import Tables
    from understudy.evaluate.values import Values
    from understudy.schema import Array

    Floats = NDArray[np.float64]

NUMERIC = ("AGEP", "POVPIP", "PINCP", "PWGTP", "WGTP")
OWN_BIN: Mapping[str, float] = MappingProxyType({"POVPIP": 501.0})
MISSING = (*NULLS, "N")
"""Texts that mean a missing value: it has a bin of its own in every column."""
BINS = 20
SPARSE = 150.0
"""The end of the first bin of densities."""
LOG_BINS = 20
SKIPPED = 8
"""The number of the smallest logarithmic bins that the first bin replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptScore:
    """The similarity of the pairs of features.

    >>> found = ExcerptScore(pairs={("AGEP", "SEX"): 0.5, ("AGEP", "EDU"): 0.25})
    >>> found.score, found.features
    (625.0, {'AGEP': 625.0, 'SEX': 500.0, 'EDU': 750.0})
    """

    pairs: dict[Pair, float]
    """The total variation of each pair, within places where there are any."""

    @property
    def score(self) -> float:
        """Return the contest's score, from 0 to 1000."""
        return 1000 * (1 - fmean(self.pairs.values()))

    @property
    def features(self) -> dict[str, float]:
        """Return the mean score of each feature's pairs."""
        mine: dict[str, list[float]] = {}
        for pair, variation in self.pairs.items():
            for name in pair:
                mine.setdefault(name, []).append(variation)
        return {name: 1000 * (1 - fmean(each)) for name, each in mine.items()}


def excerpt_score(
    real: Values,
    synthetic: Values,
    *,
    numeric: Collection[str] = NUMERIC,
    place: str | None = "PUMA",
    left_out: Collection[str] = ("INDP",),
    density: str | None = "DENSITY",
    own_bin: Mapping[str, float] = OWN_BIN,
) -> ExcerptScore:
    """Score a synthetic table by the columns that both tables have."""
    names = shared_names(real, synthetic)
    features = [name for name in names if name != place and name not in left_out]
    if len(features) < 2:
        raise QuestionError(
            "an excerpt score needs at least two features besides the place",
            got=", ".join(features) or None,
        )
    within = (place,) if place is not None and place in names else ()

    def column(name: str) -> Column:
        if name in numeric:
            return _ranked(name, real[name], synthetic[name], own=own_bin.get(name))
        if name == density:
            return _densities(name, real[name], synthetic[name])
        return listed(*(_texts(table[name]) for table in (real, synthetic)))

    true, made = coded({name: column(name) for name in (*within, *features)})
    return ExcerptScore(
        pairs={
            pair: total_variation(true, made, (*within, *pair))
            for pair in combinations(features, 2)
        }
    )


def _texts(values: Array) -> list[str | None]:
    """Convert values to texts, None where one is missing."""
    return [None if text in MISSING else text for text in reading.texts(values).tolist()]


def _ranked(name: str, real: Array, synthetic: Array, *, own: float | None) -> Column:
    """Bin two columns by the ranks of the real one; decimals are ignored."""
    true, made = (np.trunc(_numbers(name, values)) for values in (real, synthetic))
    inner = rank_edges(true[~np.isnan(true) & (true != own)])
    left, right = (_cut(numbers, inner, own) for numbers in (true, made))
    return Column(left, right, len(inner) + 3)


def _densities(name: str, real: Array, synthetic: Array) -> Column:
    true, made = (_numbers(name, values) for values in (real, synthetic))
    most = float(np.max(true[~np.isnan(true)], initial=0.0))
    ladder = np.logspace(1, np.log10(most + 500), LOG_BINS + 1)[SKIPPED:-1]
    # A ladder of small densities begins below the first bin's end.
    inner = np.unique(np.append(ladder, SPARSE))
    left, right = (_cut(numbers, inner, None) for numbers in (true, made))
    return Column(left, right, len(inner) + 3)


def _numbers(name: str, values: Array) -> Floats:
    """Convert values to numbers, NaN where one is missing."""
    numbers, absent = reading.numbers(values, MISSING)
    if not np.isfinite(numbers[~absent]).all():
        # The value itself may be private: the message says only what is allowed.
        raise QuestionError(f"column {name} has values that are not numbers", allowed="numbers, N")
    return np.where(absent, np.nan, numbers)


def rank_edges(numbers: Floats) -> Floats:
    """Return the largest number of each bin but the last, of 20 by the share of smaller numbers.

    A number's rank is the mean of the places that its equals take, so that they stay together;
    a bin that no rank falls in is not there.

    >>> rank_edges(np.array([1.0, 2.0, 2.0, 3.0])).tolist()
    [1.0, 2.0]
    """
    distinct, counts = np.unique(numbers, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2) / max(len(numbers), 1)
    bins = np.where(ranks < 1, (BINS * ranks).astype(np.int64), BINS - 1)
    return distinct[np.flatnonzero(np.diff(bins))]


def _cut(numbers: Floats, inner: Floats, own: float | None) -> NDArray[np.int32]:
    """Return the bin of each number; the last ones are for the own value and for missing ones."""
    bins = np.searchsorted(inner, numbers, side="left").astype(np.int32)
    if own is not None:
        bins[numbers == own] = len(inner) + 1
    bins[np.isnan(numbers)] = len(inner) + 2
    return bins


def _compute(tables: Tables) -> ExcerptScore:
    return excerpt_score(tables.values.real, tables.values.synthetic)


def _plain(found: ExcerptScore) -> dict[str, Any]:
    return {"score": found.score, "features": found.features}


EXCERPTS: Metric[ExcerptScore] = Metric(
    name="excerpts",
    title="excerpt score",
    about="The k-marginal score of SDNist 2: pairs of features of NIST's ACS excerpts, within each "
    "place.",
    compute=_compute,
    plain=_plain,
    options=(
        Option(name="excerpts", kind="flag", help="the k-marginal score of NIST's ACS excerpts"),
    ),
    raw=True,
    figures=(
        Figure(
            name="excerpt score",
            of=lambda found: found.score,
            title="excerpt score",
            best=1000,
            axis="excerpt score",
        ),
    ),
    scale="Excerpt scores: 1000 is the same.",
    group=SCORES,
)
