"""Texts of a public table that are numbers with a decimal comma, which are not read as numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.columns import NULLS, Categorical, Ignored
from understudy.schema.encoding.reading import texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.schema.columns import Declaration
    from understudy.schema.encoding.reading import Array

_WHOLE = "[0-9]+|[0-9]{1,3}(?:[. '][0-9]{3})+|[0-9]{1,3}(?:,[0-9]{3})+"
NUMBER = re.compile(f"[+-]?(?:{_WHOLE})(?:[.,][0-9]+)?")
"""A number with a point or a comma, whichever of them separates thousands."""
MOST = 0.5
"""The share of a column's values that are numbers if they are meant to be."""


def with_commas(table: Mapping[str, Array], columns: Sequence[Declaration]) -> list[str]:
    """Return the columns, drafted as lists or left out, whose texts are numbers with a comma.

    >>> from understudy.schema.importers.draft import draft
    >>> table = {"price": np.array(["12,50", "3"]), "town": np.array(["Bath, UK", "7"])}
    >>> with_commas(table, draft(table, ids=()))
    ['price']
    """
    drafted = [c.name for c in columns if isinstance(c, (Categorical, Ignored))]
    return [name for name in drafted if name in table and _has_commas(np.asarray(table[name]))]


def _has_commas(values: Array) -> bool:
    present = [text for text in texts(values).tolist() if text is not None and text not in NULLS]
    numbers = [text for text in present if NUMBER.fullmatch(text)]
    return len(numbers) > MOST * len(present) and any("," in text for text in numbers)
