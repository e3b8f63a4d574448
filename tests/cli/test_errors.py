"""Every bad input is told in one line, with an exit code of its own, before anything is spent."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import understudy as us
from tests.audit.effort import few, one_in
from tests.cli.place import SCHEMA, Place, process
from understudy.cli import ledger
from understudy.errors import (
    BudgetError,
    BudgetExhaustedError,
    InternalError,
    LedgerDamagedError,
    LedgerLockedError,
    LedgerMismatchError,
    MalformedFileError,
    MissingColumnError,
    MissingFileError,
    OutputExistsError,
    SchemaError,
    StorageError,
    UnderstudyError,
    UsageError,
)
from understudy.ledger import journal

if TYPE_CHECKING:
    from collections.abc import Callable

    Case = tuple[Callable[[Place], list[str]], type[UnderstudyError], tuple[str, ...]]

pytestmark = pytest.mark.usefixtures("plain_reports")


def synth(private: str = "trips.csv", **changes: Any) -> Callable[[Place], list[str]]:
    return lambda place: place.synth(private, **changes)


def with_file(name: str, text: str | bytes, **changes: Any) -> Callable[[Place], list[str]]:
    """Write a file first, and give its name wherever a change says FILE."""

    def make(place: Place) -> list[str]:
        path = place / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return place.synth(**{k: path if v == "FILE" else v for k, v in changes.items()})

    return make


def spend(place: Place) -> None:
    """Spend on a ledger."""
    place.once("spent", lambda: place.fine(*place.synth(out=place / "first")))


def with_ledger(*options: str, **changes: Any) -> Callable[[Place], list[str]]:
    """Spend on a ledger first, or make one."""

    def make(place: Place) -> list[str]:
        if options:
            place.fine("ledger", place / "trips.ledger", "--create", *options)
        else:
            spend(place)
        return place.synth(**changes)

    return make


def existing(kind: str) -> Callable[[Place], list[str]]:
    def make(place: Place) -> list[str]:
        if kind == "link":
            (place / "out").symlink_to(place / "nowhere")
        elif kind == "file":
            (place / "out").write_text("mine")
        else:
            (place / "out").mkdir()
        return place.synth()

    return make


def run_of_python(note: dict[str, str], *options: str) -> Callable[[Place], list[str]]:
    """Begin a run from Python, with or without a note of where its release goes."""

    def make(place: Place) -> list[str]:
        session = us.open(
            private=place / "trips.csv",
            schema=place / "schema.toml",
            unit=us.Unit("taxi"),
            bounding=us.Weights(4),
            budget=us.Budget(epsilon=1.0, delta=1e-6),
            ledger=place / "trips.ledger",
        )
        session.run(us.Independent(), note={k: str(place / v) for k, v in note.items()})
        return ["resume", str(place / "trips.ledger"), *options]

    return make


def about_ledger(*options: str, spent: bool = True) -> Callable[[Place], list[str]]:
    def make(place: Place) -> list[str]:
        if spent and options == ("resume",):  # where its release is, is in the ledger
            place.fine(*place.synth(out=place / "first"))
        elif spent:
            spend(place)
        return [options[0], str(place / "trips.ledger"), *options[1:]]

    return make


def damaged(how: str) -> Callable[[Place], list[str]]:
    """Spend on a ledger, and damage it."""

    def make(place: Place) -> list[str]:
        spend(place)
        path = place / "trips.ledger"
        if how == "text":
            path.write_text("this is no ledger, but long enough to be taken for a database\n" * 99)
        elif how == "empty":
            path.write_bytes(b"")
        elif how == "cut":
            path.write_bytes(path.read_bytes()[:5000])
        elif how == "another database":
            path.unlink()
            with closing(sqlite3.connect(path)) as other, other:
                other.execute("CREATE TABLE t (x)")
        else:
            with closing(sqlite3.connect(path)) as hand, hand:
                hand.execute("DROP TRIGGER no_update")
                hand.execute("DROP TRIGGER no_delete")
                hand.execute(
                    "UPDATE entries SET payload = x'00' WHERE kind = 'answer'"
                    if how == "changed"
                    else "DELETE FROM entries WHERE kind = 'reserve'"
                )
        return place.synth()

    return make


def public_copy(place: Place) -> str:
    """Write a public table of 120 taxis."""
    path = place / "public.csv"
    lines = [f"{i},red,{i % 4}" for i in range(120)]
    path.write_text("\n".join(["taxi,colour,hour", *lines, ""]))
    return str(path)


LONG = "x" * 300

CASES: dict[str, Case] = {
    # Files and columns
    "private as public": (
        lambda p: [*p.synth(), f"--public={p / 'trips.csv'}"],
        UsageError,
        ("the private table is named as the public one", "Hint: public data is not protected"),
    ),
    "no such bounding": (
        synth(bounding="nrom"),
        BudgetError,
        ("unknown bounding (got nrom; allowed: weights:C, sample:C, weights:public or norm)",),
    ),
    "missing file": (synth("none.csv"), MissingFileError, ("there is no file",)),
    "unknown kind of file": (
        with_file("t.xlsx", "", private="FILE"),
        MissingFileError,
        ("allowed: .csv",),
    ),
    "name too long": (synth(f"{LONG}.csv"), MissingFileError, ("there is no file",)),
    "malformed file": (
        with_file("trips.csv", "taxi,colour,hour\n1,red\n"),
        MalformedFileError,
        ("malformed", "allowed: UTF-8 CSV", "Hint:"),
    ),
    "no header": (
        with_file("trips.csv", "1,1,1\n"),
        MalformedFileError,
        ("a line of distinct column names", "Hint:"),
    ),
    "another delimiter": (
        with_file("trips.csv", "taxi;colour;hour\n1;red;1\n"),
        MalformedFileError,
        ("no ',' in the first line; the delimiter looks like ';'", "Hint: declare the delimiter"),
    ),
    "a column twice": (
        with_file("trips.csv", "taxi,colour,hour,Hour\n1,red,1,1\n"),
        MalformedFileError,
        ("a name that occurs twice", "Hint: every column needs a name of its own"),
    ),
    "a line break in a column's name": (
        with_file("trips.csv", 'taxi,colour,"hour\nof day"\r\n1,red,1\r\n'),
        MalformedFileError,
        ("a name with a line break in it", "Hint: give the column a name of one line"),
    ),
    "a header in another encoding": (
        with_file("trips.csv", "täxi,colour,hour\n1,red,1\n".encode("latin-1")),
        MalformedFileError,
        ("text that is not UTF-8",),
    ),
    "a table as a ledger": (
        lambda p: ["ledger", str(p / "trips.csv")],
        LedgerDamagedError,
        ("trips.csv is not a ledger", "Hint: name the ledger's own file"),
    ),
    "missing column": (
        with_file("trips.csv", "taxi,color,hour\n1,red,2\n"),
        MissingColumnError,
        ("got no 'colour'", "Hint:"),
    ),
    "id column absent": (synth(unit="driver"), MissingColumnError, ("got no 'driver'", "Hint:")),
    "one of two id columns absent": (synth(unit="taxi,driver"), MissingColumnError, ("'driver'",)),
    # Budgets and bounds
    "epsilon of nothing": (synth(epsilon=0), BudgetError, ("got 0.0", "a number above 0")),
    "epsilon below nothing": (synth(epsilon=-1), BudgetError, ("got -1.0",)),
    "epsilon of no number": (synth(epsilon="nan"), BudgetError, ("got nan",)),
    "endless epsilon": (synth(epsilon="inf"), BudgetError, ("got inf",)),
    "epsilon in words": (synth(epsilon="one"), UsageError, ("'one'", "Hint: understudy synth --h")),
    "delta of one": (synth(delta=1), BudgetError, ("got 1.0", "between 0 and 1", "Hint:")),
    "delta above one": (synth(delta=1.5), BudgetError, ("got 1.5",)),
    "epsilon that protects nobody": (
        lambda p: [*p.synth(), "--epsilon=21"],
        BudgetError,
        ("an epsilon this large", "got epsilon 21", "at most 20", "add --i-know"),
    ),
    "delta that gives people away": (
        synth(delta=0.5),
        BudgetError,
        ("a delta this large", "got delta 0.5", "add --i-know"),
    ),
    "delta that gives the public people away": (
        lambda p: [*p.synth(public=public_copy(p), delta=0.009, mechanism="adagrid")],
        BudgetError,
        ("a delta this large", "delta 0.009, times 120 people"),
    ),
    "negative delta": (synth(delta=-0.1), BudgetError, ("got -0.1",)),
    "delta of no number": (synth(delta="nan"), BudgetError, ("got nan",)),
    "bounding without a cap": (synth(bounding="weights"), BudgetError, ("weights:C, sample:C",)),
    "bounding of nothing": (synth(bounding="weights:0"), BudgetError, ("got 0", "1 to 2^31 - 1")),
    "bounding of no digits": (synth(bounding="weights:²"), BudgetError, ("got weights:²",)),
    "bounding of many digits": (synth(bounding="weights:" + "9" * 5000), BudgetError, ("a cap",)),
    "unknown bounding": (synth(bounding="magic:5"), BudgetError, ("got magic:5", "weights:C")),
    "norm with a cap": (synth(bounding="norm:5"), BudgetError, ("no cap", "got norm:5", "or norm")),
    "cap of a sample from public rows": (
        synth("none.csv", bounding="sample:public", mechanism="adagrid"),
        BudgetError,
        ("needs a cap", "got sample:public", "weights:public"),
    ),
    "cap from no public table": (
        synth("none.csv", bounding="weights:public", mechanism="adagrid"),
        UsageError,
        ("needs a public table", "got no --public", "allowed: --public FILE", "Hint: or give"),
    ),
    "cap chosen by the default mechanism": (
        synth("none.csv", bounding="weights:public", public="none.csv", mechanism=None),
        UsageError,
        ("got --mechanism auto", "allowed: --mechanism adagrid", "Hint: or give"),
    ),
    "cap from a public table of nobody": (
        with_file(
            "p.csv",
            "colour,hour\nred,1\n",
            private="none.csv",
            public="FILE",
            bounding="weights:public",
            mechanism="adagrid",
        ),
        UsageError,
        ("public table does not show", "got a table without the unit's columns", "Hint:"),
    ),
    "norm without a delta": (
        synth(bounding="norm", delta=0, mechanism="adagrid"),
        BudgetError,
        ("L2", "Hint:"),
    ),
    "unit of no name": (synth(unit=" , "), BudgetError, ("at least one column",)),
    "unit named twice": (synth(unit="taxi,taxi"), BudgetError, ("each only once",)),
    # The command line itself
    "unknown mechanism": (synth(mechanism="magic"), UsageError, ("got magic", "independent")),
    "unknown format": (synth(format="xlsx"), UsageError, ("xlsx", "parquet", "csv")),
    "unknown null rule": (synth(null_ids="each"), UsageError, ("each", "drop")),
    "budget left out": (synth(epsilon=None), UsageError, ("--epsilon",)),
    "unit left out": (synth(unit=None), UsageError, ("--unit",)),
    "several left out": (
        synth(unit=None, bounding=None, delta=None),
        UsageError,
        ("required without --recipe: --unit, --bounding, --delta", "Hint: understudy synth --help"),
    ),
    "parameters without a recipe": (
        synth(parameters="parameters.json"),
        UsageError,
        ("options that need --recipe", "got --parameters"),
    ),
    "published without a recipe": (
        lambda p: [*p.synth(), "--published"],
        UsageError,
        ("options that need --recipe", "got --published"),
    ),
    # Settings
    "settings missing": (synth(settings="none.toml"), MissingFileError, ("none.toml",)),
    "settings that do not parse": (
        with_file("s.toml", "threshold = [", settings="FILE"),
        UsageError,
        ("s.toml does not parse", "allowed: TOML"),
    ),
    "settings of no text": (with_file("s.toml", b"\xff", settings="FILE"), UsageError, ("UTF-8",)),
    "unknown setting": (
        with_file("s.toml", "colour = 1", settings="FILE", mechanism="adagrid"),
        UsageError,
        ("adagrid has no such setting", "got colour", ", cliques, "),
    ),
    "setting of another mechanism": (
        with_file("s.toml", "threshold = 5.0", settings="FILE"),
        UsageError,
        ("independent has no such setting", "got threshold", "people_share"),
    ),
    "setting of another type": (
        with_file("s.toml", 'threshold = "high"', settings="FILE", mechanism="adagrid"),
        UsageError,
        ("threshold", "got 'high'", "allowed: a number"),
    ),
    "clique that is no list": (
        with_file("s.toml", 'cliques = ["hour"]', settings="FILE", mechanism="adagrid"),
        UsageError,
        ("cliques", "got ['hour']", "allowed: [[a string, …], …]"),
    ),
    "setting that cannot be": (
        with_file("s.toml", "rows_share = 2.0", settings="FILE", mechanism="adagrid"),
        BudgetError,
        ("rows_share must be above 0 and below 1",),
    ),
    # The public table
    "public table missing": (synth(public="none.csv"), MissingFileError, ("none.csv",)),
    "public table without a column": (
        with_file("p.csv", "taxi,hour\n1,2\n", public="FILE"),
        MissingColumnError,
        ("'colour'",),
    ),
    "public table without rows": (
        with_file("p.csv", "taxi,colour,hour\n", public="FILE"),
        UsageError,
        ("public table has no rows",),
    ),
    "unknown command": (lambda _: ["sing"], UsageError, ("'sing'", "synth", "Hint:")),
    "unknown option": (lambda p: [*p.synth(), "--seed=1"], UsageError, ("--seed=1",)),
    # The schema
    "schema missing": (synth(schema="none.toml"), MissingFileError, ("schema file none.toml",)),
    "schema that does not parse": (
        with_file("bad.toml", "name = [", schema="FILE"),
        SchemaError,
        ("bad.toml does not parse", "got"),
    ),
    "schema of no text": (with_file("bad.toml", b"\xff", schema="FILE"), SchemaError, ("UTF-8",)),
    "schema of an unknown kind": (
        with_file("bad.toml", SCHEMA.replace('"integer"', '"colourful"'), schema="FILE"),
        SchemaError,
        ("'colourful'", "allowed: categorical", "'hour'"),
    ),
    "schema without columns": (
        with_file("bad.toml", 'name = "x"', schema="FILE"),
        SchemaError,
        ("no columns",),
    ),
    "schema of an unknown file": (
        with_file("bad.json", '{"a": "b"}', schema="FILE"),
        SchemaError,
        ("bad.json", "allowed: our TOML"),
    ),
    # The output folder
    "output folder exists": (existing("folder"), OutputExistsError, ("exists already", "Hint:")),
    "output file exists": (existing("file"), OutputExistsError, ("exists already",)),
    "output link exists": (existing("link"), OutputExistsError, ("exists already",)),
    "output folder below a file": (
        lambda p: p.synth(out=p / "trips.csv" / "some" / "out"),
        StorageError,
        ("cannot create a folder in", "trips.csv", "Hint:"),
    ),
    # The ledger
    "budget exhausted": (
        with_ledger(),
        BudgetExhaustedError,
        ("got epsilon 1 at delta 1e-06", "allowed: nothing", "Hint: the total was set"),
    ),
    "budget larger than the ledger": (
        with_ledger("--epsilon=0.5", "--delta=1e-6"),
        BudgetExhaustedError,
        ("got epsilon 1 ", "allowed: epsilon 0.5"),
    ),
    "ledger of another currency": (
        with_ledger("--epsilon=5", "--delta=0"),
        LedgerMismatchError,
        ("another currency", "got gdp", "allowed: pure", "Hint:"),
    ),
    "ledger of another unit": (
        with_ledger(unit="taxi,hour"),
        LedgerMismatchError,
        ("another unit", "got unit taxi × hour", "allowed: taxi", "Hint:"),
    ),
    "ledger of another table": (
        lambda p: with_ledger(schema=p / "rides.toml")(p),
        LedgerMismatchError,
        ("another table", "got table rides", "allowed: trips", "Hint:"),
    ),
    **{
        f"ledger: {how}": (damaged(how), LedgerDamagedError, ("ledger",))
        for how in ("text", "empty", "cut", "another database", "changed", "shortened")
    },
    "ledger below a file": (
        lambda p: p.synth(ledger=p / "trips.csv" / "trips.ledger"),
        StorageError,
        ("ledger", "got "),
    ),
    "ledger that is a folder": (
        lambda p: p.synth(ledger=p.folder),
        MissingFileError,
        ("no ledger",),
    ),
    # The other commands
    "ledger missing": (about_ledger("ledger", spent=False), MissingFileError, ("--create",)),
    "ledger made twice": (
        about_ledger("ledger", "--create", "--epsilon=1", "--delta=0"),
        OutputExistsError,
        ("already",),
    ),
    "ledger made without a total": (
        about_ledger("ledger", "--create", "--epsilon=1", spent=False),
        UsageError,
        ("--epsilon E --delta D",),
    ),
    "ledger made of no budget": (
        about_ledger("ledger", "--create", "--epsilon=1", "--delta=2", spent=False),
        BudgetError,
        ("got 2.0",),
    ),
    "abandoning no run": (
        about_ledger("ledger", "--abandon=7"),
        LedgerMismatchError,
        ("no run 7", "allowed: 1"),
    ),
    "resuming without a ledger": (about_ledger("resume", spent=False), MissingFileError, ("no l",)),
    "resuming no run": (
        about_ledger("resume", "--run=7"),
        LedgerMismatchError,
        ("got run 7", "allowed: 1"),
    ),
    "resuming into a folder that exists": (
        about_ledger("resume"),
        OutputExistsError,
        ("first exists already",),
    ),
    "resuming into nowhere": (
        run_of_python({"private": "trips.csv"}),
        UsageError,
        ("names no output folder", "allowed: --out FOLDER"),
    ),
    "resuming on nothing": (
        run_of_python({"out": "out"}),
        UsageError,
        ("names no private table", "allowed: --private FILE"),
    ),
    "resuming on a file that is not there": (
        run_of_python({"out": "out"}, "--private=none.csv"),
        MissingFileError,
        ("none.csv",),
    ),
    "demo in a folder that exists": (
        lambda p: ["demo", str(p.folder)],
        OutputExistsError,
        ("exists already",),
    ),
    "demo of no trips": (
        lambda p: ["demo", str(p / "demo"), "--trips=0"],
        UsageError,
        ("--trips", "got 0"),
    ),
    "demo of no patients": (
        lambda p: ["demo", str(p / "demo"), "--table=clinic", "--patients=0"],
        UsageError,
        ("--patients must be positive", "got 0"),
    ),
    "demo of trips to a clinic": (
        lambda p: ["demo", str(p / "demo"), "--table=clinic", "--trips=10"],
        UsageError,
        ("--trips is for --table city", "got --table clinic"),
    ),
    "demo of no such table": (
        lambda p: ["demo", str(p / "demo"), "--table=school"],
        UsageError,
        ("--table", "'school'"),
    ),
    "demo of no budget": (
        lambda p: ["demo", str(p / "demo"), "--epsilon=0"],
        BudgetError,
        ("epsilon",),
    ),
    "demo below a file": (
        lambda p: ["demo", str(p / "trips.csv" / "demo")],
        StorageError,
        ("cannot create a folder in", "Hint:"),
    ),
}


IN_JSON = one_in(4, CASES)
"""Those that are told again in JSON, which is one function's work."""


