"""Tables in memory, made safe to register: what a cell holds decides nothing but its own text.

DuckDB would guess the type of a column of Python objects from its values, so that one odd
id could change everyone's.  So columns of anything but plain numbers, booleans and
date-times become texts here, by our own reading, each cell on its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from understudy.errors import MalformedFileError, MissingFileError
from understudy.schema import reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from understudy.schema import Array

_TAKEN = ("s", "ms", "us", "ns")
"""The units of date-times that DuckDB takes."""
_FINER = {"ps": 10**3, "fs": 10**6, "as": 10**9}
"""Finer ones, by how many of them make a nanosecond."""
_SPENT: WeakSet[object] = WeakSet()
"""Streams that were read."""


def held(data: object) -> Any:  # noqa: ANN401  whatever DuckDB can register
    """Give what DuckDB may register in the place of a table in memory."""
    if isinstance(data, Mapping):
        return _named((n, _plain(_array(column))) for n, column in data.items())
    if _is_pandas(data) and hasattr(data, "columns"):
        frame: Any = data
        return _named((n, _plain(_pandas(frame[n]))) for n in frame.columns)
    if hasattr(data, "__arrow_c_stream__"):
        if read_once(data):
            _spend(data)
        return data
    raise MissingFileError(
        "a table of no kind that is read here",
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


def _named(columns: Iterable[tuple[object, Array]]) -> dict[str, Array]:
    table: dict[str, Array] = {}
    for name, column in columns:
        first = next(iter(table.values()), column)
        if str(name) in table or column.shape != (len(first),):
            raise MalformedFileError(
                "the columns of a table in memory do not fit together",
                allowed="columns of different names, all of one length and one dimension",
            )
        table[str(name)] = column
    return table


def _array(column: object) -> Array:
    """Take an array as it is, and anything else item by item, so that no type is guessed."""
    if isinstance(column, np.ndarray):
        return filled(column)
    if _is_pandas(column):
        return _pandas(column)
    for listing in ("to_pylist", "to_list"):
        if hasattr(column, listing):
            column = getattr(column, listing)()
    items: list[object] = list(column)  # type: ignore[call-overload]  # may fail: no column then
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out


def _is_pandas(data: object) -> bool:
    return type(data).__module__.split(".")[0] == "pandas"


def _pandas(series: Any) -> Array:  # noqa: ANN401
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    if isinstance(series.dtype, np.dtype) or not (absent := np.asarray(series.isna())).any():
        return np.asarray(series.to_numpy())
    # pandas would turn whole numbers into floats for the sake of one missing value.
    out = np.asarray(series.to_numpy(dtype=object)).copy()
    out[absent] = None
    return out


def _plain(column: Array) -> Array:
    """Keep numbers, booleans and date-times that DuckDB takes; make texts of all else."""
    kind, size = column.dtype.kind, column.dtype.itemsize
    if column.ndim != 1:
        return column  # and so refused
    if kind == "M":
        return _moments(column)
    if kind in "iub" or (kind == "f" and 4 <= size <= 8):
        return column.astype(column.dtype.newbyteorder("="), copy=False)
    return reading.texts(column)


def _moments(column: Array) -> Array:
    """Give date-times in a unit that DuckDB takes; those of no calendar year are absent."""
    unit, _ = np.datetime_data(column.dtype)
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


def filled(column: Array) -> Array:
    """Put NaN, NaT or None where a masked array has nothing, and drop the mask."""
    if not isinstance(column, np.ma.MaskedArray):
        return np.asarray(column)
    values, absent = np.asarray(column.data), np.ma.getmaskarray(column)
    if not absent.any():
        return values
    if values.dtype.kind == "M":
        return np.where(absent, np.datetime64("NaT"), values)
    if values.dtype.kind == "f":
        return np.where(absent, np.nan, values)
    return reading.nullable(values, absent)
