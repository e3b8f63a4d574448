"""What every mechanism is, and the list of all of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from understudy.errors import UsageError
from understudy.synth.adagrid import AdaGrid
from understudy.synth.independent import Independent

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
        """Ask questions and make a synthetic table.

        Every question must follow from the settings, the schema, the public table and earlier
        answers alone, so that a run can be resumed; ``rng`` is for drawing rows.
        """


MECHANISMS: dict[str, type[Mechanism]] = {m.name: m for m in (Independent, AdaGrid)}


def mechanism_to_dict(mechanism: Mechanism) -> dict[str, Any]:
    """Write a mechanism and its settings as plain data."""
    return {"name": mechanism.name, "settings": asdict(mechanism)}  # type: ignore[call-overload]


def mechanism_from_dict(data: dict[str, Any]) -> Mechanism:
    """Make a mechanism from plain data."""
    if data["name"] not in MECHANISMS:
        raise UsageError("unknown mechanism", got=data["name"], allowed=", ".join(MECHANISMS))
    return MECHANISMS[data["name"]](**data["settings"])
