"""A release: synthetic rows, the noisy measurements they rest on, and a manifest.

Everything here is public.  A release is written as one folder that appears whole or not at
all, with the manifest, which holds every other file's checksum, written last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.engine import DuckDB
from understudy.engine.writing import write_batches
from understudy.errors import MissingPackageError, UsageError
from understudy.release.files import check_target, checksum, new_folder
from understudy.schema import Categorical, Numeric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.door import Measurement
    from understudy.public import Progress
    from understudy.release.decoded import Decoded
    from understudy.schema import Array, Modelled, Schema, Split

Format = Literal["parquet", "csv"]
FORMATS: tuple[Format, ...] = ("parquet", "csv")


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A synthetic table that anyone may see."""

    schema: Schema
    decoded: Decoded
    """The synthetic rows, batch by batch."""
    measurements: tuple[Measurement, ...]
    manifest: dict[str, Any]

    def __len__(self) -> int:
        """Count the synthetic rows."""
        return sum(self.decoded.sizes)

    @property
    def columns(self) -> dict[str, Array]:
        """The synthetic rows, column by column, the person's id first where there is one.

        From the first time they are asked for, all rows are held.
        """
        return self.decoded.columns

    @property
    def rows(self) -> Any:  # noqa: ANN401  a pandas DataFrame, which is not required
        """The synthetic rows as a pandas DataFrame."""
        try:
            import pandas  # noqa: PLC0415, ICN001
        except ImportError:
            raise MissingPackageError(
                "release.rows needs pandas", hint="pip install pandas, or use release.columns"
            ) from None
        return pandas.DataFrame(self.columns)

    def histogram(self, *columns: str) -> Array:
        """Count the rows of every cell of some columns, or of all, by code."""
        names = columns or tuple(self.schema.domain)
        shape = tuple(self.schema.domain[name] for name in names)
        counts = np.zeros(int(np.prod(shape)), dtype=np.int64)
        for batch in self.decoded:
            codes, _ = self.schema.released().encode(batch)
            cells = np.ravel_multi_index([codes[name] for name in names], shape)
            counts += np.bincount(cells, minlength=len(counts))
        return counts.reshape(shape)

    def save(
        self,
        folder: str | Path,
        *,
        format: Format = "parquet",  # noqa: A002
        progress: Progress = lambda _stage, _done: None,
    ) -> Path:
        """Write the release as a new folder; nothing is ever overwritten.

        A batch of rows is held at a time, unless all are held already.
        """
        target = Path(folder)
        check_target(target)
        if format not in FORMATS:
            raise UsageError("unknown format", got=format, allowed=", ".join(FORMATS))
        with new_folder(target) as partial:
            self._write(partial, format, progress)
        return target

    def _write(self, folder: Path, form: Format, progress: Progress) -> None:
        engine = DuckDB()
        try:
            rows = folder / f"rows.{form}"
            write_batches(engine, self._told(progress), rows, types=sql_types(self.schema))
            engine.write(self._noisy_table(), folder / f"measurements.{form}", types={})
        finally:
            engine.close()
        (folder / "schema.toml").write_text(self.schema.released().to_toml(), encoding="utf-8")
        files = {p.name: checksum(p) for p in sorted(folder.iterdir())}
        manifest = json.dumps({**self.manifest, "files": files}, indent=2, ensure_ascii=False)
        (folder / "manifest.json").write_text(manifest + "\n", encoding="utf-8")

    def _told(self, progress: Progress) -> Iterator[dict[str, Array]]:
        """Go through the rows, and tell how many of them are done."""
        done = 0
        for size, batch in zip(self.decoded.sizes, self.decoded, strict=True):
            progress("writing the release", done / max(len(self), 1))
            yield batch
            done += size
        # Batches are put together then, which cannot be told how far it is.
        progress("writing the release", 1)

    def _noisy_table(self) -> dict[str, Array]:
        """Lay the measurements out as one long table, a row a noisy number."""
        error = np.sqrt(2.0) if self.manifest["guarantee"]["delta"] == 0 else 1.0
        parts: dict[str, list[Array]] = {}
        for number, measured in enumerate(self.measurements):
            size = len(measured.values)
            columns = {
                "measurement": np.full(size, number),
                "clique": np.full(size, " × ".join(measured.clique), dtype=object),
                "counted": np.full(size, measured.counted, dtype=object),
                "place": np.arange(size),
                "label": self._labels(measured),
                "value": measured.values,
                "standard_error": np.full(size, measured.scale * error),
            }
            for name, column in columns.items():
                parts.setdefault(name, []).append(column)
        return {name: np.concatenate(pieces) for name, pieces in parts.items()}

    def _labels(self, measured: Measurement) -> Array:
        if measured.rows is not None and len(measured.rows.cells) > measured.rows.count:
            sizes = np.diff(measured.rows.starts)
            return np.array([f"(sum of {n} cells)" for n in sizes], dtype=object)
        labels = np.array([""], dtype=object)
        for i, name in enumerate(measured.clique):
            named = self.schema[name].labels() if measured.labels is None else measured.labels[i]
            own = np.array(named, dtype=object)
            glue = " × " if labels[0] else ""
            labels = (labels[:, None] + glue + own[None, :]).reshape(-1)
        return labels if measured.rows is None else labels[measured.rows.cells]


def sql_types(schema: Schema) -> dict[str, str]:
    """Give the types of the modelled columns on disk."""
    return {c.name: _sql_type(c) for c in schema.released_columns}


def _sql_type(column: Modelled | Split) -> str:
    """Give the type a column has on disk, whatever values happen to be missing."""
    if isinstance(column, Numeric):
        return "BIGINT" if column.whole else "DOUBLE"
    if isinstance(column, Categorical):
        kinds = {type(v) for v in (*column.values, column.other) if v is not None}
        for kind, name in ((bool, "BOOLEAN"), (int, "BIGINT")):
            if kinds == {kind}:
                return name
        return "DOUBLE" if kinds <= {int, float} else "VARCHAR"
    return "BIGINT"
