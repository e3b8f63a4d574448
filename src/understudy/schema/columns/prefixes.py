"""Prefixes of codes: what is listed for a code that is not listed itself, as E11 for E11.9."""

from __future__ import annotations

from itertools import pairwise

from understudy.errors import SchemaError

LONGEST = 200
"""The most characters of a prefix: longer texts are not codes."""


def checked(name: str, prefixes: object) -> tuple[int, ...]:
    """Return the lengths of a column's prefixes; raise unless they decrease and are positive.

    >>> checked("diagnosis", [3, 1])
    (3, 1)
    """
    lengths = tuple(prefixes) if isinstance(prefixes, (list, tuple)) else (prefixes,)
    whole = [length for length in lengths if type(length) is int and 1 <= length <= LONGEST]
    if len(whole) < len(lengths) or any(long <= short for long, short in pairwise(whole)):
        raise SchemaError(
            f"column {name!r}: prefixes must be lengths in characters, the longest first",
            got=", ".join(map(repr, lengths)),
            allowed=f"whole numbers from 1 to {LONGEST}, each less than the one before",
            hint="prefixes = [3, 1] reads E11.9 as E11, or else as E, where that is listed",
        )
    return tuple(whole)
