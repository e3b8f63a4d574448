"""Columns that are declared and never modelled: ids of people, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Id:
    """The person's id, or one part of it: never modelled, given anew in the output."""

    kind: ClassVar[str] = "id"
    name: str
    min: int | None = None
    """The smallest id a synthetic person may get, where the output has a rule for it."""
    max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """A column that is neither read nor released."""

    kind: ClassVar[str] = "ignored"
    name: str
