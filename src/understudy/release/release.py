"""A release: synthetic rows, the noisy measurements they rest on, and a manifest.

Everything here is public.  A release is written as one folder that appears whole or not at
all, with the manifest, which holds every other file's checksum, written last.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.engine import DuckDB
from understudy.errors import (
    MissingPackageError,
    OutputExistsError,
    StorageError,
    UnderstudyError,
    UsageError,
)
from understudy.schema import Categorical, Numeric

if TYPE_CHECKING:
    from collections.abc import Callable

    from understudy.door import Measurement
    from understudy.schema import Array, Modelled, Schema

Format = Literal["parquet", "csv"]
FORMATS: tuple[Format, ...] = ("parquet", "csv")


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A synthetic table that anyone may see."""

    schema: Schema
    columns: dict[str, Array]
    """The synthetic rows, column by column, the person's id first where there is one."""
    measurements: tuple[Measurement, ...]
    manifest: dict[str, Any]

    def __len__(self) -> int:
        """Count the synthetic rows."""
        return len(next(iter(self.columns.values())))

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

    def save(self, folder: str | Path, *, format: Format = "parquet") -> Path:  # noqa: A002
        """Write the release as a new folder; nothing is ever overwritten."""
        target = Path(folder)
        check_target(target)
        if format not in FORMATS:
            raise UsageError("unknown format", got=format, allowed=", ".join(FORMATS))
        return _atomically(target, lambda partial: self._write(partial, format))

    def _write(self, folder: Path, form: Format) -> None:
        engine = DuckDB()
        try:
            types = {c.name: _sql_type(c) for c in self.schema.modelled}
            engine.write(self.columns, folder / f"rows.{form}", types=types)
            engine.write(self._noisy_table(), folder / f"measurements.{form}", types={})
        finally:
            engine.close()
        (folder / "schema.toml").write_text(self.schema.released().to_toml(), encoding="utf-8")
        files = {p.name: _checksum(p) for p in sorted(folder.iterdir())}
        manifest = json.dumps({**self.manifest, "files": files}, indent=2, ensure_ascii=False)
        (folder / "manifest.json").write_text(manifest + "\n", encoding="utf-8")

    def _noisy_table(self) -> dict[str, Array]:
        """Lay the measurements out as one long table, a row a noisy number."""
        error = np.sqrt(2.0) if self.manifest["guarantee"]["delta"] == 0 else 1.0
        parts: dict[str, list[Array]] = {}
        for number, measured in enumerate(self.measurements):
            size = len(measured.values)
            columns = {
                "measurement": np.full(size, number),
                "clique": np.full(size, " × ".join(measured.clique), dtype=object),
                "place": np.arange(size),
                "label": self._labels(measured),
                "value": measured.values,
                "standard_error": np.full(size, measured.scale * error),
            }
            for name, column in columns.items():
                parts.setdefault(name, []).append(column)
        return {name: np.concatenate(pieces) for name, pieces in parts.items()}

    def _labels(self, measured: Measurement) -> Array:
        if measured.rows is not None:
            sizes = np.diff(measured.rows.starts)
            return np.array([f"(sum of {n} cells)" for n in sizes], dtype=object)
        labels = np.array([""], dtype=object)
        for name in measured.clique:
            own = np.array(self.schema[name].labels(), dtype=object)
            glue = " × " if labels[0] else ""
            labels = (labels[:, None] + glue + own[None, :]).reshape(-1)
        return labels


def _sql_type(column: Modelled) -> str:
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


def check_target(target: Path) -> None:
    """Refuse a folder that is there already or cannot be made, before anything is spent on it."""
    failed: UnderstudyError | None = None
    try:
        target.lstat()
        failed = OutputExistsError(
            f"{target} exists already", hint="name another folder; nothing is ever overwritten"
        )
    except (FileNotFoundError, NotADirectoryError):
        above = next(folder for folder in target.absolute().parents if folder.exists())
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            failed = StorageError(f"no folder can be made in {above}", hint="name another place")
    except (OSError, ValueError) as error:
        failed = _trouble(target, error)
    if failed is not None:
        raise failed


def _atomically(target: Path, write: Callable[[Path], None]) -> Path:
    """Fill a hidden folder beside the target, and rename it when all is on disk."""
    failed: UnderstudyError | None = None
    partial: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        write(partial)
        partial.chmod(0o755)
        for path in (*partial.iterdir(), partial):
            _sync(path)
        partial.rename(target)
        _sync(target.parent)
    except (OSError, ValueError) as error:
        failed = _trouble(target, error)
    finally:
        if partial is not None and partial.exists():
            shutil.rmtree(partial, ignore_errors=True)
    if failed is not None:
        raise failed
    return target


def _trouble(target: Path, error: OSError | ValueError) -> UnderstudyError:
    code = error.errno if isinstance(error, OSError) else None
    if code in {errno.EEXIST, errno.ENOTEMPTY} and target.is_dir():
        return OutputExistsError(f"{target} exists already")
    why = error.strerror if isinstance(error, OSError) else "a name that cannot be"
    return StorageError(f"cannot write {target}", got=why)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _checksum(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}
