"""The journal: append-only, chained, durable; and whatever is wrong with the file is told."""

from __future__ import annotations

import errno
import os
import random
import shutil
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.audit.effort import one_in
from tests.ledger.files import BUDGET, raw, refused, small_files, write_ledger
from understudy.budget import Budget, Currency, noise_charge
from understudy.errors import (
    LedgerDamagedError,
    LedgerLockedError,
    MissingFileError,
    OutputExistsError,
    StorageError,
)
from understudy.ledger import Ledger, State, journal
from understudy.ledger.journal import Journal

ENTRIES = 8
COLUMNS = ("number", "kind", "run", "ordinal", "body", "payload", "chain")
TEXTS = ("kind", "body", "chain")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "a.ledger"
    write_ledger(path)
    return path


@pytest.fixture
def path(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(written, tmp_path))


def read(path: Path) -> State:
    with closing(Ledger(path)) as ledger:
        return ledger.state()


# Append-only


@pytest.mark.parametrize(
    "statement",
    [
        *(f"UPDATE entries SET {column} = {column}" for column in COLUMNS),
        "UPDATE entries SET body = '{}' WHERE number = 3",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE number = 8",
    ],
)
def test_entries_cannot_be_changed_or_removed(path: Path, statement: str) -> None:
    before = read(path)
    with (
        raw(path, hands_off=True) as connection,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        connection.execute(statement)
    assert read(path) == before


def test_a_second_answer_to_a_question_and_a_second_close_are_refused(path: Path) -> None:
    with closing(Journal(path)) as held:
        for kind, ordinal in (("answer", 1), ("close", None)):
            with pytest.raises(LedgerDamagedError, match="UNIQUE"), held.transaction():
                held.append(kind, {"plan": ""}, run=1, ordinal=ordinal)
        assert len(held.entries()) == ENTRIES


# The chain


def test_dropping_triggers_alone_changes_nothing(path: Path) -> None:
    before = read(path)
    with raw(path):
        pass
    assert read(path) == before


def _changes(value: Any, column: str) -> list[tuple[str, Any]]:
    """Give every small change of a value, as an SQL expression and its argument."""
    if isinstance(value, bytes) or column in TEXTS:
        data = value if isinstance(value, bytes) else value.encode()
        cast = "?" if isinstance(value, bytes) else "CAST(? AS TEXT)"
        flips = [
            (cast, data[:i] + bytes([data[i] ^ bit]) + data[i + 1 :])
            for i in range(len(data))
            for bit in (1, 0x80 if i == 0 else 4)
        ]
        other = "CAST(? AS TEXT)" if isinstance(value, bytes) else "CAST(? AS BLOB)"
        return [*flips, (cast, data + b"x"), (other, data), (cast, data[:-1] or b"y")]
    if column == "number":
        return [("?", value + 100), ("?", -value)]
    new = [0, 1, 7, None, 1.5, b"1", "one"]
    return [("?", n) for n in new if n != value]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("number", one_in(2, range(1, ENTRIES + 1)))
def test_any_change_of_any_field_of_any_entry_is_noticed(
    path: Path, number: int, column: str
) -> None:
    before = read(path)
    where = f"SELECT {column} FROM entries WHERE number = ?"
    with raw(path) as connection:
        old = connection.execute(where, (number,)).fetchone()[0]
        changes = _changes(old, column)
        assert changes
        for expression, new in changes:
            connection.execute(
                f"UPDATE entries SET {column} = {expression} WHERE number = ?", (new, number)
            )
            refused(path)
            now = number if column != "number" else new
            connection.execute(f"UPDATE entries SET {column} = ? WHERE number = ?", (old, now))
    assert read(path) == before


@pytest.mark.parametrize("kept", range(ENTRIES))
def test_entries_cut_off_at_the_end_are_missed(path: Path, kept: int) -> None:
    with raw(path) as connection:
        connection.execute("DELETE FROM entries WHERE number > ?", (kept,))
    refused(path, "missing at the end")


@pytest.mark.parametrize("number", range(1, ENTRIES))
def test_a_deleted_entry_is_missed(path: Path, number: int) -> None:
    with raw(path) as connection:
        connection.execute("DELETE FROM entries WHERE number = ?", (number,))
    refused(path, "breaks the hash chain")


@pytest.mark.parametrize(("one", "other"), [(1, 2), (4, 6), (5, 7), (7, 8), (1, 8)])
def test_swapped_entries_are_noticed(path: Path, one: int, other: int) -> None:
    with raw(path) as connection:
        for now, then in ((one, 100), (other, one), (100, other)):
            connection.execute("UPDATE entries SET number = ? WHERE number = ?", (then, now))
    refused(path, "breaks the hash chain")


def test_an_added_entry_that_is_not_chained_is_noticed(path: Path) -> None:
    with raw(path) as connection:
        connection.execute(
            "INSERT INTO entries VALUES (9, 'run', 2, NULL, '{}', x'', ?)", ("0" * 64,)
        )
    refused(path, "breaks the hash chain")


def test_an_entry_of_an_unknown_kind_is_refused(path: Path) -> None:
    with closing(Journal(path)) as held, held.transaction():
        held.append("gift", {}, run=1)
    refused(path, "unknown kind")


def test_a_ledger_without_a_beginning_is_refused(tmp_path: Path) -> None:
    Journal.create(tmp_path / "a.ledger", "run", {}).close()
    refused(tmp_path / "a.ledger", "no first entry")


# The file


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00", b"taxi,hour\n1,2\n", b"SQLite format 3\x00", bytes(range(256)) * 40],
    ids=["empty", "one byte", "csv", "header only", "noise"],
)
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.ledger"
    path.write_bytes(content)
    refused(path)


