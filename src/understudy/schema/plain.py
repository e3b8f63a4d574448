"""Columns as plain data: how a declaration is read from a schema file, and written to one.

A kind of column is a dataclass, and its fields are the keys that a file may have: their names,
whether they are needed, and what type they are of.  Shorthands are the kind's own
(`Declaration.expanded`).
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from understudy.errors import SchemaError
from understudy.schema.columns import KINDS
from understudy.schema.columns.edges import as_float

if TYPE_CHECKING:
    from understudy.schema.columns import Declaration


def to_plain(column: Declaration) -> dict[str, Any]:
    """Write a declaration as plain data, without its name and default values."""
    out: dict[str, Any] = {"kind": column.kind}
    for f in fields(column):
        value = getattr(column, f.name)
        if not f.init or f.name == "name" or value is None:
            continue
        if f.default is MISSING or value != f.default:
            out[f.name] = list(value) if isinstance(value, tuple) else value
    return out


def from_plain(name: str, data: object) -> Declaration:
    """Read the declaration of a column from plain data, as parsed from TOML or JSON."""
    named = data.get("kind") if isinstance(data, dict) else None
    kind = KINDS.get(named) if isinstance(named, str) else None
    if not isinstance(data, dict) or kind is None:
        raise SchemaError(
            f"column {name!r} needs a kind",
            got=repr(named) if isinstance(data, dict) else "no table",
            allowed=", ".join(KINDS),
        )
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k != "kind"}
    given = kind.expanded(name, given)
    known = {f.name: f for f in fields(kind) if f.init and f.name != "name"}
    needed = {n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING}
    if set(given) - set(known) or needed - set(given):
        raise SchemaError(
            f"column {name!r}: unknown or missing keys of a {kind.kind} column",
            got=", ".join(sorted(given)) or "none",
            allowed=", ".join(sorted(known)),
            hint="needed: " + ", ".join(sorted(needed)) if needed else None,
        )
    return kind(name=name, **_typed(name, given, kind))


def _typed(name: str, given: dict[str, Any], kind: type[Declaration]) -> dict[str, Any]:
    """Return the values with the types of the kind's fields: integers as floats where needed."""
    hints, out = get_type_hints(kind), {}
    for key, value in given.items():
        if not _fits(value, hints[key]):
            raise SchemaError(
                f"column {name!r}: {key} has the wrong type", got=type(value).__name__
            )
        floats = get_args(hints[key])[:1] == (float,) and isinstance(value, tuple)
        out[key] = tuple(map(as_float, value)) if floats else value
    return out


def _fits(value: object, hint: Any) -> bool:  # noqa: ANN401  a type, or a union of types
    """Check a value against the type of a field.

    >>> [_fits(v, int | None) for v in (1, 1.0, True, None)], _fits((1, 2.5), tuple[float, ...])
    ([True, False, False, False], True)
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        # What is not set is left out of a file, never written as null.
        return any(_fits(value, part) for part in parts if part is not NoneType)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, parts[0]) for item in value)
    if origin is Literal:
        # The kind itself checks the word.
        return isinstance(value, str)
    if hint in {int, float}:
        # True is an int in Python, but not a number in a schema.
        wanted = int if hint is int else (int, float)
        return isinstance(value, wanted) and not isinstance(value, bool)
    return isinstance(value, hint)
