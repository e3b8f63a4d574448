"""Mechanisms: programs over a door, a public table and the graph engine, each in its own place."""

from understudy.synth.mechanism import Mechanism
from understudy.synth.plain import mechanism_from_dict, mechanism_of, mechanism_to_dict
from understudy.synth.registry import MECHANISMS, NEEDS_PUBLIC

__all__ = [
    "MECHANISMS",
    "NEEDS_PUBLIC",
    "Mechanism",
    "mechanism_from_dict",
    "mechanism_of",
    "mechanism_to_dict",
]
