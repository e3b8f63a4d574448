"""Nothing of a private table is ever seen: not in errors, output, logs, ledger or release."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import understudy as us
from tests.audit.effort import THOROUGH, effort, few, one_in
from tests.leaks.canaries import (
    CELL_FILES,
    GOOD,
    HEADER,
    MALFORMED_FILES,
    MISSING_FILES,
    NUMBER,
    PARQUET_FILES,
    TABLES,
    WORD,
    a_file,
    around,
    planted,
)
from tests.leaks.watching import Watch, clean
from tests.shared_duckdb import connect, connecting
from understudy.budget import threshold_upper
from understudy.cli.main import main
from understudy.door import Search
from understudy.engine import DuckDB
from understudy.errors import MalformedFileError, MissingColumnError, MissingFileError, StorageError
from understudy.ledger import Ledger
from understudy.schema import Id, Schema, Text
from understudy.vault import PrivateDoor, PrivateTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

REFUSALS = (MalformedFileError, MissingColumnError, MissingFileError)
CODES = {error.exit_code for error in REFUSALS}


@pytest.fixture
def quickly() -> Iterator[None]:
    """Let a session's engines share a DuckDB: the same files go to engines of their own below."""
    if THOROUGH:
        yield
        return
    with connecting(connect):
        yield


# The watch itself can bark


def test_the_watch_sees_what_it_is_there_for(watch: Watch) -> None:
    def behind() -> None:
        try:
            os.environ[NUMBER]
        except KeyError:
            raise MalformedFileError("fine words") from None

    def printed() -> None:
        print(WORD)

    def logged() -> None:
        logging.getLogger("any").debug("so: %s", WORD)

    def left() -> None:
        (watch.folder / "any.file").write_bytes(b"..." + WORD.encode("utf-16"))

    def raised() -> None:
        raise ValueError

    for act in (behind, printed, raised, logged, left):
        with pytest.raises(AssertionError):
            watch.act(act)
        watch.caplog.clear()


# From Python


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("case", one_in(4, [*CELL_FILES, *PARQUET_FILES]))
def test_no_cell_of_a_file_is_an_error_or_is_seen(watch: Watch, case: str) -> None:
    assert watch.run((CELL_FILES | PARQUET_FILES)[case](watch.inputs)) is None


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("case", [*MALFORMED_FILES, *MISSING_FILES])
def test_a_refused_file_names_no_line_and_no_value(watch: Watch, case: str) -> None:
    error = watch.run((MALFORMED_FILES | MISSING_FILES)[case](watch.inputs))
    assert isinstance(error, REFUSALS)
    assert not (watch.folder / "t.ledger").exists()
    assert not (watch.folder / "out").exists()


REFUSED_TABLES = {
    "arrow, broken text",
    "arrow, far zoned moments",
    "arrow, decimal of 256 bits",
    "polars objects",
    "ragged",
    "two dimensions",
    "a word for a column",
    "a failing column",
    "doubled names",
    "no columns that are needed",
    "no table",
    "a list of rows",
}


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("case", TABLES)
def test_tables_in_memory(watch: Watch, case: str) -> None:
    error = watch.run(TABLES[case]())
    assert (error is not None) == (case in REFUSED_TABLES)
    assert error is None or isinstance(error, REFUSALS)


@pytest.mark.parametrize(
    "other",
    [
        {"unit": us.Unit("when:week", nulls="one")},
        {"unit": us.Unit("id", "colour", "when")},
        {"unit": us.Unit.each_row(), "bounding": us.Sample(1)},
        {"budget": us.Budget(epsilon=0.5, delta=0)},
    ],
    ids=["a part of a date-time", "three columns", "each row", "pure"],
)
def test_other_units_bounds_and_budgets(watch: Watch, other: dict[str, Any]) -> None:
    private = CELL_FILES["everywhere"](watch.inputs)
    assert watch.run(private, **other) is None


def test_rows_that_are_dropped_leave_no_trace(watch: Watch) -> None:
    declared = (watch.folder / "schema.toml").read_text()
    dropping = declared.replace('kind = "c', 'outside = "drop"\nkind = "c')
    (watch.folder / "schema.toml").write_text(dropping)
    assert watch.run(CELL_FILES["everywhere"](watch.inputs)) is None


@pytest.mark.parametrize("many", [0, 60], ids=["nobody else", "a crowd"])
def test_a_value_that_few_have_is_never_seen(watch: Watch, many: int) -> None:
    """It is asked for, weighed, and not told: not in the answer, the ledger, or an error."""
    lines = [f"p{i},red,{i}\n" for i in range(many)] + [f"q,{WORD},{NUMBER}\n"]
    private = watch.inputs / "values.csv"
    private.write_text("id,colour,amount\n" + "".join(lines))
    names = ("colour", "amount")
    schema = Schema("values", (Id(name="id"), *(Text(name=name) for name in names)))
    budget = us.Budget(epsilon=50.0, delta=1e-6, failure=5e-7)

    def ask() -> None:
        with (
            closing(Ledger.create(watch.folder / "v.ledger", budget=budget)) as ledger,
            closing(DuckDB()) as engine,
        ):
            ledger.bind(name="values", unit=us.Unit("id").resolved(schema))
            table = PrivateTable(engine, private, schema=schema, unit=us.Unit("id"), key="k")
            run = ledger.begin(budget, {"mechanism": {"name": "discover"}})
            door = PrivateDoor(table, run=run, bounding=us.Norm())
            tau = threshold_upper(2e-7, sigma=2.0, most=2)
            found = door.discover(
                [Search(column=name, most=2, scale=2.0, threshold=tau) for name in names]
            )
            assert [f.values for f in found] == [("red",) if many else (), ()]
            print(found, ledger)

    assert watch.act(ask) is None


