"""Columns, domains, value ⇄ code (NumPy and SQL), and the files they are read from."""

from understudy.schema.columns import (
    KINDS,
    Categorical,
    Column,
    Compound,
    DateTime,
    Declaration,
    Id,
    Ignored,
    Integer,
    Numeric,
    Released,
    Remainder,
    Split,
    Text,
    Timestamp,
)
from understudy.schema.columns.edges import ladder_edges, regular_edges
from understudy.schema.domain import Clique, Domain
from understudy.schema.encoding.calendar import PARTS
from understudy.schema.encoding.reading import Array, Codes, Scalar
from understudy.schema.schema import PUBLIC, Schema

__all__ = [
    "KINDS",
    "PARTS",
    "PUBLIC",
    "Array",
    "Categorical",
    "Clique",
    "Codes",
    "Column",
    "Compound",
    "DateTime",
    "Declaration",
    "Domain",
    "Id",
    "Ignored",
    "Integer",
    "Numeric",
    "Released",
    "Remainder",
    "Scalar",
    "Schema",
    "Split",
    "Text",
    "Timestamp",
    "ladder_edges",
    "regular_edges",
]
