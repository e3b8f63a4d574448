"""The only room that draws privacy randomness."""

from understudy.noise.entropy import SYSTEM, Entropy
from understudy.noise.lattice import Shape, draw, steps_per_unit
from understudy.noise.selection import choose

__all__ = ["SYSTEM", "Entropy", "Shape", "choose", "draw", "steps_per_unit"]
