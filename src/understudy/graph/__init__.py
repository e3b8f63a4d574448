"""The inference engine's room; it sees noisy numbers only."""

from understudy.graph.measurement import Clique, Measurement, Rows, frozen

__all__ = ["Clique", "Measurement", "Rows", "frozen"]
