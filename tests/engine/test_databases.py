"""Tables in databases: the counts of the same table as a file, and failures that tell nothing."""

from __future__ import annotations

import csv
import io
import json
import socket
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import understudy as us
from tests.cli.place import Place
from tests.engine.postgresql import LOCKED, PASSWORD, Server, why_not
from tests.engine.refusals import refused
from tests.engine.tables import FORMS, NAMES, counted, people, rows, written
from tests.leaks.canaries import GOOD, HEADER, NUMBER, SCHEMA, WORD, planted
from tests.leaks.watching import Watch, clean
from understudy.budget import Unit
from understudy.engine import CodedTable, DuckDB
from understudy.engine.duckdb import databases
from understudy.errors import (
    DatabaseError,
    MissingColumnError,
    MissingFileError,
    MissingPackageError,
    UnderstudyError,
)
from understudy.ledger import Ledger
from understudy.public import read_public
from understudy.release import Release
from understudy.vault import PrivateTable
from understudy.vault.marginals import marginals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from understudy.ledger import State

ROWS = rows()
DECLARED, AS_CSV = FORMS["csv"]
pytestmark = pytest.mark.skipif(
    databases.packed("postgres_scanner", duckdb.__version__) is None,
    reason="DuckDB's extensions are packed for another version: `make test` tries them apart",
)
NO_SERVER = why_not()
needs_server = pytest.mark.skipif(NO_SERVER is not None, reason=NO_SERVER or "")
TYPES = {
    "types of their own": (
        "bigint",
        "text",
        "double precision",
        "smallint",
        "boolean",
        "timestamp",
    ),
    "other types": ("numeric", "varchar(40)", "numeric", "integer", "text", "timestamptz"),
    "texts": ("text",) * 6,
    "odd types": ("numeric(30)", "char(20)", "numeric", "float8", "varchar", "timestamp(0)"),
}
BUDGET = us.Budget(epsilon=1.0, delta=1e-6)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with closing(Server()) as started:
        yield started


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    return Place(tmp_path / "place", capsys)


def declared(names: tuple[str, ...], types: tuple[str, ...]) -> str:
    return ", ".join(f'"{n}" {t}' for n, t in zip(names, types, strict=True))


def sqlite_of(path: Path, text: str, *, types: tuple[str, ...] | None = None) -> str:
    """Make a table of SQLite of a CSV file with a header, and give the words for it."""
    names, *lines = csv.reader(io.StringIO(text))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute(
            f"CREATE TABLE t ({declared(tuple(names), types or ('',) * len(names))})"
        )
        marks = ", ".join("?" * len(names))
        values = [[None if cell == "" else cell for cell in line] for line in lines]
        connection.executemany(f"INSERT INTO t VALUES ({marks})", values)
    return f"sqlite:{path}#t"


# The same counts


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    return counted(AS_CSV(ROWS, tmp_path_factory.mktemp("csv")), DECLARED, Unit("id"))


@needs_server
@pytest.mark.parametrize("types", TYPES)
def test_postgresql_gives_the_counts_of_a_file(
    types: str, server: Server, expected: dict[str, list[int]]
) -> None:
    server.sql('CREATE SCHEMA IF NOT EXISTS "O\'dd ""schema"')
    for table in ("same", '"O\'dd ""schema"."A ""table"'):
        server.filled(table, declared(NAMES, TYPES[types]), written(ROWS))
    server.sql("CREATE VIEW seen AS SELECT * FROM same")
    for table in ("same", "public.same", "seen", 'O\'dd "schema.A "table'):
        database = us.Database(server.address(), table)
        assert counted(database, DECLARED, Unit("id")) == expected
    assert counted(f"{server.address()}#same", DECLARED, Unit("id")) == expected


