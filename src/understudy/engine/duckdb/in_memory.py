"""Tables in memory, made safe to register: how a cell is read never depends on another cell.

DuckDB would guess the type of a column of Python objects from its values, so that one odd id
could change everyone's; and pandas, Arrow and NumPy change a column's type for the sake of one
missing value.  So a column becomes an array whose type follows from the column's declared type
alone, with a mask beside it where that type may lack values; what is of no plain type becomes
texts, each cell by itself (`understudy.schema.encoding.reading.text`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import duckdb
import numpy as np

from understudy.errors import MalformedFileError, MissingFileError
from understudy.schema.encoding import reading
from understudy.schema.encoding.dialect import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.schema import Array

_TAKEN = ("s", "ms", "us", "ns")
"""The date-time units that DuckDB accepts."""
_FINER = {"ps": 10**3, "fs": 10**6, "as": 10**9}
"""Finer units, with the number of them in a nanosecond."""
_SPENT: WeakSet[object] = WeakSet()
"""Streams that have been read."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A column: an array that DuckDB accepts, and its mask of missing values, if any."""

    values: Array
    absent: Array | None = None


@dataclass(frozen=True, slots=True)
class InMemory:
    """A table in memory as arrays, under names that no user's column can have."""

    columns: dict[str, Cells]

    def arrays(self) -> dict[str, Array]:
        """Return the arrays to register."""
        held = {}
        for i, cells in enumerate(self.columns.values()):
            held[f"c{i}"] = cells.values
            if cells.absent is not None:
                held[f"a{i}"] = cells.absent
        return held

    def relation(self, registered: str) -> str:
        """Compose the relation of the table's own columns."""
        listed = ", ".join(
            f"{f'c{i}' if cells.absent is None else f'CASE WHEN NOT a{i} THEN c{i} END'} "
            f"AS {quote(name)}"
            for i, (name, cells) in enumerate(self.columns.items())
        )
        return f"(SELECT {listed} FROM {registered})"


class _Relation:
    """A relation of another connection of DuckDB's, which this one reads as a stream of Arrow."""

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        """Take the relation."""
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Run the relation's query; asked again, run it again."""
        return self._relation.__arrow_c_stream__(requested_schema)


def in_memory(data: object) -> InMemory | Any:  # noqa: ANN401  an Arrow table DuckDB can register
    """Return a table in memory as arrays, or an Arrow table as it is."""
    if isinstance(data, Mapping):
        return _named((n, _column(column)) for n, column in data.items())
    if _is_of("pandas", data) and hasattr(data, "columns"):
        frame: Any = data
        return _named((n, _pandas(frame[n])) for n in frame.columns)
    if _is_of("polars", data) and hasattr(data, "collect"):
        return data.collect()
    if isinstance(data, duckdb.DuckDBPyRelation):
        return _Relation(data)
    if hasattr(data, "__arrow_c_stream__"):
        if read_once(data):
            _spend(data)
        return data
    raise MissingFileError(
        "unsupported table type",
        got=type(data).__name__,
        allowed="a path, a Database, a pandas, polars or Arrow table, a DuckDB relation, or a "
        "mapping of arrays",
    )


def read_once(data: object) -> bool:
    """Return whether a table in memory is a stream, which can be read only once."""
    return hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__len__")


def _spend(stream: object) -> None:
    """Raise on a stream that was read before: DuckDB 1.5 silently finds no rows in it."""
    if stream in _SPENT:
        raise MalformedFileError(
            "the stream has already been read", hint="pass a new one for every run"
        )
    with suppress(TypeError):  # of a type without weak references
        _SPENT.add(stream)


def _named(columns: Iterable[tuple[object, Cells]]) -> InMemory:
    table: dict[str, Cells] = {}
    known: set[str] = set()
    for name, column in columns:
        first = next(iter(table.values()), column)
        if str(name).lower() in known or column.values.shape != (len(first.values),):
            raise MalformedFileError(
                "the columns of a table in memory do not match",
                allowed="one-dimensional columns with distinct names, all of the same length",
                hint="names that differ only in case count as the same",
            )
        known.add(str(name).lower())
        table[str(name)] = column
    return InMemory(table)


def _column(column: object) -> Cells:
    """Read an array as it is, and anything else item by item, so that no type is inferred."""
    if isinstance(column, np.ndarray):
        return _numpy(column)
    if _is_of("pandas", column):
        from pandas import Series  # noqa: PLC0415  installed, since the column is its own

        return _pandas(Series(column))
    if _is_of("polars", column) and find_spec("pyarrow") is not None:
        column = column.to_arrow()  # type: ignore[attr-defined]
    if _is_of("pyarrow", column):
        return _arrow(column)
    for listing in ("to_pylist", "to_list"):
        if hasattr(column, listing):
            column = getattr(column, listing)()
    items: list[object] = list(column)  # type: ignore[call-overload]  # may fail: no column then
    return _objects(items)


