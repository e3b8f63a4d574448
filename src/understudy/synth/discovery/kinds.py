"""What a column is, by noisy numbers of people all of whose values are of a kind."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from understudy.synth.discovery.ranges import STANDS_OUT

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_PEOPLE, HALF = 0.75, 0.5
"""A column is of a kind if at least this share of its people have all of their values of it; less
by the noise of a share, down to half: with few people, all of them may look like fewer.  Only
whole numbers are not given that much, since those that seem so are numbers in any case."""


def kind_of(counted: Mapping[str, float], scale: float, *, codes: bool) -> tuple[str, str]:
    """Decide what a column is by noisy numbers of people, and say why; one may be known as codes.

    >>> kind_of({"any": 90.0, "boolean": 0.0, "whole": 88.0}, 1.0, codes=False)[0]
    'whole'
    >>> kind_of({"any": 90.0, "boolean": 0.0, "whole": 88.0}, 1.0, codes=True)[0]
    'code'
    >>> few = {"any": 90.0, "boolean": 0.0, "whole": 60.0, "number": 60.0, "moment": 0.0}
    >>> [kind_of(few | {"code": 80.0}, noise, codes=False)[0] for noise in (1.0, 9.0)]
    ['code', 'number']
    """
    people = counted["any"]
    about = f"about {max(0, round(people)):,} people have values (give or take {scale:.3g})"
    if people < STANDS_OUT * scale:
        return "none", f"too few people have a value for anything to be told: {about}"
    if codes:
        return "code", f"{about}; prefixes are declared, so they are codes"
    # Both numbers of a share are noisy, and twice their standard deviation is rare.
    least = max(HALF, MOST_PEOPLE - 2 * math.hypot(1, MOST_PEOPLE) * scale / people)
    for kind, called in (
        ("boolean", "booleans"),
        ("whole", "whole numbers"),
        ("number", "numbers"),
        ("moment", "date-times"),
        ("code", "short texts"),
    ):
        share = min(1.0, counted[kind] / people)
        if share >= (MOST_PEOPLE if kind == "whole" else least):
            return kind, f"{about}; of about {share:.0%} all are {called}"
    return "none", f"{about}, and they are neither numbers, date-times nor short: free text"
