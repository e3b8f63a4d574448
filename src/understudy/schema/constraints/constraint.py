"""Constraints: what is true of every row, or of every person, whoever they are.

A constraint is declared in the schema and is public knowledge, as the columns are.  Some forbid
combinations of codes (`Never`, `Implies`, `Order`): these are relations, which models hold as
zeros.  Some say what a column follows from (`Determines`, `Sum`): such a column is not modelled,
not even read, but computed in the end.  Two are of people (`UniquePerPerson`,
`ConstantPerPerson`).  A missing value breaks nothing, unless it is named.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.constraints.conditions import Condition
from understudy.schema.constraints.from_public import public_pairs
from understudy.schema.constraints.relations import Relation, ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from understudy.schema.columns import Column
    from understudy.schema.constraints.conditions import Mask
    from understudy.schema.constraints.from_public import Conflicts
    from understudy.schema.encoding.reading import Array, Scalar

    Find = Callable[[str], Column]
    """Returns a modelled column by its name, or raises."""
    Meant = Callable[[Condition], tuple[str, Mask]]
    """Returns the modelled column that a condition is about, and the codes that it means."""

Otherwise = Literal["drop", "nearest"]
RULES = ("drop", "nearest")
CENT = 0.005


@dataclass(frozen=True, slots=True)
class Constraint(ABC):
    """What every row obeys, with a name for errors and reports."""

    kind: ClassVar[str]
    """The key of schema files that tells what it says."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it is about."""

    @property
    def computed(self) -> str | None:
        """The column that is not modelled, since it follows from others."""
        return None

    @property
    def label(self) -> str:
        """The name, or else what it is about."""
        given = str(getattr(self, "name", ""))
        said = "implies" if self.kind == "if" else self.kind.replace("_", " ")
        return given or f"{said}: {', '.join(self.columns)}"

    def relations(self, meant: Meant, find: Find) -> Iterator[Relation]:
        """Yield what it says of codes."""
        del meant, find
        return iter(())

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """Write it as plain data, for a schema file."""


def _conditions(given: object, key: str) -> tuple[Condition, ...]:
    if not isinstance(given, Mapping) or not given:
        raise SchemaError(
            f"{key} needs columns and their values",
            got=type(given).__name__ if not isinstance(given, Mapping) else "none",
            allowed='such as { sex = "M", pregnant = "yes" }',
        )
    return tuple(Condition.of(str(column), values) for column, values in given.items())


def _plain(conditions: tuple[Condition, ...]) -> dict[str, Any]:
    return {c.column: c.to_plain() for c in conditions}


def _check_rule(constraint: Constraint, otherwise: str) -> None:
    if otherwise not in RULES:
        raise SchemaError(
            f"constraint {constraint.label!r}: unknown rule for rows that break it",
            got=repr(otherwise),
            allowed=", ".join(map(repr, RULES)),
        )