@needs_server
@pytest.mark.parametrize("unit", [Unit("id", "flag"), Unit("id", "when:week"), Unit.each_row()])
def test_a_unit_is_the_same_in_a_database(unit: Unit, server: Server, tmp_path: Path) -> None:
    server.filled("same", declared(NAMES, TYPES["types of their own"]), written(ROWS))
    file = AS_CSV(ROWS, tmp_path)
    wanted = counted(file, DECLARED, unit)
    assert counted(f"{server.address()}#same", DECLARED, unit) == wanted
    words = sqlite_of(tmp_path / "t.db", written(ROWS).decode())
    assert counted(words, DECLARED, unit) == wanted


ODD = {
    "numeric": ["NaN", "Infinity", "1e200", "0.10", "12345678901234567890", "-0", "7"],
    "numeric(9,2)": ["NaN", "7.00", "0.1"],
    "float8": ["NaN", "-Infinity", "1e300", "0.1", "7"],
    "float4": ["NaN", "Infinity", "0.1", "7", "16777217"],
    "date": ["infinity", "4713-01-01 BC", "5874897-12-31", "2020-02-03"],
    "timestamp": ["-infinity", "4713-01-01 BC", "294276-12-31", "2020-02-03 23:59:59.999999"],
    "timestamptz": ["infinity", "294276-12-31 00:00+00", "2020-02-03 23:59:59+05:30"],
    "time": ["24:00:00", "00:00"],
    "timetz": ["24:00:00+15"],
    "interval": ["1 year -3 days"],
    "uuid": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    "json": ['{"a": [1]}'],
    "jsonb": ['{"a": 1}'],
    "int[]": ["{1,2}", "{{1},{2}}"],
    "bytea": ["\\xff00"],
    "money": ["12.5"],
    "inet": ["10.0.0.1"],
    "point": ["(1,2)"],
    "int4range": ["[1,5)"],
    "bit(3)": ["101"],
    "oid": ["7"],
    '"char"': ["a"],
    "name": ["a"],
    "mood": ["red"],
    '"O\'dd"': ["7"],
    "whole": ["(1,red)"],
}
NUMBERS = ("numeric", "numeric(9,2)", "float8", "float4", "oid", '"O\'dd"')
DATES = ("date", "timestamp", "timestamptz")


@needs_server
def test_no_value_of_any_type_makes_a_table_fail(server: Server) -> None:
    server.sql("CREATE TYPE mood AS ENUM ('red', 'blue'); CREATE TYPE whole AS (a int, b text)")
    server.sql('CREATE DOMAIN "O\'dd" AS int')
    names = tuple(f"c{i}" for i in range(len(ODD)))
    longest = max(map(len, ODD.values()))
    cells = [[dict(enumerate(v)).get(i) for v in ODD.values()] for i in range(longest + 1)]
    text = io.StringIO()
    csv.writer(text).writerows([names, *cells])
    server.filled("odd", declared(names, tuple(ODD)), text.getvalue().encode())
    read: dict[str, dict[str, Any]] = {
        "text": {"kind": "categorical", "values": ["7", "a", "red"]},
        "number": {"kind": "numeric", "min": 0, "max": 9, "bins": 3},
        "whole": {"kind": "integer", "min": 0, "max": 9},
        "moment": {"kind": "datetime", "part": "hour"},
    }
    columns = {f"{n} {k}": {**how, "source": n} for n in names for k, how in read.items()}
    asked = us.Schema.from_dict({"name": "odd", "columns": columns})
    found = {}
    as_texts = {n: [line[i] for line in cells] for i, n in enumerate(names)}
    for data in (us.Database(server.address(), "odd"), as_texts):
        for unit in (Unit.each_row(), Unit(*names, nulls="one")):
            with closing(DuckDB()) as engine:
                table = PrivateTable(engine, data, schema=asked, unit=unit, key="k")
                asks = [(name,) for name in asked.domain]
                counts = dict(marginals(table, asks, table.bounded(us.Weights(99))))
        found[type(data)] = {name: counts[name,].tolist() for name in asked.domain}
    of_server, of_texts = found.values()
    # Some texts are the server's own; numbers and dates are what they are, whoever writes them.
    for name, kind in zip(names, ODD, strict=True):
        same = ("number", "whole") if kind in NUMBERS else ("moment",) if kind in DATES else ()
        for how in same:
            assert of_server[f"{name} {how}"] == of_texts[f"{name} {how}"], (kind, how)