# The file changes under our hands


def test_a_file_that_went_before_it_was_read(watch: Watch) -> None:
    private = CELL_FILES["everywhere"](watch.inputs)
    session = watch.session(private)
    private.unlink()
    error = watch.act(lambda: session.run(us.Independent()))
    assert isinstance(error, MissingFileError)


@pytest.mark.parametrize("after", ["gone", "torn", "others"])
def test_a_file_that_changes_while_it_is_read(
    watch: Watch, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = CELL_FILES["everywhere"](watch.inputs)
    attach = DuckDB.attach

    def changing(self: DuckDB, *arguments: Any, **named: Any) -> Any:
        kinds = attach(self, *arguments, **named)
        private.unlink()
        if after != "gone":
            a_file(around(f'"{WORD}' if after == "torn" else f"{WORD},x\n"))(watch.inputs)
        return kinds

    monkeypatch.setattr(DuckDB, "attach", changing)
    assert isinstance(watch.run(private), (MalformedFileError, StorageError))
    assert not (watch.folder / "t.ledger").exists()


def test_a_file_that_changes_once_the_vault_is_open(watch: Watch) -> None:
    private = CELL_FILES["everywhere"](watch.inputs)

    def change(stage: str, done: float) -> None:
        del done
        if stage == "counting people and rows":
            private.write_text(f'"{WORD}')

    assert watch.act(lambda: watch.session(private).run(us.Independent(), progress=change)) is None


def test_a_file_that_was_torn_before_a_run_is_resumed(watch: Watch) -> None:
    private = CELL_FILES["everywhere"](watch.inputs)
    assert watch.run(private) is None
    private.write_bytes(around(f'"{WORD}'))
    error = watch.act(watch.session(private).resume)
    assert isinstance(error, MalformedFileError)


# From the command line


def tell(watch: Watch, arguments: list[str]) -> int:
    """Run the command line here; look at what it prints, and at what it leaves."""
    code = main(arguments)
    out, err = watch.capsys.readouterr()
    assert clean(out + err)
    assert "Traceback" not in err
    assert len(err.splitlines()) == (code != 0)
    if code and "--json" in arguments:
        assert json.loads(err)["exit_code"] == code
    watch.look()
    return code


@pytest.mark.parametrize("case", list(CELL_FILES)[:: effort(18, 3)])
def test_the_command_line_reads_every_cell(watch: Watch, case: str) -> None:
    assert tell(watch, watch.command(CELL_FILES[case](watch.inputs))) == 0


REFUSED = [*MALFORMED_FILES, *MISSING_FILES]
WAYS = [(case, as_json) for case in REFUSED for as_json in (False, True)]


# Usually they are refused in JSON and in words in turn.
@pytest.mark.parametrize(("case", "as_json"), one_in(5, WAYS))
def test_the_command_line_refuses_in_one_line(watch: Watch, case: str, *, as_json: bool) -> None:
    private = (MALFORMED_FILES | MISSING_FILES)[case](watch.inputs)
    assert tell(watch, watch.command(private) + ["--json"] * as_json) in CODES
    assert not (watch.folder / "t.ledger").exists()


def test_resuming_on_a_torn_file(watch: Watch) -> None:
    private = CELL_FILES["everywhere"](watch.inputs)
    assert tell(watch, watch.command(private)) == 0
    private.write_bytes(around(f'"{WORD}'))
    again = ["resume", str(watch.folder / "t.ledger"), "--out", str(watch.folder / "again")]
    assert tell(watch, again) == MalformedFileError.exit_code
    assert tell(watch, ["ledger", str(watch.folder / "t.ledger")]) == 0


PROCESSES: dict[str, tuple[Callable[[Path], Path], bool, int]] = {
    "utf-8": (MALFORMED_FILES["no utf-8"], True, 4),
    "cells": (CELL_FILES["everywhere"], False, 0),
    "parquet": (PARQUET_FILES["parquet of words"], True, 0),
    "quote": (MALFORMED_FILES["unclosed quote"], False, 4),
    "truncated": (MALFORMED_FILES["truncated parquet"], False, 4),
    "header": (MALFORMED_FILES["no header, different cells"], False, 5),
}


# One that runs is among those of `test_fuzz.py`.
@pytest.mark.parametrize("case", few(PROCESSES, usual=1))
def test_a_process_of_its_own_says_nothing(watch: Watch, case: str) -> None:
    private, json_too, code = PROCESSES[case]
    done = subprocess.run(
        [
            *(sys.executable, "-X", "dev", "-m", "understudy.cli.main"),
            *watch.command(private(watch.inputs)),
            *["--json"] * json_too,
        ],
        capture_output=True,
        check=False,
        cwd=watch.folder,
    )
    assert done.returncode == code
    assert clean(done.stdout + done.stderr)
    # Neither a traceback nor what DuckDB's binding says of connections left open.
    assert len(done.stderr.splitlines()) == (code != 0), done.stderr
    assert bool(done.stdout) == (code == 0)
    watch.look()


def test_good_rows_pass(watch: Watch) -> None:
    assert watch.run(a_file(HEADER + GOOD + planted("3", 0))(watch.inputs)) is None
