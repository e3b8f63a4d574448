"""Columns that are declared and never modelled: ids of people, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from understudy.schema.columns.column import Declaration


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
class Ignored(Declaration):
    """A column that is neither read nor released."""

    kind: ClassVar[str] = "ignored"

    @property
    def summary(self) -> str:
        """What happens to the column, for the comments of a drafted schema."""
        return "Left out, neither counted nor released. Declare it to have it."
