"""The interface to private data: what may be asked, what comes back."""

from understudy.door.discovery import (
    KINDS_OF_VALUE,
    MOST_LENGTH,
    MOST_OF_CODE,
    Discover,
    Found,
    Kinds,
    Reading,
    Search,
    Spread,
)
from understudy.door.door import Door
from understudy.door.merged import MergedDoor
from understudy.door.questions import (
    AnyQuestion,
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
    "KINDS_OF_VALUE",
    "MOST_LENGTH",
    "MOST_OF_CODE",
    "AnyQuestion",
    "Candidate",
    "Clique",
    "Derived",
    "Discover",
    "Distances",
    "Door",
    "Found",
    "Kinds",
    "Measure",
    "Measurement",
    "Merge",
    "MergedDoor",
    "Query",
    "Question",
    "Reading",
    "Rows",
    "Search",
    "Select",
    "Spread",
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
