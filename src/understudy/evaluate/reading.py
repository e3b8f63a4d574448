"""Reading: a private table and synthetic rows as codes of one schema, or as raw values.

What `read_private` returns is private, row by row, and so is what `read_values` returns of a
private table.  Only the metrics of this package use it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Unit
from understudy.engine import CodedTable, engine_for, two_tables
from understudy.engine.sources import PARQUET, source
from understudy.errors import MissingColumnError, MissingFileError, UsageError
from understudy.evaluate.table import Coded
from understudy.schema import Categorical
from understudy.schema.breaking import broken_among, broken_rows
from understudy.schema.constraints import Order, Sum
from understudy.schema.encoding.dialect import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.budget import AnyUnit
    from understudy.engine import Engine
    from understudy.schema import Array, Schema
    from understudy.schema.columns import Column

EPSILON = "epsilon"
"""The column of a submission that distinguishes its runs."""


def read_private(data: object, *, schema: Schema, unit: AnyUnit) -> Coded:
    """Read a private table: its rows as codes, and the number of each row's person.

    Of two tables, people and rows, it has the rows with their people's own columns.  All rows are
    read, those that break a constraint too.  The columns that constraints compute are read where
    the table has all of them.
    """
    try:
        return _read(data, schema, unit)
    except MissingColumnError:
        if not schema.keeper.computed:
            raise
    return _read(data, schema.without_computed, unit)


def read_synthetic(
    path: Path, *, schema: Schema, unit: AnyUnit, epsilon: float | None = None
) -> Coded:
    """Read the rows of a release's folder or of a file, encoded as the private ones are.

    Of a submission, ``epsilon`` chooses the rows.  Rows without ids each count as a person.
    """
    file, released = _rows_of(path), schema.released()
    people = _people_beside(path)
    data = file if people is None else {"people": people, "rows": file}
    epsilons = [] if EPSILON in schema.unconstrained.domain else _epsilons(file)
    _check_epsilon(path, epsilons, epsilon)
    without = None
    if epsilon is not None:
        # Other rows are dropped by the rule for values outside a column's list.
        chosen = Categorical(name=EPSILON, values=(epsilon,), outside="drop", missing=False)
        released, without = released.with_columns(chosen), EPSILON
    try:
        return _read(data, released, unit, without=without)
    except MissingColumnError:
        if unit.is_row or people is not None:
            raise
    return _read(file, released, Unit.each_row(), without=without)


def read_counts(path: Path, *, schema: Schema, across: str, epsilon: float | None = None) -> Coded:
    """Read a submission of counts, with a column for each value of the one across, as rows."""
    released = schema.released().unconstrained
    by = [name for name in released.domain if name != across]
    labels = released[across].labels()
    _check_epsilon(path, _epsilons(path), epsilon)
    with closing(engine_for(path)) as engine:
        kinds = engine.attach(path, name="source", delimiter=",", quote_mark='"')
        missing = [name for name in (*by, *labels) if name not in kinds]
        if missing:
            raise MissingColumnError(f"{path} lacks columns of counts", got=f"no {missing[0]!r}")
        found = engine.fetch("SELECT * FROM source")
    kept = np.ones(len(found[by[0]]), dtype=bool)
    if epsilon is not None:
        kept = found[EPSILON].astype(np.float64) == epsilon
    try:
        counts = np.stack([found[label][kept].astype(np.int64) for label in labels], axis=1)
    except (TypeError, ValueError):
        counts = np.full((1, 1), -1)
    if counts.min(initial=0) < 0:
        raise UsageError(f"{path} has counts that are not whole numbers", allowed="0, 1, 2, …")
    table = {name: np.repeat(found[name][kept], counts.sum(axis=1)) for name in by}
    values = np.broadcast_to(np.array(labels, dtype=object), counts.shape)
    table[across] = np.repeat(values.reshape(-1), counts.reshape(-1))
    return _read(table, released, Unit.each_row())


def read_values(
    data: object, *, schema: Schema | None = None, epsilon: float | None = None
) -> dict[str, Array]:
    """Read raw values of all rows, by a schema's column names or by the table's own.

    A column of whole numbers is read as integers, of the smallest type that holds them.  A missing
    value is None or NaN.  Parts of date-times are not read: a release has them in a different form.
    Of a submission, ``epsilon`` chooses the rows.
    """
    data = source(data) if isinstance(data, str) else data
    if two_tables(data) is not None or (isinstance(data, Path) and _people_beside(data)):
        raise UsageError(
            "raw values are compared of one table", got="a table of people and one of rows"
        )
    if isinstance(data, Path):
        data = _rows_of(data)
        if epsilon is not None:
            _check_epsilon(data, _epsilons(data), epsilon)
    with closing(engine_for(data)) as engine:
        marks = {"delimiter": ",", "quote_mark": '"'}
        if schema is not None:
            marks = {"delimiter": schema.delimiter, "quote_mark": schema.quote}
            marks["encoding"] = schema.encoding
        kinds = engine.attach(data, name="source", **marks)
        named = _sources(kinds, schema)
        if not named:
            return {}
        casts = _narrow(engine, named)
        chosen = "" if epsilon is None else f"WHERE TRY_CAST({EPSILON} AS DOUBLE) = {epsilon!r}"
        columns = ", ".join(f"{cast} AS {quote(name)}" for name, cast in casts.items())
        engine.table("taken", f"SELECT {columns} FROM source {chosen}", reading_input=True)
        # Rows sorted by value, so that figures do not depend on a file's order.
        order = ", ".join(quote(name) for name in sorted(named))
        return engine.fetch(f"SELECT * FROM taken ORDER BY {order}")


def _sources(kinds: Mapping[str, str], schema: Schema | None) -> dict[str, str]:
    """Return the table's column of each name."""
    if schema is None:
        return {name: name for name in kinds}
    named = {c.name: c.table_column for c in schema.released_columns if c.date_part is None}
    absent = sorted(set(named.values()) - set(kinds))
    if absent:
        raise MissingColumnError(
            "the table lacks columns that the schema names",
            got="no " + ", ".join(map(repr, absent)),
        )
    return named


