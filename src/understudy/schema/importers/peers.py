"""Metadata files of other tools, read as our own schema.

- private-pgm's ``{column: size}``: whole numbers from 0; nothing is missing, what is out
  of range goes to the nearest.
- dpsynth's ``domain.yaml``: ranges, and lists whose ``out_of_domain_index`` names the value
  that takes everything else.
- SDV's JSON names types but neither lists nor ranges: those come from a public table, and
  without one an error names the columns that need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.errors import SchemaError
from understudy.schema.columns.edges import ladder_edges
from understudy.schema.importers.draft import draft
from understudy.schema.plain import to_plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.schema.encoding.reading import Array

Plain = dict[str, Any]


def from_pgm(data: Mapping[str, int], *, name: str) -> Plain:
    """Read private-pgm's ``{column: size}``.

    >>> from_pgm({"sex": 2}, name="t")["columns"]["sex"]["max"]
    1
    """
    columns = {
        c: {"kind": "integer", "min": 0, "max": size - 1, "missing": False}
        for c, size in data.items()
    }
    return {"name": name, "columns": columns}


def from_dpsynth(data: Mapping[str, Any], *, name: str) -> Plain:
    """Read dpsynth's ``domain.yaml``."""
    columns: Plain = {}
    for c, v in data.items():
        try:
            columns[c] = _dpsynth_column(c, v)
        except (IndexError, OverflowError, TypeError, ValueError):
            raise SchemaError(
                f"domain.yaml: column {c!r} is not declared as in dpsynth",
                allowed="a list of possible_values and an out_of_domain_index within it, "
                "or numbers for min_value and max_value",
            ) from None
    return {"name": name, "columns": columns}


def _dpsynth_column(name: str, value: object) -> Plain:
    if isinstance(value, dict) and "possible_values" in value:
        listed = [v for v in value["possible_values"] if v is not None]
        column: Plain = {"kind": "categorical", "values": listed}
        index = value.get("out_of_domain_index")
        if index is None:
            return column
        takes_rest = value["possible_values"][index]
        # The value at the index stands for all undeclared values, missing ones included.
        return column | ({"missing": False, "other": takes_rest} if takes_rest is not None else {})
    if isinstance(value, dict) and {"min_value", "max_value"} <= set(value):
        low, high = value["min_value"], value["max_value"]
        rule = {"outside": "nearest" if value.get("clip_to_range") else "other"}
        if value.get("dtype") == "int" and high - low < 1024:
            return {"kind": "integer", "min": int(low), "max": int(high), **rule}
        whole = value.get("dtype") == "int"
        if whole:
            return {
                "kind": "numeric",
                "edges": list(ladder_edges(int(low), int(high))),
                "whole": True,
                **rule,
            }
        return {"kind": "numeric", "min": float(low), "max": float(high), "bins": 32, **rule}
    raise SchemaError(
        f"domain.yaml: column {name!r} is neither a list nor a range",
        allowed="possible_values, or min_value and max_value",
    )


def from_sdv(data: Mapping[str, Any], *, name: str, public: Mapping[str, Array] | None) -> Plain:
    """Read SDV's metadata of a single table."""
    name, declared = _sdv_table(data, name)
    columns: Plain = {}
    unsaid = []
    for column, facts in declared.items():
        read = _sdv_column(column, facts, public)
        if read is None:
            unsaid.append(column)
        else:
            columns |= read
    if unsaid:
        raise SchemaError(
            "SDV metadata does not declare the values of some columns",
            got=", ".join(unsaid),
            hint="pass a public table to take lists and ranges from, never the private one",
        )
    return {"name": name, "columns": columns}


def _sdv_table(data: Mapping[str, Any], name: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """Find the name and the columns of the one table."""
    tables = data.get("tables", {name: data})
    if isinstance(tables, dict) and len(tables) > 1:
        raise SchemaError(
            "SDV metadata has several tables",
            got=", ".join(sorted(tables)),
            allowed="one table",
            hint="save the metadata of the event table only",
        )
    for found, table in tables.items() if isinstance(tables, dict) else ():
        declared = table.get("columns") if isinstance(table, dict) else None
        if isinstance(declared, dict) and all(isinstance(f, dict) for f in declared.values()):
            return found, declared
    raise SchemaError("SDV metadata has no table of columns", allowed="one table with columns")


def _sdv_column(
    name: str, facts: Mapping[str, Any], public: Mapping[str, Array] | None
) -> Plain | None:
    sdtype = facts.get("sdtype")
    if sdtype == "id" or facts.get("pii"):
        return {name: {"kind": "id" if sdtype == "id" else "ignored"}}
    if sdtype == "boolean":
        return {name: {"kind": "categorical", "values": [False, True]}}
    if sdtype not in {"categorical", "numerical", "datetime"}:
        return {name: {"kind": "ignored"}}
    if public is None or name not in public:
        return None
    drafted = draft({name: public[name]}, ids=(), written=facts.get("datetime_format"), kind=sdtype)
    return {column.name: to_plain(column) for column in drafted}
