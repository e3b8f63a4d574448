"""What determines what, read from a table that anyone may see."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import numpy as np

from understudy.errors import MissingColumnError, SchemaError
from understudy.schema.columns import NULLS
from understudy.schema.encoding.reading import texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.schema.encoding.reading import Array

    Pairs = tuple[tuple[str, str], ...]

Conflicts = Literal["raise", "most common"]
CONFLICTS = ("raise", "most common")


def public_pairs(
    table: Mapping[str, Array], by: str, column: str, *, conflicts: Conflicts
) -> Pairs:
    """Return the value of a column for each value of another; rows that lack either do not count.

    >>> towns = {"town": np.array(["Aurora", "Elgin"]), "county": np.array(["Kane", "Cook"])}
    >>> public_pairs(towns, "town", "county", conflicts="raise")
    (('Aurora', 'Kane'), ('Elgin', 'Cook'))
    """
    if conflicts not in CONFLICTS:
        raise SchemaError(
            "unknown rule for a value that determines several",
            got=repr(conflicts),
            allowed=", ".join(map(repr, CONFLICTS)),
        )
    absent = [name for name in (by, column) if name not in table]
    if absent:
        raise MissingColumnError(
            "the public table lacks columns that the constraint names",
            got="no " + ", ".join(map(repr, absent)),
        )
    seen: dict[str, Counter[str]] = {}
    cells = (texts(np.asarray(table[name])).tolist() for name in (by, column))
    for one, other in zip(*cells, strict=True):
        if not {one, other} & {None, *NULLS}:
            seen.setdefault(one, Counter())[other] += 1
    several = {one: others for one, others in seen.items() if len(others) > 1}
    if several and conflicts == "raise":
        first = min(several)
        raise SchemaError(
            f"{by!r} does not determine {column!r} in the public table",
            got=f"{first!r} with {' and '.join(map(repr, sorted(several[first])[:3]))}, "
            f"and {len(several) - 1} more values with several",
            hint='conflicts="most common" takes the most common one of each',
        )
    # Of equally common ones, the first in order.
    return tuple(
        (one, min(others, key=lambda other: (-others[other], other)))
        for one, others in sorted(seen.items())
    )
