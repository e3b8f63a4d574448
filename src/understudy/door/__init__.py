"""The interface to private data: what may be asked, what comes back."""

from understudy.door.door import Door
from understudy.door.questions import (
    Candidate,
    Measure,
    Query,
    Question,
    Select,
    Total,
    UnitCounts,
    UnitMode,
    Units,
    describe,
    plan,
)
from understudy.graph import Clique, Measurement, Rows

__all__ = [
    "Candidate",
    "Clique",
    "Door",
    "Measure",
    "Measurement",
    "Query",
    "Question",
    "Rows",
    "Select",
    "Total",
    "UnitCounts",
    "UnitMode",
    "Units",
    "describe",
    "plan",
]