@pytest.mark.parametrize("case", CASES)
def test_a_bad_input_is_told_in_one_line_and_costs_nothing(case: str, place: Place) -> None:
    make, kind, said = CASES[case]
    arguments = make(place)
    readable = not case.startswith("ledger: ")
    before = (place.spent() if readable else None, place.names())

    told = place.say(*arguments)
    assert told.line.startswith("understudy: ")
    for part in said:
        assert part in told.line
    assert told.code == kind.exit_code
    assert (place.spent() if readable else None, place.names()) == before

    if case not in IN_JSON:
        return
    as_json = place.say(*arguments, "--json")
    facts = json.loads(as_json.line)
    assert as_json.code == facts["exit_code"] == kind.exit_code
    assert facts["error"] == kind.__name__
    assert set(facts) == {"error", "what", "got", "allowed", "hint", "exit_code"}
    assert (place.spent() if readable else None, place.names()) == before


def test_every_error_has_an_exit_code_of_its_own() -> None:
    kinds = UnderstudyError.__subclasses__()
    codes = [UnderstudyError.exit_code, *(kind.exit_code for kind in kinds)]
    assert len(set(codes)) == len(codes) > 15
    assert not {0, 126, 127, 130} & set(codes)


# The ledger is held by another


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "WAIT_SECONDS", 0.05)


