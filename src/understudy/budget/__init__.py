"""Unit, Budget, charges as data, accounting and calibration: no rows, no randomness."""

from understudy.budget.bounding import (
    Bounding,
    Capped,
    Norm,
    Sample,
    Weights,
    bounding_from_dict,
    bounding_to_dict,
)
from understudy.budget.budget import (
    GRAIN,
    Budget,
    epsilon_of,
    failure_of,
    mu_upper,
    price_grains,
    price_lower,
    split,
)
from understudy.budget.calibration import noise_charge, scale_upper, selection_epsilon_lower
from understudy.budget.charges import Charge, Event, Gaussian, Laplace, Selection, Threshold
from understudy.budget.currency import Currency
from understudy.budget.gaussian import (
    delta_upper,
    epsilon_upper,
    mu_lower,
    mu_of_pure_upper,
    mu_of_selection_upper,
    probabilistic_delta_upper,
)
from understudy.budget.threshold import MOST_VALUES, failure_upper, threshold_upper, value_weight
from understudy.budget.unit import AnyUnit, ResolvedUnit, Unit, resolve

__all__ = [
    "GRAIN",
    "MOST_VALUES",
    "AnyUnit",
    "Bounding",
    "Budget",
    "Capped",
    "Charge",
    "Currency",
    "Event",
    "Gaussian",
    "Laplace",
    "Norm",
    "ResolvedUnit",
    "Sample",
    "Selection",
    "Threshold",
    "Unit",
    "Weights",
    "bounding_from_dict",
    "bounding_to_dict",
    "delta_upper",
    "epsilon_of",
    "epsilon_upper",
    "failure_of",
    "failure_upper",
    "mu_lower",
    "mu_of_pure_upper",
    "mu_of_selection_upper",
    "mu_upper",
    "noise_charge",
    "price_grains",
    "price_lower",
    "probabilistic_delta_upper",
    "resolve",
    "scale_upper",
    "selection_epsilon_lower",
    "split",
    "threshold_upper",
    "value_weight",
]
