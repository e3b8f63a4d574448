"""Constraints that public rows suggest, as comments of a drafted schema."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.schema.constraints.files import to_plain
from understudy.schema.importers.files import toml_value
from understudy.schema.importers.patterns import find_patterns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.schema import Array, Schema
    from understudy.schema.importers.patterns import Pattern

_ABOUT = """
## Constraints that the public rows suggest. Each is a comment: to declare it, remove the "# " of
## its lines. Declare what is true of every row that there can be, not just of these. Every
## synthetic row will obey it. Private rows that break an order or a never are dropped, or moved
## with otherwise = "nearest"; what is determined or summed is computed, and not read at all.
## All of them can be declared together."""


def patterns_in(table: Mapping[str, Array] | None, schema: Schema) -> list[Pattern]:
    """Find what public rows suggest; nothing for a schema that has constraints already."""
    if table is None or schema.constraints:
        return []
    return find_patterns(
        table, schema.released_columns, lambda said: replace(schema, constraints=said)
    )


def as_comments(patterns: Sequence[Pattern]) -> str:
    """Write constraints as TOML that is commented out, each with what public rows say of it."""
    if not patterns:
        return ""
    blocks = [_ABOUT]
    for pattern in patterns:
        plain = to_plain(pattern.constraint)
        lines = ["[[constraints]]", *(f"{k} = {toml_value(v)}" for k, v in plain.items())]
        why = toml_value(pattern.why)[1:-1]
        more = [f"## {_more(pattern)}."] if pattern.more else []
        blocks.append("\n".join([f"## {why}", *(f"# {line}" for line in lines), *more]))
    return "\n".join(f"{block}\n" for block in blocks)


def told_of(patterns: Sequence[Pattern]) -> list[str]:
    """Say how many constraints were proposed."""
    if not patterns:
        return []
    kinds = ", ".join(dict.fromkeys(pattern.constraint.kind for pattern in patterns))
    many = f"{len(patterns)} constraints" if len(patterns) > 1 else "1 constraint"
    return [
        f"  proposed: {many} ({kinds}), as comments at the end: declare those that are true",
        *(f"  {_more(pattern)}" for pattern in patterns if pattern.more),
    ]


def _more(last: Pattern) -> str:
    return f"the public rows suggest more constraints of kind {last.constraint.kind} than these"
