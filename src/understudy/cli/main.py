"""The command line: arguments in, a summary or one line of error out.

Nothing heavy is imported before a command is known, so that help is quick.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from understudy import __version__
from understudy.cli.options import (
    TABLE,
    add_budget,
    add_discover,
    add_fit,
    add_i_know,
    add_init,
    add_ledger,
    add_of_recipe,
    add_output,
    add_people,
    add_quality,
    add_recipe,
    add_recipes,
    add_report,
    add_screening,
    add_unit,
)
from understudy.cli.output import listen
from understudy.errors import InternalError, StorageError, UnderstudyError, UsageError, nearest
from understudy.synth.registry import MECHANISMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_HELP = {"-h", "--help"}
SHELLS = ("bash", "zsh", "fish")
_WRONG = re.compile(r"invalid choice: '([^']*)'|unrecognized arguments: (\S+)")


class _Parser(argparse.ArgumentParser):
    """A parser that raises this package's errors."""

    words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing and exiting; name the word that was probably meant."""
        wrong = _WRONG.search(message)
        meant = None
        if wrong is not None:
            meant = nearest(wrong[1] or wrong[2], self._known(self.words))
        if meant is not None:
            message = message.partition(" (choose from")[0]
        raise UsageError(message, hint=meant or f"{self.prog} --help")

    def _known(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the commands, or the options of the command that is given."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  it has no other name
                chosen = [action.choices[word] for word in words[:1] if word in action.choices]
                yield from chosen[0]._option_string_actions if chosen else action.choices  # noqa: SLF001
            elif isinstance(action.choices, (list, tuple)):
                yield from action.choices


def _add_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run, which a run file may set too."""
    parser.add_argument("private", help=f"a run file (.toml), or the private table: {TABLE}")
    add_people(parser)
    parser.add_argument("--public", metavar="TABLE", help="a similar table that anyone may see")
    add_unit(parser)
    parser.add_argument(
        "--bounding",
        metavar="KIND[:C]",
        help="contribution bounding: norm, L2 clipping of each person's contribution, no cap; "
        "weights:C, where a person's row weights sum to at most C; sample:C, at most C rows; or "
        "weights:public, where adagrid chooses C from --public",
    )
    add_budget(parser)
    add_i_know(parser)
    parser.add_argument(
        "--known",
        metavar="[people:]FILE",
        action="append",
        help="a CSV file of counts that everyone knows, which rows follow: columns and 'count'; "
        "'people:' where it counts people; may be repeated",
    )
    add_screening(parser)
    parser.add_argument("--ledger", help="the table's ledger; created if it does not exist")
    parser.add_argument(
        "--mechanism", metavar="NAME", help=f"{', '.join(sorted(MECHANISMS))} (default: auto)"
    )
    parser.add_argument(
        "--settings", metavar="FILE", help="a TOML file with the mechanism's settings"
    )


def _add_synth(synth: argparse.ArgumentParser) -> None:
    synth.description = (
        "A run file sets every option; the command line overrides it. Without a run file and "
        "without --recipe, needs --schema, --unit, --bounding, --epsilon, --delta, --ledger and "
        "--out. With --recipe, needs --parameters, --ledger and --out, which names the "
        "submission's CSV file."
    )
    _add_run(synth)
    add_recipe(synth)
    add_of_recipe(synth)
    synth.add_argument(
        "--best-of",
        metavar="N",
        help="run N mechanisms, each on its part of the budget, and publish the one whose pairs "
        "are least wrong by noisy distances; or their names: mst,aim",
    )
    synth.add_argument("--out", help="a new folder for the release, or a CSV file")
    synth.add_argument(
        "--format", choices=("parquet", "csv"), help="file format of the rows (default: parquet)"
    )
    add_output(synth)


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument(
        "folder", nargs="?", default="understudy-demo", help="a new folder for its files"
    )
    demo.add_argument(
        "--table",
        choices=("city", "clinic"),
        default="city",
        help="what is simulated: the trips of a city's taxis, by default, or the visits of a "
        "clinic's patients, with synthetic people by lives",
    )
    demo.add_argument("--trips", type=int, help="simulated trips per year (default: 200000)")
    demo.add_argument("--patients", type=int, help="simulated patients (default: 5000)")
    demo.add_argument("--epsilon", type=float, default=1.0)
    demo.add_argument("--delta", type=float, default=1e-9)
    add_output(demo)


