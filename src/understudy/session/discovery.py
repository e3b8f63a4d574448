"""Discovery on a private table: a session whose door goes to the program that asks for a schema."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import Norm, bounding_to_dict
from understudy.engine import engine_for
from understudy.engine.two_tables import two_tables
from understudy.errors import MissingColumnError, UsageError, sealed
from understudy.ledger import DISCOVERY
from understudy.public import following, silent
from understudy.schema import Id, Schema, Text
from understudy.session.session import Session
from understudy.synth.discovery import Discovered, Discovery

if TYPE_CHECKING:
    from understudy.budget import AnyUnit, Budget
    from understudy.engine import Engine
    from understudy.public import Progress
    from understudy.schema.columns.column import Of


@following
def discovered(
    *,
    private: object,
    unit: AnyUnit,
    budget: Budget,
    ledger: str | Path,
    name: str,
    schema: Schema | str | Path | None = None,
    total: Budget | None = None,
    settings: Discovery | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    progress: Progress = silent,
) -> Discovered:
    """Discover a schema, and return it with a reason and a cost for each column.

    `understudy.discover` says what is given.
    """
    path = Path(ledger)
    _check(path, total)
    known = Schema.read(schema) if isinstance(schema, (str, Path)) else schema
    progress("reading the private table's header", 0)
    csv = (",", '"', "utf-8") if known is None else (known.delimiter, known.quote, known.encoding)
    marks = (delimiter or csv[0], csv[1], encoding or csv[2])
    with closing(engine_for(private)) as engine:
        headers = _headers(engine, private, marks)
    session = Session(
        private=private,
        schema=_with_texts(headers, known, unit, name=name, marks=marks),
        unit=unit,
        bounding=Norm(),
        budget=budget,
        ledger=path,
        total=total,
    )
    program = settings or Discovery()
    request: dict[str, Any] = {
        "mechanism": {"name": DISCOVERY, "settings": asdict(program)},
        "bounding": bounding_to_dict(Norm()),
        "schema": session.schema.to_dict(),
        "note": {"discovery": session.schema.name},
    }
    found, number = session.ask(lambda d: program.run(d, progress=progress), request, progress)
    return replace(found, run=number)


def _check(path: Path, total: Budget | None) -> None:
    """Raise if the ledger does not exist, and has no total."""
    if total is None and not os.path.exists(path):  # noqa: PTH110  it raises for no name
        raise UsageError(
            f"the ledger {path} does not exist, and needs a total",
            allowed="total=us.Budget(…), or --total EPSILON, for this and later runs",
            hint="'understudy ledger FILE --create' creates one",
        )


@sealed
def _headers(engine: Engine, private: object, marks: tuple[str, str, str]) -> dict[Of, list[str]]:
    """Return the names of the private table's columns, which are public; of two tables, of both."""
    both, (mark, quote, written) = two_tables(private), marks
    tables: dict[Of, object] = {"row": private}
    if both is not None:
        tables = {"person": both.people, "row": both.rows}
    return {
        of: list(
            engine.attach(
                table, name=f"of_{of}", delimiter=mark, quote_mark=quote, encoding=written
            )
        )
        for of, table in tables.items()
    }


def _with_texts(
    headers: dict[Of, list[str]],
    known: Schema | None,
    unit: AnyUnit,
    *,
    name: str,
    marks: tuple[str, str, str],
) -> Schema:
    """Declare the columns of headers as text that are neither declared nor the unit's."""
    own = [part.partition(":")[0] for part in unit.columns if not unit.is_row]
    declared = () if known is None else known.columns
    # What is named, and the tables that may have it.
    named = [(part, [of]) for part in own for of in headers]
    named += [
        (c.table_column, [of for of in headers if len(headers) == 1 or getattr(c, "of", of) == of])
        for c in declared
    ]
    absent = sorted({n for n, tables in named if all(n not in headers[of] for of in tables)})
    if absent:
        raise MissingColumnError(
            "the table lacks columns that the schema or the unit names",
            got="no " + ", ".join(map(repr, absent)),
            hint="names must match exactly; check that the first line is the header, and that "
            'columns are separated as it is said (delimiter=";", or --delimiter ";")',
        )
    taken = {column.name for column in declared}
    ids = [Id(name=part) for part in own if part in unit.columns and part not in taken]
    texts = [
        Text(name=n, of=of) if n == free else Text(name=free, source=n, of=of)
        for of, header in headers.items()
        for n in header
        if n not in taken | {n for n, tables in named if of in tables}
        for free in (_apart(n, headers["row"] if of == "person" else []),)
    ]
    columns = (*ids, *declared, *texts)
    if known is None:
        return Schema(name, columns, *marks)
    return replace(known, name=name, columns=columns, delimiter=marks[0], encoding=marks[2])


def _apart(name: str, others: list[str]) -> str:
    """Return a name for a column of people that is not one of rows."""
    while name.lower() in {other.lower() for other in others}:
        name += "_of_person"
    return name
