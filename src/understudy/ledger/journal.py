"""The journal: an append-only SQLite file whose entries are chained by a keyed hash.

Entries are never changed: triggers refuse it, every entry carries a hash of itself and the
entry before, and SQLite's own sequence counter tells when the last ones were cut off.  Each
write is one IMMEDIATE transaction, durable before it returns (``synchronous = EXTRA``: FULL,
and the folder's entry for the journal file too).

The hash is HMAC-SHA256.  Its key is derived from the first entry, which holds the ledger's
random key.  So a hash that is published commits to every entry up to its own, and whoever does
not have the file can neither test a guess of what is in it nor make another with that hash.
Whoever has the file has the key.  Journals of the mark USL1 are older: their hash is plain
SHA-256, and stays so.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from understudy.errors import (
    LedgerDamagedError,
    LedgerLockedError,
    MissingFileError,
    OutputExistsError,
    StorageError,
    UnderstudyError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WAIT_SECONDS = 10.0
BACKUP = "what was spent after a backup was made still counts against the total"
# Any other file is rejected by its mark.
_KEYED = 0x55534C32  # "USL2"
_UNKEYED = 0x55534C31  # "USL1": the chain has no key
_TABLES = """
CREATE TABLE entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    run INTEGER,
    ordinal INTEGER,
    body TEXT NOT NULL,
    payload BLOB NOT NULL,
    chain TEXT NOT NULL
);
CREATE UNIQUE INDEX one_answer ON entries (run, ordinal) WHERE kind = 'answer';
CREATE UNIQUE INDEX one_close ON entries (run) WHERE kind = 'close';
CREATE TRIGGER no_update BEFORE UPDATE ON entries BEGIN
    SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON entries BEGIN
    SELECT RAISE(ABORT, 'a ledger is append-only'); END;
"""
_COLUMNS = "number, kind, run, ordinal, body, payload, chain"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal."""

    number: int
    kind: str
    run: int | None
    ordinal: int | None
    body: dict[str, Any]
    payload: bytes
    chain: str


def _chain_key(first: object) -> bytes:
    """Derive the key of a chain from the body of its first entry."""
    return hmac.digest(str(first).encode(), b"understudy ledger chain", "sha256")


def _link(
    key: bytes | None,
    before: str,
    entry: tuple[int, str, int | None, int | None, str],
    payload: bytes,
) -> str:
    """Hash an entry together with the hash of the one before; an old chain has no key."""
    text = json.dumps([before, *entry]).encode() + b"\x00" + payload
    digest = hashlib.sha256(text).digest() if key is None else hmac.digest(key, text, "sha256")
    return digest.hex()


def _checked(key: bytes | None, row: tuple[Any, ...], known: list[Entry]) -> Entry | None:
    """Return a row as the entry that follows the known ones, or None if it does not."""
    number, kind, run, ordinal, body, payload, chain = row
    before = known[-1].chain if known else ""
    try:
        link = _link(key, before, (number, kind, run, ordinal, body), payload)
    except TypeError:  # text where bytes should be, or the other way round
        return None
    if number != len(known) + 1 or chain != link:
        return None
    return Entry(number, kind, run, ordinal, json.loads(body), payload, chain)


def _connect(path: Path) -> sqlite3.Connection:
    """Open a file in autocommit mode: each statement is a transaction unless one is begun."""
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def _append(
    connection: sqlite3.Connection,
    key: bytes | None,
    kind: str,
    body: dict[str, Any],
    *,
    run: int | None,
    ordinal: int | None,
    payload: bytes,
) -> Entry:
    last = connection.execute(
        "SELECT number, chain FROM entries ORDER BY number DESC LIMIT 1"
    ).fetchone()
    number, before = (last[0] + 1, last[1]) if last else (1, "")
    text = json.dumps(body)  # as it is: the order of a schema's columns matters
    chain = _link(key, before, (number, kind, run, ordinal, text), payload)
    connection.execute(
        f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (number, kind, run, ordinal, text, payload, chain),
    )
    return Entry(number, kind, run, ordinal, json.loads(text), payload, chain)


def _trouble(path: Path, error: Exception) -> UnderstudyError:
    """Classify an SQLite failure; one without a code is text that cannot be decoded."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerLockedError(
            f"the ledger {path} is locked by another process",
            hint="wait until it is done, and try again",
        )
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return LedgerDamagedError(
            f"the ledger {path} was moved, deleted or replaced while it was open",
            hint="put it back, and resume the run",
        )
    # SQLITE_ERROR is about a statement: the tables it names are not those of a ledger.
    if isinstance(error, sqlite3.OperationalError) and code not in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_ERROR,
    ):
        return StorageError(f"cannot use the ledger {path}", got=str(error))
    return LedgerDamagedError(
        f"{path} is not a ledger"
        if code == sqlite3.SQLITE_NOTADB
        else f"the ledger {path} is damaged",
        got=str(error),
        hint=f"name the ledger's own file; if this was it, it was overwritten: {BACKUP}"
        if code == sqlite3.SQLITE_NOTADB
        else BACKUP,
    )


@contextmanager
def _guard(path: Path) -> Iterator[None]:
    """Translate SQLite's exceptions into ours."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise _trouble(path, error) from None


