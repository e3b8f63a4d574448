"""The chain written out, slowly: it judges the journal's own, and forges ledgers with it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD, NEW = int.from_bytes(b"USL1"), int.from_bytes(b"USL2")
COLUMNS = "number, kind, run, ordinal, body, payload, chain"
TRIGGERS = """
CREATE TRIGGER no_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""


def hmac_sha256(key: bytes, text: bytes) -> bytes:
    """Compute HMAC-SHA256 as RFC 2104 defines it."""
    block = (hashlib.sha256(key).digest() if len(key) > 64 else key).ljust(64, b"\x00")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in block) + text).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in block) + inner).digest()


def key_of(first: str) -> bytes:
    """Derive a chain's key from the body of its first entry."""
    return hmac_sha256(first.encode(), b"understudy ledger chain")


def link(key: bytes | None, before: str, row: tuple[Any, ...]) -> str:
    """Hash an entry and the hash before it, with a key or without."""
    *entry, payload, _ = row
    text = json.dumps([before, *entry]).encode() + b"\x00" + payload
    return (hashlib.sha256(text).digest() if key is None else hmac_sha256(key, text)).hex()


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    """Read every entry as it is in the file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {COLUMNS} FROM entries ORDER BY number").fetchall()


def mark_of(path: Path) -> int:
    """Read the mark of a file."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA application_id").fetchone()[0])


def forge(
    path: Path,
    change: Callable[[list[tuple[Any, ...]]], list[tuple[Any, ...]]] = lambda rows: rows,
    *,
    mark: int = NEW,
) -> None:
    """Rewrite a ledger as somebody can who may write the file: changed, and chained anew."""
    rows, chain = change(rows_of(path)), ""
    key = key_of(rows[0][4]) if mark == NEW else None
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript("DROP TRIGGER no_update; DROP TRIGGER no_delete;")
        connection.execute("DELETE FROM entries")
        for number, (_, *rest) in enumerate(rows, 1):
            chain = link(key, chain, (number, *rest))
            connection.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *rest[:-1], chain)
            )
        connection.execute("UPDATE sqlite_sequence SET seq = ?", (len(rows),))
        connection.execute(f"PRAGMA application_id = {mark}")
        connection.executescript(TRIGGERS)