@pytest.mark.parametrize("mode", ["IMMEDIATE", "EXCLUSIVE"])
@pytest.mark.usefixtures("impatient")
def test_a_locked_ledger(place: Place, mode: str) -> None:
    place.fine("ledger", place / "trips.ledger", "--create", "--epsilon=9", "--delta=1e-6")
    before = place.spent(), place.names()
    with closing(sqlite3.connect(place / "trips.ledger", isolation_level=None)) as holder:
        holder.execute(f"BEGIN {mode}")
        told = place.say(*place.synth())
        holder.execute("ROLLBACK")
    assert told.code == LedgerLockedError.exit_code
    assert "locked by another process" in told.line
    assert "Hint: wait" in told.line
    assert (place.spent(), place.names()) == before


# A disk that takes no more


@pytest.fixture
def many(place: Place) -> Place:
    lines = [f"{i % 400},red,{i % 4}" for i in range(60_000)]
    (place / "many.csv").write_text("\n".join(["taxi,colour,hour", *lines, ""]))
    return place


def limited(size: int) -> str:
    """Write code that lets no file grow beyond a size, as a full disk would."""
    return (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    )


@pytest.mark.parametrize(("form", "options"), few([("parquet", ["--json"]), ("csv", [])], usual=1))
def test_a_release_that_does_not_fit_is_booked_and_not_lost(
    many: Place, form: str, options: list[str]
) -> None:
    before = many.names()
    size = 36 * 1024
    asked = many.synth("many.csv", epsilon=20, bounding="weights:150", format=form)
    done = process(*asked, *options, code=limited(size))
    assert (done.returncode, done.stdout) == (StorageError.exit_code, "")
    assert len(done.stderr.splitlines()) == 1
    if options:
        assert json.loads(done.stderr)["error"] == "StorageError"
    else:
        assert done.stderr.startswith("understudy: ")
    assert "'understudy resume " in done.stderr
    assert many.names() == before | {"trips.ledger"}
    booked = many.spent()
    assert booked is not None
    assert booked[1:] == (1, 3)
    many.fine("resume", many / "trips.ledger")
    assert (many / "out" / f"rows.{form}").stat().st_size > size
    assert many.spent() == booked