def _fill(path: Path, kind: str, body: dict[str, Any]) -> None:
    """Create the tables and the first entry in an empty file, durably."""
    connection = _connect(path)
    try:
        connection.executescript(f"BEGIN IMMEDIATE; PRAGMA application_id = {_KEYED}; {_TABLES}")
        key = _chain_key(json.dumps(body))
        _append(connection, key, kind, body, run=None, ordinal=None, payload=b"")
        connection.execute("COMMIT")
    finally:
        connection.close()


def _publish(partial: Path, path: Path) -> None:
    """Rename a finished file to its final name, unless that is taken."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links: claim the name, then move the file onto it.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        partial.replace(path)


class Journal:
    """An open journal file."""

    def __init__(self, path: Path) -> None:
        """Open a journal."""
        if not os.path.isfile(path):  # noqa: PTH113  it raises for no name
            raise MissingFileError(
                f"there is no ledger {path}", hint="'understudy ledger FILE --create' creates one"
            )
        self.path = path
        self._known: list[Entry] = []
        self._fresh: list[Entry] = []
        self._version: object = None
        with _guard(path):
            self._connection = _connect(path)
        try:
            self._key = self._found_key()
        except BaseException:
            self.close()
            raise

    def _found_key(self) -> bytes | None:
        """Find the key of the chain by the file's mark; None for an older file, which has none."""
        with _guard(self.path):
            mark = self._one("PRAGMA application_id")
            if mark not in (_KEYED, _UNKEYED):
                raise LedgerDamagedError(f"{self.path} is not a ledger")
            first = self._one("SELECT body FROM entries WHERE number = 1")
            return _chain_key(first) if mark == _KEYED else None

    @property
    def keyed(self) -> bool:
        """Whether the chain has a key."""
        return self._key is not None

    @classmethod
    def create(cls, path: Path, kind: str, body: dict[str, Any]) -> Self:
        """Create a journal with its first entry, and open it.

        It is written under a temporary name first, so that it exists whole or not at all.
        """
        failed: UnderstudyError | None = None
        partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            _make_folder(path.parent)
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with _guard(path):
                _fill(partial, kind, body)
            _publish(partial, path)
        except FileExistsError:
            failed = OutputExistsError(f"the ledger {path} already exists")
        except OSError as error:
            failed = StorageError(f"cannot create the ledger {path}", got=error.strerror)
        finally:
            _remove(partial)
        if failed is not None:
            raise failed
        return cls(path)

    @contextmanager
    def _begun(self, how: str) -> Iterator[list[Entry]]:
        with _guard(self.path):
            self._fresh = []
            try:
                self._connection.execute(how)
                yield self._read()
                self._connection.execute("COMMIT")
                self._known = [*self._known, *self._fresh]
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                # An answer that was not stored must not be kept here either.
                self._fresh = []

    @contextmanager
    def transaction(self) -> Iterator[list[Entry]]:
        """Lock the journal: read and check all of it, append, commit to disk."""
        with self._begun("BEGIN IMMEDIATE") as entries:
            yield entries

    def append(
        self,
        kind: str,
        body: dict[str, Any],
        *,
        run: int | None = None,
        ordinal: int | None = None,
        payload: bytes = b"",
    ) -> int:
        """Append an entry inside a transaction, and return its number."""
        entry = _append(
            self._connection, self._key, kind, body, run=run, ordinal=ordinal, payload=payload
        )
        self._fresh.append(entry)
        return entry.number

    def entries(self) -> list[Entry]:
        """Read and check a consistent snapshot of the whole journal."""
        with self._begun("BEGIN") as entries:
            return entries

    def _read(self) -> list[Entry]:
        """Check the entries added since the last read, and that they follow the known ones.

        If another connection has written since, everything is checked again.
        """
        version = self._one("PRAGMA data_version")
        before = self._known
        known = list(before) if version == self._version else []
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE number > ? ORDER BY number", (len(known),)
        )
        for row in rows.fetchall():
            entry = _checked(self._key, row, known)
            if entry is None:
                raise self._changed(f"entry {row[0]} breaks the hash chain")
            known.append(entry)
        if (self._one("SELECT max(seq) FROM sqlite_sequence") or 0) != len(known):
            raise self._changed("entries are missing at the end")
        if known[: len(before)] != before:
            raise self._changed("earlier entries have changed")
        self._known, self._version = known, version
        return list(known)

    def _one(self, sql: str) -> object:
        row = self._connection.execute(sql).fetchone()
        return row[0] if row else None

    def _changed(self, how: str) -> LedgerDamagedError:
        return LedgerDamagedError(
            f"the ledger {self.path} was modified outside Understudy", got=how, hint=BACKUP
        )

    def close(self) -> None:
        """Close the file, and discard what was read."""
        self._connection.close()
        self._known = []


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(error.errno, "a file exists where its folder should be") from None


def _remove(partial: Path) -> None:
    """Remove the temporary file, and SQLite's own file beside it."""
    for path in (partial, partial.with_name(f"{partial.name}-journal")):
        with suppress(OSError):  # left behind, it does no harm
            path.unlink(missing_ok=True)
