"""Files that DuckDB is to read: CSV with what its header declares, and Parquet, nothing guessed."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from typing import TYPE_CHECKING

from understudy.engine.duckdb.folder import unglobbed
from understudy.engine.sources import CSV, PARQUET
from understudy.errors import MalformedFileError, MissingFileError
from understudy.schema.encoding.dialect import literal

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_LINE = 2**24
"""The most bytes of a CSV line.  With DuckDB's own 2 MB, one long cell would fail a table."""

DELIMITERS = (";", "\t", "|", ",")
"""What separates the cells of files that people have."""
LOOKS_LIKE = "the delimiter looks like"
CSV_TABLE = """[csv] with delimiter = ";", or whatever it is"""


def malformed() -> MalformedFileError:
    """Return the error for a malformed table, without any of its contents."""
    return MalformedFileError(
        "the table is malformed",
        allowed="UTF-8 CSV with the declared delimiter and quote, every row as long as the "
        f"header and of at most {LONGEST_LINE >> 20} MiB, or Parquet",
        hint="check the file with another tool; no line or value is named here",
    )


def scan(path: Path, delimiter: str, quote_mark: str) -> str:
    """Compose the SQL that reads a file, after checking its beginning."""
    lower = path.name.lower()
    if not lower.endswith((*CSV, *PARQUET)):
        raise MissingFileError(
            f"{path} is not a supported file type", allowed=", ".join((*CSV, *PARQUET))
        )
    if not os.path.isfile(path):  # noqa: PTH113  Path.is_file fails for a name that is too long
        raise MissingFileError(f"there is no file {path}")
    # The folders' names are not part of the rows, even if one is called id=5.
    options = f"{literal(unglobbed(str(path)))}, hive_partitioning = false"
    if lower.endswith(PARQUET):
        return f"read_parquet({options})"
    names = _header(path, delimiter, quote_mark)
    columns = ", ".join(f"{literal(n)}: 'VARCHAR'" for n in names)
    mark = literal(quote_mark)
    packed = "gzip" if lower.endswith(".gz") else "none"
    if packed == "gzip":
        _unpack(path)
    return (
        f"read_csv({options}, auto_detect = false, header = true, delim = {literal(delimiter)}, "
        f"quote = {mark}, escape = {mark}, strict_mode = true, null_padding = false, "
        f"compression = '{packed}', max_line_size = {LONGEST_LINE}, "
        f"buffer_size = {4 * LONGEST_LINE}, columns = {{{columns}}})"
    )


def _header(path: Path, delimiter: str, quote_mark: str) -> list[str]:
    """Read the first line of a CSV file, and nothing else."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    names: list[str] = []
    unread: str | None = None
    try:
        # Bytes that are not UTF-8 become surrogates: those of later lines are not checked here.
        with opener(
            path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""
        ) as lines:
            names = next(csv.reader(lines, delimiter=delimiter, quotechar=quote_mark), [])
    except (gzip.BadGzipFile, EOFError, zlib.error, csv.Error):
        names = []
    except OSError as error:
        unread = error.strerror
    if unread is not None:
        raise MissingFileError(f"{path} cannot be read", got=unread)
    wrong = _wrong(names, delimiter)
    if wrong is not None:
        raise MalformedFileError(
            f"{path} does not begin with a line of distinct column names",
            got=wrong,
            allowed="UTF-8 text with a header line",
            hint=f"declare the delimiter in the schema: {CSV_TABLE}"
            if LOOKS_LIKE in wrong
            else "every column needs a name of its own",
        )
    return names


def _wrong(names: list[str], delimiter: str) -> str | None:
    """Say what is wrong with a header, or None.

    No name is quoted: a file without a header has values where the names should be.
    """
    if not names:
        return "no text at its beginning"
    others = [mark for mark in DELIMITERS if mark != delimiter and mark in names[0]]
    if len(names) == 1 and others:
        return f"no {delimiter!r} in the first line; {LOOKS_LIKE} {others[0]!r}"
    if not all(_is_utf8(name) for name in names):
        return "text that is not UTF-8"
    if not all(name.strip() and "\x00" not in name for name in names):
        return "a column without a name"
    if len({name.lower() for name in names}) < len(names):
        return "a name that occurs twice, upper and lower case taken as the same"
    return None


def _unpack(path: Path) -> None:
    """Read a compressed file to its end: DuckDB takes a truncated one for a short one."""
    torn = False
    try:
        with gzip.open(path) as file:
            while file.read(2**22):
                pass
    except (gzip.BadGzipFile, EOFError, zlib.error, OSError):
        torn = True
    if torn:
        raise malformed()


def _is_utf8(text: str) -> bool:
    return text.encode("utf-8", "ignore").decode() == text
