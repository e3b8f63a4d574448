"""What a column is, by noisy numbers of people all of whose values are of a kind.

All here is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.synth.discovery.people import Repeats
from understudy.synth.discovery.ranges import STANDS_OUT

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_PEOPLE = 0.75
"""A column is of a kind if at least this share of its people have all of their values of it."""
AT_LEAST, ROOM = 0.5, 2.0
"""Noise may take as many times its size from that share, but no more than down to a half."""
CLEAR, HARDLY_ANYBODY = 2.5, 1.5
"""A share is clear if it is as many times its noise from the one that is needed; a column whose
people are fewer than this many times their noise would not be clear if it were asked again."""
INTERVAL = 1.96
"""95 % of noise is within this many standard deviations."""
KINDS = {
    "boolean": "booleans",
    "whole": "whole numbers",
    "number": "numbers",
    "moment": "date-times",
    "code": "short texts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Noisy numbers of a column's people by kind, and the standard deviation of their noise."""

    numbers: Mapping[str, float]
    scale: float

    def joined(self, other: Counted) -> Counted:
        """Return the mean with numbers that were asked for again, weighted by precision.

        >>> both = Counted(numbers={"any": 8.0}, scale=2.0).joined(
        ...     Counted(numbers={"any": 3.0}, scale=1.0)
        ... )
        >>> both.numbers, round(both.scale, 3)
        ({'any': 4.0}, 0.894)
        """
        own, others = self.scale**-2, other.scale**-2
        mean = {
            kind: (number * own + other.numbers[kind] * others) / (own + others)
            for kind, number in self.numbers.items()
        }
        return Counted(numbers=mean, scale=(own + others) ** -0.5)

    def kind(self, *, codes: bool) -> tuple[str, str]:
        """Decide what the column is, and say why; it may be known as codes."""
        return kind_of(self.numbers, self.scale, codes=codes)

    def is_clear(self, *, people: bool) -> bool:
        """Whether noise leaves nothing open of the column's kind, nor of its people's rows."""
        return is_clear(self.numbers, self.scale) and not (people and self.repeats.open)

    @property
    def repeats(self) -> Repeats:
        """The numbers of people that tell whether rows of a person differ."""
        told = {name: self.numbers[name] for name in ("again", "alike")}
        return Repeats(people=self.numbers["any"], **told, scale=self.scale)


def kind_of(counted: Mapping[str, float], scale: float, *, codes: bool) -> tuple[str, str]:
    """Decide what a column is by noisy numbers of people, and say why; one may be known as codes.

    >>> kind_of({"any": 90.0, "boolean": 0.0, "whole": 88.0}, 1.0, codes=False)[0]
    'whole'
    >>> kind_of({"any": 90.0, "boolean": 0.0, "whole": 88.0}, 1.0, codes=True)[0]
    'code'
    """
    people, enough = counted["any"], _enough(counted, scale)
    low, high = (max(0, round(people + INTERVAL * sign * scale)) for sign in (-1, 1))
    about = (
        f"about {max(0, round(people)):,} people have values (95 % interval: {low:,} to {high:,})"
    )
    if people < STANDS_OUT * scale:
        return "none", f"too few people have a value for anything to be told: {about}"
    if codes:
        return "code", f"{about}; prefixes are declared, so they are codes"
    for kind, called in KINDS.items():
        share = min(1.0, counted[kind] / people)
        if share >= enough:
            return kind, f"{about}; of about {share:.0%} all are {called}"
    return "none", f"{about}, and they are neither numbers, date-times nor short: free text"


def is_clear(counted: Mapping[str, float], scale: float) -> bool:
    """Whether noise leaves open neither that people have values nor of which kind these are.

    >>> pure = [{"any": n, "whole": n, "number": n, "code": n} for n in (9.0, 30.0, 900.0)]
    >>> [is_clear({**dict.fromkeys(KINDS, 0.0), **counted}, 10.0) for counted in pure]
    [True, False, True]
    """
    people, enough = counted["any"], _enough(counted, scale)
    if people < STANDS_OUT * scale:
        return people < HARDLY_ANYBODY * scale
    room = CLEAR * _error(enough, counted, scale)
    return all(abs(counted[kind] / people - enough) >= room for kind in KINDS)


def _enough(counted: Mapping[str, float], scale: float) -> float:
    """Return the noisy share of a column's people that must be of a kind."""
    return max(AT_LEAST, MOST_PEOPLE - ROOM * _error(MOST_PEOPLE, counted, scale))


def _error(share: float, counted: Mapping[str, float], scale: float) -> float:
    """Return the standard deviation of a noisy share of people, where it is near this one."""
    return scale * math.sqrt(1 + share**2) / max(counted["any"], scale)
