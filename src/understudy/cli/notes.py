"""What `init` says of a draft that its user must know: what was guessed, left out and proposed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.public import zones_of
from understudy.schema import PUBLIC
from understudy.schema.importers.commas import with_commas
from understudy.schema.importers.durations import between_dates

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from understudy.cli.firstrun import PublicTables
    from understudy.schema import Schema
    from understudy.schema.importers.people import Proposal

NO_POINT = (
    "numbers with a comma are read as text. If 12,50 means 12.50, write a point, and nothing "
    "between thousands, in the private table too, and run init again"
)
NO_ZONE = (
    "its time zone has no name in the public file, or one that only pyarrow reads, which is not "
    'installed. Declare zone = "Europe/Berlin", or whichever it is, if data frames of the release '
    "should have it"
)


def is_drafted(options: argparse.Namespace) -> bool:
    """Whether there is something to draft from, so that nothing is to be filled in."""
    return (options.public or options.metadata) is not None


def of_draft(options: argparse.Namespace, schema: Schema) -> str:
    """Say what is to be done with the schema."""
    if not is_drafted(options):
        return "to be filled in"
    count = len(schema.modelled)
    return f"{count} columns that will be modelled; read it, and correct what is wrong"


def remarked(
    options: argparse.Namespace, public: PublicTables, schema: Schema
) -> tuple[Schema, dict[str, str]]:
    """Declare the time zones of public files, and return what is the matter with columns."""
    schema, remarks = zoned(options, schema)
    return schema, remarks | commas(public, schema)


def between(schema: Schema, remarks: Mapping[str, str]) -> dict[str, str]:
    """Add to remarks between which date-times of a row the time is not kept."""
    found = {
        name: f"{remarks[name]}. And {remark}" if name in remarks else remark
        for name, remark in between_dates(schema.columns).items()
    }
    return {**remarks, **found}


def of_schema(options: argparse.Namespace, schema: Schema, remarks: Mapping[str, str]) -> list[str]:
    """Say what was guessed, what is left out, and what is the matter with columns."""
    return [
        *of_marks(options, schema),
        *left_out(schema, to_fill_in=not is_drafted(options)),
        *of_columns(between(schema, remarks)),
    ]


def zoned(options: argparse.Namespace, schema: Schema) -> tuple[Schema, dict[str, str]]:
    """Declare the time zones of public Parquet files; return what is to be said of the others."""
    found: dict[str, str | None] = {}
    for path in (options.public, options.public_people):
        found |= {} if path is None else zones_of(path)
    columns = [c for c in schema.timestamps if c.zone is None and c.table_column in found]
    named = [replace(c, zone=found[c.table_column]) for c in columns]
    unknown = {c.name: NO_ZONE for c in named if c.zone is None}
    return schema.with_columns(*named), unknown


def commas(public: PublicTables, schema: Schema) -> dict[str, str]:
    """Say which columns of the public tables have numbers with a decimal comma."""
    tables = [table for table in (public.rows, public.people) if table is not None]
    return {n: NO_POINT for table in tables for n in with_commas(table, schema.columns)}


def of_columns(remarks: Mapping[str, str]) -> list[str]:
    """Say what is the matter with columns, those of the same trouble in one line."""
    names: dict[str, list[str]] = {}
    for name, remark in remarks.items():
        names.setdefault(remark, []).append(name)
    return [f"  {', '.join(each)}: {remark}" for remark, each in names.items()]


def of_marks(options: argparse.Namespace, schema: Schema) -> list[str]:
    """Say what was guessed of the public file, where it is not the usual."""
    told = [
        f"{name} {found!r}"
        for name, found, usual in (
            ("delimiter", schema.delimiter, ","),
            ("encoding", schema.encoding, "utf-8"),
        )
        if getattr(options, name) is None and found != usual
    ]
    if not told:
        return []
    return [f"  {options.public} looks like {', '.join(told)}; the private table is read so too"]


def left_out(schema: Schema, *, to_fill_in: bool) -> list[str]:
    """Name the columns that are left out, so that nobody overlooks them."""
    kept = {c.name for c in (*schema.ids, *schema.released_columns)}
    names = [c.name for c in schema.columns if c.name not in kept]
    what = "to be filled in" if to_fill_in else "left out"
    return [f"  {what}: {', '.join(names)}; declare those you need"] if names else []


def of_people(options: argparse.Namespace, schema: Schema, proposal: Proposal) -> list[str]:
    """Name what was proposed of people, so that it is checked; and say what is lacking."""
    told = []
    if options.people is not None and not schema.own:
        return [
            f"  nothing public says what is in {options.people}: declare its columns with "
            'of = "person", or name a public table of people, --public-people'
        ]
    if proposal.own:
        told.append(f"one value per person: {', '.join(proposal.own)}")
    if proposal.order_by:
        told.append(f"a person's rows in the order of {', '.join(proposal.order_by)}")
    return [f"  proposed: {'; '.join(told)}"] if told else []


def of_public_values(options: argparse.Namespace) -> list[str]:
    """Say what must be true of a public table."""
    if options.public is None:
        return []
    return [f"  {PUBLIC}"]


def of_public_years(schema: Schema) -> list[str]:
    """Say which dates were assumed for the private table, where none were given."""
    return [
        f"  {c.name} goes from {c.min} to {c.max}, the public table's years: if the private "
        "table covers other dates, set them, or use --period"
        for c in schema.timestamps
    ]
