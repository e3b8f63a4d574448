"""Metrics that compare a synthetic table with the real one: custodian-only, never released."""

from understudy.evaluate.comparison import CHOOSING, NOTICE, Comparison, Distances, compare
from understudy.evaluate.facts import page_facts
from understudy.evaluate.metric import Figure, Lines, Metric, Option, Raw, Tables
from understudy.evaluate.people import PeopleDistances, Rate, compare_people
from understudy.evaluate.prediction import (
    NaiveBayes,
    Prediction,
    check_targets,
    predictions,
    worth_predicting,
)
from understudy.evaluate.reading import read_counts, read_private, read_synthetic, read_values
from understudy.evaluate.registry import METRICS
from understudy.evaluate.sections import Group, Results, Section
from understudy.evaluate.table import Coded
from understudy.evaluate.variation import one_way, pairs, total_variation, triples
from understudy.evaluate.yardsticks import resample, resample_people, subsample

__all__ = [
    "CHOOSING",
    "METRICS",
    "NOTICE",
    "Coded",
    "Comparison",
    "Distances",
    "Figure",
    "Group",
    "Lines",
    "Metric",
    "NaiveBayes",
    "Option",
    "PeopleDistances",
    "Prediction",
    "Rate",
    "Raw",
    "Results",
    "Section",
    "Tables",
    "check_targets",
    "compare",
    "compare_people",
    "one_way",
    "page_facts",
    "pairs",
    "predictions",
    "read_counts",
    "read_private",
    "read_synthetic",
    "read_values",
    "resample",
    "resample_people",
    "subsample",
    "total_variation",
    "triples",
    "worth_predicting",
]
