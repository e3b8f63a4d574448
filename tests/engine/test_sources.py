"""Where a table lives, in words: read and written alike, and never contains a password."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from understudy.engine.sources import Database, SparkTable, is_same, lasting, source
from understudy.errors import UnderstudyError, UsageError

SECRET = "SECRET9b2d40"  # noqa: S105
PRINTABLE = st.characters(codec="utf-8", exclude_categories=("C", "Z"))
TABLES = st.text(PRINTABLE.filter(lambda c: c != "#"), min_size=1)
NAMES = st.text(st.characters(categories=("Ll", "Nd"), include_characters="-._%"), min_size=1)
HOSTS = st.one_of(NAMES, st.just(""), st.just("[::1]"), st.just("a,b"))
PORTS = st.sampled_from(["", ":5432"])
SERVERS = st.builds(
    "{}://{}{}{}/{}{}".format,
    st.sampled_from(["postgresql", "postgres"]),
    st.one_of(NAMES.map("{}@".format), st.just("")),
    HOSTS,
    PORTS,
    NAMES,
    st.sampled_from(["", "?sslmode=require", "?connect_timeout=3&application_name=x"]),
)
FILES = st.text(PRINTABLE, min_size=1).map("sqlite:{}".format)


@given(address=st.one_of(SERVERS, FILES), table=TABLES)
def test_what_is_written_is_read_again(address: str, table: str) -> None:
    database = Database(address, table)
    assert source(str(database)) == database
    again = source(lasting(database))
    assert isinstance(again, Database)
    assert again.table == table
    assert again.is_sqlite == database.is_sqlite
    assert lasting(again) == lasting(lasting(database)) == str(again)


@pytest.mark.parametrize("text", ["t.csv", "a#b.csv", "/x/postgresql:/t.parquet", "s3:x", ""])
def test_anything_else_is_a_path(text: str) -> None:
    assert source(text) == Path(text)
    assert lasting(text) == str(Path(text).resolve())


def test_a_relative_file_of_sqlite_is_known_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert lasting("sqlite:city.db#trips") == f"sqlite:{tmp_path.resolve()}/city.db#trips"
    assert us.Database is Database


def refused(text: str) -> str:
    """Expect a complaint about the words, which tells nothing of them."""
    with pytest.raises(UnderstudyError) as caught:
        source(text)
    assert type(caught.value) is UsageError
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in f"{caught.value} {vars(caught.value)}"
    return str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ada:{SECRET}@host/city",
        f"postgres://ada:{SECRET}@host:5432/city?sslmode=require",
        f"postgresql://:{SECRET}@host/city",
        f"postgresql://ada:a/{SECRET}@host/city",
        f"postgresql://ada:1?{SECRET}@host/city",
        f"postgresql://ada:a#{SECRET}@host/city",
        f"postgresql://ada:a@{SECRET}@host/city",
        f"postgresql://host/city?password={SECRET}",
        f"postgresql://host/city?sslmode=require&PASSWORD={SECRET}",
        f"postgresql://host/city?p%61ssword={SECRET}",
        f"postgresql://host/city?sslpassword={SECRET}",
        "postgresql://ada:@host/city",
    ],
)
def test_a_password_is_refused_and_not_repeated(address: str) -> None:
    told = refused(f"{address}#trips")
    assert "contains a password" in told
    assert "PGPASSWORD" in told
    assert ".pgpass" in told


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://",
        "postgresql://host",
        "postgresql://host/",
        "postgresql://host/a/b",
        f"postgresql://ada:{SECRET}/city",
        "postgresql://[::1/city",
        f"postgresql://host/city?x=@{SECRET}",
        f"postgresql://host/ci\nty{SECRET}",
        "sqlite:",
        "sqlite:a\0b",
    ],
)
def test_an_address_that_cannot_be_read_is_refused(address: str) -> None:
    assert "invalid database address" in refused(f"{address}#trips")


@pytest.mark.parametrize("table", [Database("sqlite:city.db", "t"), SparkTable("t")])
def test_a_table_in_memory_is_none_of_a_database(table: object) -> None:
    frame = pd.DataFrame({"t": [1]})
    assert not is_same(table, frame)
    assert not is_same(frame, table)
    assert is_same(table, table)


@pytest.mark.parametrize("table", ["", " ", "a#b", "a\nb", "\0"])
def test_a_table_needs_a_name(table: str) -> None:
    with pytest.raises(UsageError, match="needs the name of a table"):
        Database("sqlite:city.db", table)


@pytest.mark.parametrize(
    "text", ["sqlite:city.db", "postgresql://ada@host/city", "sqlite:city.db#"]
)
def test_words_without_a_table_are_refused(text: str) -> None:
    assert "#TABLE" in refused(text)


@pytest.mark.parametrize("address", ["mysql://host/city", "host/city", "", f"ada:{SECRET}@host/c"])
def test_an_address_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="unsupported database address") as caught:
        Database(address, "trips")
    assert SECRET not in str(caught.value)
