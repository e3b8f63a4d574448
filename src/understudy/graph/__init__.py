"""Junction trees, estimation, sampling: the inference engine, which sees noisy numbers only."""

from understudy.graph.estimate import Fit, estimate
from understudy.graph.junction import best_order, junction_tree, model_bytes, outer_cliques
from understudy.graph.measurement import Measurement, Rows, Zeros, check_clique, frozen
from understudy.graph.model import Model
from understudy.graph.sampling import evenly
from understudy.graph.storage import load, save
from understudy.graph.totals import totals
from understudy.graph.urn import Urn
from understudy.schema.domain import Clique, Domain

__all__ = [
    "Clique",
    "Domain",
    "Fit",
    "Measurement",
    "Model",
    "Rows",
    "Urn",
    "Zeros",
    "best_order",
    "check_clique",
    "estimate",
    "evenly",
    "frozen",
    "junction_tree",
    "load",
    "model_bytes",
    "outer_cliques",
    "save",
    "totals",
]
