"""Metrics of a real table against a synthetic one: for the custodian, never part of a release."""

from understudy.evaluate.census import CENSUS_COLUMNS, CensusScore, census_score
from understudy.evaluate.comparison import CHOOSING, NOTICE, Comparison, Distances, Raw, compare
from understudy.evaluate.excerpts import ExcerptScore, excerpt_score
from understudy.evaluate.pies import PieScore, pie_score, pie_scores
from understudy.evaluate.prediction import (
    NaiveBayes,
    Prediction,
    check_targets,
    predictions,
    worth_predicting,
)
from understudy.evaluate.reading import read_counts, read_private, read_synthetic, read_values
from understudy.evaluate.table import Coded
from understudy.evaluate.trips import TripScore, trip_score
from understudy.evaluate.variation import one_way, pairs, total_variation, triples
from understudy.evaluate.yardsticks import resample, subsample

__all__ = [
    "CENSUS_COLUMNS",
    "CHOOSING",
    "NOTICE",
    "CensusScore",
    "Coded",
    "Comparison",
    "Distances",
    "ExcerptScore",
    "NaiveBayes",
    "PieScore",
    "Prediction",
    "Raw",
    "TripScore",
    "census_score",
    "check_targets",
    "compare",
    "excerpt_score",
    "one_way",
    "pairs",
    "pie_score",
    "pie_scores",
    "predictions",
    "read_counts",
    "read_private",
    "read_synthetic",
    "read_values",
    "resample",
    "subsample",
    "total_variation",
    "trip_score",
    "triples",
    "worth_predicting",
]
