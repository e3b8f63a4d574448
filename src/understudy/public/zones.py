"""The time zones of a public Parquet file's date-times, which rows that are read no longer have."""

from __future__ import annotations

from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from zoneinfo import available_timezones

from understudy.engine import DuckDB
from understudy.engine.duckdb.folder import read_folder, unglobbed
from understudy.engine.sources import PARQUET, source
from understudy.schema.encoding.dialect import literal

ADJUSTED = "%isAdjustedToUTC=1%"
"""How DuckDB writes the type of a date-time with a time zone."""


def zones_of(data: object) -> dict[str, str | None]:
    """Return the time zone of each column of date-times that has one, None if it is not known.

    A file says which columns have a zone.  Which zone that is, Arrow writes beside its types, and
    only Arrow reads: the optional package pyarrow.
    """
    place = source(data) if isinstance(data, str) else data
    if not isinstance(place, Path):
        return {}
    file = read_folder(place).files[0] if place.is_dir() else str(place)
    if not file.lower().endswith(PARQUET):
        return {}
    with closing(DuckDB()) as engine:
        read = f"parquet_schema({literal(unglobbed(file))})"
        found = engine.fetch(f"SELECT name FROM {read} WHERE logical_type LIKE '{ADJUSTED}'")
    zoned = [str(name) for name in found["name"]]
    names = _named(file) if zoned else {}
    return {name: names.get(name) for name in zoned}


def _named(file: str) -> dict[str, str]:
    """Return the zones that have a name; nothing without pyarrow, or if it cannot read the file."""
    if find_spec("pyarrow") is None:
        return {}
    from pyarrow import ArrowException  # noqa: PLC0415  only where it is installed
    from pyarrow.parquet import read_schema  # noqa: PLC0415

    try:
        schema = read_schema(file)
    except (OSError, ArrowException):
        return {}
    zones = {field.name: str(getattr(field.type, "tz", None)) for field in schema}
    return {name: zone for name, zone in zones.items() if zone in available_timezones()}
