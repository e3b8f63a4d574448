"""Neighbours, replay, statistical audit; and the fixed entropy that tests may use."""

from understudy.audit.distance import check_distance
from understudy.audit.entropy import FixedEntropy
from understudy.audit.neighbours import Pair, pairs
from understudy.audit.replay import Replayed, replay
from understudy.audit.statistical import Loss, measure_loss
from understudy.audit.thresholds import Told, measure_discovery

__all__ = [
    "FixedEntropy",
    "Loss",
    "Pair",
    "Replayed",
    "Told",
    "check_distance",
    "measure_discovery",
    "measure_loss",
    "pairs",
    "replay",
]
