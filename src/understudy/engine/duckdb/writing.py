"""Files of more rows than are held: batches are written one by one, and put together on disk."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.engine.duckdb.folder import unglobbed
from understudy.schema.encoding.dialect import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from understudy.engine.duckdb import DuckDB
    from understudy.schema import Array


def write_batches(
    engine: DuckDB, batches: Iterable[Mapping[str, Array]], path: Path, *, types: Mapping[str, str]
) -> None:
    """Write batches of public rows as one Parquet or CSV file, by its suffix.

    They are stored beside the file until it is complete, where there must be space for it anyway.
    """
    with tempfile.TemporaryDirectory(prefix=".parts.", dir=path.parent) as folder:
        parts: list[Path] = []
        for i, batch in enumerate(batches):
            part = Path(folder) / f"{i}{path.suffix}"
            engine.write(batch, part, types=types, header=i == 0)
            if path.suffix == ".csv":
                append(part, path)
            else:
                parts.append(part)
        if len(parts) == 1:
            parts[0].rename(path)
        elif parts:
            # Several threads would keep rows of later parts in memory, ever more of them.
            engine.run("SET threads = 1")
            listed = ", ".join(literal(unglobbed(str(part))) for part in parts)
            engine.run(
                f"COPY (SELECT * FROM read_parquet([{listed}], hive_partitioning = false)) "
                f"TO {literal(str(path))} (FORMAT parquet)"
            )
            engine.run("RESET threads")


def append(part: Path, whole: Path) -> None:
    """Move the bytes of a file to the end of another."""
    with part.open("rb") as rows, whole.open("ab") as file:
        shutil.copyfileobj(rows, file, 2**20)
    part.unlink()