def _narrow(engine: Engine, named: Mapping[str, str]) -> dict[str, str]:
    """Return the SQL of each column, cast to integers where it holds nothing else."""
    facts = []
    for i, x in enumerate(map(quote, named.values())):
        whole = f"TRY_CAST({x} AS BIGINT)"
        # A text such as 007 is not a number: its zeros would be lost.
        is_whole = f"CAST({whole} AS STRING) IS NOT DISTINCT FROM CAST({x} AS STRING)"
        facts.append(f"bool_and({is_whole}) AS w{i}, min({whole}) AS a{i}, max({whole}) AS b{i}")
    engine.table("facts", f"SELECT {', '.join(facts)} FROM source", reading_input=True)
    found = {name: values[0] for name, values in engine.fetch("SELECT * FROM facts").items()}
    casts = {}
    for i, (name, column) in enumerate(named.items()):
        casts[name] = quote(column)
        if found[f"w{i}"] is not None and found[f"w{i}"] and found[f"a{i}"] is not None:
            casts[name] = f"TRY_CAST({quote(column)} AS {_width(found[f'a{i}'], found[f'b{i}'])})"
    return casts


def _width(least: int, most: int) -> str:
    """Return the smallest SQL type that holds a range of integers."""
    for bits, name in ((8, "TINYINT"), (16, "SMALLINT"), (32, "INTEGER")):
        if -(2 ** (bits - 1)) <= least <= most < 2 ** (bits - 1):
            return name
    return "BIGINT"


def _check_epsilon(path: Path, epsilons: list[float], epsilon: float | None) -> None:
    """Raise if a file has no rows of an epsilon, or several epsilons and none is chosen."""
    if epsilon is not None and epsilon not in epsilons:
        raise UsageError(
            f"{path} has no rows of that epsilon",
            got=f"{epsilon:g}",
            allowed=", ".join(f"{e:g}" for e in epsilons) or "none: it has no column of that name",
        )
    if epsilon is None and len(epsilons) > 1:
        raise UsageError(
            f"{path} has rows of several epsilons",
            got=", ".join(f"{e:g}" for e in epsilons),
            hint="choose one with --epsilon",
        )


