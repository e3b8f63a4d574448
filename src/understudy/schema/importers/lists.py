"""Code lists: files of public knowledge that a schema names, read when the schema is.

``values_from = "codes.json"`` gives a categorical column its values: a JSON list, a table of
lists by column, a text with a code in each line, or a CSV file whose first column has them below
its header.  ``groups_from = "cities.json"`` says what each value belongs to: a JSON table of
value → group; a value that it does not name belongs to nothing.

``values_from = "towns.csv"`` of a constraint says what determines what: a CSV file whose header
names both columns, perhaps among others, or JSON, a table of value → value or a list of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from understudy.errors import SchemaError
from understudy.schema.columns import KINDS
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Plain = dict[str, Any]


def with_lists(schema: Plain, load: Callable[[str], object]) -> Plain:
    """Load the lists from the files that a schema's columns name."""
    columns, constraints = schema.get("columns"), schema.get("constraints")
    filled = dict(schema)
    if isinstance(columns, dict):
        filled["columns"] = {
            name: _filled(name, column, load) if isinstance(column, dict) else column
            for name, column in columns.items()
        }
    if isinstance(constraints, list):
        filled["constraints"] = [
            _determined(each, load) if isinstance(each, dict) and "values_from" in each else each
            for each in constraints
        ]
    return filled


def _determined(constraint: Plain, load: Callable[[str], object]) -> Plain:
    """Load what determines what from the file that a constraint names."""
    out = {key: value for key, value in constraint.items() if key != "values_from"}
    said, file = constraint.get("determines"), constraint["values_from"]
    if not isinstance(said, dict) or not isinstance(file, str) or "values" in constraint:
        raise SchemaError(
            "values_from of a constraint names a file",
            got="values as well" if "values" in constraint else type(file).__name__,
            allowed='only with determines, as in determines = { town = "county" }',
        )
    listed = load(file)
    if isinstance(listed, Table):
        listed = [
            list(pair) for name, column in said.items() for pair in listed.pairs(name, column)
        ]
    return {**out, "values": listed}


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a CSV file, the header first."""

    file: str
    rows: list[list[str]]

    def first(self) -> list[str]:
        """Return the values of the first column, below the header."""
        return [row[0].strip() for row in self.rows[1:] if any(row)]

    def pairs(self, *names: object) -> Iterator[tuple[str, ...]]:
        """Yield the values of two columns; raise unless the header names both."""
        header = [name.strip() for name in self.rows[0]] if self.rows else []
        absent = [str(name) for name in names if name not in header]
        if absent:
            raise SchemaError(
                f"the first line of {self.file} must name both columns",
                got=", ".join(header) or "no line",
                hint=f"name the column {absent[0]!r} there",
            )
        places = [header.index(str(name)) for name in names]
        for row in self.rows[1:]:
            if row:
                yield tuple(row[place].strip() if place < len(row) else "" for place in places)


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
        listed = load(file)
        fill(name, out, listed.first() if isinstance(listed, Table) else listed)
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
