"""Views: a person's own columns, columns derived from a person's rows, and one row a person.

Neighbours differ by whole people.  A column computed from one person's rows alone (and from the
keyed hash, where there are ties) changes for nobody else when a person comes or goes.  So it may
stand in any marginal, under any bounding, at no extra cost; and a table with one row a person has
sensitivity 1 a marginal, with no bounding at all (`docs/proofs/views.md`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from understudy.errors import QuestionError
from understudy.schema import Integer

if TYPE_CHECKING:
    from understudy.schema import Schema

OfPerson = Literal["rows", "mode", "first", "last", "agreement", "spread"]
OfRow = Literal["nth", "previous", "gap"]
OF_PERSON, OF_ROW = get_args(OfPerson), get_args(OfRow)
CLASSED = frozenset({"rows", "nth"})
OF_SOME_ROW = frozenset({"mode", "first", "last"})
"""What somebody without rows has none of."""
AFTER_ANOTHER = frozenset({"previous", "gap"})
"""What a person's first row has none of, for which there is a code more."""
TENTHS = 10
"""The classes of an agreement: none, tenths, all.  People with a single row are a class more."""
BORDERS = tuple(2.0 ** (-k / 2) for k in range(14, 0, -1))
DIFFERENCES_OF = (0.0, *(border * 2.0**-0.25 for border in (*BORDERS, 1.0)))
"""About the difference of each class, as a share of the largest one that codes can have: none, then
between borders that grow by √2.  People with a single row are a class more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A column computed from a person's own rows.

    Of the person: ``rows``, their number, and of a column the ``mode`` (its most common code),
    the ``first`` and the ``last`` code in the schema's order, the ``agreement`` (the share of pairs
    of rows with the same code) and the ``spread`` (the mean difference of two rows' codes).  Of the
    row: ``nth``, its place in the schema's order, the code of the ``previous`` row, and the
    ``gap``, how far the row's own code is from that, if both have a place in the column's order.
    """

    name: str
    kind: OfPerson | OfRow
    column: str = ""
    """The column it is derived from; none for ``rows`` and ``nth``."""
    starts: tuple[int, ...] = ()
    """The least number of each class of ``rows`` or ``nth``, from 1 upwards; of ``rows`` perhaps
    from 0, in a view of everyone."""

    def __post_init__(self) -> None:
        """Raise on an unknown kind, and on classes that are not in order."""
        object.__setattr__(self, "starts", tuple(map(int, self.starts)))
        # A caller's own subclass of str could be one column to the charge and another to the count.
        texts = all(type(text) is str for text in (self.name, self.kind, self.column))
        if not texts or self.kind not in (*OF_PERSON, *OF_ROW):
            raise QuestionError(
                f"unknown kind of derived column, {self.name!r}",
                got=repr(self.kind),
                allowed=", ".join((*OF_PERSON, *OF_ROW)),
            )
        classed, starts = self.kind in CLASSED, self.starts
        least = {(1,), (0,)} if self.kind == "rows" else {(1,)}
        in_order = starts == tuple(sorted(set(starts))) and starts[:1] in least
        if classed is bool(self.column) or (not in_order if classed else bool(starts)):
            raise QuestionError(
                f"the derived column {self.name!r} needs classes from 1 upwards, or a column",
                allowed="starts from 1; of rows, also from 0",
                got=f"{self.kind} of {self.column!r} with starts {starts}",
            )

    def declaration(self, schema: Schema, *, everyone: bool) -> Integer:
        """Return the declaration of its codes; people without rows have no code of a column."""
        if self.kind in CLASSED:
            size = len(self.starts)
        elif self.kind == "agreement":
            size = TENTHS + 3
        elif self.kind == "spread":
            size = len(DIFFERENCES_OF) + 1
        else:
            size = schema[self.column].size + (self.kind in AFTER_ANOTHER)
        none = everyone and self.kind in OF_SOME_ROW
        return Integer(name=self.name, min=0, max=size - 1, missing=none)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A table of rows, or of people, with derived columns.

    A person's own columns (`Schema.own`) have the person's most common code in all of their rows.
    A table of people has one row a person, with their own columns and the derived ones.  With
    ``everyone`` it also has people without rows, where people have a table of their own: their
    number of rows is 0, they have no most common, first or last code, and of shares and differences
    the class of people with a single row.
    """

    derived: tuple[Derived, ...] = ()
    people: bool = False
    everyone: bool = False

    def __post_init__(self) -> None:
        """Raise on columns of rows in a table of people."""
        object.__setattr__(self, "derived", tuple(self.derived))
        object.__setattr__(self, "people", bool(self.people))
        object.__setattr__(self, "everyone", bool(self.everyone))
        if any(type(each) is not Derived for each in self.derived):
            raise QuestionError("a view is made of the door's own derived columns")
        of_rows = [each.name for each in self.derived if each.kind in OF_ROW]
        if self.people and of_rows:
            raise QuestionError("a table of people has no columns of rows", got=", ".join(of_rows))
        if self.everyone and not self.people:
            raise QuestionError("people without rows are in no table of rows", got="everyone")


def viewed_schema(schema: Schema, view: View) -> Schema:
    """Return the schema of a view: derived columns are integers."""
    kept = [c for c in schema.modelled if c.name in schema.own or not view.people]
    derived = (each.declaration(schema, everyone=view.everyone) for each in view.derived)
    columns = (*schema.ids, *kept, *derived)
    return replace(schema, columns=columns, order_by=(), constraints=())