def test_a_database_of_another_application_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE entries (number INTEGER)")
    refused(path, "is not a ledger")


@pytest.mark.parametrize("mark", [journal._KEYED, journal._UNKEYED])
@pytest.mark.parametrize("table", ["CREATE TABLE entries (number INTEGER)", "SELECT 1"])
def test_a_database_with_our_mark_but_other_tables_is_refused(
    tmp_path: Path, table: str, mark: int
) -> None:
    path = tmp_path / "a.ledger"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {mark}")
        connection.execute(table)
    refused(path, "damaged")


def test_a_torn_file_is_refused(path: Path) -> None:
    with closing(Ledger(path)) as ledger:
        run = ledger.begin(Budget(epsilon=0.1, delta=1e-6), {})
        run.reserve(0, "plan", "much", noise_charge(50.0, Currency.GDP, bound=Fraction(1)))
        run.store(0, "plan", bytes(range(250)) * 120)
    whole, torn = path.read_bytes(), path.with_name("torn.ledger")
    lengths = {1, 16, 99, 100, 101, 511, 512, 1024, 2048, 4095, 4096, 8192, len(whole) // 2}
    for length in sorted(lengths | set(range(0, len(whole) - 4096, 3001))):
        torn.write_bytes(whole[:length])
        refused(torn)


def test_a_flipped_byte_of_the_file_is_noticed_or_means_nothing(path: Path) -> None:
    before, whole = read(path), path.read_bytes()
    rng = random.Random(3)  # noqa: S311
    places = [*range(100), *(rng.randrange(len(whole)) for _ in range(900))]
    noticed = 0
    for turn, place in enumerate(places):
        changed = path.with_name(f"{turn}.ledger")
        byte = whole[place] ^ rng.randrange(1, 256)
        changed.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        try:
            found = read(changed)
        except LedgerDamagedError:
            noticed += 1
        else:
            assert found == before
    assert noticed > 100


def test_a_missing_file_is_told_and_not_made(tmp_path: Path) -> None:
    for missing in (tmp_path / "no.ledger", tmp_path):
        with pytest.raises(MissingFileError, match="--create"):
            Ledger(missing)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_opened_is_a_matter_of_storage(tmp_path: Path) -> None:
    # SQLite takes no path of more than 512 bytes; the system does.
    folder = tmp_path.joinpath(*["x" * 100] * 5)
    folder.mkdir(parents=True)
    (folder / "a.ledger").touch()
    with pytest.raises(StorageError, match="unable to open"):
        Ledger(folder / "a.ledger")


# Making one


def test_a_new_ledger_is_for_its_owner_alone_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "a.ledger"
    before = os.umask(0)
    try:
        Ledger.create(path, budget=BUDGET).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("links", [True, False])
def test_create_never_touches_a_file_that_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    other = path.with_name("notes.txt")
    other.write_text("mine")
    dangling = path.with_name("link.ledger")
    dangling.symlink_to("nowhere")
    before = read(path)
    for taken in (path, other, dangling):
        with pytest.raises(OutputExistsError, match="already"):
            Ledger.create(taken, budget=BUDGET)
    assert read(path) == before
    assert other.read_text() == "mine"
    assert sorted(path.parent.iterdir()) == sorted([path, other, dangling])


def _no_links(*_: object) -> None:
    raise OSError(errno.EPERM, "no links here")


def test_create_on_a_file_system_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", _no_links)
    path = tmp_path / "a.ledger"
    write_ledger(path)
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read(path).runs[1].closed


@pytest.mark.parametrize("below", ["a.ledger", "deep/a.ledger"])
def test_create_in_a_folder_that_cannot_be_made(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot create"):
        Ledger.create(tmp_path / "file" / below, budget=BUDGET)
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_ledger_is_made_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(journal, "_publish", stop)
    with pytest.raises(KeyboardInterrupt):
        Ledger.create(tmp_path / "a.ledger", budget=BUDGET)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 100, 4096, 10_000])
def test_create_on_a_full_disk_leaves_nothing(tmp_path: Path, size: int) -> None:
    with small_files(size), pytest.raises(StorageError, match=r"disk|full"):
        Ledger.create(tmp_path / "a.ledger", budget=BUDGET)
    assert list(tmp_path.iterdir()) == []


# Writing


