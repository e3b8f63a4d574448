"""Where a table is, as a string: a path, or a table of a database.

The string is that of the command line and of a run's note in its ledger, from which the run
may be resumed.  So it never holds a password.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl

from understudy.errors import UsageError

SQLITE = "sqlite:"
POSTGRESQL = ("postgresql://", "postgres://")
SPARK, CLUSTER = "spark:", "spark://"
PARQUET = (".parquet", ".pq")
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
ALLOWED = "postgresql://USER@HOST:5432/DATABASE or sqlite:PATH"
_HOST = r"(?:\[[0-9A-Fa-f:.%]+\]|[^][:/?#@,]*)(?::[0-9]*)?"
_SERVER = re.compile(
    rf"postgres(?:ql)?://(?:[^:/?#@]*@)?{_HOST}(?:,{_HOST})*/[^/?#@]+(?:\?(?P<given>[^#@]*))?"
)
"""The address of a server: reserved characters are percent-encoded, as %40."""
_SECRETS = {"password", "sslpassword", "oauth_client_secret"}
"""Parameters of an address that are secret."""


@dataclass(frozen=True, slots=True)
class Database:
    """A table in a PostgreSQL server or an SQLite file.

    >>> print(Database("postgresql://ada@localhost:5432/city", "taxis.trips"))
    postgresql://ada@localhost:5432/city#taxis.trips
    """

    address: str
    """The server and its database, or the file; without any password."""
    table: str
    """The table or view; in PostgreSQL perhaps ``schema.table``."""

    def __post_init__(self) -> None:
        """Raise on an unsupported address, or one that contains a password."""
        if not self.address.startswith((SQLITE, *POSTGRESQL)):
            # It is not quoted: it may contain a password all the same.
            raise UsageError("unsupported database address", allowed=ALLOWED)
        if not self.table.strip() or "#" in self.table or not self.table.isprintable():
            raise UsageError(
                "a database needs the name of a table",
                got="none" if not self.table.strip() else "an invalid name",
                allowed="a table or schema.table, printable and without a '#'",
                hint=f"in one string: {ALLOWED}, followed by #TABLE",
            )
        if not self.is_sqlite and _holds_password(self.address):
            raise UsageError(
                "the address contains a password",
                allowed=ALLOWED,
                hint="put the password into PGPASSWORD or a .pgpass file: "
                "the address is stored in the ledger, for resuming",
            )
        sound = self.address != SQLITE if self.is_sqlite else _SERVER.fullmatch(self.address)
        if not sound or not self.address.isprintable():
            raise UsageError(
                "invalid database address",
                allowed=ALLOWED,
                hint="write characters such as @ and / within a name as %40 and %2F",
            )

    def __str__(self) -> str:
        """Return the string that `source` parses."""
        return f"{self.address}#{self.table}"

    @property
    def is_sqlite(self) -> bool:
        """Whether it is an SQLite file."""
        return self.address.startswith(SQLITE)

    @property
    def path(self) -> Path:
        """The file, if it is an SQLite one."""
        return Path(self.address.removeprefix(SQLITE))

    def resolved(self) -> Self:
        """Return the same table with an absolute address."""
        if not self.is_sqlite:
            return self
        return replace(self, address=f"{SQLITE}{self.path.resolve()}")


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table that Spark knows by name, or Parquet or CSV files that it can reach.

    >>> print(SparkTable("city.trips", master="spark://localhost:7077"))
    spark://localhost:7077#city.trips
    >>> print(SparkTable("/lake/trips"))
    spark:#/lake/trips
    """

    table: str
    """A name in Spark's catalogue, or a path or URL of files."""
    master: str | None = None
    """The cluster, such as ``spark://host:7077`` or ``local[4]``; None for Spark's own choice."""

    def __post_init__(self) -> None:
        """Raise on an invalid name, or an address that contains a password."""
        said = f"{self.table}{self.master or ''}"
        if not self.table.strip() or "#" in said or not said.isprintable():
            raise UsageError(
                "Spark needs the name of a table, or the path of its files",
                got="none" if not self.table.strip() else "an invalid name",
                allowed="a name or a path, printable and without a '#'",
                hint="in one string: spark://HOST:7077#TABLE, or spark:#TABLE",
            )
        if any(re.search("://[^/]*:[^/]*@", words or "") for words in (self.table, self.master)):
            raise UsageError(
                "the address contains a password",
                allowed="spark://HOST:7077, and a path such as s3a://BUCKET/TABLE",
                hint="put the password into Spark's own settings: "
                "the address is stored in the ledger, for resuming",
            )

    def __str__(self) -> str:
        """Return the string that `source` parses."""
        master = self.master or ""
        return f"{master if master.startswith(CLUSTER) else SPARK + master}#{self.table}"

    @property
    def is_files(self) -> bool:
        """Whether it is a path, not a name."""
        return "/" in self.table or self.table.lower().endswith((*PARQUET, *CSV))

    @property
    def is_csv(self) -> bool:
        """Whether it is a path of CSV files, by its suffix; all others are Parquet."""
        return self.table.lower().endswith(CSV)


def source(text: str) -> Path | Database | SparkTable:
    """Parse where a table is: a database or Spark, as ``ADDRESS#TABLE``, or else a path.

    >>> source("sqlite:city.db#trips")
    Database(address='sqlite:city.db', table='trips')
    >>> source("trips.csv").name
    'trips.csv'
    """
    address, mark, table = text.rpartition("#")
    if text.startswith(SPARK):
        master = address if text.startswith(CLUSTER) else address.removeprefix(SPARK)
        return SparkTable(table if mark else "", master or None)
    if not text.startswith((SQLITE, *POSTGRESQL)):
        return Path(text)
    return Database(address, table) if mark else Database(text, "")


def is_same(one: object, other: object) -> bool:
    """Whether two tables are the same: the same file by whatever path, or the same object."""
    one, other = (source(table) if isinstance(table, str) else table for table in (one, other))
    if isinstance(one, Path) and isinstance(other, Path):
        with suppress(OSError, ValueError):
            return one.samefile(other)
        return os.path.realpath(one) == os.path.realpath(other)
    if isinstance(one, (Database, SparkTable)):
        # A data frame would compare itself with it, cell by cell.
        return type(one) is type(other) and one == other
    return one is other


def lasting(data: str | Path | Database | SparkTable) -> str:
    """Return the string for a table, with an absolute path."""
    found = source(data) if isinstance(data, str) else data
    if isinstance(found, Path):
        return str(found.resolve())
    return str(found.resolved() if isinstance(found, Database) else found)


def _holds_password(address: str) -> bool:
    # Everything before an @, so that no odd character in a password hides it.
    before, at, _ = address.partition("://")[2].rpartition("@")
    found = _SERVER.fullmatch(address)
    given = parse_qsl(found["given"] or "", keep_blank_values=True) if found else []
    return bool(at and ":" in before) or any(name.lower() in _SECRETS for name, _ in given)