def _add_sample(sample: argparse.ArgumentParser) -> None:
    sample.add_argument("release", help="a release's folder")
    sample.add_argument(
        "-n",
        "--rows",
        type=int,
        metavar="N",
        help="number of rows (default: as many as the release has)",
    )
    sample.add_argument(
        "--people", type=int, metavar="N", help="number of people, in place of a number of rows"
    )
    sample.add_argument(
        "--where",
        metavar="COLUMN=VALUE[,VALUE…]",
        action="append",
        help="only rows with one of these values, or with --people only people, by columns of "
        "their own; may be repeated for other columns",
    )
    sample.add_argument("--seed", type=int, help="the same seed gives the same rows")
    sample.add_argument("--out", required=True, help="a new file, .csv or .parquet")
    add_output(sample)


def _add_histogram(histogram: argparse.ArgumentParser) -> None:
    histogram.add_argument("release", help="a release's folder")
    histogram.add_argument(
        "--by", required=True, metavar="COLUMN[,COLUMN…]", help="a line for each cell of these"
    )
    histogram.add_argument("--across", metavar="COLUMN", help="a column of counts for each value")
    histogram.add_argument("--out", required=True, help="a new file, .csv or .parquet")
    add_output(histogram)


def _add_evaluate(evaluate: argparse.ArgumentParser) -> None:
    evaluate.description = (
        "Custodian-only: what it prints or writes contains exact differences from the private "
        "table, and is not part of any release."
    )
    evaluate.epilog = (
        "Each metric adds its own options, such as --target COLUMN, the column to predict, or "
        "--place, --time and --edge for a trip score: 'understudy metrics' lists them."
    )
    evaluate.add_argument(
        "synthetic", nargs="+", help="a release's folder or a file of synthetic rows; one or more"
    )
    evaluate.add_argument(
        "--private",
        required=True,
        metavar="TABLE",
        help="the private table, or a run file (.toml), which also has the schema and the unit",
    )
    add_people(evaluate)
    add_unit(evaluate)
    add_recipe(evaluate)
    evaluate.add_argument(
        "--epsilon", type=float, help="evaluate a submission's rows of this epsilon"
    )
    evaluate.add_argument(
        "--report",
        metavar="FILE.html",
        help="write a report with charts to a new file that only its owner can read, instead of "
        "printing; never into a release's folder",
    )
    add_output(evaluate)


def _add_check(check: argparse.ArgumentParser) -> None:
    check.description = (
        "Compares the names of the private table's columns with the schema and the unit, and reads "
        "no row; then rehearses the run on the public table. Without a run file, needs --schema, "
        "--unit, --bounding, --epsilon, --delta and --ledger."
    )
    _add_run(check)
    add_recipe(check)
    add_of_recipe(check)
    check.add_argument(
        "--people-count", type=int, metavar="N", help="rehearse on this many people, made up"
    )
    check.add_argument(
        "--rows-per-person", type=float, metavar="R", help="with this many rows on average"
    )
    add_output(check)


def _add_resume(resume: argparse.ArgumentParser) -> None:
    resume.add_argument("ledger", help="the ledger of the run")
    resume.add_argument("--run", type=int, help="the run's number; the last one by default")
    resume.add_argument("--private", help="the private table, if it has moved")
    add_people(resume)
    resume.add_argument("--public", help="the public table, if it has moved")
    resume.add_argument("--out", help="another folder for the release")
    add_output(resume)


def _add_audit(audit: argparse.ArgumentParser) -> None:
    audit.add_argument("--mechanism", help="one mechanism (default: all)")
    audit.add_argument("--pairs", type=int, default=50, help="pairs of neighbours to replay")
    audit.add_argument("--deep", action="store_true", help="10,000 pairs")
    audit.add_argument("--seed", type=int, help="the seed of an earlier audit, for the same pairs")
    audit.add_argument(
        "--statistical", action="store_true", help="also estimate the privacy loss from many runs"
    )
    audit.add_argument(
        "--runs", type=int, default=10_000, help="for --statistical (default: 10,000)"
    )
    add_output(audit)


