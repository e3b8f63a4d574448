"""The init command: a schema and a run file drafted from public data, every line explained."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli import arguments, notes, periods
from understudy.cli.firstrun import RUNFILE, SCHEMA, PublicTables, RunFile
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.cli.proposals import as_comments, patterns_in, told_of
from understudy.cli.skeleton import commented, skeleton, to_fill_in
from understudy.engine.sources import is_same
from understudy.errors import MissingColumnError, UsageError
from understudy.public import read_public, sniffed
from understudy.release import check_target, new_file
from understudy.schema import Id, Ignored, Schema
from understudy.schema.importers.people import Proposal, joined, numbered, propose

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from understudy.budget import Unit
    from understudy.schema import Array

TRIES = 3
_WHY = (
    "init never opens it: a list, a range or a bin taken from private rows would reveal what is "
    "in them, with no budget spent on it"
)


def run(options: argparse.Namespace) -> None:
    """Draft both files, and say what to do next."""
    folder = Path(options.folder)
    _check_folder(options, folder)
    for name in (RUNFILE, SCHEMA):
        check_target(folder / name)
    public, schema = _read(options)
    table = public.rows
    asks = not options.json and sys.stdin is not None and sys.stdin.isatty()
    period = options.period or (_ask_period(schema) if asks else None)
    unit_text = options.unit or _ask_unit(schema, table, asks=asks)
    unit, schema = _with_ids(unit_text, schema, table)
    schema, remarks = notes.remarked(options, public, schema)
    if public.rows is not None and public.people is not None:
        table = joined(public.people, public.rows, _joined_by(unit, public))
    # Public rows are looked at with their own dates, before those of the private table are set.
    proposal = Proposal() if options.metadata else _proposed(schema, unit, table)
    if options.people is not None or public.people is not None:
        proposal = replace(proposal, own={})  # the table of people has all that is theirs
    schema, in_period = periods.dated(_with_people(schema, proposal), period)
    patterns = patterns_in(table, schema)
    first = RunFile(options=options, folder=folder, schema=schema, unit=unit, public=public)
    text = _text(options, schema, proposal, remarks) + as_comments(patterns)
    for name, written in ((SCHEMA, text), (RUNFILE, first.text(unit_text))):
        with new_file(folder / name) as partial:
            partial.write_text(written, encoding="utf-8")
    told = [
        *notes.of_schema(options, schema, remarks),
        *notes.of_people(options, schema, proposal),
        *told_of(patterns),
        *(notes.of_public_years(schema) if in_period is None else in_period.told),
        *notes.of_public_values(options),
    ]
    lines = [
        f"{folder / SCHEMA}: {notes.of_draft(options, schema)}",
        *told,
        f"{folder / RUNFILE}: who is protected, how strongly, by which mechanism",
        f"Next: understudy check {folder / RUNFILE}",
    ]
    facts = {"schema": str(folder / SCHEMA), "run_file": str(folder / RUNFILE), "unit": str(unit)}
    tell(options, facts | {"notes": [line.strip() for line in told]}, lines)


def _text(
    options: argparse.Namespace, schema: Schema, proposal: Proposal, remarks: Mapping[str, str]
) -> str:
    """Return the schema's text, with comments, or to be filled in."""
    first = options.public or options.metadata
    if first is None:
        return skeleton(schema)
    sources = [Path(path).name for path in (first, options.public_people) if path]
    return commented(schema, " and ".join(sources), proposal, notes.between(schema, remarks))


def _read(options: argparse.Namespace) -> tuple[PublicTables, Schema]:
    """Read the public tables, if there are any, and draft a schema, by marks given or guessed."""
    guessed = sniffed(options.public)
    delimiter, encoding = options.delimiter or guessed[0], options.encoding or guessed[1]
    with shown(quiet=options.json or options.quiet) as progress:
        progress("reading the public table", 0)
        rows, people = (
            None if path is None else read_public(path, delimiter=delimiter, encoding=encoding)
            for path in (options.public, options.public_people)
        )
        public = PublicTables(rows=rows, people=people)
        for path, table in ((options.public, rows), (options.public_people, people)):
            if table is not None and not len(next(iter(table.values()))):
                raise UsageError("the public table has no rows to draft from", got=path)
        progress("drafting the schema", 0)
        schema = _schema(options, public)
    return public, replace(schema, delimiter=delimiter, encoding=encoding)


def _joined_by(unit: Unit, public: PublicTables) -> list[str]:
    """Return the columns that tell who is who in both public tables; raise if one lacks them."""
    people, rows = set(public.people or ()), set(public.rows or ())
    named = [name for name in unit.columns if ":" not in name and name in people]
    if unit.is_row or not named or not set(named) <= rows:
        raise UsageError(
            "two tables are joined on the unit, which both must have",
            got=f"--unit {unit}",
            allowed=", ".join(sorted(people & rows)) or "a column of that name in both tables",
        )
    return named


def _proposed(schema: Schema, unit: Unit, table: Mapping[str, Array] | None) -> Proposal:
    """Propose what is a person's own and what orders their rows, where people are public."""
    if unit.is_row or table is None or not set(unit.columns) <= set(table):
        return Proposal()
    return propose(table, schema.columns, numbered(table, unit.columns))


def _with_people(schema: Schema, proposal: Proposal) -> Schema:
    """Declare what was proposed of people."""
    own = [replace(c, of="person") for c in schema.released_columns if c.name in proposal.own]
    order_by = proposal.order_by or schema.order_by
    return replace(schema.with_columns(*own), order_by=order_by)


