"""Columns, domains, value ⇄ code (NumPy and SQL), and the files they are read from."""

from understudy.schema.columns import (
    Categorical,
    Column,
    Compound,
    DateTime,
    Declaration,
    Id,
    Ignored,
    Integer,
    Modelled,
    Numeric,
    Remainder,
    Split,
    Timestamp,
)
from understudy.schema.columns.edges import ladder_edges, regular_edges
from understudy.schema.encoding.calendar import PARTS
from understudy.schema.encoding.reading import Array, Codes, Scalar
from understudy.schema.schema import Schema

__all__ = [
    "PARTS",
    "Array",
    "Categorical",
    "Codes",
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
    "Scalar",
    "Schema",
    "Split",
    "Timestamp",
    "ladder_edges",
    "regular_edges",
]
