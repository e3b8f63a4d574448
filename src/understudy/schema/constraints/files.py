"""Constraints as plain data: how they are read from a schema file, and written to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.errors import SchemaError
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

Plain = dict[str, Any]
_KINDS: dict[str, tuple[str, ...]] = {
    "never": ("otherwise",),
    "if": ("then", "otherwise"),
    "determines": ("values", "asked"),
    "order": ("otherwise",),
    "sum": ("tolerance",),
    "unique_per_person": (),
    "constant_per_person": (),
}
"""The key that tells what kind of constraint it is, and the further keys that it may have."""


def to_plain(constraint: Constraint) -> Plain:
    """Write a constraint as plain data, without default values."""
    named = getattr(constraint, "name", "")
    rule = getattr(constraint, "otherwise", "drop")
    return {
        **({"name": named} if named else {}),
        **constraint.to_plain(),
        **({"otherwise": rule} if rule != "drop" else {}),
    }


def from_plain(data: object) -> Constraint:
    """Read a constraint from plain data, as parsed from TOML or JSON."""
    kinds = [key for key in _KINDS if isinstance(data, Mapping) and key in data]
    if not isinstance(data, Mapping) or len(kinds) != 1:
        raise SchemaError(
            "a constraint says one thing",
            got=", ".join(kinds) or "none of them",
            allowed=", ".join(_KINDS),
        )
    (kind,) = kinds
    if "values_from" in data:
        raise SchemaError(
            "values_from is read from a schema's file", hint="write values where there is no file"
        )
    unknown = sorted(set(data) - {kind, "name", *_KINDS[kind]})
    if unknown or not isinstance(data.get("name", ""), str):
        raise SchemaError(
            f"unknown keys of a constraint of kind {kind!r}, or a name that is no text",
            got=", ".join(unknown) or "name",
            allowed=", ".join(["name", *_KINDS[kind]]),
        )
    return _read(kind, data[kind], {k: v for k, v in data.items() if k != kind})


def _read(kind: str, said: Any, more: Plain) -> Constraint:  # noqa: ANN401  as parsed
    match kind:
        case "never":
            return Never(said, **more)
        case "if":
            return Implies(said, more.pop("then", None), **more)
        case "order":
            return Order(*_names(kind, said), **more)
        case "sum":
            total, parts = _one(kind, said)
            return Sum(total, tuple(_names(kind, parts)), **more)
        case "determines":
            by, column = _one(kind, said)
            if not isinstance(column, str):
                raise SchemaError("determines names two columns", got=type(column).__name__)
            given = more.pop("values", [] if more.get("asked") is True else None)
            return Determines(by, column, _pairs(given), **more)
        case _:
            (column,) = _names(kind, [said])
            return (UniquePerPerson if kind == "unique_per_person" else ConstantPerPerson)(
                column, **more
            )


def _names(kind: str, said: object) -> list[str]:
    if not isinstance(said, list) or not all(isinstance(name, str) for name in said):
        raise SchemaError(f"{kind} needs names of columns", got=type(said).__name__)
    return said


def _one(kind: str, said: object) -> tuple[str, Any]:
    if not isinstance(said, Mapping) or len(said) != 1:
        example = '{ total = ["fare", "tips"] }' if kind == "sum" else '{ town = "county" }'
        raise SchemaError(f"{kind} needs a column and what belongs to it", allowed=example)
    ((name, rest),) = said.items()
    return str(name), rest


def _pairs(values: object) -> tuple[tuple[Any, Any], ...]:
    """Read pairs of values from a table, or from a list of pairs, which may have one twice."""
    if isinstance(values, Mapping):
        return tuple(values.items())
    if isinstance(values, list) and all(isinstance(p, list) and len(p) == 2 for p in values):
        return tuple((one, other) for one, other in values)
    raise SchemaError(
        "determines needs values",
        got=type(values).__name__,
        allowed='a table { Evanston = "Cook" }, a list of pairs, or values_from = "towns.csv"',
    )
