"""Two tables in place of one: people, one line each with what is their own, and their rows.

They are joined on the unit, inside the engine.  Who is in the table of people is a person, with or
without rows; rows of anybody else are dropped.  All that may raise here is public: which tables are
named, and what the schema and the unit declare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.engine.sources import Database, SparkTable, is_same, lasting
from understudy.errors import SchemaError, UsageError

if TYPE_CHECKING:
    from understudy.budget import ResolvedUnit
    from understudy.schema import Schema, Text

ALLOWED = 'private={"people": TABLE, "rows": TABLE}'
HINT = (
    'columns with of = "person" are read from the table of people, all others from the table of '
    "rows, and the unit from both; "
)


@dataclass(frozen=True, slots=True, repr=False)
class TwoTables:
    """A table of people and one of their rows, each anything that one table can be."""

    people: object
    rows: object


def two_tables(data: object) -> TwoTables | None:
    """Return the tables of a mapping that names some; None where the data is one table.

    A mapping of columns is one table, whatever its columns are called.

    >>> two_tables({"people": "patients.csv", "rows": "visits.csv"}).rows
    'visits.csv'
    >>> two_tables({"people": [1, 2], "rows": [3, 4]}) is None
    True
    """
    if isinstance(data, TwoTables):
        return data
    if not isinstance(data, Mapping) or not data:
        return None
    tables, named = list(map(_is_table, data.values())), set(data) == {"people", "rows"}
    if not (all(tables) or (named and any(tables))):
        return None
    if not (all(tables) and named):
        raise UsageError(
            "two tables are named people and rows",
            got=", ".join(str(name) for name in data),
            allowed=ALLOWED,
        )
    return TwoTables(data["people"], data["rows"])


def tables_of(data: object) -> tuple[object, ...]:
    """Return the tables that a run reads: one, or those of people and of rows."""
    both = two_tables(data)
    return (data,) if both is None else (both.people, both.rows)


def check_apart(private: object, public: object) -> None:
    """Raise if a public table is a private one: public data is used without noise."""
    ours, others = tables_of(private), () if public is None else tables_of(public)
    if any(is_same(one, other) for one in ours for other in others):
        raise UsageError(
            "the private table is named as the public one",
            allowed="another table, which anyone may see",
            hint="public data is not protected, and its values may appear in the release; leave "
            "out the public table if there is none",
        )


def lasting_tables(data: object) -> str | dict[str, str]:
    """Return the string for a table, or for each of two, with absolute paths."""
    both = two_tables(data)
    if both is None:
        return lasting(data)  # type: ignore[arg-type]  # a command line names tables by strings
    return {"people": lasting(both.people), "rows": lasting(both.rows)}  # type: ignore[arg-type]


def check_two_tables(schema: Schema, unit: ResolvedUnit, *, texts: Sequence[Text] = ()) -> None:
    """Raise unless schema and unit say which columns are whose, and who is who."""
    names = [column.name for column in schema.modelled]
    own = [*schema.own, *(column.name for column in texts if column.of == "person")]
    if not own or len(own) == len(names) + len(texts):
        raise SchemaError(
            "two tables need columns of people, and columns of rows",
            got='no column with of = "person"' if not own else 'only of = "person"',
            allowed='of = "person" for columns of the table of people, and only for these',
        )
    drawn = {*names, *(c.name for c in schema.released_columns)}
    drawn |= {c.table_column for c in schema.released_columns}
    if not any(part.part is None and part.column not in drawn for part in unit.parts):
        raise UsageError(
            "two tables are joined on the ids of people, which are not modelled",
            got=f"the unit {unit}",
            allowed='a unit with a column of kind = "id", or one that the schema does not name',
        )


def _is_table(value: object) -> bool:
    """Whether a value is a table, not a column."""
    named = isinstance(value, (str, Path, Database, SparkTable, Mapping))
    # Frames, Arrow tables and streams; asked of the type, since an item of a pandas Series may
    # have any name.
    return named or any(hasattr(type(value), name) for name in ("columns", "schema"))
