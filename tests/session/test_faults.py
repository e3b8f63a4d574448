"""Full disks, folders that may not be written to, wrong clocks, torn and flipped ledgers.

Two processes that race for the last of the budget are in ``tests/ledger/test_race.py``.
With UNDERSTUDY_AUDIT=1 a ledger is cut at every byte and flipped at every byte.
"""

from __future__ import annotations

import ast
import os
import tempfile
import time
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import effort
from tests.ledger.files import small_files, write_ledger
from tests.session.server import BUDGET, Server, Watch, new_watch, read, serving
from understudy.budget import Budget, Currency, Unit, noise_charge
from understudy.engine import DuckDB
from understudy.errors import LedgerDamagedError, StorageError
from understudy.ledger import Ledger
from understudy.schema import Categorical, Id, Integer, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.ledger import State
    from understudy.release import Format

AUDIT = os.environ.get("UNDERSTUDY_AUDIT") == "1"
SMALL = Budget(epsilon=0.1, delta=1e-6)
QUESTIONS = 12
PAGE = 4096
SOURCE = Path(us.__file__).parent


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    """Make a release of some thousand rows."""
    count = 3000
    private = {
        "taxi": np.arange(count) % 300,
        "colour": np.array(["red", "blue"] * (count // 2), dtype=object),
        "hour": np.arange(count) % 24,
    }
    columns = (
        Id(name="taxi"),
        Categorical(name="colour", values=("red", "blue")),
        Integer(name="hour", min=0, max=23),
    )
    return us.open(
        i_know=True,
        private=private,
        schema=Schema("trips", columns),
        unit=Unit("taxi"),
        bounding=us.Weights(10),
        budget=Budget(epsilon=50.0, delta=1e-6),
        ledger=tmp_path_factory.mktemp("release") / "a.ledger",
    ).run(us.Independent())


# A full disk


def sizes_of_a_run(folder: Path, server: Server) -> list[int]:
    """Give sizes at which the ledger of a run can no longer grow, from none to the last."""
    whole = new_watch(folder / "whole", QUESTIONS)
    assert server.live(whole.task())["code"] == 0
    size = whole.ledger.stat().st_size
    # An odd size tears a page; the journal beside the ledger meets the limit at other places.
    # Below the first, what the mechanism itself writes down would fail.
    pages = range(PAGE, size, effort(8, 2) * PAGE)
    return [2000, *(n + odd for n in pages for odd in (0, 1500)), size - 1]


def check_resumed(watch: Watch, server: Server) -> None:
    """Check what a failed life left, and that the next one finishes and pays nothing twice."""
    run = watch.look()
    charged = len(run.reservations) if run else 0
    assert server.live(watch.task())["code"] == 0
    watch.look_finished()
    assert len(watch.plans) == QUESTIONS >= charged


def test_a_disk_that_fills_up_at_any_moment_of_a_run_loses_and_doubles_nothing(
    tmp_path: Path, server: Server
) -> None:
    failed = []
    for turn, size in enumerate(sizes_of_a_run(tmp_path, server)):
        watch = new_watch(tmp_path / f"{turn}", QUESTIONS)
        ended = server.live(watch.task(limit=size))
        assert ended["code"] in (0, StorageError.exit_code), size
        if ended["code"]:
            failed.append(watch.ledger.exists())
        # Nothing is left of a ledger that was not finished, nor of one in its making.
        names = {path.name for path in watch.folder.iterdir()}
        assert names <= {"a.ledger", "handed", "a.ledger-journal"}
        check_resumed(watch, server)
        assert {path.name for path in watch.folder.iterdir()} == {"a.ledger", "handed"}
    # Some failed before there was a ledger, and some after.
    assert False in failed
    assert True in failed


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_disk_that_fills_up_while_a_release_is_written_leaves_nothing_half_done(
    tmp_path: Path, release: us.Release, form: Format
) -> None:
    whole = release.save(tmp_path / "whole", format=form)
    sizes = {path.name: path.stat().st_size for path in whole.iterdir()}
    largest = max(sizes.values())
    limits = {0, 1, *(n - 1 for n in sizes.values()), *range(0, largest, largest // 24 + 1)}
    for size in sorted(limits):
        with small_files(size), pytest.raises(StorageError) as caught:
            release.save(tmp_path / "out", format=form)
        assert caught.value.exit_code == 13
        assert [path.name for path in tmp_path.iterdir()] == ["whole"], size
    with small_files(largest):
        again = release.save(tmp_path / "out", format=form)
    assert {path.name: path.stat().st_size for path in again.iterdir()} == sizes
    assert (again / "manifest.json").read_bytes() == (whole / "manifest.json").read_bytes()


# Places that may not be written to


@pytest.mark.parametrize("place", ["file/out", "file/deep/out", "/proc/out", "/proc/self/out"])
def test_a_release_where_no_folder_can_be_made(
    tmp_path: Path, release: us.Release, place: str
) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError) as caught:
        release.save(tmp_path / place)
    assert caught.value.exit_code == 13
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("place", ["file/a.ledger", "/proc/a.ledger", "/proc/self/a.ledger"])
def test_a_ledger_where_no_file_can_be_made(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError):
        Ledger.create(tmp_path / place, budget=BUDGET)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """Be somebody whom permissions bind, where one is root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def locked(release: us.Release) -> Iterator[Path]:
    """Make a folder with a ledger, neither of which may be written to."""
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above) / "locked"
        # Once, so that nothing is left to be imported by somebody who may not.
        release.save(folder)
        Ledger.create(folder / "a.ledger", budget=BUDGET).close()
        (folder / "a.ledger").chmod(0o444)
        folder.chmod(0o555)
        Path(above).chmod(0o755)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_may_not_be_written_to(locked: Path, release: us.Release) -> None:
    before = sorted(path.name for path in locked.iterdir())
    with bound_by_permissions():
        with pytest.raises(StorageError):
            release.save(locked / "out")
        with pytest.raises(StorageError):
            Ledger.create(locked / "b.ledger", budget=BUDGET)
        with closing(Ledger(locked / "a.ledger")) as ledger:
            assert ledger.state().left == BUDGET.grains
            with pytest.raises(StorageError):
                ledger.begin(SMALL, {})
    assert sorted(path.name for path in locked.iterdir()) == before
    assert read(locked / "a.ledger").left == BUDGET.grains


# Clocks


@pytest.mark.parametrize("room", ["ledger", "vault", "door", "session", "noise", "budget"])
def test_no_room_that_books_or_draws_looks_at_the_clock(room: str) -> None:
    for path in (SOURCE / room).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not {"time", "datetime"} & {name.name for name in node.names}, path
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in {"time", "datetime"}, path


def test_a_ledger_from_the_future_takes_entries_and_is_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.ledger"
    with closing(Ledger.create(path, budget=BUDGET)) as ledger:
        ledger.begin(SMALL, {}).close()
    for moment in (time.time() + 10**9, 1.0):
        os.utime(path, (moment, moment))
        for clock in ("time", "monotonic"):
            monkeypatch.setattr(time, clock, lambda: 0.0)
        with closing(Ledger(path)) as ledger:
            before = ledger.state()
            ledger.begin(SMALL, {}).close()
        assert read(path).head != before.head
        assert len(read(path).runs) == len(before.runs) + 1
        assert {n: read(path).runs[n] for n in before.runs} == before.runs


@pytest.mark.parametrize("jump", [-(10**9), 10**9])
def test_a_clock_that_jumps_takes_no_engine_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with closing(DuckDB()) as one:
        (folder,) = tmp_path.iterdir()
        os.utime(folder, (time.time() - jump,) * 2)
        with closing(DuckDB()) as other:
            assert folder.exists()
            assert len(list(tmp_path.iterdir())) == 2
            assert other.fetch("SELECT 1 AS a")["a"].tolist() == [1]
        assert one.fetch("SELECT 1 AS a")["a"].tolist() == [1]
    assert list(tmp_path.iterdir()) == []


# Torn and flipped ledgers


@pytest.fixture(scope="module", params=["small", "with much in its last pages"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Give the bytes of a ledger with an entry of every kind."""
    path = tmp_path_factory.mktemp("whole") / "a.ledger"
    write_ledger(path)
    if request.param != "small":
        with closing(Ledger(path)) as ledger:
            run = ledger.begin(SMALL, {})
            run.reserve(0, "plan", "much", noise_charge(500.0, Currency.GDP, bound=Fraction(1)))
            run.store(0, "plan", bytes(range(250)) * 60)
    return path.read_bytes()


def found(path: Path, content: bytes) -> State | None:
    """Give what a ledger of this content says, or None where it is refused as damaged."""
    for beside in ("-journal", "-wal", "-shm"):
        path.with_name(path.name + beside).unlink(missing_ok=True)
    path.write_bytes(content)
    try:
        return read(path)
    except LedgerDamagedError:
        return None


def test_a_ledger_cut_anywhere_in_its_last_page_is_refused_or_has_lost_nothing(
    tmp_path: Path, whole: bytes
) -> None:
    path = tmp_path / "a.ledger"
    before = found(path, whole)
    assert before is not None
    refused = 0
    cuts = range(1, PAGE + 1, 1 if AUDIT else 41)
    for cut in sorted({*cuts, *range(1, 10), PAGE - 1, PAGE}):
        state = found(path, whole[:-cut])
        assert state in (before, None), cut
        refused += state is None
        if state is not None:
            check_goes_on(path, before)
    # A page that is gone, or most of it, is always missed.
    assert refused > 0
    assert found(path, whole[:-PAGE]) is None


def test_a_ledger_with_more_at_its_end_says_the_same(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "a.ledger"
    before = found(path, whole)
    for more in (b"\x00", b"x" * 100, bytes(PAGE), whole):
        assert found(path, whole + more) in (before, None)


def test_a_flipped_byte_is_refused_or_harmless_and_stays_so(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "a.ledger"
    before = found(path, whole)
    assert before is not None
    places = range(0, len(whole), 1 if AUDIT else 61)
    refused = 0
    for place in (*range(100), *places):
        for flip in (0xFF, 1 << place % 8) if place < 100 else (1 << place % 8,):
            flipped = bytearray(whole)
            flipped[place] ^= flip
            state = found(path, bytes(flipped))
            refused += state is None
            assert state in (before, None), place
            if state is not None and place % 7 == 0:
                check_goes_on(path, before)
    assert refused > 40


def check_goes_on(path: Path, before: State) -> None:
    """Check that a ledger with a harmless flip forgets nothing when it is written to."""
    try:
        with closing(Ledger(path)) as ledger:
            run = ledger.begin(SMALL, {})
            run.reserve(0, "plan", "question", noise_charge(500.0, Currency.GDP, bound=Fraction(1)))
        after = read(path)
    except (LedgerDamagedError, StorageError):
        return
    assert {n: after.runs[n] for n in before.runs} == before.runs
    assert len(after.runs) == len(before.runs) + 1
    assert len(after.runs[max(after.runs)].reservations) == 1
