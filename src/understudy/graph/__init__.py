"""Junction trees, estimation, sampling: the inference engine, which sees noisy numbers only."""

from understudy.graph.domain import Domain
from understudy.graph.junction import junction_tree
from understudy.graph.measurement import Clique, Measurement, Rows, frozen
from understudy.graph.model import Model

__all__ = ["Clique", "Domain", "Measurement", "Model", "Rows", "frozen", "junction_tree"]