def test_a_release_that_cannot_be_written_says_how_to_get_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object, **named: object) -> None:
        del arguments, named
        raise StorageError("no room", got="a full disk", allowed="an empty one")

    monkeypatch.setattr(us.Release, "save", full)
    told = place.say(*place.synth())
    assert told.code == StorageError.exit_code
    assert told.line == (
        "understudy: no room (got a full disk; allowed: an empty one). Hint: no answer is lost: "
        f"'understudy resume {place / 'trips.ledger'} --out FOLDER' writes the release"
    )


def test_a_ledger_that_does_not_fit_costs_nothing(place: Place) -> None:
    done = process(*place.synth(), code=limited(6000))
    assert (done.returncode, done.stdout) == (StorageError.exit_code, "")
    assert len(done.stderr.splitlines()) == 1
    assert not (place / "out").exists()
    left = place.spent()
    assert left is None or left[1:] == (0, 0)


def test_names_that_are_too_long(place: Place) -> None:
    before = place.names()
    for change in ({"out": place / LONG}, {"ledger": place / LONG}):
        told = place.say(*place.synth(**change))
        assert told.code == StorageError.exit_code
        assert told.line.startswith("understudy: ")
        assert place.names() == before


# Faults, interrupts, and readers who leave


def raising(error: BaseException) -> Callable[[object], None]:
    def command(options: object) -> None:
        del options
        raise error

    return command


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    return lambda error: monkeypatch.setattr(ledger, "run", raising(error))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("secret"), InternalError.exit_code, "ValueError in command, line "),
        (OSError(28, "secret"), StorageError.exit_code, "No space left on device"),
        (OSError("secret"), StorageError.exit_code, "OSError"),
        (KeyboardInterrupt("secret"), 130, "understudy: interrupted"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_fault_is_told_by_kind_and_place(
    place: Place,
    failing: Callable[[BaseException], None],
    error: BaseException,
    code: int,
    said: str,
    *,
    as_json: bool,
) -> None:
    failing(error)
    told = place.say("ledger", "any", *["--json"] * as_json)
    assert told.code == code
    assert said in told.line
    assert "secret" not in told.line


def test_a_reader_who_leaves_is_no_error(
    place: Place, failing: Callable[[BaseException], None]
) -> None:
    failing(BrokenPipeError())
    assert place.say("ledger", "any").code == 0
