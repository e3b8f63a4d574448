"""Options that several commands share, and those of two: nothing here is slow to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

TABLE = (
    ".csv, .csv.gz, .parquet, a folder of Parquet files, postgresql://USER@HOST/DATABASE#TABLE "
    "or sqlite:PATH#TABLE"
)


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Add epsilon and delta."""
    parser.add_argument("--epsilon", type=float, help="the privacy parameter ε, above 0")
    parser.add_argument("--delta", type=float, help="0 for pure ε, or far below 1 / people")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option of every command."""
    parser.add_argument("--json", action="store_true", help="print one JSON object, no progress")


def add_people(parser: argparse.ArgumentParser) -> None:
    """Add the table of people."""
    parser.add_argument(
        "--people",
        metavar="TABLE",
        help='a private table of people, for the columns with of = "person"; the private table '
        "then has their rows",
    )


def add_unit(parser: argparse.ArgumentParser) -> None:
    """Add the schema, the unit and what happens to rows without an id."""
    parser.add_argument("--schema", help="schema file: TOML, or a supported metadata file")
    parser.add_argument(
        "--unit",
        metavar="COLUMN[,COLUMN…]",
        help="the columns that identify a person, or 'each-row' where every row is a person",
    )
    parser.add_argument(
        "--null-ids",
        choices=("drop", "one"),
        help="rows without an id are dropped (default), or count as one person's",
    )


def add_discover(discover: argparse.ArgumentParser) -> None:
    """Add the options of `discover`."""
    discover.description = (
        "Asks a private table for its columns' kinds, ranges and common values, with noise and at "
        "a cost that its ledger books; writes schema.toml and understudy.toml. Column names are "
        "taken as public; columns of --schema are not asked about. Needs --unit, --epsilon, "
        "--delta and --ledger."
    )
    discover.add_argument("private", help=f"the private table: {TABLE}")
    add_people(discover)
    add_unit(discover)
    add_budget(discover)
    discover.add_argument(
        "--failure", type=float, help="the part of δ for failure probabilities (default: half)"
    )
    discover.add_argument("--ledger", help="the table's ledger, with a share for failures")
    discover.add_argument(
        "--total",
        type=float,
        metavar="EPSILON",
        help="the table's total ε, where the ledger does not exist yet: it is then created",
    )
    discover.add_argument("--name", help="the table's name (default: that of its file)")
    discover.add_argument(
        "--delimiter", metavar="CHARACTER", help="what separates columns of CSV files (default: ,)"
    )
    discover.add_argument(
        "--out", default=".", metavar="FOLDER", help="where to write both files (default: here)"
    )
    add_output(discover)


def add_ledger(ledger: argparse.ArgumentParser) -> None:
    """Add the options of `ledger`."""
    ledger.add_argument("file", help="the ledger")
    ledger.add_argument(
        "--create", action="store_true", help="create it, with --epsilon and --delta"
    )
    add_budget(ledger)
    ledger.add_argument(
        "--failure",
        type=float,
        help="the part of δ for questions with a failure probability; without it they are refused",
    )
    ledger.add_argument("--abandon", type=int, metavar="RUN", help="close an open run for good")
    ledger.add_argument(
        "--verify",
        nargs="+",
        metavar="MANIFEST",
        help="check that releases belong to this ledger: their manifest.json files or folders",
    )
    add_output(ledger)
