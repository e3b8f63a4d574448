"""Files that DuckDB is to read: CSV with what its header declares, and Parquet, nothing guessed."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from dataclasses import dataclass
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
NOT_UTF8 = "text that is not UTF-8"
EMPTY = "no text at its beginning"
NAMELESS = "a column without a name"
BROKEN = "a name with a line break in it"
TWICE = "a name that occurs twice, upper and lower case taken as the same"
_HINTS = {
    NOT_UTF8: 'declare [csv] with encoding = "latin-1" in the schema if it is that, or convert the '
    "file to UTF-8",
    BROKEN: "give the column a name of one line",
    NAMELESS: "every column needs a name of its own; pandas writes an index without one unless it "
    "is told index=False, and a delimiter at the end of the line begins another column",
    **dict.fromkeys((EMPTY, TWICE), "every column needs a name of its own"),
}
CSV_TABLE = """[csv] with delimiter = ";", or whatever it is; for discover, --delimiter ";\""""


def malformed() -> MalformedFileError:
    """Return the error for a malformed table, without any of its contents."""
    return MalformedFileError(
        "the table is malformed",
        allowed="UTF-8 CSV (or in the declared encoding) with the declared delimiter and quote, "
        f"every row as long as the header and of at most {LONGEST_LINE >> 20} MiB, or Parquet",
        hint="check the file with another tool; no line or value is named here",
    )


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is written, as it is declared."""

    delimiter: str
    quote_mark: str
    encoding: str


def scan(path: Path, form: CsvForm) -> str:
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
    names = _header(path, form)
    columns = ", ".join(f"{literal(n)}: 'VARCHAR'" for n in names)
    mark = literal(form.quote_mark)
    packed = "gzip" if lower.endswith(".gz") else "none"
    if packed == "gzip":
        _unpack(path)
    return (
        f"read_csv({options}, auto_detect = false, header = true, "
        f"delim = {literal(form.delimiter)}, quote = {mark}, escape = {mark}, "
        "strict_mode = true, null_padding = false, "
        f"encoding = {literal(form.encoding)}, "
        f"compression = '{packed}', max_line_size = {LONGEST_LINE}, "
        f"buffer_size = {4 * LONGEST_LINE}, columns = {{{columns}}})"
    )


def _header(path: Path, form: CsvForm) -> list[str]:
    """Read the first line of a CSV file, and nothing else."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    names: list[str] = []
    unread: str | None = None
    try:
        # Bytes that are not UTF-8 become surrogates: those of later lines are not checked here.
        code = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
        with opener(path, "rt", encoding=code, errors="surrogateescape", newline="") as lines:
            read = csv.reader(lines, delimiter=form.delimiter, quotechar=form.quote_mark)
            names = next(read, [])
    except (gzip.BadGzipFile, EOFError, zlib.error, csv.Error):
        names = []
    except OSError as error:
        unread = error.strerror
    if unread is not None:
        raise MissingFileError(f"{path} cannot be read", got=unread)
    wrong = _wrong(names, form.delimiter)
    if wrong is not None:
        raise MalformedFileError(
            f"{path} does not begin with a line of distinct column names",
            got=wrong,
            allowed="UTF-8 text with a header line",
            hint=_HINTS.get(wrong) or f"declare the delimiter in the schema: {CSV_TABLE}",
        )
    return names


def _wrong(names: list[str], delimiter: str) -> str | None:
    """Say what is wrong with a header, or None.

    No name is quoted: a file without a header has values where the names should be.
    """
    if not names:
        return EMPTY
    others = [mark for mark in DELIMITERS if mark != delimiter and mark in names[0]]
    if len(names) == 1 and others:
        return f"no {delimiter!r} in the first line; {LOOKS_LIKE} {others[0]!r}"
    rules = (
        (NOT_UTF8, not all(map(_is_utf8, names))),
        (NAMELESS, not all(name.strip() and "\x00" not in name for name in names)),
        # DuckDB takes the first line break of a file for that of all rows, and would find none.
        (BROKEN, any(mark in name for name in names for mark in "\r\n")),
        (TWICE, len({name.lower() for name in names}) < len(names)),
    )
    return next((what for what, broken in rules if broken), None)


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
