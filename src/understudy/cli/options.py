"""Options that several commands share, and those of three: nothing here is slow to import."""

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


def add_i_know(parser: argparse.ArgumentParser) -> None:
    """Add the option that a budget which promises nothing needs."""
    parser.add_argument(
        "--i-know",
        action="store_true",
        help="allow an epsilon above 20, or a delta that may give people away entirely",
    )


def add_screening(parser: argparse.ArgumentParser) -> None:
    """Add the share of a run's first question."""
    parser.add_argument(
        "--screening",
        type=float,
        metavar="SHARE",
        help="the share of the budget that first asks whether the table can be read as declared "
        "(default: 0, which does not ask; 0.01 is usual)",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command."""
    parser.add_argument("--json", action="store_true", help="print one JSON object, no progress")
    parser.add_argument(
        "--quiet", action="store_true", help="print errors only, neither progress nor summary"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="print each stage as a line on stderr"
    )


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
    add_i_know(discover)
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
        "--encoding", choices=("utf-8", "latin-1"), help="of CSV files (default: utf-8)"
    )
    discover.add_argument(
        "--out", default=".", metavar="FOLDER", help="where to write both files (default: here)"
    )
    add_output(discover)


def add_quality(quality: argparse.ArgumentParser) -> None:
    """Add the options of `quality`."""
    quality.description = (
        "Asks the private table, with noise and at a cost that its ledger books, how far a "
        "release's one-way and pair marginals are from its own; writes accuracy.json beside the "
        "release, and its report again. All of it may be published. The same command continues "
        "what was interrupted."
    )
    quality.add_argument("release", help="a release's folder")
    quality.add_argument(
        "--private", metavar="TABLE", help="the private table (default: where its run had it)"
    )
    add_people(quality)
    quality.add_argument("--ledger", required=True, help="the ledger that the release was made on")
    quality.add_argument(
        "--epsilon",
        type=float,
        required=True,
        help="what it may cost, at the delta of the release's run",
    )
    add_i_know(quality)
    quality.add_argument(
        "--cap",
        type=int,
        metavar="C",
        help="a person counts for at most C rows (default: what is best for synthetic people)",
    )
    add_output(quality)


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


def add_init(init: argparse.ArgumentParser) -> None:
    """Add the options of `init`."""
    init.description = (
        "Writes schema.toml and understudy.toml, with a comment on every line. It reads public "
        "data only, and never opens the private table."
    )
    init.add_argument(
        "folder", nargs="?", default=".", help="folder to write them to (default: this one)"
    )
    _add_sources(init)
    init.add_argument(
        "--unit", metavar="COLUMN[,COLUMN…]", help="who is protected; prompts if omitted"
    )
    init.add_argument("--private", metavar="TABLE", help="named in the run file; never opened")
    init.add_argument(
        "--people", metavar="TABLE", help="the private table of people, if there are two; likewise"
    )
    init.add_argument("--name", help="the table's name, the same for every year of it")
    init.add_argument(
        "--period", metavar="DAY..DAY", help="the first and the last day of the private table"
    )
    add_budget(init)
    add_output(init)


def _add_sources(init: argparse.ArgumentParser) -> None:
    """Add what `init` may read, which anyone may see."""
    init.add_argument(
        "--public", metavar="TABLE", help=f"a similar table that anyone may see: {TABLE}"
    )
    init.add_argument(
        "--public-people",
        metavar="TABLE",
        help="a public table of people beside it: its columns are a person's own",
    )
    init.add_argument(
        "--metadata", metavar="FILE", help="a metadata file of SDV, dpsynth, private-pgm or NIST"
    )
    init.add_argument(
        "--header",
        metavar="COLUMN,COLUMN…",
        help="the private table's columns, for --metadata, or alone for a schema to fill in",
    )
    init.add_argument(
        "--delimiter", help="what separates cells (default: as it looks in the public file)"
    )
    init.add_argument(
        "--encoding", choices=("utf-8", "latin-1"), help="of CSV files (default: likewise)"
    )


def add_fit(fit: argparse.ArgumentParser) -> None:
    """Add the options of `fit`."""
    fit.description = (
        "Fits a model to noisy marginals that were measured elsewhere, and draws rows from it. No "
        "private table is opened. Each file has the marginal's columns, 'count' and "
        "'standard_error'."
    )
    fit.add_argument("marginals", help="a folder of CSV or Parquet files")
    add_unit(fit)
    add_budget(fit)
    fit.add_argument("--promised-by", metavar="WHO", help="who measured them, and promises that")
    fit.add_argument("--rows", type=int, metavar="N", help="rows to draw (default: as counted)")
    fit.add_argument("--out", help="a new folder for the release")
    add_output(fit)


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """Add a recipe, and the contest's files."""
    parser.add_argument(
        "--recipe",
        metavar="NAME",
        help="a contest's recipe, with --parameters; see 'understudy recipes'",
    )
    add_contest_files(parser)


def add_contest_files(parser: argparse.ArgumentParser) -> None:
    """Add the contest's files that a recipe reads."""
    parser.add_argument(
        "--parameters", metavar="FILE", help="the contest's parameters.json, for --recipe"
    )
    parser.add_argument(
        "--lists", metavar="FILE", help="code lists for --recipe: JSON, column → [code, …]"
    )
    parser.add_argument(
        "--groups",
        metavar="COLUMN=FILE",
        action="append",
        help="groups of a column's codes, such as the states of cities: JSON, code → group",
    )


def add_of_recipe(parser: argparse.ArgumentParser) -> None:
    """Add the options of a recipe's runs."""
    parser.add_argument(
        "--published", action="store_true", help="with --recipe: do what the contest's entry did"
    )
    parser.add_argument(
        "--noise",
        choices=("laplace", "gaussian"),
        help="overrides the noise of a recipe (baltimore-911); laplace gives pure epsilon",
    )


def add_recipes(recipes: argparse.ArgumentParser) -> None:
    """Add the options of `recipes`."""
    recipes.description = (
        "Lists the recipes; 'show NAME' prints one; 'export NAME' writes the schema and a run file "
        "for each epsilon, to edit, and needs --parameters and --out."
    )
    recipes.add_argument(
        "what", nargs="?", metavar="ACTION", choices=("show", "export"), help="show or export one"
    )
    recipes.add_argument("name", nargs="?", metavar="NAME", help="the recipe")
    add_contest_files(recipes)
    recipes.add_argument("--out", help="a new folder, for export")
    add_output(recipes)


def add_report(report: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    report.add_argument("release", help="a release's folder")
    report.add_argument("--out", help="a new file (default: report.html in the release's folder)")
    report.add_argument(
        "--outlines",
        metavar="COLUMN=FILE",
        action="append",
        help="a GeoJSON file of a column's places, for a map; may be repeated",
    )
    add_output(report)
