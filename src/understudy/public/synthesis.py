"""What a mechanism returns: synthetic rows in codes, and what they were made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from understudy.door import Measurement
    from understudy.graph import Model
    from understudy.public.batches import Batches
    from understudy.public.within_bins import Within
    from understudy.schema import Codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Synthesis:
    """A synthetic table in codes, computed from noisy answers and public data only."""

    batches: Batches
    """The rows, with their synthetic people."""
    measurements: tuple[Measurement, ...]
    notes: tuple[str, ...] = ()
    """What a reader of the release should know, in sentences."""
    within: Within | None = None
    """Public values to draw from within bins; uniform where there are none."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the mechanism did, as plain data for the manifest."""
    people: Mapping[str, Codes] | None = None
    """The own columns of each synthetic person, by number, with or without rows; None where they
    follow from rows."""
    documents: Mapping[str, Any] = field(default_factory=dict)
    """Further files of the release, by name, as plain data."""
    model: Model | None = None
    """The model that the rows were drawn from."""
    by_person: bool = False
    """Whether rows were drawn person by person; the model alone can draw rows of nobody."""
    merged: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """The merged code of each code, for columns that the model has merged codes of."""
