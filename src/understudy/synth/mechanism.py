"""The interface of every mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np

    from understudy.door import Door
    from understudy.public import Progress, PublicTable, Synthesis


class Mechanism(Protocol):
    """A program over a door: its fields are its settings, frozen and public."""

    name: ClassVar[str]

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Query the door and return a synthetic table.

        Every query must depend on the settings, the schema, the public table and earlier answers
        alone, so that a run can be resumed; ``rng`` is for drawing rows.
        """
