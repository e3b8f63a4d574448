"""Domains: the columns of a model and how many values each may take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.errors import QuestionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.graph.measurement import Clique


@dataclass(frozen=True, slots=True)
class Domain:
    """Columns in an order of their own, each with its number of values.

    >>> domain = Domain({"a": 2, "b": 3})
    >>> domain.clique({"b", "a"}), domain.shape(("b",)), domain.cells(("a", "b"))
    (('a', 'b'), (3,), 6)
    """

    sizes: dict[str, int]

    def __post_init__(self) -> None:
        """Refuse columns without values, and no columns at all."""
        if not self.sizes:
            raise QuestionError("a model needs a column")
        object.__setattr__(self, "sizes", {n: int(size) for n, size in self.sizes.items()})
        empty = [name for name, size in self.sizes.items() if size < 1]
        if empty:
            raise QuestionError("columns of a model must have values", got=", ".join(empty))

    def clique(self, names: Iterable[str]) -> Clique:
        """Put names in the domain's order; refuse those it does not have."""
        wanted = set(names)
        unknown = sorted(wanted - set(self.sizes))
        if unknown:
            raise QuestionError(
                "columns that the model does not have",
                got=", ".join(unknown),
                allowed=", ".join(self.sizes),
            )
        return tuple(name for name in self.sizes if name in wanted)

    def shape(self, clique: Clique) -> tuple[int, ...]:
        """Give the shape of a clique's table."""
        return tuple(self.sizes[name] for name in clique)

    def cells(self, clique: Iterable[str]) -> int:
        """Give the number of cells of a clique's table."""
        return math.prod(self.sizes[name] for name in clique)