@dataclass(frozen=True, slots=True)
class Never(Constraint):
    """A combination that cannot be.

    >>> Never({"sex": "M", "pregnant": "yes"}).label
    'never: sex, pregnant'
    """

    kind: ClassVar[str] = "never"
    never: InitVar[Mapping[str, object]]
    name: str = ""
    otherwise: Otherwise = "drop"
    """What becomes of a private row that breaks it: it is dropped, or moved to the nearest code of
    the last column named."""
    conditions: tuple[Condition, ...] = field(init=False)

    def __post_init__(self, never: Mapping[str, object]) -> None:
        """Read the conditions, and raise on invalid ones."""
        object.__setattr__(self, "conditions", _conditions(never, "never"))
        _check_rule(self, self.otherwise)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the combination."""
        return tuple(c.column for c in self.conditions)

    def relations(self, meant: Meant, find: Find) -> Iterator[Relation]:
        """Forbid the combination."""
        del find
        masks = _intersection(map(meant, self.conditions))
        yield Relation.banning(self.label, masks, moves=self.otherwise == "nearest")

    def to_plain(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {"never": _plain(self.conditions)}


@dataclass(frozen=True, slots=True)
class Implies(Constraint):
    """If a row has these values, then it has those; a missing value satisfies it.

    >>> Implies({"age": {"below": 15}}, {"marital": "single"}).columns
    ('age', 'marital')
    """

    kind: ClassVar[str] = "if"
    when: InitVar[Mapping[str, object]]
    then: InitVar[Mapping[str, object]]
    name: str = ""
    otherwise: Otherwise = "drop"
    """What becomes of a private row that breaks it: it is dropped, or moved to the nearest code."""
    conditions: tuple[Condition, ...] = field(init=False)
    consequences: tuple[Condition, ...] = field(init=False)

    def __post_init__(self, when: Mapping[str, object], then: Mapping[str, object]) -> None:
        """Read the conditions, and raise on invalid ones."""
        object.__setattr__(self, "conditions", _conditions(when, "if"))
        object.__setattr__(self, "consequences", _conditions(then, "then"))
        _check_rule(self, self.otherwise)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the condition and of what follows."""
        both = (*self.conditions, *self.consequences)
        return tuple(dict.fromkeys(c.column for c in both))

    def relations(self, meant: Meant, find: Find) -> Iterator[Relation]:
        """Forbid the condition with any value that is not among those that follow."""
        masks = _intersection(map(meant, self.conditions))
        for condition in self.consequences:
            name, fits = meant(condition)
            other = ~fits
            missing = find(name).missing_code
            if missing is not None:
                other[missing] = False
            barred = {n: m for n, m in masks.items() if n != name}
            barred[name] = masks.get(name, np.ones_like(other)) & other
            yield Relation.banning(self.label, barred, moves=self.otherwise == "nearest")

    def to_plain(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {"if": _plain(self.conditions), "then": _plain(self.consequences)}


def _intersection(found: Iterator[tuple[str, Mask]]) -> dict[str, Mask]:
    masks: dict[str, Mask] = {}
    for name, mask in found:
        masks[name] = masks.get(name, np.ones_like(mask)) & mask
    return masks


@dataclass(frozen=True, slots=True)
class Determines(Constraint):
    """A column follows from another, as a county from its town.

    >>> Determines("town", "county", {"Evanston": "Cook", "Aurora": "Kane"}).computed
    'county'
    """

    kind: ClassVar[str] = "determines"
    by: str
    column: str
    values: tuple[tuple[Scalar, Scalar], ...] | Mapping[Any, Any] = ()
    """The value of the column for each value of the other."""
    name: str = ""
    asked: bool = False
    """Whether the values are asked of the private table (`understudy.ask_determined`)."""

    def __post_init__(self) -> None:
        """Turn a mapping into pairs, and raise if there are none, and none are to be asked."""
        if isinstance(self.values, Mapping):
            object.__setattr__(self, "values", tuple(self.values.items()))
        if not isinstance(self.asked, bool):
            raise SchemaError(
                f"constraint {self.label!r}: asked is true or false", got=repr(self.asked)
            )
        if not self.values and not self.asked:
            raise SchemaError(f"constraint {self.label!r} lists no values")

    @classmethod
    def from_public(
        cls,
        table: Mapping[str, Array],
        by: str,
        column: str,
        *,
        name: str = "",
        conflicts: Conflicts = "raise",
    ) -> Determines:
        """Read the values from a table that anyone may see, as `read_public` returns it.

        Where a value has several, ``conflicts`` raises, or takes the "most common" one.
        """
        return cls(by, column, public_pairs(table, by, column, conflicts=conflicts), name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The determining column and the determined one."""
        return self.by, self.column

    @property
    def pending(self) -> bool:
        """Whether the values are still to be asked; both columns are modelled until then."""
        return self.asked and not self.values

    @property
    def computed(self) -> str | None:
        """The determined column."""
        return None if self.pending else self.column

    @property
    def pairs(self) -> tuple[tuple[Scalar, Scalar], ...]:
        """The values, as pairs."""
        assert isinstance(self.values, tuple)  # noqa: S101  turned when it was made
        return self.values

    def to_plain(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {
            "determines": {self.by: self.column},
            **({} if self.pending else {"values": [list(p) for p in self.pairs]}),
            **({"asked": True} if self.asked else {}),
        }


@dataclass(frozen=True, slots=True)
class Order(Constraint):
    """Numbers that never fall: each is at most the next.

    >>> Order("fare", "trip_total").columns
    ('fare', 'trip_total')
    """

    kind: ClassVar[str] = "order"
    order: tuple[str, ...]
    name: str
    otherwise: Otherwise

    def __init__(self, *columns: str, name: str = "", otherwise: Otherwise = "drop") -> None:
        """Take the columns, the smallest first; raise unless there are two, each named once."""
        object.__setattr__(self, "order", columns)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "otherwise", otherwise)
        if len(columns) < 2 or len(set(columns)) < len(columns):
            raise SchemaError(
                "order needs at least two columns, each once", got=", ".join(map(str, columns))
            )
        _check_rule(self, otherwise)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, the smallest first."""
        return self.order

    def relations(self, meant: Meant, find: Find) -> Iterator[Relation]:
        """Forbid bins of which no two numbers are in order."""
        del meant
        for first, second in combinations(self.order, 2):
            yield ordered(
                find(first), find(second), name=self.label, moves=self.otherwise == "nearest"
            )

    def to_plain(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {"order": list(self.order)}


@dataclass(frozen=True, slots=True)
class Sum(Constraint):
    """A column that is the sum of others; a missing part counts as nothing.

    >>> Sum("total", ("fare", "tips")).computed
    'total'
    """

    kind: ClassVar[str] = "sum"
    total: str
    parts: tuple[str, ...]
    tolerance: float = CENT
    """How far a row may be off, where rows are checked; what is released is exact."""
    name: str = ""

    def __post_init__(self) -> None:
        """Turn a list into a tuple, and raise on parts or a tolerance that cannot be."""
        object.__setattr__(self, "parts", tuple(self.parts))
        several = len(set(self.parts)) == len(self.parts) > 0
        if not several or self.total in self.parts:
            raise SchemaError(
                f"constraint {self.label!r}: a sum needs parts, each once, and not itself",
                got=", ".join(self.parts) or "none",
            )
        if isinstance(self.tolerance, bool) or not 0 <= self.tolerance < np.inf:
            raise SchemaError(
                f"constraint {self.label!r}: the tolerance must be a number of at least 0",
                got=self.tolerance,
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The total and its parts."""
        return self.total, *self.parts

    @property
    def computed(self) -> str:
        """The total."""
        return self.total

    def to_plain(self) -> dict[str, Any]:
        """Write it as plain data."""
        rest = {} if self.tolerance == CENT else {"tolerance": self.tolerance}
        return {"sum": {self.total: list(self.parts)}, **rest}


@dataclass(frozen=True, slots=True)
class UniquePerPerson(Constraint):
    """No two rows of a person have the same value, as the years of a panel.

    >>> UniquePerPerson("year").label
    'unique per person: year'
    """

    kind: ClassVar[str] = "unique_per_person"
    column: str
    name: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def to_plain(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {"unique_per_person": self.column}


@dataclass(frozen=True, slots=True)
class ConstantPerPerson(Constraint):
    """All rows of a person have the same value: the column is declared ``of = "person"``.

    >>> ConstantPerPerson("sex").label
    'constant per person: sex'
    """

    kind: ClassVar[str] = "constant_per_person"
    column: str
    name: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def to_plain(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {"constant_per_person": self.column}
