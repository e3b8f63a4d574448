"""The journal: an append-only SQLite file whose entries are chained by hash.

Entries are never changed: triggers refuse it, every entry carries the SHA-256 of itself
and the entry before, and SQLite's own sequence counter tells when the last ones were cut
off.  Each write is one IMMEDIATE transaction, durable before it returns
(``synchronous = EXTRA``: FULL, and the folder's entry for the journal file too).
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
_APPLICATION = 0x55534C31  # "USL1": a file of another kind is refused by this mark
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


def _link(before: str, entry: tuple[int, str, int | None, int | None, str], payload: bytes) -> str:
    """Hash an entry together with the hash of the one before."""
    head = json.dumps([before, *entry])
    return hashlib.sha256(head.encode() + b"\x00" + payload).hexdigest()


class Journal:
    """An open journal file."""

    def __init__(self, path: Path, *, create: bool) -> None:
        """Open a journal, or make a new one where there is none."""
        self.path = path
        self._known: list[Entry] = []
        if create:
            self._claim()
        elif not path.is_file():
            raise MissingFileError(
                f"there is no ledger {path}", hint="'understudy ledger FILE --create' makes one"
            )
        self._connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
        with self._guard():
            self._connection.execute("PRAGMA synchronous = EXTRA")
            self._connection.execute("PRAGMA trusted_schema = OFF")
            if create:
                self._connection.executescript(
                    f"BEGIN IMMEDIATE; PRAGMA application_id = {_APPLICATION}; {_TABLES} COMMIT;"
                )
            elif self._connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                self._connection.close()
                raise LedgerDamagedError(f"{path} is not a ledger")

    def _claim(self) -> None:
        failed: UnderstudyError | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            failed = OutputExistsError(f"there is a ledger {self.path} already")
        except OSError as error:
            failed = StorageError(f"cannot make the ledger {self.path}", got=error.strerror)
        if failed is not None:
            raise failed

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn SQLite's troubles into ours."""
        try:
            yield
        except sqlite3.OperationalError as error:
            text = str(error)
            if "locked" in text or "busy" in text:
                raise LedgerLockedError(
                    f"the ledger {self.path} is locked by another process",
                    hint="wait until it is done, and try again",
                ) from None
            raise StorageError(f"cannot write the ledger {self.path}", got=text) from None
        except sqlite3.DatabaseError as error:
            raise LedgerDamagedError(
                f"the ledger {self.path} is damaged", got=str(error), hint="restore a backup"
            ) from None

    @contextmanager
    def transaction(self) -> Iterator[list[Entry]]:
        """Hold the journal alone: read and check all of it, append, commit to disk."""
        with self._guard():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._read()
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def append(
        self,
        kind: str,
        body: dict[str, Any],
        *,
        run: int | None = None,
        ordinal: int | None = None,
        payload: bytes = b"",
    ) -> int:
        """Append an entry inside a transaction, and give its number."""
        last = self._connection.execute(
            "SELECT number, chain FROM entries ORDER BY number DESC LIMIT 1"
        ).fetchone()
        number, before = (last[0] + 1, last[1]) if last else (1, "")
        text = json.dumps(body, sort_keys=True)
        chain = _link(before, (number, kind, run, ordinal, text), payload)
        self._connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, kind, run, ordinal, text, payload, chain),
        )
        return number

    def entries(self) -> list[Entry]:
        """Read and check the whole journal."""
        with self._guard():
            return self._read()

    def _read(self) -> list[Entry]:
        """Check what is new since the last reading, and that it follows from what was known."""
        known = self._known
        if known:
            last = self._one("SELECT chain FROM entries WHERE number = ?", len(known))
            if last != known[-1].chain:
                raise self._changed(f"entry {len(known)} is not what it was")
        rows = self._connection.execute(
            "SELECT * FROM entries WHERE number > ? ORDER BY number", (len(known),)
        ).fetchall()
        for number, kind, run, ordinal, body, payload, chain in rows:
            before = known[-1].chain if known else ""
            link = _link(before, (number, kind, run, ordinal, body), payload)
            if number != len(known) + 1 or chain != link:
                raise self._changed(f"entry {number} does not follow from the one before")
            known.append(Entry(number, kind, run, ordinal, json.loads(body), payload, chain))
        if (self._one("SELECT max(seq) FROM sqlite_sequence") or 0) != len(known):
            raise self._changed("entries are missing at its end")
        return list(known)

    def _one(self, sql: str, *arguments: object) -> object:
        row = self._connection.execute(sql, arguments).fetchone()
        return row[0] if row else None

    def _changed(self, how: str) -> LedgerDamagedError:
        self._known = []
        return LedgerDamagedError(
            f"the ledger {self.path} was changed by another hand",
            got=how,
            hint="restore a backup; nothing can be spent on this one",
        )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
