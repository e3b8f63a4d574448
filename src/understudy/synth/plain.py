"""Mechanisms as plain data: their settings as TOML or JSON gives them, checked by name and type."""

from __future__ import annotations

import types
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from understudy.errors import UsageError, nearest
from understudy.synth.registry import MECHANISMS

if TYPE_CHECKING:
    from understudy.synth.mechanism import Mechanism


def mechanism_to_dict(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism and its settings as plain data."""
    return {"name": mechanism.name, "settings": asdict(mechanism)}  # type: ignore[call-overload]


def mechanism_of(given: object) -> Mechanism:
    """Return a mechanism from itself, from its class, or from its name.

    >>> mechanism_of("independent").name
    'independent'
    """
    if isinstance(given, str):
        return mechanism_from_dict({"name": given.lower(), "settings": {}})
    mechanism: Any = given() if isinstance(given, type) else given
    if not callable(getattr(mechanism, "run", None)) or not hasattr(mechanism, "name"):
        raise UsageError(
            "not a mechanism",
            got=type(mechanism).__name__,
            allowed=f"such as us.Auto(), or a name: {', '.join(MECHANISMS)}",
        )
    found: Mechanism = mechanism
    return found


def mechanism_from_dict(data: dict[str, Any]) -> Mechanism:
    """Return a mechanism from plain data, as read from TOML or JSON."""
    if data["name"] not in MECHANISMS:
        raise UsageError(
            "unknown mechanism",
            got=data["name"],
            allowed=", ".join(MECHANISMS),
            hint=nearest(str(data["name"]), MECHANISMS),
        )
    kind = MECHANISMS[data["name"]]
    _check_settings(kind, data["settings"])
    return kind(**data["settings"])


def _check_settings(kind: type[Mechanism], given: dict[str, Any]) -> None:
    """Raise on unknown settings, and on values of another type."""
    # Mechanisms import Clique for type checking only.
    hints = get_type_hints(kind, localns={"Clique": tuple[str, ...]})
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise UsageError(
            f"{kind.name} has no such setting",
            got=", ".join(unknown),
            allowed=", ".join(known) or "none",
            hint=nearest(unknown[0], known),
        )
    for name, value in given.items():
        if not _fits(value, hints[name]):
            raise UsageError(
                f"the setting {name} of {kind.name} has the wrong type",
                got=_shown(value),
                allowed=_in_words(hints[name]),
            )


def _fits(value: Any, hint: Any) -> bool:  # noqa: ANN401  any value, any type
    """Return whether plain data fit a type, with lists for tuples and integers for floats."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in parts
    if origin in {Union, types.UnionType}:
        return any(_fits(value, part) for part in parts)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            return False
        wanted = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        return len(value) == len(wanted) and all(map(_fits, value, wanted))
    if origin is dict:
        hint = dict
    if hint is float:
        hint = (int, float)
    # True is an int in Python, but not a number in a settings file.
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def _in_words(hint: Any) -> str:  # noqa: ANN401  any type
    """Describe a type in words.

    >>> _in_words(tuple[str, ...]), _in_words(tuple[tuple[tuple[str, ...], int], ...])
    ('[a string, …]', '[[[a string, …], an integer], …]')
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin in {Union, types.UnionType}:
        return " or ".join(_in_words(part) for part in parts if part is not types.NoneType)
    if origin is tuple:
        return f"[{', '.join('…' if p is Ellipsis else _in_words(p) for p in parts)}]"
    if origin is dict:
        return "a table"
    names = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}
    return names.get(hint, str(hint))


def _shown(value: Any) -> str:  # noqa: ANN401  any value
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
