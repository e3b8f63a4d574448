"""What differs between engines in the SQL they are given, and how names and texts are quoted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from understudy.errors import SchemaError

Kind = Literal[
    "whole", "double", "float", "boolean", "moment", "date", "time", "duration", "bytes",
    "text",
]  # fmt: skip
"""What a table's column holds: whole numbers, float64, float32, booleans, date-times, dates, times
of day, durations, bytes, or anything else, which goes by the text that its engine writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The functions whose names differ between engines, with ``{}`` for their argument."""

    seconds: str
    """Whole seconds since 1970 of a timestamp."""
    moment: str
    """The timestamp of whole seconds since 1970."""
    double_text: str
    """The text of a DOUBLE ``{x}`` that is not an integer, as Python writes it."""
    duration: str
    """A duration in whole microseconds."""
    utf8: str
    """The text of bytes, NULL where they are not UTF-8."""
    place: str
    """The position of a text ``{}`` in the list ``{name}``, from 0; NULL if it is not there."""
    numbers_people: bool
    """Whether ids are numbered, which is cheap on one machine; otherwise a person is their id."""


def quote(name: str) -> str:
    """Quote an identifier.

    >>> print(quote('the "area" code'))
    "the ""area"" code"
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text.

    >>> literal("it's")
    "'it''s'"
    """
    if "\x00" in text:
        raise SchemaError("a declared value contains a NUL character")
    return "'" + text.replace("'", "''") + "'"
