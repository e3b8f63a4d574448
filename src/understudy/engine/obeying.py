"""Rows that break a constraint: dropped, or moved to the nearest allowed code.

Each row is judged by itself, by its codes and the schema alone.  So a person who comes or goes
changes no other person's rows, and whatever is asked of the rest is asked of neighbours still
(``tests/vault/test_constraints.py`` compares all of them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.schema import Schema


def obeying(
    relation: str,
    *,
    schema: Schema,
    others: Sequence[str],
    code: Mapping[str, str],
    number: Mapping[str, str],
) -> str:
    """Compose the rows of a relation that obey the schema's constraints, as ``(…) AS e``.

    It has the columns ``others``, one for each code, and some unbinned numbers, which are left out
    where a code is moved.  Constraints about columns that it lacks are not looked at.
    """
    said = [r for r in schema.keeper.declared if set(r.scope) <= set(code)]
    if not said:
        return relation
    types = {name: width_of(schema[name].size) for name in code}
    for each in said:
        if each.moves:
            last = each.scope[-1]
            held = {name: f"e.{code[name]}" for name in each.scope}
            moved = each.moved_sql(held, schema[last].ordered_count)
            kept = [f"e.{name}" for name in others]
            kept += [f"e.{own}" for name, own in code.items() if name != last]
            kept += [f"e.{own}" for name, own in number.items() if name != last]
            kept.append(f"CAST({moved} AS {types[last]}) AS {code[last]}")
            if last in number:
                value = number[last]
                kept.append(f"CASE WHEN {moved} = {held[last]} THEN e.{value} END AS {value}")
            relation = f"(SELECT {', '.join(kept)} FROM {relation}) AS e"
    broken = " OR ".join(each.broken_sql({n: f"e.{code[n]}" for n in each.scope}) for each in said)
    return f"(SELECT * FROM {relation} WHERE NOT ({broken})) AS e"


def width_of(size: int) -> str:
    """Return the narrowest SQL type of a column's codes."""
    return "TINYINT" if size <= 2**7 else "SMALLINT" if size <= 2**15 else "INTEGER"
