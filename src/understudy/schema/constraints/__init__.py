"""Constraints that every synthetic row obeys: declared, checked, and kept by construction."""

from understudy.schema.constraints.conditions import Condition
from understudy.schema.constraints.constraint import (
    ConstantPerPerson,
    Constraint,
    Determines,
    Implies,
    Never,
    Order,
    Sum,
    UniquePerPerson,
)
from understudy.schema.constraints.keeper import Keeper
from understudy.schema.constraints.relations import Relation

__all__ = [
    "Condition",
    "ConstantPerPerson",
    "Constraint",
    "Determines",
    "Implies",
    "Keeper",
    "Never",
    "Order",
    "Relation",
    "Sum",
    "UniquePerPerson",
]
