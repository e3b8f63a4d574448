"""Domains: columns, and how many codes each has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from understudy.errors import QuestionError

Clique = tuple[str, ...]
"""Names of columns, in order; its cells are numbered with the last column fastest."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Domain(Mapping[str, int]):
    """Ordered columns, each with its number of codes.

    >>> domain = Domain({"a": 2, "b": 3})
    >>> domain.clique({"b", "a"}), domain.shape(("b",)), domain.cells(("a", "b"))
    (('a', 'b'), (3,), 6)
    >>> domain["b"], domain == {"b": 3, "a": 2}
    (3, True)
    """

    sizes: Mapping[str, int]

    def __post_init__(self) -> None:
        """Raise unless there is a column, and each has codes."""
        if not self.sizes:
            raise QuestionError("a model needs at least one column")
        object.__setattr__(self, "sizes", {n: int(size) for n, size in self.sizes.items()})
        empty = [name for name, size in self.sizes.items() if size < 1]
        if empty:
            raise QuestionError("columns of a model must have values", got=", ".join(empty))

    def __getitem__(self, name: str) -> int:
        """Return a column's number of codes."""
        return self.sizes[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the columns in order."""
        return iter(self.sizes)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self.sizes)

    def __repr__(self) -> str:
        """Show the sizes."""
        return f"Domain({self.sizes!r})"

    def clique(self, names: Iterable[str]) -> Clique:
        """Sort names in the domain's order; raise on unknown ones."""
        wanted = set(names)
        unknown = sorted(wanted - set(self.sizes))
        if unknown:
            raise QuestionError(
                "unknown columns", got=", ".join(unknown), allowed=", ".join(self.sizes)
            )
        return tuple(name for name in self.sizes if name in wanted)

    def shape(self, clique: Clique) -> tuple[int, ...]:
        """Return the shape of a clique's table."""
        return tuple(self.sizes[name] for name in clique)

    def cells(self, clique: Iterable[str]) -> int:
        """Return the number of cells of a clique's table."""
        return math.prod(self.sizes[name] for name in clique)
