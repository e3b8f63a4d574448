"""Run files: the options of `synth` in TOML, so that one short command is enough.

Every key is an option of `synth`; an option on the command line overrides it.
Paths are relative to the file's own folder.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.cli import arguments
from understudy.engine.sources import SQLITE, Database, source
from understudy.errors import UsageError, nearest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection

ENDING = ".toml"
_TABLES = ("private", "public")
_FILES = ("schema", "ledger", "out", "parameters", "lists")
_WORDS = ("unit", "null_ids", "bounding", "mechanism", "format", "recipe", "noise")
_NUMBERS = ("epsilon", "delta", "screening")
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_TABLES, (str, dict)),
    **dict.fromkeys((*_FILES, *_WORDS), (str,)),
    **dict.fromkeys(_NUMBERS, (int, float)),
    "published": (bool,),
    "i_know": (bool,),
    "settings": (dict,),
    "groups": (dict,),
    "best_of": (int, str),
    "known": (list,),
}
_CALLED: dict[tuple[type, ...], str] = {
    (str,): "a string",
    (str, dict): "a string, or {people = …, rows = …}",
    (int, float): "a number",
    (int, str): "a number, or names",
    (bool,): "true or false",
    (dict,): "a table",
    (list,): "[[known]], tables of counts",
}
_CHOICES = {
    "null_ids": ("drop", "one"),
    "format": ("parquet", "csv"),
    "noise": ("laplace", "gaussian"),
}


def with_runfile(options: argparse.Namespace, *, only: Collection[str] | None = None) -> None:
    """Fill in options that the command line does not set from its run file, if it names one.

    ``only`` names the keys that the command has a use for.
    """
    if not str(options.private).endswith(ENDING):
        return
    path = Path(options.private)
    told = _checked(arguments.read_toml(path, "run file"), path)
    options.private = None
    for name, value in told.items():
        # A delta of 0 is set, and so is a list: only what is absent is filled in.
        if only is not None and name not in only:
            continue
        if (said := getattr(options, name, None)) is None or said is False:
            setattr(options, name, _placed(path.parent, name, value))
    if isinstance(options.private, dict):
        options.people = options.people or options.private["people"]
        options.private = options.private["rows"]
    if options.private is None:
        raise UsageError(
            f"{path.name} names no private table", allowed='private = "FILE"', hint="add the line"
        )


def _checked(told: dict[str, Any], path: Path) -> dict[str, Any]:
    """Raise on keys that are not options, and on values of the wrong type."""
    for name, value in told.items():
        if name not in _KINDS:
            raise UsageError(
                f"{path.name} has an unknown key",
                got=name,
                allowed=", ".join(_KINDS),
                hint=nearest(name, _KINDS),
            )
        kinds = _KINDS[name]
        # True is an int in Python.
        sound = isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
        if name in _TABLES and isinstance(value, dict):
            sound = set(value) == {"people", "rows"} and all(
                isinstance(table, str) for table in value.values()
            )
        if not sound:
            raise UsageError(
                f"{path.name}: invalid value for {name}", got=repr(value), allowed=_CALLED[kinds]
            )
        if value not in _CHOICES.get(name, (value,)):
            raise UsageError(
                f"{path.name}: invalid value for {name}",
                got=repr(value),
                allowed=" or ".join(map(repr, _CHOICES[name])),
            )
    return told


def _placed(folder: Path, name: str, value: Any) -> Any:  # noqa: ANN401  whatever TOML holds
    """Return a path relative to the working directory."""
    if name == "known":
        return [_counts_placed(folder, each) for each in value]
    if name == "groups":
        return [f"{column}={folder / str(file)}" for column, file in value.items()]
    if name in _TABLES and isinstance(value, dict):
        return {each: _placed(folder, name, table) for each, table in value.items()}
    if name in _TABLES:
        return located(value, lambda path: str(folder / path))
    return str(folder / value) if name in _FILES else value


def _counts_placed(folder: Path, known: Any) -> Any:  # noqa: ANN401  whatever TOML holds
    if not isinstance(known, dict) or not isinstance(known.get("counts_from"), str):
        return known
    return {**known, "counts_from": str(folder / known["counts_from"])}


def located(table: str, place: Callable[[Path], str]) -> str:
    """Resolve the path of a table in a file or an SQLite database; a server's stays as it is."""
    found = source(table)
    if isinstance(found, Database) and found.is_sqlite:
        return str(replace(found, address=f"{SQLITE}{place(found.path)}"))
    return place(found) if isinstance(found, Path) else table