def test_writes_are_durable_before_they_return(path: Path) -> None:
    with closing(Journal(path)) as held:
        assert held._connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert held._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.mark.parametrize("way", ["pages", "system"])
def test_a_full_disk_is_told_and_the_entry_is_not_there(path: Path, way: str) -> None:
    before = read(path)
    payload = bytes(100_000)
    with closing(Ledger(path)) as ledger:
        run = ledger.begin(Budget(epsilon=0.1, delta=1e-6), {})
        run.reserve(0, "plan", "much", noise_charge(50.0, Currency.GDP, bound=Fraction(1)))
        connection = ledger._journal._connection
        limit = 10**9
        if way == "system":
            limit = path.stat().st_size + 4096
        else:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")
        with small_files(limit), pytest.raises(StorageError, match=r"full|I/O"):
            run.store(0, "plan", payload)
        assert run.answer(0, "plan") is None
        assert read(path).runs[2].answers == {}
        connection.execute("PRAGMA max_page_count = 1000000")
        run.store(0, "plan", payload)
    assert read(path).runs[2].answers == {0: ("plan", payload)}
    assert read(path).runs[1] == before.runs[1]


def test_a_failure_within_a_transaction_leaves_nothing(path: Path) -> None:
    def half(held: Journal) -> None:
        with held.transaction():
            held.append("run", {}, run=2)
            held.append("run", {"not": object}, run=3)

    with closing(Journal(path)) as held:
        with pytest.raises(TypeError):
            half(held)
        assert len(held.entries()) == ENTRIES
        with held.transaction() as entries:
            assert len(entries) == ENTRIES
            assert held.append("run", {}, run=2) == ENTRIES + 1
        assert len(held.entries()) == ENTRIES + 1


# Other hands


@pytest.mark.parametrize("number", [1, 5, ENTRIES])
@pytest.mark.parametrize("column", TEXTS)
def test_a_change_behind_an_open_ledgers_back_is_refused_from_then_on(
    path: Path, number: int, column: str
) -> None:
    with closing(Ledger(path)) as ledger:
        with raw(path) as connection:
            connection.execute(
                f"UPDATE entries SET {column} = {column} || ' ' WHERE number = ?", (number,)
            )
        for _ in range(2):
            with pytest.raises(LedgerDamagedError, match="modified outside Understudy"):
                ledger.state()
            with pytest.raises(LedgerDamagedError, match="modified outside Understudy"):
                ledger.begin(Budget(epsilon=0.1, delta=1e-6), {})


def test_a_ledger_taken_back_in_time_while_open_is_refused_from_then_on(path: Path) -> None:
    old = path.with_name("old.ledger")
    shutil.copy(path, old)
    with closing(Ledger(path)) as ledger:
        ledger.begin(Budget(epsilon=0.1, delta=1e-6), {})
        with closing(sqlite3.connect(old)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
        for _ in range(2):
            with pytest.raises(LedgerDamagedError, match="earlier entries have changed"):
                ledger.begin(Budget(epsilon=0.1, delta=1e-6), {})


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_nothing_is_booked_in_a_file_that_is_no_longer_the_ledger(path: Path, how: str) -> None:
    other = path.with_name("other.ledger")
    shutil.copy(path, other)
    with closing(Ledger(path)) as ledger:
        if how == "deleted":
            path.unlink()
        else:
            other.replace(path)
        with pytest.raises(LedgerDamagedError, match="moved, deleted or replaced"):
            ledger.begin(Budget(epsilon=0.1, delta=1e-6), {})


def test_another_writer_is_waited_for_and_then_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "WAIT_SECONDS", 0.05)
    with closing(Ledger(path)) as ledger, raw(path, hands_off=True) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert ledger.state().left > 0
        with pytest.raises(LedgerLockedError, match="locked by another process"):
            ledger.begin(Budget(epsilon=0.1, delta=1e-6), {})
        connection.execute("ROLLBACK")
        connection.execute("BEGIN EXCLUSIVE")
        for use in (ledger.state, lambda: Ledger(path)):
            with pytest.raises(LedgerLockedError, match="locked by another process"):
                use()
        connection.execute("ROLLBACK")
        ledger.begin(Budget(epsilon=0.1, delta=1e-6), {})
        assert len(ledger.state().runs) == 2


def test_a_reading_is_of_one_moment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that writes between two statements of a reading is no damage."""
    monkeypatch.setattr(journal, "WAIT_SECONDS", 0.05)
    tried: list[bool] = []

    with closing(Journal(path)) as reader, closing(Journal(path)) as writer:

        def interfere(statement: str) -> None:
            if statement.startswith("SELECT"):
                try:
                    with writer.transaction():
                        writer.append("run", {}, run=2)
                    tried.append(True)
                except LedgerLockedError:
                    tried.append(False)

        reader._connection.set_trace_callback(interfere)
        assert len(reader.entries()) >= ENTRIES
        reader._connection.set_trace_callback(None)
        assert len(reader.entries()) == ENTRIES + sum(tried)
    assert len(tried) == 2
