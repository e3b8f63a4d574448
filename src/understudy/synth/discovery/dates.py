"""Values that look like date-times of another format than ISO 8601: what to declare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DATED = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})\b(.*)")
MONTHS = 12
ENOUGH = 0.5
"""The least share of values that look like dates, for them to be mentioned."""


def dates_of(values: Sequence[str]) -> str:
    """Return the format of values that are dates to a reader; empty where they are not.

    >>> dates_of(["31.12.2024", "01.11.2024"]), dates_of(["12/31/99", "1/2/98"])
    ('%d.%m.%Y', '%m/%d/%y')
    >>> dates_of(["E11.9", "31.12.2024", "x"])
    ''
    """
    found = [match for value in values if (match := DATED.fullmatch(value))]
    if not found or len(found) < ENOUGH * len(values):
        return ""
    mark, clock = found[0][2], " …" if found[0][5] else ""
    month_first = any(int(match[3]) > MONTHS for match in found)
    first, second = ("%m", "%d") if month_first else ("%d", "%m")
    year = "%Y" if len(found[0][4]) > len("99") else "%y"
    return f"{first}{mark}{second}{mark}{year}{clock}"
