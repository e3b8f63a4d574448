"""The interface to private data: what may be asked, what comes back."""

from understudy.door.door import Door
from understudy.door.merged import MergedDoor
from understudy.door.questions import (
    Candidate,
    Distances,
    Measure,
    Merge,
    Query,
    Question,
    Select,
    Total,
    UnitCounts,
    UnitMode,
    Units,
    describe,
    merged_schema,
    plan,
    seen,
)
from understudy.door.viewed import ViewDoor
from understudy.door.views import Derived, View, viewed_schema
from understudy.graph import Clique, Measurement, Rows

__all__ = [
    "Candidate",
    "Clique",
    "Derived",
    "Distances",
    "Door",
    "Measure",
    "Measurement",
    "Merge",
    "MergedDoor",
    "Query",
    "Question",
    "Rows",
    "Select",
    "Total",
    "UnitCounts",
    "UnitMode",
    "Units",
    "View",
    "ViewDoor",
    "describe",
    "merged_schema",
    "plan",
    "seen",
    "viewed_schema",
]
