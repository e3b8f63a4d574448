"""TwoRound: one round finds each column's support, a second asks pairs and triples over it."""

from understudy.synth.tworound.mechanism import TwoRound

__all__ = ["TwoRound"]
