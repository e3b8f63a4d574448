"""Tables of databases: the SQL that opens them, to be read only, and what their failures mean.

A server's own text is looked at to tell what failed, and never passed on.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from understudy.errors import DatabaseError, MissingFileError
from understudy.schema.encoding.dialect import literal, quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.engine.sources import Database

PATIENCE = 10
"""The connection timeout in seconds, unless the address sets one."""
_TAKEN = "bool date float4 float8 int2 int4 int8 text timestamp timestamptz varchar".split()  # noqa: SIM905  for readability
"""PostgreSQL types that DuckDB reads correctly.  A numeric NaN, for one, it reads as 0."""
_REFUSED = ("authentication failed", "no password supplied", "role ", "pg_hba.conf")


def extension(database: Database) -> str:
    """Return the name of the DuckDB extension that reads a database."""
    return "sqlite_scanner" if database.is_sqlite else "postgres_scanner"


def packed(name: str, version: str) -> Path | None:
    """Find the file of an extension for a version of DuckDB, in the package that carries it.

    The package itself is not imported: it would copy the file into the home folder.
    """
    package = find_spec(f"duckdb_extension_{name}")
    for folder in () if package is None else package.submodule_search_locations or ():
        file = Path(folder) / "extensions" / f"v{version}" / f"{name}.duckdb_extension"
        if file.is_file():
            return file
    return None


def opening(database: Database, name: str) -> list[str]:
    """Compose the statements that open a database under a name."""
    if database.is_sqlite:
        if not os.path.isfile(database.path):  # noqa: PTH113  Path.is_file fails for a name that is too long
            raise MissingFileError(f"there is no file {database.path}")
        where = str(database.path.absolute())
        # An SQLite column may hold anything, whatever its declared type: all is read as text.
        settings = ["SET GLOBAL sqlite_all_varchar = true"]
        return [*settings, f"ATTACH {literal(where)} AS {name} (TYPE sqlite, READ_ONLY)"]
    given = {name for name, _ in parse_qsl(database.address.partition("?")[2])}
    added = ["client_encoding=UTF8"]
    if "connect_timeout" not in given:
        added.append(f"connect_timeout={PATIENCE}")
    where = f"{database.address}{'&' if '?' in database.address else '?'}{'&'.join(added)}"
    return [f"ATTACH {literal(where)} AS {name} (TYPE postgres, READ_ONLY)"]


def columns(database: Database, opened: str) -> str:
    """Compose the query of a table's columns: no rows if there is no such table."""
    if database.is_sqlite:
        asked = f"SELECT name, type FROM pragma_table_info({literal(database.table)})"
        return f"SELECT * FROM sqlite_query('{opened}', {literal(asked)})"
    own = "CASE t.typnamespace WHEN 'pg_catalog'::regnamespace THEN t.typname::text END"
    asked = (
        f"SELECT a.attname::text AS name, {own} AS type FROM pg_catalog.pg_attribute AS a "
        "JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid "
        f"WHERE a.attrelid = to_regclass({literal(_quoted(database))})::oid "
        "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    )
    return f"SELECT * FROM postgres_query('{opened}', {literal(asked)})"


def relation(database: Database, opened: str, found: Iterable[tuple[str, str | None]]) -> str:
    """Compose the relation of a table with these columns, by name and type."""
    if database.is_sqlite:
        return f"{opened}.{quote(database.table)}"
    # The server converts other types to text itself, as it would for a CSV file.
    listed = (quote(n) if t in _TAKEN else f"{quote(n)}::text AS {quote(n)}" for n, t in found)
    asked = f"SELECT {', '.join(listed)} FROM {_quoted(database)}"
    return f"postgres_query('{opened}', {literal(asked)})"


def _quoted(database: Database) -> str:
    return ".".join(quote(part) for part in database.table.split(".", 1))


def absent(database: Database) -> DatabaseError:
    """Return the error for a missing table."""
    hint = "names are compared letter by letter; a table outside the search path is SCHEMA.TABLE"
    return DatabaseError(f"{database.address} has no table {database.table}", hint=hint)


def unread(database: Database, text: str) -> DatabaseError:
    """Classify a failure to open or read a table; none of its text is passed on."""
    where = database.address
    if "file is not a database" in text:
        return DatabaseError(f"{where} is not an SQLite database")
    if "Unable to connect" not in text:
        return DatabaseError(
            f"the table {database.table} of {where} could not be read completely",
            hint="check permissions, that the database is still there, and that its text is UTF-8; "
            "no value is named here",
        )
    if any(said in text for said in _REFUSED):
        return DatabaseError(
            f"{where} denies access to this user",
            hint="name the user in the address, and put the password into PGPASSWORD or .pgpass",
        )
    if "FATAL" in text and "does not exist" in text:
        return DatabaseError(f"{where}: the server has no such database")
    return DatabaseError(
        f"{where} cannot be reached",
        hint="check that the server is up, host and port, and that this machine may connect to it",
    )