def _add_completion(completion: argparse.ArgumentParser) -> None:
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    add_output(completion)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "demo": ("a simulated city or clinic, from private table to evaluation", _add_demo),
    "init": ("draft a schema and a run file from public data", add_init),
    "discover": ("draft a schema from a private table, at a cost", add_discover),
    "check": ("validate and rehearse a run; nothing is spent", _add_check),
    "synth": ("make a synthetic table from a private one", _add_synth),
    "sample": ("draw more rows or people from a release, at no privacy cost", _add_sample),
    "histogram": ("count a release's rows, as a file", _add_histogram),
    "fit": ("make rows from marginals that were measured elsewhere", add_fit),
    "report": ("write a release's report, one HTML file", add_report),
    "quality": ("how far a release is from the private table, with noise and charged", add_quality),
    "recipes": ("list, show or export presets for NIST's contests", add_recipes),
    "resume": ("continue a run that was interrupted", _add_resume),
    "ledger": ("what was spent, on what, and what is left", add_ledger),
    "evaluate": ("custodian-only: exact differences from the private table", _add_evaluate),
    "metrics": ("list the metrics of 'evaluate' and their options", add_output),
    "audit": ("check that mechanisms keep their privacy promise", _add_audit),
    "completion": ("print a script for your shell's Tab key", _add_completion),
}


def parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Build the parser of all commands; where the words begin with one, of that one alone."""
    top = _Parser(
        prog="understudy",
        description="Synthetic tables that stand in for private ones, "
        "under user-level differential privacy: the privacy unit is a person, not a row.",
    )
    top.words = words
    top.add_argument("--version", action="version", version=f"understudy {__version__}")
    commands = top.add_subparsers(dest="command", required=True, parser_class=_Parser)
    one = words[0] if words and words[0] in COMMANDS else None
    for name in COMMANDS if one is None else (one,):
        said, add = COMMANDS[name]
        add(commands.add_parser(name, help=said))
    # Metrics are imported only where they are needed, so that help is quick.
    if one == "evaluate" and not _HELP & {*words}:
        import_module("understudy.cli.metrics").add_options(commands.choices[one])
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in words
    options: argparse.Namespace | None = None
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that the terminal cannot show must not fail a command that succeeded.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options = parser(words).parse_args(words or ["--help"])
        as_json = options.json
        listen(verbose=options.verbose)
        run_command(options)
        if sys.stdout is not None:
            sys.stdout.flush()
    except UnderstudyError as error:
        failure = error
    except KeyboardInterrupt:
        from understudy.cli.interruption import interrupted  # noqa: PLC0415

        print(f"understudy: {interrupted(options)}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has exited; all files are written.
        _close_output()
        return 0
    except OSError as error:
        _close_output()
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        failure = StorageError("cannot use a file or folder", got=why)
    except Exception as error:  # noqa: BLE001  its message may hold anything: only its place is shown
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {last.name}, line {last.lineno}"
        failure = InternalError("internal error in Understudy", got=place)
    else:
        return 0
    return _complain(failure, as_json=as_json)


def run_command(options: argparse.Namespace) -> None:
    """Run a command: each is the module of its name, imported when it is needed."""
    import_module(f"understudy.cli.{options.command}").run(options)


def _close_output() -> None:
    """Discard what is not yet flushed, so that Python does not complain on exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(error: UnderstudyError, *, as_json: bool) -> int:
    if as_json:
        facts = {
            "error": type(error).__name__,
            "what": error.what,
            "got": None if error.got is None else str(error.got),
            "allowed": error.allowed,
            "hint": error.hint,
            "exit_code": error.exit_code,
        }
        print(json.dumps(facts), file=sys.stderr)
    else:
        print(f"understudy: {error}", file=sys.stderr)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
