"""What a release holds: its rows, its measurements, its model and its manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from understudy.door import Measurement
    from understudy.graph import Model
    from understudy.release.from_disk import Stored
    from understudy.release.rows import Decoded
    from understudy.schema import Array, Schema


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """All that a release holds; `Release` says what can be done with it."""

    schema: Schema
    decoded: Decoded | Stored
    """The synthetic rows, batch by batch."""
    measurements: tuple[Measurement, ...]
    manifest: dict[str, Any]
    model: Model | None = None
    """What the rows were drawn from; None where they come from something else."""
    merged: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """The compressed domain: each code's number in the model, for columns with merged codes."""

    def __len__(self) -> int:
        """Count the synthetic rows."""
        return sum(self.decoded.sizes)

    @property
    def columns(self) -> dict[str, Array]:
        """The synthetic rows, column by column, the person's id first where there is one.

        After the first access, all rows are kept in memory.
        """
        return self.decoded.columns

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that identify synthetic people; empty where each row is a person."""
        made = {c.name for c in self.schema.released_columns}
        return tuple(name for name in next(iter(self.decoded)) if name not in made)
