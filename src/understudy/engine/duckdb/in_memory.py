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

import numpy as np

from understudy.errors import MalformedFileError, MissingFileError
from understudy.schema.encoding import reading
from understudy.schema.encoding.dialect import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.schema import Array

_TAKEN = ("s", "ms", "us", "ns")
"""The units of date-times that DuckDB takes."""
_FINER = {"ps": 10**3, "fs": 10**6, "as": 10**9}
"""Finer ones, by how many of them make a nanosecond."""
_SPENT: WeakSet[object] = WeakSet()
"""Streams that were read."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A column: an array that DuckDB takes, and where it has no value, if that can be."""

    values: Array
    absent: Array | None = None


@dataclass(frozen=True, slots=True)
class InMemory:
    """A table in memory as arrays, by names that no column of a user's can have."""

    columns: dict[str, Cells]

    def arrays(self) -> dict[str, Array]:
        """Return what is to be registered."""
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


def in_memory(data: object) -> InMemory | Any:  # noqa: ANN401  an Arrow table DuckDB can register
    """Return a table in memory as arrays, or an Arrow table as it is."""
    if isinstance(data, Mapping):
        return _named((n, _column(column)) for n, column in data.items())
    if _is_of("pandas", data) and hasattr(data, "columns"):
        frame: Any = data
        return _named((n, _pandas(frame[n])) for n in frame.columns)
    if hasattr(data, "__arrow_c_stream__"):
        if read_once(data):
            _spend(data)
        return data
    raise MissingFileError(
        "unsupported table type",
        got=type(data).__name__,
        allowed="a path, a Database, a pandas, polars or Arrow table, or a mapping of arrays",
    )


def read_once(data: object) -> bool:
    """Say whether a table in memory is a stream, gone once it has been read."""
    return hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__len__")


def _spend(stream: object) -> None:
    """Refuse a stream that was read before: DuckDB 1.5 finds no rows in it, and says nothing."""
    if stream in _SPENT:
        raise MalformedFileError(
            "a stream that has been read already", hint="make a new one for every run"
        )
    with suppress(TypeError):  # of a kind that cannot be remembered
        _SPENT.add(stream)


def _named(columns: Iterable[tuple[object, Cells]]) -> InMemory:
    table: dict[str, Cells] = {}
    known: set[str] = set()
    for name, column in columns:
        first = next(iter(table.values()), column)
        if str(name).lower() in known or column.values.shape != (len(first.values),):
            raise MalformedFileError(
                "the columns of a table in memory do not fit together",
                allowed="columns of different names, all of one length and one dimension",
                hint="names that differ in capital letters only are not told apart",
            )
        known.add(str(name).lower())
        table[str(name)] = column
    return InMemory(table)


def _column(column: object) -> Cells:
    """Take an array as it is, and anything else item by item, so that no type is guessed."""
    if isinstance(column, np.ndarray):
        return _numpy(column)
    if _is_of("pandas", column):
        from pandas import Series  # noqa: PLC0415  is there, since the column is

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
    """Read a column of pandas by its declared type; its own ways look at all values first."""
    dtype: Any = getattr(series, "dtype", None)
    if type(dtype).__name__ == "CategoricalDtype":
        known = reading.texts(_pandas(dtype.categories.to_series()).values)
        # A missing value has the code -1, and so the last text.
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
    """Read a column of Arrow's; item by item it would lose nanoseconds, or fail for having them."""
    from pyarrow import types  # noqa: PLC0415  is there, since the column is

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
    """Write times of day that are counted from midnight."""
    seconds = counts.view(f"M8[{unit}]").astype("M8[s]")
    texts = np.datetime_as_string(seconds).astype("U19").astype(object)
    return Cells(np.array([None if a else t[11:] for t, a in zip(texts, absent, strict=True)]))


def _numpy(column: Array) -> Cells:
    """Keep numbers, booleans and date-times that DuckDB takes; make texts of all else."""
    values, absent = np.asarray(column), None
    if isinstance(column, np.ma.MaskedArray):
        values, absent = np.asarray(column.data), np.ma.getmaskarray(column)
    kind = values.dtype.kind
    if values.ndim != 1:
        return Cells(values)  # and so refused
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


def _moments(column: Array) -> Array:
    """Return date-times in a unit that DuckDB takes, and as texts what is counted in days."""
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
        # NumPy's way to a finer unit overflows in silence.
        years = column.astype("datetime64[Y]").astype(np.int64) + 1970
        absent |= (years < 1) | (years > 9999)
        taken = np.where(absent, np.datetime64("NaT"), column).astype("datetime64[s]")
    return np.where(absent, np.datetime64("NaT"), taken)
