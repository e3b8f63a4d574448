"""Neighbours, replay, statistical audit; and the fixed entropy that tests may use."""

from understudy.audit.entropy import FixedEntropy

__all__ = ["FixedEntropy"]
