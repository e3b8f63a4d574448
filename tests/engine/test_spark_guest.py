"""Spark as the user's own: nothing of it is changed, and people are weighed whole wherever."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from threading import Thread
from threading import enumerate as threads
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import THOROUGH
from tests.engine.clusters import until
from tests.engine.refusals import refused
from tests.engine.spark_tables import all_columns, codes, opened, weighed
from tests.engine.tables import KEY, arrow, rows, schema
from tests.leaks.canaries import table
from understudy.engine import engine_for
from understudy.engine.spark import engine as room
from understudy.engine.spark.application import _PRINTING, _TALKATIVE
from understudy.engine.spark.workers import tally_part, work_by_person
from understudy.errors import (
    EngineError,
    MalformedFileError,
    MissingColumnError,
    MissingPackageError,
)
from understudy.ledger import Ledger
from understudy.session import Session
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault.counts import exact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from understudy.door import Question
    from understudy.engine import Columns
    from understudy.ledger import Run

ROWS = rows()
SOME = us.Schema(
    "some",
    tuple(c for c in schema().columns if THOROUGH or c.name in {"id", "colour", "count", "year"}),
)
ONE = us.Schema.from_dict(
    {
        "name": "one",
        "columns": {
            "id": {"kind": "id"},
            "colour": {"kind": "categorical", "values": ["red", "blue"]},
        },
    }
)


@pytest.fixture
def small(spark: Any) -> Any:
    """Give a table of three good rows."""
    return spark.createDataFrame(pa.table(table()))


# All is left as it was


def as_it_is(spark: Any) -> dict[str, Any]:
    """Give all of a user's Spark that a guest could change."""
    from pyspark.sql import SparkSession

    context, jvm = spark.sparkContext, spark._jvm
    loggers = jvm.org.apache.logging.log4j.LogManager.getContext(False).getConfiguration()
    shell = getattr(getattr(jvm, "org.apache.spark.internal.Logging$"), "MODULE$")
    return {
        "levels": {n: str(c.getLevel()) for n, c in loggers.getLoggers().items()},
        "root": str(jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel()),
        "threshold": str(shell.sparkShellThresholdLevel()),
        "python": [logging.getLogger(n).disabled for n in (*_TALKATIVE, *_PRINTING)],
        "settings": dict(spark.conf.getAll),
        "group": context.getLocalProperty("spark.jobGroup.id"),
        "described": context.getLocalProperty("spark.job.description"),
        "tags": context.getJobTags(),
        "views": sorted(t.name for t in spark.catalog.listTables()),
        "global views": sorted(t.name for t in spark.catalog.listTables("global_temp")),
        "cached": spark.catalog.isCached("theirs"),
        "kept": context._jsc.getPersistentRDDs().size(),
        "active": SparkSession.getActiveSession() is spark,
    }


@pytest.fixture
def theirs(spark: Any) -> Iterator[Any]:
    """Make a user who has settings, a job group, a view and a kept table of their own."""
    context = spark.sparkContext
    ours = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.ansi.enabled": "false"}
    before = {name: spark.conf.get(name) for name in ours}
    for name, value in ours.items():
        spark.conf.set(name, value)
    context.setLogLevel("ERROR")
    context.setJobGroup("theirs", "their job")
    context.addJobTag("their-tag")
    spark.range(5).createOrReplaceTempView("theirs")
    spark.catalog.cacheTable("theirs")
    spark.table("theirs").count()
    yield spark
    spark.catalog.uncacheTable("theirs")
    spark.catalog.dropTempView("theirs")
    context.setLocalProperty("spark.jobGroup.id", None)
    context.setLocalProperty("spark.job.description", None)
    context.clearJobTags()
    context.setLogLevel("OFF")
    for name, value in before.items():
        spark.conf.set(name, value)


def test_all_of_a_users_is_as_it_was(theirs: Any, small: Any, tmp_path: Path) -> None:
    before = as_it_is(theirs)
    assert before["root"] == "ERROR"
    assert before["cached"]
    assert before["active"]
    first = engine_for(small)
    second = engine_for(small)
    PrivateTable(first, small, schema=ONE, unit=us.Unit("id"), key=KEY)
    during = as_it_is(theirs)
    assert set(during["levels"].values()) == {during["root"]} == {"OFF"}
    assert all(during["python"])
    assert len(during["global views"]) == len(before["global views"]) + 1
    assert during["kept"] > before["kept"]
    first.close()
    first.close()
    # The log stays off for the other.
    assert as_it_is(theirs)["root"] == "OFF"
    second.close()
    assert as_it_is(theirs) == before
    weighed(small, ONE)
    assert as_it_is(theirs) == before
    assert theirs.range(3).count() == 3


