"""Columns that are declared and not modelled: ids, texts to be discovered, what is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from understudy.schema.columns import prefixes as lengths
from understudy.schema.columns.column import NULLS, Declaration, Of
from understudy.schema.columns.timestamp import check_format


@dataclass(frozen=True, slots=True, kw_only=True)
class Id(Declaration):
    """The person's id, or one part of it: never modelled, newly assigned in the output."""

    kind: ClassVar[str] = "id"
    min: int | None = None
    """The smallest id of a synthetic person, where the output has a rule for it."""
    max: int | None = None

    @property
    def summary(self) -> str:
        """What happens to the column, for the comments of a drafted schema."""
        return "Tells people apart: never modelled, given anew in the output."


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Declaration):
    """A column whose values are not declared yet: only its common values can be asked for.

    It is read as text, and neither modelled nor released.
    """

    kind: ClassVar[str] = "text"
    source: str = ""
    """The column's name in the table; the same as here where it is empty."""
    nulls: tuple[str, ...] = NULLS
    """Strings that mean a missing value."""
    prefixes: tuple[int, ...] = ()
    """Lengths of the prefixes to ask for where values are too rare to be told, the longest first.
    A column that has them is one of codes, even if these look like numbers."""
    format: str | None = None
    """The format of date-times, as for strptime; only ISO 8601 is read where it is None."""
    of: Of = "row"
    """Whose the value is: a row's, or the person's, as in a table of people."""

    def __post_init__(self) -> None:
        """Raise on invalid prefixes, or an invalid format."""
        check_format(self.name, self.format)
        object.__setattr__(self, "prefixes", lengths.checked(self.name, self.prefixes))

    @property
    def table_column(self) -> str:
        """The name of the column in the table, which may differ."""
        return self.source or self.name

    @property
    def summary(self) -> str:
        """What happens to the column, for the comments of a drafted schema."""
        return "Its values are not declared yet: neither counted nor released."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored(Declaration):
    """A column that is neither read nor released."""

    kind: ClassVar[str] = "ignored"

    @property
    def summary(self) -> str:
        """What happens to the column, for the comments of a drafted schema."""
        return "Left out, neither counted nor released. Declare it to have it."