@needs_server
def test_numbers_of_any_length_keep_their_digits(server: Server) -> None:
    near = ["9007199254740992", "9007199254740993", "12345678901234567890123", "1.10", "1.1", "NaN"]
    text = "id,x\n" + "".join(f"{n},1\n" for n in near)
    server.filled("long", "id numeric, x int", text.encode())
    # A numeric keeps the zeros it was written with; NaN is no id.
    assert people(us.Database(server.address(), "long")) == 5


@needs_server
def test_a_server_of_another_encoding_gives_the_same_texts(server: Server) -> None:
    server.sql("DROP DATABASE IF EXISTS latin", database="postgres")
    made = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
    server.sql(made, database="postgres")
    server.sql('CREATE TABLE "ä" ("ü" text)', database="latin")
    server.sql("INSERT INTO \"ä\" VALUES ('é')", database="latin")
    found = read_public(us.Database(server.address(database="latin"), "ä"))
    assert {name: column.tolist() for name, column in found.items()} == {"ü": ["é"]}


@pytest.mark.parametrize(
    "types",
    [
        ("INTEGER", "TEXT", "REAL", "INTEGER", "BOOLEAN", "DATETIME"),
        ("TEXT",) * 6,
        ("INTEGER",) * 6,
        ("BLOB", "", "NUMERIC", "VARCHAR(3)", "JSON", "DATE"),
    ],
)
def test_sqlite_gives_the_counts_of_a_file(
    types: tuple[str, ...], expected: dict[str, list[int]], tmp_path: Path
) -> None:
    for name in ("t.db", "o'dd #1;?.sqlite"):
        words = sqlite_of(tmp_path / name, written(ROWS).decode(), types=types)
        assert counted(words, DECLARED, Unit("id")) == expected


def test_a_column_of_sqlite_holds_anything_and_one_odd_id_changes_nobody(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (id INTEGER, x INTEGER)")
        connection.execute('CREATE VIEW "a.view" AS SELECT * FROM t')
        odd = [1, "1", 1.0, 2, "odd", b"bytes", 2**53, 2**53 + 1, None, "", "a\0b"]
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, "CANARY") for i in odd])
    assert people(f"sqlite:{path}#t") == 7
    assert people(f"sqlite:{path}#a.view") == 7


# Failures


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (lambda path: None, MissingFileError, "there is no file"),
        (lambda path: path.mkdir(), MissingFileError, "there is no file"),
        (lambda path: path.write_text(WORD * 999), DatabaseError, "is not an SQLite database"),
        (lambda path: path.touch(), DatabaseError, "has no table t"),
        (
            lambda path: path.write_bytes(b"SQLite format 3\0"),
            DatabaseError,
            "is not an SQLite database",
        ),
    ],
)
def test_files_that_are_no_table_of_sqlite(
    make: Callable[[Path], object], kind: type[UnderstudyError], said: str, tmp_path: Path
) -> None:
    make(tmp_path / "t.db")
    error = refused(kind, lambda: people(f"sqlite:{tmp_path / 't.db'}#t"))
    assert said in str(error)
    assert str(tmp_path / "t.db") in str(error)
    assert clean(str(error))


def test_a_name_that_is_too_long_is_no_file() -> None:
    refused(MissingFileError, lambda: people(f"sqlite:{'x' * 300}#t"))


@pytest.mark.parametrize("data", ["t", "self", "rows", "sqlite_master2"])
def test_a_table_that_is_not_there_is_found_nowhere_else(data: str, tmp_path: Path) -> None:
    sqlite_of(tmp_path / "t.db", "id,x\n1,1\n")
    t = rows = {"id": [1], "x": [1]}
    assert t is rows
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("ALTER TABLE t RENAME TO kept")
    refused(DatabaseError, lambda: people(f"sqlite:{tmp_path / 't.db'}#{data}"))