def test_a_refused_table_leaves_all_as_it_was_too(theirs: Any, small: Any) -> None:
    before = as_it_is(theirs)
    refused(MissingColumnError, lambda: opened(small.drop("colour"), ONE))
    doubled = small.select("id", "colour", small["amount"].alias("colour"))
    refused(MalformedFileError, lambda: opened(doubled, ONE))
    assert as_it_is(theirs) == before


def test_where_nobody_is_left_to_work_only_its_own_job_is_ended(
    spark: Any, small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = spark.sparkContext

    def work() -> None:
        context.setJobGroup("others", "another job", interruptOnCancel=True)
        with suppress(Exception):
            spark.range(10**12).selectExpr("sum(sqrt(id))").collect()

    other = Thread(target=work)
    other.start()
    until(lambda: bool(context.statusTracker().getJobIdsForGroup("others")))
    monkeypatch.setattr(room, "ALONE_FOR", 0.5)
    # As on a cluster whose workers are gone; the real thing is in test_cluster.
    monkeypatch.setattr(room, "_attended", lambda _: False)
    with closing(engine_for(small)) as engine:
        told = refused(EngineError, lambda: engine.fetch("SELECT sum(sqrt(id)) FROM range(1e9)"))
    assert str(told).startswith("the cluster has no workers. Hint: start workers")
    assert other.is_alive()
    assert not [t for t in threads() if isinstance(t, room.Watch)]
    context.cancelJobGroup("others")
    other.join()


# A table that changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(Session):
    """A session whose power goes out after the first question."""

    def _door(self, table: PrivateTable, run: Run) -> PrivateDoor:
        return CutDoor(table, run=run, bounding=self.bounding)


class CutDoor(PrivateDoor):
    def _ask(self, question: Question, what: str) -> Any:
        if self._asked:
            raise KeyboardInterrupt
        return super()._ask(question, what)


def booked(path: Path) -> list[str]:
    with closing(Ledger(path)) as ledger:
        return [r.what for r in ledger.reopen().state().reservations]


def test_a_column_that_went_away_is_told_and_the_run_goes_on_once_it_is_back(
    spark: Any, small: Any, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {
        "schema": ONE,
        "unit": us.Unit("id"),
        "bounding": us.Weights(2),
        "budget": us.Budget(epsilon=1.0, delta=1e-6),
        "ledger": tmp_path / "t.ledger",
    }
    with pytest.raises(KeyboardInterrupt):
        Cut(private=small, **asked).run(us.Independent())
    assert booked(tmp_path / "t.ledger") == ["number of people"]
    gone = us.open(private=small.drop("colour"), **asked)
    told = refused(MissingColumnError, gone.resume)
    assert "got no 'colour'" in str(told)
    assert booked(tmp_path / "t.ledger") == ["number of people"]
    us.open(private=small, **asked).resume()
    everything = ["number of people", "number of rows", "1 marginals"]
    assert booked(tmp_path / "t.ledger") == everything


# Weighing


def people(rows: Columns) -> Columns:
    """Count each person's rows, as a work of an engine's that sees people whole."""
    found, counts = np.unique(rows["person"], return_counts=True)
    return {"person": found, "w": counts.astype(np.int64)}


@given(
    st.lists(st.integers(1, 9), max_size=12),
    st.lists(st.integers(0, 7), max_size=60),
    st.integers(1, 12),
    st.booleans(),
)
def test_however_rows_come_each_person_is_weighed_whole_and_once(
    sizes: list[int], lengths: list[int], at_once: int, named: bool
) -> None:
    who = [f"p{i:02d}" if named else i for i, n in enumerate(sizes) for _ in range(n)]
    whole = pa.table({"person": pa.array(who, pa.string() if named else pa.int64())})
    batches: list[pa.RecordBatch] = []
    start = 0
    for length in (*lengths, len(who)):
        part = whole.slice(start, length).combine_chunks()
        batches += part.to_batches() or [pa.RecordBatch.from_pylist([], whole.schema)]
        start += length
    found = [pair for b in work_by_person(people, at_once, iter(batches)) for pair in b.to_pylist()]
    expected = dict(zip(dict.fromkeys(who), sizes, strict=True))
    assert [(p["person"], p["w"]) for p in found] == list(expected.items())


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2**16)), max_size=40),
    st.integers(1, 9),
    st.sampled_from([0, 3, 12, 100]),
)
def test_however_rows_come_their_weights_are_summed_by_cell(
    rows: list[tuple[int, int, int]], at_once: int, most: int
) -> None:
    cells = [[("b", 4), ("a", 3)], [], [("a", 3)]]
    expected: Counter[tuple[int, int]] = Counter()
    for a, b, w in rows:
        expected += Counter({(0, 3 * b + a): w, (1, 0): w, (2, a): w})
    columns = dict(zip("abw", zip(*rows, strict=True) if rows else [()] * 3, strict=True))
    whole = pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})
    found: Counter[tuple[int, int]] = Counter()
    with patch("understudy.engine.spark.workers.MOST_SUMMED", most):
        for batch in tally_part(cells, iter(whole.to_batches(max_chunksize=at_once))):
            for one in batch.to_pylist():
                found[one["which"], one["cell"]] += one["n"]
    assert +found == expected


