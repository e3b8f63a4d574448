"""Code lists: files of public knowledge that a schema names, read when the schema is.

``values_from = "codes.json"`` gives a categorical column its values: a JSON list, a table of
lists by column, a text with a code in each line, or a CSV file whose first column has them below
its header.  ``groups_from = "cities.json"`` says what each value belongs to: a JSON table of
value → group; a value that it does not name belongs to nothing.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from understudy.errors import SchemaError
from understudy.schema.columns import KINDS
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Plain = dict[str, Any]


def with_lists(schema: Plain, load: Callable[[str], object]) -> Plain:
    """Load the lists from the files that a schema's columns name."""
    columns = schema.get("columns")
    if not isinstance(columns, dict):
        return schema
    filled = {
        name: _filled(name, column, load) if isinstance(column, dict) else column
        for name, column in columns.items()
    }
    return {**schema, "columns": filled}


def _filled(name: str, column: Plain, load: Callable[[str], object]) -> Plain:
    out = {k: v for k, v in column.items() if k not in ("values_from", "groups_from")}
    kind = KINDS.get(str(column.get("kind")))
    known = [f"{f.name}_from" for f in fields(kind)] if kind else []
    for key, fill in (("values_from", _values), ("groups_from", _groups)):
        file = column.get(key)
        if file is None:
            continue
        if key not in known or not isinstance(file, str):
            raise SchemaError(
                f"column {name!r}: {key} must name a file", allowed="only in a categorical column"
            )
        fill(name, out, load(file))
    return out


def _values(name: str, column: Plain, listed: object) -> None:
    found = listed.get(name) if isinstance(listed, dict) else listed
    if not isinstance(found, list) or "values" in column:
        raise SchemaError(
            f"column {name!r}: values_from must name a file with one list of its codes",
            got="no list" if "values" not in column else "values as well",
            allowed="a list in JSON, .txt or .csv, or a JSON table with a list for each column",
        )
    column["values"] = found


def _groups(name: str, column: Plain, groups: object) -> None:
    if not isinstance(groups, dict):
        raise SchemaError(
            f"column {name!r}: groups_from must name a JSON file", allowed="a table value → group"
        )
    if isinstance(column.get("values"), list):
        column["groups"] = groups_of(name, column["values"], groups)


def groups_of(name: str, values: list[Any], groups: Mapping[str, Any]) -> list[str]:
    """Return the group of every value of a list; raise on groups of values that are not in it."""
    keys = [reading.text(value) for value in values]
    if not all(isinstance(group, str) for group in groups.values()):
        raise SchemaError(f"column {name!r}: groups must be strings", allowed='code → "group"')
    known = {reading.text(value): group for value, group in groups.items()}
    strays = sorted(set(map(str, known)) - set(map(str, keys)))
    if strays:
        raise SchemaError(
            f"column {name!r}: groups has codes that are not among its values",
            got=", ".join(strays[:5]) + (" …" if len(strays) > 5 else ""),
            hint="is it the code list of another year?",
        )
    return [known.get(key, "") for key in keys]
