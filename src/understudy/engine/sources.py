"""Where a table lives, in words: a path, or a table of a database.

The words are those of the command line and of a run's note in its ledger, from which the run
may be resumed.  So they never hold a password.
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
"""What a server's address looks like: letters that have another meaning are written as %40."""
_SECRETS = {"password", "sslpassword", "oauth_client_secret"}
"""Parameters of an address that nobody else may know."""


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
        """Refuse an address that is of no kind that is read here, or that holds a password."""
        if not self.address.startswith((SQLITE, *POSTGRESQL)):
            # It is not told: it may hold a password all the same.
            raise UsageError("an address of no kind that is read here", allowed=ALLOWED)
        if not self.table.strip() or "#" in self.table or not self.table.isprintable():
            raise UsageError(
                "a database needs the name of a table",
                got="none" if not self.table.strip() else "a name that cannot be read here",
                allowed="a table or schema.table, printable and without a '#'",
                hint=f"on the command line: {ALLOWED}, and then #TABLE",
            )
        if not self.is_sqlite and _holds_password(self.address):
            raise UsageError(
                "an address with a password in it",
                allowed=ALLOWED,
                hint="give the password as PGPASSWORD or in a .pgpass file: "
                "the address is kept in the ledger, for resuming",
            )
        sound = self.address != SQLITE if self.is_sqlite else _SERVER.fullmatch(self.address)
        if not sound or not self.address.isprintable():
            raise UsageError(
                "an address that cannot be read",
                allowed=ALLOWED,
                hint="letters such as @ and / within a name are written as %40 and %2F",
            )

    def __str__(self) -> str:
        """Give the words that `source` reads."""
        return f"{self.address}#{self.table}"

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite."""
        return self.address.startswith(SQLITE)

    @property
    def path(self) -> Path:
        """The file, where it is one of SQLite."""
        return Path(self.address.removeprefix(SQLITE))

    def resolved(self) -> Self:
        """Give the same table by an address that means it wherever one stands."""
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
        """Refuse what has no name, or holds a password."""
        said = f"{self.table}{self.master or ''}"
        if not self.table.strip() or "#" in said or not said.isprintable():
            raise UsageError(
                "Spark needs the name of a table, or where its files are",
                got="none" if not self.table.strip() else "a name that cannot be read here",
                allowed="a name or a path, printable and without a '#'",
                hint="on the command line: spark://HOST:7077#TABLE, or spark:#TABLE",
            )
        if any(re.search("://[^/]*:[^/]*@", words or "") for words in (self.table, self.master)):
            raise UsageError(
                "an address with a password in it",
                allowed="spark://HOST:7077, and a path such as s3a://BUCKET/TABLE",
                hint="give the password in Spark's own settings: "
                "the address is kept in the ledger, for resuming",
            )

    def __str__(self) -> str:
        """Give the words that `source` reads."""
        master = self.master or ""
        return f"{master if master.startswith(CLUSTER) else SPARK + master}#{self.table}"

    @property
    def is_files(self) -> bool:
        """Whether it is a path rather than a name."""
        return "/" in self.table or self.table.lower().endswith((*PARQUET, *CSV))

    @property
    def is_csv(self) -> bool:
        """Whether it is a path of CSV files, by its ending; all others are of Parquet."""
        return self.table.lower().endswith(CSV)


def source(text: str) -> Path | Database | SparkTable:
    """Read where a table lives: a database or Spark, as ``ADDRESS#TABLE``, or else a path.

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
    """Whether two tables are one: the same file by whatever path, or the same object."""
    one, other = (source(table) if isinstance(table, str) else table for table in (one, other))
    if isinstance(one, Path) and isinstance(other, Path):
        with suppress(OSError, ValueError):
            return one.samefile(other)
        return os.path.realpath(one) == os.path.realpath(other)
    if isinstance(one, (Database, SparkTable)):
        return one == other
    return one is other


def check_apart(private: object, public: object) -> None:
    """Refuse a public table that is the private one: what is public is used as it stands."""
    if public is not None and is_same(private, public):
        raise UsageError(
            "the private table is named as the public one",
            allowed="another table, which anyone may see",
            hint="public rows cost nothing, and values of theirs may come out as they are; leave "
            "the public table out where there is none",
        )


def lasting(data: str | Path | Database | SparkTable) -> str:
    """Give the words for a table that mean it wherever one stands."""
    found = source(data) if isinstance(data, str) else data
    if isinstance(found, Path):
        return str(found.resolve())
    return str(found.resolved() if isinstance(found, Database) else found)


def _holds_password(address: str) -> bool:
    # Whatever stands before an @, so that no odd letter in a password hides it.
    before, at, _ = address.partition("://")[2].rpartition("@")
    found = _SERVER.fullmatch(address)
    given = parse_qsl(found["given"] or "", keep_blank_values=True) if found else []
    return bool(at and ":" in before) or any(name.lower() in _SECRETS for name, _ in given)
