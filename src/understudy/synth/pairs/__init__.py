"""Pairs: those that are worth their noise, in several looks; as many as the people allow."""

from understudy.synth.pairs.mechanism import Pairs

__all__ = ["Pairs"]