def test_a_person_of_many_rows_is_not_looked_through_with_every_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []
    nonzero = np.nonzero

    def seen(which: Any) -> Any:
        looks.append(len(which))
        return nonzero(which)

    monkeypatch.setattr(np, "nonzero", seen)
    one = pa.RecordBatch.from_pydict({"person": pa.array(["a"] * 10)})
    (found,) = work_by_person(people, 10, iter([one] * 1000))
    assert found.to_pylist() == [{"person": "a", "w": 10_000}]
    assert len(looks) < 20
    assert sum(looks) < 3 * 10_000


def test_people_are_weighed_alike_however_few_rows_are_looked_at_together(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = arrow(ROWS)
    expected = weighed(data, SOME)
    monkeypatch.setattr("understudy.vault.norm.PART", 5)
    monkeypatch.setitem(room._SETTINGS, "spark.sql.execution.arrow.maxRecordsPerBatch", "3")
    assert weighed(spark.createDataFrame(data), SOME) == expected


def test_an_empty_table_has_nobody(spark: Any) -> None:
    empty = spark.createDataFrame(arrow(ROWS)).limit(0)
    assert codes(empty, SOME, us.Unit("id")) == []
    assert set(weighed(empty, SOME)) == {0}


@pytest.fixture
def lacking(tmp_path: Path) -> str:
    """Make a Python that is like ours, but has no Understudy."""
    import sys

    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text(
        "import sys\n"
        "class Hidden:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        if name == 'understudy':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hidden)\n"
    )
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o700)
    return str(python)


def test_a_worker_without_understudy_is_told_with_what_to_do(
    spark: Any, small: Any, lacking: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    question = all_columns(ONE)
    with closing(engine_for(small)) as engine:
        read = PrivateTable(engine, small, schema=ONE, unit=us.Unit("id"), key=KEY)
        for python in (lacking, str(tmp_path / "no" / "python")):
            monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
            told = str(refused(MissingPackageError, lambda: exact(question, read)))
            assert told.startswith("the workers' Python is missing, has another version, or lacks")
            assert "PYSPARK_PYTHON" in told
        monkeypatch.undo()
        assert sum(exact(question, read)) > 0


# Lists


def test_declared_texts_mean_what_they_say(spark: Any) -> None:
    texts = ["${spark.app.name}", "a\\b", "it's", '"', "\\u0041", "é", "e\u0301", "", "{x}", "\n"]
    texts += [f"value {i}" for i in range(500)]
    declared = us.Schema.from_dict(
        {
            "name": "t",
            "columns": {
                "id": {"kind": "id"},
                "c": {"kind": "categorical", "values": [t for t in texts if t]},
            },
        }
    )
    data = pa.table({"id": [str(i) for i in range(len(texts))], "c": texts})
    there = codes(spark.createDataFrame(data), declared, us.Unit("id"))
    assert there == codes(data, declared, us.Unit("id"))
    assert len({code for _, code in there}) >= len(texts) - 1


def test_a_table_of_no_rows_can_be_loaded(small: Any) -> None:
    with closing(engine_for(small)) as engine:
        engine.load("none", {"cell": np.array([], dtype=np.int64)})
        assert engine.fetch("SELECT cell FROM none")["cell"].tolist() == []
        engine.load("none", {"cell": np.array([7])})
        assert engine.fetch("SELECT cell FROM none")["cell"].tolist() == [7]
