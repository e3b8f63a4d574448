"""Containers: the ways in which a program may hold a table.

A column comes as a list of Python values, None where one is missing.  Each container gives it the
type that an ordinary program would: a type of its own where all values are of one kind, and
objects or texts where they are not.  So one odd cell more can change the type of a whole column,
which must not change how any other cell is read.

Left out is what a library does to other cells before anyone else sees them: a float32 that
becomes a float64 is 0.699999988 and no longer 0.7.  Such columns are built from short floats.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

Columns = dict[str, list[Any]]
Holding = Callable[[Columns, "Path"], Any]
"""Makes a table from columns; the path is that of a file to write, without its suffix."""
_NUMPY: dict[type | None, str] = {
    datetime: "datetime64[us]",
    timedelta: "timedelta64[us]",
    np.float32: "float32",
}
"""Types that NumPy does not infer, or that pandas infers as longer ones."""
_NULLABLE: dict[type | None, str] = {
    bool: "boolean",
    int: "Int64",
    float: "Float64",
    np.float32: "Float32",
    str: "string",
}


@dataclass(frozen=True, slots=True)
class Container:
    """A way to store a table, and the libraries that it needs."""

    name: str
    hold: Holding
    needs: tuple[str, ...] = ()


def available() -> tuple[Container, ...]:
    """Return the containers whose libraries are installed."""
    return tuple(c for c in CONTAINERS if all(map(find_spec, c.needs)))


def _kind(values: list[Any]) -> type | None:
    """Return the common type of all values, None if there is none."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else None


def _written(value: object) -> str | None:
    """Write a value as a program would, for a column of text."""
    if isinstance(value, timedelta):
        return str(value.total_seconds())
    return None if value is None else str(value)


def _objects(values: list[Any]) -> Any:  # noqa: ANN401
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _array(values: list[Any]) -> Any:  # noqa: ANN401
    """Make an array of the type that NumPy infers; next to a number it would turn True into 1."""
    kind = _kind(values)
    if kind is None and bool in map(type, values):
        return _objects(values)
    return np.array(values, dtype=_NUMPY.get(kind))


def _masked(values: list[Any]) -> Any:  # noqa: ANN401
    present = [v for v in values if v is not None]
    if not present:
        return _objects(values)
    filled = [present[0] if v is None else v for v in values]
    return np.ma.MaskedArray(_array(filled), [v is None for v in values])


def _inferred(values: list[Any]) -> Any:  # noqa: ANN401
    """Return what pandas infers a type from; short floats would become long ones."""
    if np.float32 not in map(type, values):
        return values
    return _array(values) if _kind(values) is np.float32 else _objects(values)


def _nullable(values: list[Any]) -> Any:  # noqa: ANN401
    from pandas import Series  # noqa: PLC0415  only where it is installed

    kind = _kind(values)
    if kind in _NUMPY and kind not in _NULLABLE:
        return Series(values)
    return Series(values, dtype=_NULLABLE.get(kind, object))


def _arrow(values: list[Any]) -> Any:  # noqa: ANN401
    """Make an Arrow array; mixed values become text."""
    import pyarrow as pa  # noqa: PLC0415  only where it is installed

    types: dict[type | None, Any] = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        np.float32: pa.float32(),
        datetime: pa.timestamp("us"),
        timedelta: pa.duration("us"),
    }
    kind = _kind(values)
    if kind in types:
        return pa.array(values, types[kind], from_pandas=False)
    return pa.array([_written(v) for v in values], pa.string())


def _polars(values: list[Any]) -> Any:  # noqa: ANN401
    import polars as pl  # noqa: PLC0415  only where it is installed

    types: dict[type | None, Any] = {
        bool: pl.Boolean,
        int: pl.Int64,
        float: pl.Float64,
        np.float32: pl.Float32,
        datetime: pl.Datetime("us"),
        timedelta: pl.Duration("us"),
    }
    kind = _kind(values)
    if kind in types:
        plain = [None if v is None else float(v) for v in values] if kind is np.float32 else values
        return pl.Series(plain, dtype=types[kind])
    return pl.Series([_written(v) for v in values], dtype=pl.String)


def _dict_of(column: Callable[[list[Any]], Any]) -> Holding:
    return lambda columns, _: {name: column(values) for name, values in columns.items()}


def _pandas(column: Callable[[list[Any]], Any], dtype: Any = None) -> Holding:  # noqa: ANN401
    def hold(columns: Columns, _: Path) -> Any:  # noqa: ANN401
        from pandas import DataFrame  # noqa: PLC0415  only where it is installed

        frame = DataFrame({name: column(values) for name, values in columns.items()})
        return frame if dtype is None else frame.astype(dtype)

    return hold


def _on_arrow(values: list[Any]) -> Any:  # noqa: ANN401
    from pandas.arrays import ArrowExtensionArray  # noqa: PLC0415  only where it is installed

    return ArrowExtensionArray(_arrow(values))


def _polars_frame(columns: Columns, _: Path) -> Any:  # noqa: ANN401
    from polars import DataFrame  # noqa: PLC0415  only where it is installed

    return DataFrame({name: _polars(values) for name, values in columns.items()})


def _arrow_table(columns: Columns, _: Path) -> Any:  # noqa: ANN401
    from pyarrow import table  # noqa: PLC0415  only where it is installed

    return table({name: _arrow(values) for name, values in columns.items()})


def _dictionaries(columns: Columns, _: Path) -> Any:  # noqa: ANN401
    from pyarrow import table  # noqa: PLC0415  only where it is installed

    return table({name: _arrow(values).dictionary_encode() for name, values in columns.items()})


def _csv(columns: Columns, path: Path) -> Path:
    with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            lines.writerow([_written(value) for value in row])
    return path.with_suffix(".csv")


def _parquet(columns: Columns, path: Path) -> Path:
    from pyarrow.parquet import write_table  # noqa: PLC0415  only where it is installed

    # Parquet has no durations: a program writes their seconds.
    plain = {
        name: [v.total_seconds() if isinstance(v, timedelta) else v for v in values]
        for name, values in columns.items()
    }
    write_table(_arrow_table(plain, path), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


OBJECTS = Container("dict of object arrays", _dict_of(_objects))
CONTAINERS = (
    OBJECTS,
    Container("dict of lists", _dict_of(list)),
    Container("dict of NumPy arrays", _dict_of(_array)),
    Container("dict of masked arrays", _dict_of(_masked)),
    Container("dict of Arrow arrays", _dict_of(_arrow), ("pyarrow",)),
    Container("pandas, inferred types", _pandas(_inferred), ("pandas",)),
    Container("pandas, nullable types", _pandas(_nullable), ("pandas",)),
    Container("pandas, Arrow types", _pandas(_on_arrow), ("pandas", "pyarrow")),
    Container("pandas, categories", _pandas(_inferred, "category"), ("pandas",)),
    Container("pandas, objects", _pandas(_objects), ("pandas",)),
    Container("polars", _polars_frame, ("polars",)),
    Container("Arrow table", _arrow_table, ("pyarrow",)),
    Container("Arrow table, dictionaries", _dictionaries, ("pyarrow",)),
    Container("CSV file", _csv),
    Container("Parquet file", _parquet, ("pyarrow",)),
)
