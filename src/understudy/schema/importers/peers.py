"""Metadata files of other tools, read as our own schema.

- private-pgm's ``{column: size}``: whole numbers from 0; nothing is missing, what is out
  of range goes to the nearest.
- dpsynth's ``domain.yaml``: ranges, and lists whose ``out_of_domain_index`` names the value
  that takes everything else.
- SDV's JSON names types but neither lists nor ranges: those come from a public table, and
  without one an error names the columns that need them.  Two tables, of people and of their
  rows, are read as the one that joins them: the columns of the first are a person's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.errors import SchemaError
from understudy.schema.columns.edges import ladder_edges
from understudy.schema.importers.draft import draft
from understudy.schema.plain import to_plain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

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
    """Read SDV's metadata of a table, or of a table of people and one of their rows."""
    tables = _sdv_tables(data, name)
    if len(tables) == 1:
        ((name, declared),) = tables.items()
        own: Collection[str] = ()
    else:
        name, declared, own = _sdv_joined(tables, data.get("relationships"))
    columns: Plain = {}
    unsaid = []
    for column, facts in declared.items():
        read = _sdv_column(column, facts, public)
        if read is None:
            unsaid.append(column)
        elif column in own and read["kind"] not in {"id", "ignored"}:
            columns[column] = {**read, "of": "person"}
        else:
            columns[column] = read
    if unsaid:
        raise SchemaError(
            "SDV metadata does not declare the values of some columns",
            got=", ".join(unsaid),
            hint="pass a public table to take lists and ranges from, never the private one",
        )
    return {"name": name, "columns": columns}


def _sdv_tables(data: Mapping[str, Any], name: str) -> dict[str, Plain]:
    """Return the columns of every table, by its name."""
    tables = data.get("tables", {name: data})
    found: dict[str, Plain] = {}
    for table, facts in tables.items() if isinstance(tables, dict) else ():
        declared = facts.get("columns") if isinstance(facts, dict) else None
        if isinstance(declared, dict) and all(isinstance(f, dict) for f in declared.values()):
            found[table] = declared
    if not found or len(found) < len(tables):
        raise SchemaError("SDV metadata has no table of columns", allowed="one table with columns")
    return found


def _sdv_joined(
    tables: Mapping[str, Plain], relationships: object
) -> tuple[str, Plain, Collection[str]]:
    """Join people and their rows: the name of the latter, all columns, and those of people.

    The only id is the people's primary key; other ids mean nothing in a synthetic table.
    """
    links = relationships if isinstance(relationships, list) else []
    ends = _sdv_link(tables, links[0]) if len(links) == 1 else []
    if len(tables) != 2 or not ends:
        raise SchemaError(
            "SDV metadata is neither of one table nor of people and their rows",
            got=f"tables {', '.join(sorted(tables))}; relationships: {len(links)}",
            allowed="one table; or two, and one relationship from a table's primary key to the "
            "other table",
            hint="save the metadata of the people's table and of one table of their rows",
        )
    (parent, key), (child, foreign) = ends
    of_people, of_rows = dict(tables[parent]), dict(tables[child])
    of_rows.pop(foreign)
    taken = {column.lower() for column in of_people}
    twice = sorted(column for column in of_rows if column.lower() in taken)
    if twice:
        raise SchemaError(
            f"SDV metadata: the tables {parent!r} and {child!r} have columns of the same name",
            got=", ".join(twice),
            allowed="the key only",
            hint="rename them in one of the tables: both are read as one",
        )
    others = {
        column: {"sdtype": "unknown"} if facts.get("sdtype") == "id" else facts
        for column, facts in (of_people | of_rows).items()
    }
    return child, others | {key: {"sdtype": "id"}}, set(of_people)


def _sdv_link(tables: Mapping[str, Plain], link: object) -> list[tuple[str, str]]:
    """Return the table and the column at both ends of a relationship between two tables."""
    facts = link if isinstance(link, dict) else {}
    ends = [
        (str(facts.get("parent_table_name")), str(facts.get("parent_primary_key"))),
        (str(facts.get("child_table_name")), str(facts.get("child_foreign_key"))),
    ]
    known = [(table, column) for table, column in ends if column in tables.get(table, {})]
    return known if len({table for table, _ in known}) == 2 else []


def _sdv_column(
    name: str, facts: Mapping[str, Any], public: Mapping[str, Array] | None
) -> Plain | None:
    sdtype = facts.get("sdtype")
    if sdtype == "id" or facts.get("pii"):
        return {"kind": "id" if sdtype == "id" else "ignored"}
    if sdtype == "boolean":
        return {"kind": "categorical", "values": [False, True]}
    if sdtype not in {"categorical", "numerical", "datetime"}:
        return {"kind": "ignored"}
    if public is None or name not in public:
        return None
    written = facts.get("datetime_format")
    (drafted,) = draft({name: public[name]}, ids=(), written=written, kind=sdtype)
    return to_plain(drafted)