def _check_folder(options: argparse.Namespace, folder: Path) -> None:
    """Raise if init would read private data, or has nothing to read."""
    if folder.is_file():
        raise UsageError(
            "init drafts from public data only",
            got=str(folder),
            allowed="--public FILE, a similar table that anyone may see",
            hint=f"if {folder.name} is private, {_WHY}",
        )
    for ours in (options.private, options.people):
        if any(is_same(ours, other) for other in (options.public, options.public_people) if other):
            raise UsageError(
                "--private and --public name the same table",
                got=ours,
                allowed="a different --public table, which anyone may see",
                hint=_WHY,
            )
    if options.public_people is not None and options.public is None:
        raise UsageError(
            "--public-people is a table beside --public, which has the rows of these people",
            got=f"--public-people {options.public_people} alone",
            allowed="--public ROWS --public-people PEOPLE",
        )
    if options.public is None and options.metadata is None and options.header is None:
        raise UsageError(
            "init needs something public to draft from",
            allowed="--public TABLE, --metadata FILE, or --header COLUMN,COLUMN… for a schema to "
            "fill in",
            hint="last year's published extract, or a codebook; if there is nothing public, "
            "'understudy discover' asks the private table, with noise and at a cost",
        )
    if options.header is not None and options.public is not None and options.metadata is None:
        raise UsageError("--header is not needed", hint="a public table has its own header")


def _schema(options: argparse.Namespace, public: PublicTables) -> Schema:
    """Draft a schema from public tables, or read one from a metadata file."""
    table = public.rows
    name = options.name
    header = [c.strip() for c in (options.header or "").split(",") if c.strip()]
    if options.metadata is None and table is None:
        stem = Path(options.private or "table").name.split(".")[0]
        return to_fill_in(header, name or stem)
    if options.metadata is None:
        assert table is not None  # noqa: S101  one of the three was asked for
        stem = Path(options.private or options.public).name.split(".")[0]
        schema = _drafted(public, table, name=name or stem)
    else:
        read = Schema.read(options.metadata, public=table)
        schema = replace(read, name=name or read.name or Path(options.metadata).stem)
        if options.header is not None:
            schema = _by_header(schema, header)
    return schema


def _drafted(public: PublicTables, rows: Mapping[str, Array], *, name: str) -> Schema:
    """Draft a schema from a table of rows, and from one of people, whose columns are theirs."""
    if public.people is None:
        return Schema.from_public(rows, name=name)
    people = Schema.from_public(public.people, name=name)
    own = [replace(c, of="person") for c in people.released_columns]
    others = {n: values for n, values in rows.items() if n not in public.people}
    drafted = Schema.from_public(others, name=name).columns if others else ()
    return people.with_columns(*own, *drafted)


def _by_header(schema: Schema, header: Sequence[str]) -> Schema:
    """Check that the private table's header has all columns of a schema."""
    missing = sorted({c.table_column for c in schema.modelled} - set(header))
    if missing:
        raise MissingColumnError(
            "the metadata file describes columns that the header does not have",
            got=", ".join(missing),
            allowed=", ".join(header),
        )
    known = {c.name for c in schema.columns} | {c.table_column for c in schema.modelled}
    return schema.with_columns(*(Ignored(name=name) for name in header if name not in known))


def _ask_period(schema: Schema) -> str | None:
    """Ask for the first and the last day of the private table, where the schema has dates."""
    spans = [(c.min, c.max) for c in schema.timestamps]
    if not spans:
        return None
    known = f"{min(a for a, _ in spans)}..{max(b for _, b in spans)}"
    print("Which days does the private table cover? Days outside count as the nearest one.")
    return _answer(f"period [{known}]> ") or None


def _answer(prompt: str) -> str:
    """Read a line from the terminal; end of input is an empty answer."""
    try:
        return input(prompt).strip()
    except EOFError:
        print()
        return ""


def _ask_unit(schema: Schema, table: Mapping[str, Array] | None, *, asks: bool) -> str:
    """Ask for the privacy unit."""
    names = list(table) if table is not None else [c.name for c in schema.columns]
    if not asks:
        raise UsageError(
            "init needs to know who is protected",
            allowed=f"--unit COLUMN, of {', '.join(names)}; or --unit each-row",
            hint="the column that identifies people, taxis, patients, planes",
        )
    print(
        "Who is protected? Name the column that identifies them (or several, separated by "
        "commas).\nAll rows with the same value there belong to one person, and are "
        "protected together.\nIf every row is a different person: each-row\n"
        f"Columns: {', '.join(names)}"
    )
    for _ in range(TRIES):
        text = _answer("unit> ")
        named = {name.strip().partition(":")[0] for name in text.split(",")}
        if text == "each-row" or (text and named <= set(names)):
            return text
        print("No such column.")
    raise UsageError("no unit was given", allowed=", ".join([*names, "each-row"]))


def _with_ids(text: str, schema: Schema, table: Mapping[str, Array] | None) -> tuple[Unit, Schema]:
    """Parse the unit, and declare its columns as ids."""
    unit = arguments.unit(text, None)
    if unit.is_row:
        return unit, schema
    declared = {c.name for c in schema.columns}
    known = declared | set(table or ())
    named = [name.partition(":")[0] for name in unit.columns]
    unknown = [name for name in named if name not in known]
    if unknown:
        raise MissingColumnError(
            "the unit names columns that do not exist",
            got=", ".join(unknown),
            allowed=", ".join(sorted(known)),
        )
    ids = [Id(name=name) for name in unit.columns if ":" not in name]
    return unit, schema.with_columns(*ids)
