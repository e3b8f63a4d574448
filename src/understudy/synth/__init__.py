"""One mechanism a file: programs over a door, a public table and the graph engine."""

from understudy.synth.adagrid import AdaGrid
from understudy.synth.aim import AIM
from understudy.synth.archetypes import Archetypes
from understudy.synth.auto import Auto, Choice, auto
from understudy.synth.independent import Independent
from understudy.synth.mechanism import (
    MECHANISMS,
    NEEDS_PUBLIC,
    Mechanism,
    mechanism_from_dict,
    mechanism_to_dict,
)
from understudy.synth.mst import MST
from understudy.synth.pairs import Pairs
from understudy.synth.tworound import TwoRound
from understudy.synth.usercounts import UserCounts

__all__ = [
    "AIM",
    "MECHANISMS",
    "MST",
    "NEEDS_PUBLIC",
    "AdaGrid",
    "Archetypes",
    "Auto",
    "Choice",
    "Independent",
    "Mechanism",
    "Pairs",
    "TwoRound",
    "UserCounts",
    "auto",
    "mechanism_from_dict",
    "mechanism_to_dict",
]
