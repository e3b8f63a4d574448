"""Columns: what a value may be, and the code it becomes.

A column is declared, never inferred from private rows.  Codes 0 … n-1 are the declared
values or bins; after them comes a code for *missing* where the column has one, and one for
*other* where the rule for values outside the domain is ``"other"``.  Code -1 means that
the row is dropped.  Each kind of column is a class that encodes a cell in NumPy and in SQL, and
``tests/schema/test_encoders_agree.py`` holds the two against each other.
"""

from understudy.schema.columns.categorical import Categorical
from understudy.schema.columns.column import (
    DROP,
    LARGEST,
    NULLS,
    Column,
    Compound,
    Declaration,
    Draw,
    Released,
)
from understudy.schema.columns.edges import ladder_edges, regular_edges
from understudy.schema.columns.integer import Integer
from understudy.schema.columns.numeric import Numeric
from understudy.schema.columns.screened import Screened
from understudy.schema.columns.split import Remainder, Split
from understudy.schema.columns.timestamp import DateTime, Timestamp
from understudy.schema.columns.unmodelled import Id, Ignored, Text

__all__ = [
    "DROP",
    "KINDS",
    "LARGEST",
    "NULLS",
    "Categorical",
    "Column",
    "Compound",
    "DateTime",
    "Declaration",
    "Draw",
    "Id",
    "Ignored",
    "Integer",
    "Numeric",
    "Released",
    "Remainder",
    "Screened",
    "Split",
    "Text",
    "Timestamp",
    "ladder_edges",
    "regular_edges",
]

KINDS: dict[str, type[Declaration]] = {
    kind.kind: kind
    for kind in (Categorical, Integer, Numeric, DateTime, Timestamp, Split, Id, Text, Ignored)
}
"""Every kind of column that a schema may declare, by its name in schema files."""