@pytest.mark.parametrize("installed", [False, True])
def test_without_the_extension_its_package_is_asked_for(
    installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = sqlite_of(tmp_path / "t.db", "id,x\n1,1\n")
    asked: list[str] = []
    run = DuckDB.run

    def noted(engine: DuckDB, sql: str, *, reading_input: bool = False) -> None:
        asked.append(sql)
        # As if DuckDB's own INSTALL had been here.
        file = databases_packed("sqlite_scanner", version())
        if installed and sql == "LOAD sqlite_scanner":
            sql = f"LOAD '{file}'"
        run(engine, sql, reading_input=reading_input)

    databases_packed = databases.packed
    monkeypatch.setattr(databases, "packed", lambda name, version: None)
    monkeypatch.setattr(DuckDB, "run", noted)
    monkeypatch.setenv("HOME", str(tmp_path))
    if installed:
        assert people(words) == 1
    else:
        error = refused(MissingPackageError, lambda: people(words))
        assert "pip install 'understudy[databases]'" in str(error)
    assert "LOAD sqlite_scanner" in asked
    assert not any("INSTALL" in sql for sql in asked)


def version() -> str:
    import duckdb

    return duckdb.__version__


def test_the_packages_carry_an_extension_for_one_version() -> None:
    for name in ("sqlite_scanner", "postgres_scanner"):
        assert databases.packed(name, version()) is not None
        assert databases.packed(name, "0.0.1") is None
    assert databases.packed("of_no_kind", version()) is None


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_server_that_is_not_there() -> None:
    for host in (f"127.0.0.1:{unused_port()}", "host.invalid"):
        words = f"postgresql://ada@{host}/city#trips"
        error = refused(DatabaseError, lambda words=words: people(words))  # type: ignore[misc]
        assert "cannot be reached" in str(error)
        assert host in str(error)


def test_a_server_that_never_answers_is_given_up() -> None:
    (statement,) = databases.opening(us.Database("postgresql://h/d", "t"), "opened")
    assert "connect_timeout=10" in statement
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"postgresql://ada@127.0.0.1:{silent.getsockname()[1]}/city?connect_timeout=2"
        error = refused(DatabaseError, lambda: people(us.Database(address, "trips")))
    assert "cannot be reached" in str(error)


@needs_server
def test_users_and_passwords(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.filled("locked", "id int, x int", b"id,x\n1,1\n2,1\n")
    locked = us.Database(server.address(user=LOCKED), "locked")
    passfile = tmp_path / "pgpass"
    passfile.write_text(f"127.0.0.1:{server.port}:city:{LOCKED}:{PASSWORD}\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))

    def told(database: us.Database) -> str:
        error = refused(DatabaseError, lambda: people(database))
        assert PASSWORD not in str(error)
        return str(error)

    told_how = "Hint: name the user in the address, and put the password into PGPASSWORD"
    assert f"denies access to this user. {told_how}" in told(locked)
    monkeypatch.setenv("PGPASSWORD", PASSWORD[:-1])
    assert "denies access to this user" in told(locked)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    server.sql(f"REVOKE ALL ON locked FROM {LOCKED}")
    assert "the table locked of" in told(locked)
    server.sql(f"GRANT SELECT ON locked TO {LOCKED}")
    assert people(locked) == 2
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    assert people(locked) == 2
    assert "denies access to this user" in told(
        us.Database(server.address(user="nobody"), "locked")
    )
    nowhere = us.Database(server.address(database="nowhere"), "locked")
    assert "the server has no such database" in told(nowhere)
    for table in ("nothing", "nowhere.locked", "LOCKED", "public.nothing"):
        assert f"has no table {table}" in told(us.Database(server.address(), table))


@needs_server
def test_a_server_is_never_written_to(server: Server) -> None:
    server.sql("DROP TABLE IF EXISTS log; CREATE TABLE log (a int)")
    server.sql(
        "CREATE OR REPLACE FUNCTION writes() RETURNS int LANGUAGE plpgsql AS "
        "'BEGIN INSERT INTO log VALUES (1); RETURN 1; END'"
    )
    server.sql("CREATE OR REPLACE VIEW writing AS SELECT writes() AS id, 1 AS x")
    refused(DatabaseError, lambda: people(us.Database(server.address(), "writing")))
    assert len(read_public(us.Database(server.address(), "log"))["a"]) == 0


# Canaries


def _failing_view(server: Server) -> str:
    """Make a view whose error quotes a cell."""
    text = (HEADER + GOOD + planted(WORD, 2)).encode()
    server.filled(
        "canaries", declared(("id", "colour", "amount", "count", "when"), ("text",) * 5), text
    )
    server.sql(
        'CREATE VIEW failing AS SELECT id, colour, amount::float8, count, "when" FROM canaries'
    )
    done = subprocess.run(
        server._psql("SELECT * FROM failing", "city"), check=False, capture_output=True
    )
    assert WORD.encode() in done.stderr
    return f"{server.address()}#failing"


@needs_server
def test_what_a_server_says_of_a_cell_goes_nowhere(server: Server, watch: Watch) -> None:
    error = watch.run(_failing_view(server))
    assert type(error) is DatabaseError
    assert "could not be read completely" in str(error)
    assert not (watch.folder / "t.ledger").exists()


@needs_server
def test_canaries_in_every_column_of_a_server(server: Server, watch: Watch) -> None:
    names = ("id", "colour", "amount", "count", "when")
    lines = [planted(canary, i) for i in range(5) for canary in (WORD, NUMBER, "NaN", "1e400")]
    server.filled(
        "canaries", declared(names, ("text",) * 5), (HEADER + GOOD + "".join(lines)).encode()
    )
    assert watch.run(f"{server.address()}#canaries") is None
    server.sql("ALTER TABLE canaries DROP COLUMN colour")
    assert (
        type(watch.run(f"{server.address()}#canaries", ledger=watch.folder / "b"))
        is MissingColumnError
    )


@needs_server
def test_texts_that_are_no_utf8_are_refused_without_quoting_them(
    server: Server, watch: Watch
) -> None:
    server.sql("DROP DATABASE IF EXISTS ascii", database="postgres")
    made = "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
    server.sql(made, database="postgres")
    names = ("id", "colour", "amount", "count", "when")
    server.filled("canaries", declared(names, ("text",) * 5), HEADER.encode(), database="ascii")
    broken = f"INSERT INTO canaries VALUES ('1', '{WORD}' || E'\\xff', '1', '1', '1')"
    server.sql(broken, database="ascii")
    error = watch.run(us.Database(server.address(database="ascii"), "canaries"))
    assert type(error) is DatabaseError


def _planted_in_sqlite(path: Path, cells: list[Any], columns: list[int]) -> us.Database:
    sqlite_of(path, HEADER + GOOD, types=("INTEGER", "TEXT", "REAL", "INTEGER", "DATETIME"))
    with closing(sqlite3.connect(path)) as connection, connection:
        for column in columns:
            row: list[Any] = ["1", "red", "2.5", "3", "2020-01-02"]
            for row[column] in cells:
                connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", row)
    return us.Database(f"sqlite:{path}", "t")


def test_canaries_in_every_column_of_sqlite(watch: Watch) -> None:
    cells = [WORD, NUMBER, WORD.encode(), "1e400", 2**62, float("inf"), f"{WORD}\0", ""]
    assert watch.run(_planted_in_sqlite(watch.inputs / "t.db", cells, list(range(5)))) is None


@pytest.mark.parametrize("column", range(5))
def test_bytes_in_sqlite_that_are_no_utf8_are_refused_as_in_csv(column: int, watch: Watch) -> None:
    cells = [b"\xff" + WORD.encode()]
    error = watch.run(_planted_in_sqlite(watch.inputs / "t.db", cells, [column]))
    assert type(error) is DatabaseError
    assert "could not be read completely" in str(error)
    assert not (watch.folder / "t.ledger").exists()


def test_an_address_with_a_password_costs_nothing_and_is_not_repeated(watch: Watch) -> None:
    error = watch.run(f"postgresql://ada:{WORD}@127.0.0.1/city#trips")
    assert isinstance(error, UnderstudyError)
    assert not (watch.folder / "t.ledger").exists()


# Runs that are cut off


class StoppedError(Exception):
    """Somebody stopped the run."""


def session(private: object, folder: Path) -> us.Session:
    folder.mkdir(exist_ok=True)
    (folder / "schema.toml").write_text(SCHEMA)
    return us.open(
        private=private,
        schema=folder / "schema.toml",
        unit=us.Unit("id"),
        bounding=us.Weights(2),
        budget=BUDGET,
        ledger=folder / "t.ledger",
    )


def stopping(stage: str, call: Callable[[], object] | None = None) -> Callable[[str, float], None]:
    """Stop a run, or do something, when it comes to a stage."""

    def told(reached: str, done: float) -> None:
        if reached == stage and call is None:
            raise StoppedError
        if reached == stage and call is not None:
            call()

    return told


def state(folder: Path) -> State:
    with closing(Ledger(folder / "t.ledger")) as ledger:
        return ledger.state()


@pytest.fixture
def trips(server: Server) -> str:
    if server.process is None:
        server.start()
    names = ("id", "colour", "amount", "count", "when")
    server.filled("trips", declared(names, ("text",) * 5), (HEADER + GOOD * 5).encode())
    return f"{server.address()}#trips"


@needs_server
def test_a_run_from_a_server_goes_on_where_it_was_stopped(
    trips: str, server: Server, tmp_path: Path
) -> None:
    asked = session(trips, tmp_path)
    with pytest.raises(StoppedError):
        asked.run(us.Independent(), progress=stopping("measuring marginals"))
    before = state(tmp_path)
    assert len(before.runs[1].reservations) == 2
    server.sql("ALTER TABLE trips RENAME COLUMN colour TO hue")
    error = refused(MissingColumnError, asked.resume)
    assert "no 'colour'" in str(error)
    assert state(tmp_path) == before
    server.sql("DROP TABLE trips")
    assert "has no table trips" in str(refused(DatabaseError, asked.resume))
    assert state(tmp_path) == before
    names = ("id", "colour", "amount", "count", "when", "added later")
    text = (HEADER.strip() + ",x\n" + GOOD.replace("\n", ",y\n") * 5).encode()
    server.filled("trips", declared(names, ("text",) * 6), text)
    assert asked.resume().manifest["guarantee"]["epsilon"] == 1.0
    after = state(tmp_path)
    assert [r.what for r in after.runs[1].reservations][:2] == [
        r.what for r in before.runs[1].reservations
    ]
    assert len(after.runs[1].reservations) == 3
    assert after.runs[1].spent <= after.total


@needs_server
def test_a_server_that_dies_before_the_rows_are_here_costs_nothing(
    trips: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = session(trips, tmp_path)
    killing = stopping("reading the private table", server.kill)
    error = refused(DatabaseError, lambda: asked.run(us.Independent(), progress=killing))
    assert "cannot be reached" in str(error)
    assert not asked.ledger.exists()
    server.start()
    encode = CodedTable._encode

    def dying(table: CodedTable, kinds: Any) -> None:
        server.kill()
        encode(table, kinds)

    with monkeypatch.context() as patched:
        patched.setattr(CodedTable, "_encode", dying)
        error = refused(DatabaseError, lambda: asked.run(us.Independent()))
    assert str(server.port) in str(error)
    assert "FATAL" not in str(error)
    assert not asked.ledger.exists()


@needs_server
def test_a_server_that_dies_while_it_sends_rows(trips: str, server: Server, tmp_path: Path) -> None:
    # Whoever comes to the last rows ends their own connection, in the middle of sending.
    server.sql(
        "CREATE OR REPLACE FUNCTION ends(i int) RETURNS text LANGUAGE plpgsql AS "
        "'BEGIN IF i = 900000 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; "
        "RETURN ''red''; END'"
    )
    server.sql(
        "CREATE OR REPLACE VIEW ending AS SELECT i::text AS id, ends(i) AS colour, 1 AS amount, "
        '1 AS count, NULL::timestamp AS "when" FROM generate_series(1, 1000000) AS i'
    )
    asked = session(us.Database(server.address(), "ending"), tmp_path)
    error = refused(DatabaseError, lambda: asked.run(us.Independent()))
    assert "could not be read completely" in str(error)
    assert not asked.ledger.exists()


@needs_server
def test_a_server_that_dies_once_the_rows_are_here_is_not_missed(
    trips: str, server: Server, tmp_path: Path
) -> None:
    asked = session(trips, tmp_path)
    done = asked.run(us.Independent(), progress=stopping("counting people and rows", server.kill))
    assert done.manifest["guarantee"]["epsilon"] == 1.0
    before = state(tmp_path)
    assert "cannot be reached" in str(refused(DatabaseError, asked.resume))
    assert state(tmp_path) == before


# The command line


def test_the_command_line_takes_sqlite_and_resumes_from_anywhere(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("city.db", "old.db"):
        sqlite_of(place / name, (place / "trips.csv").read_text())
    _, _, *options = place.synth()
    monkeypatch.chdir(place.folder)
    place.fine("synth", "sqlite:city.db#t", "--public", "sqlite:old.db#t", *options)
    monkeypatch.chdir(tmp_path)
    place.fine("resume", place / "trips.ledger", "--out", place / "again")
    same = ("manifest.json", "rows.parquet")
    assert [(place / "out" / n).read_bytes() for n in same] == [
        (place / "again" / n).read_bytes() for n in same
    ]
    where = f"sqlite:{place / 'city.db'}#t"
    known = ("--schema", place / "schema.toml", "--unit", "taxi")
    assert place.facts("evaluate", place / "out", "--private", where, *known) == place.facts(
        "evaluate", place / "out", "--private", place / "trips.csv", *known
    )
    told = place.say(
        "resume", place / "trips.ledger", "--private", "sqlite:none.db#t", "--out", "x"
    )
    assert told.code == MissingFileError.exit_code


def test_two_tables_may_be_of_one_database_or_of_two(place: Place) -> None:
    schema = (place / "schema.toml").read_text()
    own = 'values = ["red", "blue"]\nof = "person"'
    (place / "schema.toml").write_text(schema.replace('values = ["red", "blue"]', own))
    text = (place / "trips.csv").read_text()
    one = sqlite_of(place / "city.db", text)
    with closing(sqlite3.connect(place / "city.db")) as connection, connection:
        connection.execute(
            "CREATE TABLE taxis AS SELECT taxi, min(colour) AS colour FROM t GROUP BY 1"
        )
    for i, trips in enumerate((one, sqlite_of(place / "other.db", text))):
        people = f"sqlite:{place / 'city.db'}#taxis"
        words = place.synth(people=people, ledger=place / f"{i}.ledger", out=place / f"out{i}")
        place.fine("synth", trips, *words[2:])
        assert Release.read(place / f"out{i}").two_tables


def test_the_command_line_refuses_a_password_and_keeps_it_to_itself(place: Place) -> None:
    _, _, *options = place.synth()
    told = place.say("synth", f"postgresql://ada:{WORD}@host/city#trips", *options)
    assert told.code == 2
    assert WORD not in told.line
    assert place.spent() is None


@needs_server
def test_the_command_line_takes_a_server(place: Place, server: Server) -> None:
    if server.process is None:
        server.start()
    server.filled("taxis", "taxi int, colour text, hour int", (place / "trips.csv").read_bytes())
    _, _, *options = place.synth()
    words = f"{server.address()}#taxis"
    place.fine("synth", words, *options)
    place.fine("resume", place / "trips.ledger", "--out", place / "again")
    with closing(Ledger(place / "trips.ledger")) as ledger:
        assert ledger.state().runs[1].request["note"]["private"] == words
    manifest = json.loads((place / "out" / "manifest.json").read_text())
    assert str(server.port) not in json.dumps(manifest)
    server.kill()
    told = place.say("resume", place / "trips.ledger", "--out", place / "third")
    assert told.code == DatabaseError.exit_code
    assert "cannot be reached" in told.line
    server.start()
