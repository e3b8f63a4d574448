"""TwoRound: one round finds each column's support, a second measures pairs and triples over it."""

from understudy.synth.tworound.mechanism import TwoRound

__all__ = ["TwoRound"]
