"""What a constraint says, as a sentence for reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.schema.constraints.constraint import (
    ConstantPerPerson,
    Determines,
    Implies,
    Never,
    Order,
    Sum,
    UniquePerPerson,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.schema.constraints.conditions import Condition
    from understudy.schema.constraints.constraint import Constraint

MOST_VALUES = 6
_ENDS = {"min": "at least", "max": "at most", "above": "above", "below": "below"}


def sentence(constraint: Constraint) -> str:
    """Say what a constraint says.

    >>> sentence(Never({"sex": "M", "pregnant": "yes"}))
    'No row has sex M and pregnant yes.'
    >>> sentence(Implies({"age": {"below": 15}}, {"marital": ["single", "unknown"]}))
    'A row with age below 15 has marital single or unknown.'
    """
    said = constraint.label
    match constraint:
        case Never():
            said = f"No row has {_told(constraint.conditions)}"
        case Implies():
            then = _told(constraint.consequences)
            said = f"A row with {_told(constraint.conditions)} has {then}"
        case Determines():
            values = f"a list of {len(constraint.pairs):,} values"
            if constraint.asked:
                values += ", asked of the private table with noise"
            if constraint.pending:
                values = "what the private table is still to be asked"
            said = f"{constraint.column} follows from {constraint.by}, by {values}"
        case Order():
            said = " ≤ ".join(constraint.order)
        case Sum():
            said = f"{constraint.total} = {' + '.join(constraint.parts)}"
        case UniquePerPerson():
            said = f"No two rows of a person have the same {constraint.column}"
        case ConstantPerPerson():
            said = f"All rows of a person have the same {constraint.column}"
    return f"{said}."


def _told(conditions: Sequence[Condition]) -> str:
    return " and ".join(f"{c.column} {_values(c)}" for c in conditions)


def _values(condition: Condition) -> str:
    if condition.ends:
        return " and ".join(f"{_ENDS[name]} {end:g}" for name, end in condition.ends)
    shown = [str(value) for value in condition.values[:MOST_VALUES]]
    more = len(condition.values) - len(shown)
    return " or ".join([*shown, *([f"one of {more} more"] if more else [])])
