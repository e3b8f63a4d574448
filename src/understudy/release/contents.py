"""What a release holds: its rows, its measurements, its model and its manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from understudy.errors import UsageError
from understudy.release.people import Apart, own_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from understudy.door import Measurement
    from understudy.graph import Model
    from understudy.public import Accuracy
    from understudy.release.from_disk import Stored
    from understudy.release.people import Joined
    from understudy.release.rows import Decoded
    from understudy.schema import Array, Schema

BY_PERSON = "person by person"


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """All that a release holds; `Release` says what can be done with it."""

    schema: Schema
    decoded: Decoded | Stored | Joined
    """The synthetic rows, batch by batch."""
    measurements: tuple[Measurement, ...]
    manifest: dict[str, Any]
    model: Model | None = None
    """What rows can be drawn from; None where they come from something else."""
    merged: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """The compressed domain: each code's number in the model, for columns with merged codes."""
    documents: Mapping[str, Any] = field(default_factory=dict)
    """What else the mechanism tells, by name, as plain data: such as the kinds of people."""
    accuracy: Accuracy | None = None
    """Noisy distances from the private table, where they were paid for and stand beside it."""

    @property
    def is_by_person(self) -> bool:
        """Whether rows were drawn person by person; the model alone can draw rows of nobody."""
        return self.manifest.get("drawn") == BY_PERSON

    def __len__(self) -> int:
        """Count the synthetic rows."""
        return sum(self.decoded.sizes)

    @property
    def columns(self) -> dict[str, Array]:
        """The synthetic rows, column by column, the person's id first where there is one.

        After the first access, all rows are kept in memory.  Where people have a table of their
        own, these are the rows with their person's own columns.
        """
        return self.decoded.columns

    @property
    def two_tables(self) -> bool:
        """Whether it is a table of people and one of rows, as the private data is."""
        return isinstance(self.decoded, Apart)

    @property
    def row_columns(self) -> dict[str, Array]:
        """The table of rows, column by column; all columns, where there is no other table."""
        return self.decoded.rows.columns if isinstance(self.decoded, Apart) else self.columns

    @property
    def people_columns(self) -> dict[str, Array]:
        """One line for each synthetic person: the id, and their own columns.

        Where people have no table of their own, it has those with rows, each with the most common
        value of their rows.
        """
        if isinstance(self.decoded, Apart):
            return self.decoded.people.columns
        if not self.schema.own or not self.ids:
            raise UsageError(
                "this release has no people with columns of their own",
                got='no column with of = "person"' if not self.schema.own else "no ids of people",
                hint='declare of = "person" in the schema for what is a person\'s own',
            )
        return own_values(self.columns, self.schema, self.ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that identify synthetic people; empty where each row is a person."""
        made = {c.name for c in self.schema.released_columns}
        return tuple(name for name in next(iter(self.decoded)) if name not in made)