def _objects(items: list[object]) -> Cells:
    held = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        held[i] = item
    return Cells(reading.texts(held))


def _is_of(library: str, data: object) -> bool:
    return type(data).__module__.split(".")[0] == library


def _pandas(series: Any) -> Cells:  # noqa: ANN401
    """Read a pandas column by its declared type; pandas' own conversions inspect all values."""
    dtype: Any = getattr(series, "dtype", None)
    if type(dtype).__name__ == "CategoricalDtype":
        known = reading.texts(_pandas(dtype.categories.to_series()).values)
        # A missing value has the code -1, and so gets the last text.
        return Cells(np.append(known, np.array([None]))[np.asarray(series.cat.codes)])
    if hasattr(dtype, "pyarrow_dtype"):
        return _arrow(series.array.__arrow_array__())
    if type(dtype).__name__ == "SparseDtype":
        series = series.sparse.to_dense()
    elif getattr(dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    elif hasattr(dtype, "numpy_dtype"):
        values = series.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return _numpy(np.ma.MaskedArray(values, np.asarray(series.isna())))
    plain = isinstance(getattr(series, "dtype", None), np.dtype)
    return _numpy(np.asarray(series.to_numpy() if plain else np.asarray(series, dtype=object)))


def _arrow(column: Any) -> Cells:  # noqa: ANN401
    """Read an Arrow column; item by item it would lose nanoseconds, or fail because of them."""
    from pyarrow import types  # noqa: PLC0415  installed, since the column is its own

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind, absent = column.type, np.asarray(column.is_null())
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        values = np.asarray(column.fill_null(False if types.is_boolean(kind) else 0))
    elif types.is_timestamp(kind) or types.is_duration(kind):
        code = "M8" if types.is_timestamp(kind) else "m8"
        values = np.asarray(column.cast("int64").fill_null(0)).view(f"{code}[{kind.unit}]")
    elif types.is_date32(kind):
        values = np.asarray(column.cast("int32").fill_null(0)).astype("M8[D]")
    elif types.is_date64(kind):
        values = np.asarray(column.cast("int64").fill_null(0)).view("M8[ms]").astype("M8[D]")
    elif types.is_time(kind):
        return _times(np.asarray(column.cast("int64", safe=False).fill_null(0)), kind.unit, absent)
    else:
        return _objects(column.to_pylist())
    return _numpy(np.ma.MaskedArray(values, absent))


def _times(counts: Array, unit: str, absent: Array) -> Cells:
    """Write times of day, given as time since midnight."""
    seconds = counts.view(f"M8[{unit}]").astype("M8[s]")
    texts = np.datetime_as_string(seconds).astype("U19").astype(object)
    return Cells(np.array([None if a else t[11:] for t, a in zip(texts, absent, strict=True)]))


def _numpy(column: Array) -> Cells:
    """Keep numbers, booleans and date-times that DuckDB accepts; convert all else to text."""
    values, absent = np.asarray(column), None
    if isinstance(column, np.ma.MaskedArray):
        values, absent = np.asarray(column.data), np.ma.getmaskarray(column)
    kind = values.dtype.kind
    if values.ndim != 1:
        return Cells(values)  # and so rejected
    # DuckDB cannot read backwards, as a reversed data frame is held.
    values, absent = _forwards(values), None if absent is None else _forwards(absent)
    if kind in "iub":
        return Cells(values.astype(values.dtype.newbyteorder("="), copy=False), absent)
    if kind == "f":
        short = values.dtype.itemsize == 4
        taken = values.astype(np.float32, copy=False) if short else reading.widened(values)
    elif kind == "m":
        taken = reading.durations(values)
    else:
        taken = _moments(values) if kind == "M" else reading.texts(values)
    if absent is None:
        return Cells(taken)
    nothing = {"f": np.nan, "M": np.datetime64("NaT")}.get(taken.dtype.kind)
    return Cells(np.where(absent, np.array(nothing).astype(taken.dtype), taken))


def _forwards(values: Array) -> Array:
    return values.copy() if values.strides[0] < 0 else values


def _moments(column: Array) -> Array:
    """Return date-times in a unit that DuckDB accepts, or as text if the unit is days or more."""
    unit, _ = np.datetime_data(column.dtype)
    if unit in ("D", "W", "M", "Y"):
        return reading.texts(column)
    column = column.astype(f"datetime64[{unit}]", copy=False)
    if unit in _TAKEN:
        return column
    absent = np.isnat(column)
    if unit in _FINER:
        taken = (column.astype(np.int64) // _FINER[unit]).astype("datetime64[ns]")
    else:
        # NumPy's conversion to a finer unit overflows silently.
        years = column.astype("datetime64[Y]").astype(np.int64) + 1970
        absent |= (years < 1) | (years > 9999)
        taken = np.where(absent, np.datetime64("NaT"), column).astype("datetime64[s]")
    return np.where(absent, np.datetime64("NaT"), taken)
