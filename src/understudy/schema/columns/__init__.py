"""Columns: what a value may be, and the code it becomes.

A column is declared, never inferred from private rows.  Codes 0 … n-1 are the declared
values or bins; after them comes a code for *missing* where the column has one, and one for
*other* where the rule for values outside the domain is ``"other"``.  Code -1 means that
the row is dropped.  The NumPy encoder is here; `understudy.schema.sql` has the same one
as SQL, and ``tests/schema/test_encoders_agree.py`` holds them against each other.
"""

from understudy.schema.columns.categorical import Categorical
from understudy.schema.columns.column import DROP, LARGEST, NULLS, Column
from understudy.schema.columns.edges import ladder_edges, regular_edges
from understudy.schema.columns.integer import Integer
from understudy.schema.columns.numeric import Numeric
from understudy.schema.columns.split import Remainder, Split
from understudy.schema.columns.timestamp import DateTime, Timestamp
from understudy.schema.columns.unmodelled import Id, Ignored

__all__ = [
    "DROP",
    "LARGEST",
    "NULLS",
    "Categorical",
    "Column",
    "Compound",
    "DateTime",
    "Declaration",
    "Id",
    "Ignored",
    "Integer",
    "Modelled",
    "Numeric",
    "Remainder",
    "Split",
    "Timestamp",
    "ladder_edges",
    "regular_edges",
]

Modelled = Categorical | Integer | Numeric | DateTime | Remainder
"""Columns that have codes."""
Compound = Split | Timestamp
"""Columns that are modelled as several, and released as one."""
Declaration = Modelled | Compound | Id | Ignored
