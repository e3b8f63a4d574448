"""A folder of Parquet files as one table, as Spark and Hive write it.

Files are listed here, in an order of their own, so that no name is taken for a pattern.
Folders called ``name=value`` *below* the one that was named are columns of texts; the folder's
own name and those above say nothing of the rows.  What lies below may be private: it is in no
error.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from understudy.engine.sources import PARQUET
from understudy.errors import MalformedFileError, MissingFileError
from understudy.schema.encoding.dialect import literal, quote

NULL = "__HIVE_DEFAULT_PARTITION__"
_FILE = quote("file it is of ")


@dataclass(frozen=True, slots=True)
class Folder:
    """The Parquet files of a folder, and the partition values of each."""

    path: Path
    files: list[str]
    columns: tuple[str, ...]
    """The partition columns, from the names of subfolders."""
    values: list[tuple[str | None, ...]]
    """The partition values of each file."""

    def shapes(self) -> str:
        """Compose the query that counts the distinct sets of columns of the files."""
        shape = "list_sort(list([name, duckdb_type, CAST(num_children AS VARCHAR)]))"
        return (
            f"SELECT count(DISTINCT shape) AS shapes FROM (SELECT {shape} AS shape "
            f"FROM parquet_schema({self._listed()}) WHERE column_id > 0 GROUP BY file_name)"
        )

    def check(self, shapes: int, names: list[str]) -> None:
        """Raise unless the files form one table."""
        if shapes > 1:
            raise MalformedFileError(
                f"the Parquet files in {self.path} have different columns",
                allowed="files with the same columns, of the same types",
            )
        taken = {name.lower() for name in names}
        if any(name.lower() in taken for name in self.columns):
            raise MalformedFileError(
                f"subfolders of {self.path} have the name of a column of the files",
                allowed="name=value, where name is not a column of the files",
            )

    def files_alone(self) -> str:
        """Compose the relation of the files' own columns."""
        return f"read_parquet({self._listed()}, hive_partitioning = false)"

    def relation(self) -> str:
        """Compose the relation of all columns."""
        if not self.columns:
            return self.files_alone()
        said = ", ".join(
            f"({', '.join(map(_literal, (file, *values)))})"
            for file, values in zip(self.files, self.values, strict=True)
        )
        names = ", ".join(map(quote, self.columns))
        own = f"read_parquet({self._listed()}, hive_partitioning = false, filename = {_FILE})"
        return (
            f"(SELECT * EXCLUDE ({_FILE}) FROM {own} "
            f"JOIN (VALUES {said}) AS said({_FILE}, {names}) USING ({_FILE}))"
        )

    def _listed(self) -> str:
        return f"[{', '.join(literal(unglobbed(file)) for file in self.files)}]"


def read_folder(path: Path) -> Folder:
    """Find the Parquet files of a folder and its subfolders, and parse the subfolders' names."""
    files = sorted(_files(path))
    if not files:
        raise MissingFileError(
            f"there is no Parquet file in {path}",
            allowed=" or ".join(PARQUET)
            + " files there or below; names with a leading _ or . are skipped",
        )
    said = [_said(file) for file in files]
    names = {tuple(name for name, _ in each) for each in said}
    columns = names.pop()
    if names or len({name.lower() for name in columns}) < len(columns):
        raise MalformedFileError(
            f"the Parquet files in {path} lie in subfolders with different names",
            allowed="the same levels of name=value for every file, each name only once",
        )
    root = path.absolute()
    values = [tuple(value for _, value in each) for each in said]
    return Folder(path, [str(root / file) for file in files], columns, values)


def _files(path: Path) -> list[Path]:
    found, unread = [], list[OSError]()
    for folder, below, names in os.walk(path, onerror=unread.append, followlinks=True):
        below[:] = [name for name in below if not _is_hidden(name)]
        inside = Path(folder).relative_to(path)
        found += [
            inside / name
            for name in names
            if name.lower().endswith(PARQUET) and not _is_hidden(name)
        ]
    if unread:
        # Its rows would be missing silently.
        raise MissingFileError(f"a folder in {path} cannot be read", got=unread[0].strerror)
    return found


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def _said(file: Path) -> list[tuple[str, str | None]]:
    """Parse the names and values of a file's folders."""
    parted = [part.partition("=") for part in file.parts[:-1]]
    return [
        (unquote(name), None if value == NULL else _decoded(value))
        for name, mark, value in parted
        if name and mark
    ]


def _decoded(value: str) -> str:
    # SQL has no character for %00, and no value may make it fail.
    return value if "\x00" in unquote(value) else unquote(value)


def _literal(value: str | None) -> str:
    return "CAST(NULL AS VARCHAR)" if value is None else literal(value)


def unglobbed(path: str) -> str:
    """Keep DuckDB from taking a path for a pattern, which could match other files."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)
