"""Archetypes: how many people are of each public kind, and the rest from public data."""

from understudy.synth.archetypes.mechanism import Archetypes

__all__ = ["Archetypes"]