def _read(data: object, schema: Schema, unit: AnyUnit, *, without: str | None = None) -> Coded:
    free = schema.unconstrained
    # Of a date-time, the first of its parts stands for it.
    parts = {c.name: c.modelled[0].name for c in schema.released_columns}
    said = [c for c in schema.constraints if isinstance(c, (Order, Sum))]
    needed = {name: parts[name] for c in said for name in c.columns}
    numeric = number_columns(schema)
    with closing(engine_for(data)) as engine:
        also = {*needed.values(), *(part.name for part in numeric.values())}
        table = CodedTable(engine, data, schema=free, unit=unit, also=also)
        kept = {name: code for name, code in table.code.items() if name != without}
        codes = ", ".join((*kept.values(), *table.number.values()))
        # Rows sorted by value, so that figures do not depend on a file's order.
        ordered = (
            f"SELECT {codes} FROM rows ORDER BY {codes}"
            if unit.is_row
            else f"SELECT r.person, {codes} FROM rows AS r JOIN people AS p "
            f"ON p.person = r.person ORDER BY p.id, {codes}"
        )
        found = engine.fetch(ordered)
    each = {name: found[code] for name, code in kept.items()}
    times = {name: each.pop(name) for name in set(each) - set(free.domain)}
    people = None if unit.is_row else _numbered(found["person"])
    values = {name: found[table.number[part]] for name, part in needed.items()}
    moments = {c.name: values[c.name] for c in schema.timestamps if c.name in values}
    values |= {name: _moments(seconds) for name, seconds in moments.items()}
    broken = broken_rows(schema, each, values)
    return Coded(
        codes=each,
        sizes={name: free.domain[name] for name in each},
        people=people,
        own=free.own,
        ordering=free.ordering,
        times=times,
        broken=broken | ({} if people is None else broken_among(schema, each, people)),
        numbers={
            name: _numbers(found[table.number[part.name]], each[part.name] < part.ordered_count)
            for name, part in numeric.items()
        },
    )


def number_columns(schema: Schema) -> dict[str, Column]:
    """Return the columns of numbers, each with the part that has its codes, or the first ones."""
    parts = {c.name: c.modelled[0] for c in schema.unconstrained.released_columns}
    return {n: p for n, p in parts.items() if p.span is not None and p.date_part is None}


def _numbers(values: Array, ordered: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return numbers, NaN where a code is of a missing or a special value, as 9999 may be."""
    found = values.astype(np.float64)
    return np.where(ordered & np.isfinite(found), found, np.nan)


def _moments(seconds: Array) -> Array:
    """Return date-times that were read as seconds."""
    absent = np.isnan(seconds)
    found = np.where(absent, 0, seconds).astype("datetime64[s]")
    found[absent] = np.datetime64("NaT")
    return found


def _numbered(people: Array) -> NDArray[np.int64]:
    """Number people from 0 in order of appearance; a person's rows are adjacent."""
    return np.cumsum(np.concatenate(([False], people[1:] != people[:-1]))[: len(people)])


def _rows_of(path: Path) -> Path:
    """Return the file of rows in a release's folder, or else the file or folder itself."""
    if not path.is_dir():
        return path
    if (path / "rows.csv").is_file():
        return path / "rows.csv"
    if (path / "rows.parquet").is_file() and (path / "manifest.json").is_file():
        return path / "rows.parquet"
    if any(file.suffix.lower() in PARQUET for file in path.rglob("*")):
        return path
    raise MissingFileError(
        f"{path} is not a release", allowed="a folder with rows.parquet or rows.csv"
    )


def _people_beside(path: Path) -> Path | None:
    """Return the file of people in a release's folder, if it has one beside that of its rows."""
    rows = _rows_of(path)
    people = rows.with_name(f"people{rows.suffix}")
    return people if path.is_dir() and rows != path and people.is_file() else None


def _epsilons(file: Path) -> list[float]:
    """Return the epsilons of a submission's rows; none where it has no such column."""
    with closing(engine_for(file)) as engine:
        kinds = engine.attach(file, name="source", delimiter=",", quote_mark='"')
        if EPSILON not in kinds:
            return []
        numbers = f"SELECT DISTINCT TRY_CAST({EPSILON} AS DOUBLE) AS e FROM source"
        found = engine.fetch(f"SELECT e FROM ({numbers}) WHERE e IS NOT NULL ORDER BY e")
    return [float(e) for e in found["e"]]
