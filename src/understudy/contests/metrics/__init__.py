"""The metrics of contests: for the custodian, as all of `understudy.evaluate` is.

`METRICS` is their registry.  To compare tables by them too, pass
``metrics=understudy.evaluate.METRICS | understudy.contests.metrics.METRICS`` to
`understudy.evaluate.compare`, with their options, such as ``place``, ``time`` and ``edge``.
"""

from understudy.contests.metrics.census import CENSUS, CENSUS_COLUMNS, CensusScore, census_score
from understudy.contests.metrics.excerpts import EXCERPTS, ExcerptScore, excerpt_score
from understudy.contests.metrics.pies import PIES, PieScore, pie_score, pie_scores
from understudy.contests.metrics.registry import METRICS
from understudy.contests.metrics.trips import TRIPS, TripScore, trip_score

__all__ = [
    "CENSUS",
    "CENSUS_COLUMNS",
    "EXCERPTS",
    "METRICS",
    "PIES",
    "TRIPS",
    "CensusScore",
    "ExcerptScore",
    "PieScore",
    "TripScore",
    "census_score",
    "excerpt_score",
    "pie_score",
    "pie_scores",
    "trip_score",
]
