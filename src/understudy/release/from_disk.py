"""A saved release: its rows are read batch by batch, or all at once."""

from __future__ import annotations

import json
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.engine import DuckDB
from understudy.errors import MalformedFileError, MissingFileError
from understudy.public import in_parts
from understudy.release.files import checksum
from understudy.schema.encoding.dialect import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from understudy.schema import Array

MANIFEST = "manifest.json"


class Stored:
    """The rows of a release's file."""

    def __init__(self, path: Path, rows: int, *, types: Mapping[str, str]) -> None:
        """Read nothing yet."""
        self.sizes = in_parts(rows)
        """The rows of each batch."""
        self._path, self._types = path, types

    @cached_property
    def columns(self) -> dict[str, Array]:
        """All rows, column by column."""
        parts = list(self)
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def __iter__(self) -> Iterator[dict[str, Array]]:
        """Yield the rows a batch at a time."""
        with closing(DuckDB()) as engine:
            found = engine.attach(self._path, name="source", delimiter=",", quote_mark='"')
            listed = ", ".join(
                f"CAST({quote(name)} AS {self._types.get(name, 'BIGINT')}) AS {quote(name)}"
                for name in found
            )
            first = 0
            for size in self.sizes:
                yield engine.fetch(f"SELECT {listed} FROM source LIMIT {size} OFFSET {first}")
                first += size


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read a release's manifest, and check that no file has changed."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files, rows = dict(manifest["files"]), int(manifest["rows"])
    except (OSError, ValueError):
        raise MissingFileError(
            f"{folder} is not a release", got=f"no {MANIFEST} in it", hint="name a release's folder"
        ) from None
    except (LookupError, TypeError):
        raise MalformedFileError(f"{folder / MANIFEST} is not an Understudy manifest") from None
    for name, facts in files.items():
        path = folder / Path(name).name
        if not path.is_file():
            raise MissingFileError(
                f"{path} is missing", hint="copy the whole release's folder again"
            )
        if checksum(path) != facts:
            raise MalformedFileError(
                f"{path} has changed since the release was saved",
                hint="copy the whole release's folder again",
            )
    return {**manifest, "rows": rows}
