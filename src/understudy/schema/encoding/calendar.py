"""Date-times: their parts, and how a text of them is read.

A date-time is whole seconds since 1970-01-01 on the clock that wrote it; an offset in the
text is taken off.  A format is compiled to one regular expression with a group a field,
without a backslash in it, so that NumPy and every engine read the same texts the same way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from understudy.errors import SchemaError

PARTS: dict[str, tuple[int | None, int | None]] = {
    "year": (None, None),
    "quarter": (1, 4),
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
    "date": (None, None),
    "week": (None, None),
    "month_index": (None, None),
}
"""Each part with its range.  Weekdays count from Monday; ``date``, ``week`` and
``month_index`` count days, weeks (from Monday) and months since January 1970."""

MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"

_TWO = "([0-9]{1,2})"
_DIRECTIVES = {
    "Y": ("year", "([0-9]{4})"),
    "y": ("short_year", "([0-9]{2})"),
    "m": ("month", _TWO),
    "b": ("month_name", "([A-Za-z]{3})"),
    "d": ("day", _TWO),
    "H": ("hour", _TWO),
    "I": ("half_hour", _TWO),
    "M": ("minute", _TWO),
    "S": ("second", _TWO),
    "p": ("half", "([AaPp][Mm])"),
    "f": ("fraction", "([0-9]{1,9})"),
    "z": ("offset", "(Z|[+-][0-9]{2}:?[0-9]{2})"),
}
_SAME = {
    "year": "short_year",
    "short_year": "year",
    "month": "month_name",
    "month_name": "month",
    "hour": "half_hour",
    "half_hour": "hour",
}
_NOT_PLAIN = r"[\[\]^\\\x00\ud800-\udfff]"
"""Characters that need a backslash in a regular expression, or cannot occur in SQL."""
_ISO = (
    "([0-9]{4})-([0-9]{2})-([0-9]{2})"
    "(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.][0-9]+)?)?)?"
    "(Z|[+-][0-9]{2}:?[0-9]{2})?"
)


class DatePart(NamedTuple):
    """A part of a date-time, and the format of the date-time."""

    part: str
    format: str | None


@dataclass(frozen=True, slots=True)
class Format:
    """A regular expression and the field that each of its groups holds."""

    regex: str
    fields: tuple[str, ...]

    def group(self, name: str) -> int | None:
        """Return the number of a field's group, or None where the format lacks it."""
        return self.fields.index(name) + 1 if name in self.fields else None


@cache
def compile_format(text: str | None) -> Format:
    """Compile a strptime format, or ISO 8601 for None.

    >>> compile_format("%d %b %Y").fields
    ('day', 'month_name', 'year')
    """
    if text is None:
        names = ("year", "month", "day", "hour", "minute", "second", "offset")
        return Format(_ISO, names)
    regex, fields = "", []
    for literal, letter in re.findall(r"(?s)([^%]+)|%(.?)", text):
        if literal:
            regex += "".join(c if c.isalnum() or c in " -/:,_" else f"[{c}]" for c in literal)
            continue
        name, piece = _DIRECTIVES.get(letter, ("", ""))
        if not name or name in fields or _SAME.get(name) in fields:
            raise SchemaError(
                "invalid date-time format",
                got=repr(text),
                allowed="each of "
                + " ".join(f"%{d}" for d in _DIRECTIVES)
                + " at most once, and one of %Y %y, of %m %b and of %H %I",
            )
        fields.append(name)
        regex += piece
    dated = {"year", "short_year"} & set(fields) and {"month", "month_name"} & set(fields)
    if not dated or "day" not in fields or re.search(_NOT_PLAIN, text):
        raise SchemaError(
            "the date-time format has no full date",
            got=repr(text),
            allowed="a year, a month and a day, with plain characters between them",
        )
    return Format(regex, tuple(fields))
