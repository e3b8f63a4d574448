"""Malformed inputs by the hundred: each runs or is refused in our own words, and tells nothing.

With UNDERSTUDY_AUDIT=1 there are more than ten thousand.
"""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import understudy as us
from tests.leaks.canaries import NUMBER, WORD
from tests.leaks.malformed import MAKERS, Input, make
from tests.leaks.watching import chain, clean
from tests.shared_duckdb import connect
from understudy.budget import bounding_from_dict
from understudy.cli.main import main
from understudy.engine import DuckDB
from understudy.errors import EngineError, InternalError, MalformedFileError, UnderstudyError
from understudy.vault import PrivateDoor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AUDIT = os.environ.get("UNDERSTUDY_AUDIT") == "1"
BATCHES = 13 if AUDIT else 6
IN_A_BATCH = 800 if AUDIT else 10
COMMAND_EVERY = 11
"""One input in so many that are files goes through the command line."""
OWN_ENGINE_EVERY = 47
"""One input in so many opens an engine of its own, which takes longer than all the rest."""
PROCESSES = 60 if AUDIT else 2
SAVED_EVERY = 8
"""One release in so many is written; all of them are looked at in memory."""
SOURCE = str(Path(us.__file__).parent)
CODES = {*range(2, 17)}


def quiet(text: str) -> bool:
    """Say whether no canary is in a text, nor one with NULs between its letters."""
    plain = text.replace("\x00", "").replace("\\x00", "").lower()
    number = f"{NUMBER[0]}.{NUMBER[1:]}"  # as a float is written
    return clean(text) and WORD[:9].lower() not in plain and number not in plain


@dataclass
class Fuzz:
    """A place for one input after the other, looked through after each."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    logs: pytest.LogCaptureFixture
    patch: pytest.MonkeyPatch
    ended: Counter[str] = field(default_factory=Counter)

    def fresh(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("in", "tmp", "out"):
            (self.folder / name).mkdir(parents=True)

    def one(self, number: int) -> None:
        """Make an input, run it, and look for canaries in all that came of it."""
        self.fresh()
        given = make(number, self.folder / "in")
        by_command = isinstance(given.private, Path) and number % COMMAND_EVERY == 0
        act = self.command if by_command else self.library
        with self.patch.context() as patch, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            patch.setattr(tempfile, "tempdir", str(self.folder / "tmp"))
            if number % OWN_ENGINE_EVERY:
                patch.setattr(duckdb, "connect", connect)
            try:
                error = act(given, number)
                self.look(given, refused=error is not None)
            except AssertionError as seen:
                # Of the input only its number and kind are told, not its rows.
                raise AssertionError(f"input {number}, {given.kind}: {seen}") from None
        assert all(quiet(repr(w.message)) for w in warned)
        self.ended[error or "done"] += 1

    def library(self, given: Input, number: int) -> str | None:
        """Run from Python; give the name of the error."""
        failed: BaseException | None = None
        try:
            release = run(given, self.folder / "out" / "t.ledger")
            shown = repr((release.columns, release.manifest, release.measurements))
            if number % SAVED_EVERY == 0:
                release.save(self.folder / "out" / "release", format="csv")
        except BaseException as error:  # noqa: BLE001  whatever it is, it is looked at
            failed = error
        assert given.runs is None or given.runs == (failed is None), type(failed)
        if failed is None:
            assert quiet(shown)
            return None
        check_error(failed, rows_in_file=rows_in_file(given.private))
        return type(failed).__name__

    def command(self, given: Input, number: int) -> str | None:
        """Run from the command line, in this process; give the error's code."""
        asked = arguments(given, self.folder / "out")
        code = main([*asked, "--json"] if number % 2 else asked)
        out, err = self.capture.readouterr()
        assert quiet(out + err)
        check_told(code, out, err)
        assert given.runs is None or given.runs == (code == 0), code
        return f"exit {code}" if code else None

    def look(self, given: Input, *, refused: bool) -> None:
        """Look at output, logs, files and the names of files."""
        assert all(map(quiet, self.capture.readouterr()))
        for record in self.logs.records:
            assert quiet(record.getMessage() + repr(vars(record)))
        self.logs.clear()
        left = list((self.folder / "out").rglob("*"))
        assert all(quiet(str(path.relative_to(self.folder))) for path in left)
        assert all(clean(path.read_bytes()) for path in left if path.is_file())
        assert list((self.folder / "tmp").iterdir()) == []
        # An input is refused before the ledger is made, a budget when it is asked for.
        assert not refused or not left, [path.name for path in left]


def run(given: Input, ledger: Path) -> us.Release:
    """Run on an input from Python."""
    kind, _, cap = given.bounding.partition(":")
    return us.open(
        private=given.private,
        schema=given.schema,
        unit=us.Unit(*given.unit, nulls=given.nulls) if given.unit else us.Unit.each_row(),
        bounding=bounding_from_dict({"kind": kind, "cap": int(cap) if cap.isdecimal() else cap}),
        budget=us.Budget(epsilon=given.epsilon, delta=given.delta),
        ledger=ledger,
    ).run(us.Independent())


def arguments(given: Input, out: Path) -> list[str]:
    """Write the command line of an input."""
    options = {
        "schema": given.schema,
        "unit": ",".join(given.unit) if given.unit else "each-row",
        "null-ids": given.nulls,
        "bounding": given.bounding,
        "epsilon": given.epsilon,
        "delta": given.delta,
        "ledger": out / "t.ledger",
        "out": out / "release",
    }
    return ["synth", str(given.private), *(f"--{name}={value}" for name, value in options.items())]


def check_told(code: int, out: str, err: str) -> None:
    """Check that a code is documented, for something that was asked, and told in one line."""
    assert code == 0 or code in CODES, code
    assert code != EngineError.exit_code
    assert "Traceback" not in err
    assert len(err.splitlines()) == (code != 0)
    assert bool(out) == (code == 0)


def check_error(error: BaseException, *, rows_in_file: bool) -> None:
    """Check that an error is ours, and that nothing of it or behind it holds a canary."""
    assert isinstance(error, UnderstudyError), type(error)
    # These two would say that a value broke something.
    assert not isinstance(error, (EngineError, InternalError)), type(error)
    assert len(str(error).splitlines()) == 1
    assert quiet("".join(traceback.format_exception(error)))
    for behind in chain(error):
        assert quiet(str(behind) + repr(behind) + repr(vars(behind)))
        assert not rows_in_file or all(map(quiet, held(behind)))


def rows_in_file(private: object) -> bool:
    """Say whether frames have no business with private rows: not those of a table in memory.

    What is read of a file is its first line, its header.
    """
    if not isinstance(private, Path) or not private.is_file():
        return False
    opener = gzip.open if private.suffix == ".gz" else open
    try:
        with opener(private, "rb") as file:
            return quiet(file.readline().decode("latin-1"))
    except (OSError, EOFError, zlib.error):
        return True


def held(error: BaseException) -> Iterator[str]:
    """Write out what the frames of our own code hold that an error came through."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.startswith(SOURCE):
            # What was never made whole has no text of its own.
            with suppress(AttributeError):
                yield from map(repr, frame.f_locals.values())


@pytest.fixture
def fuzz(
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Fuzz]:
    # In memory where there is such a place: most of a small run is waiting for the disk.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
    with tempfile.TemporaryDirectory(dir=place) as folder:
        # The same for every input, and read from disk for every release.
        built = import_module("understudy.release.build")
        monkeypatch.setattr(built, "version", cache(version))
        caplog.set_level(logging.DEBUG)
        yield Fuzz(Path(folder) / "of", capfd, caplog, monkeypatch)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_malformed_input_runs_or_is_refused_and_tells_nothing(fuzz: Fuzz, batch: int) -> None:
    for number in range(batch * IN_A_BATCH, (batch + 1) * IN_A_BATCH):
        fuzz.one(number)
    # Neither is everything refused, nor nothing.
    assert IN_A_BATCH * 0.2 < fuzz.ended["done"] < IN_A_BATCH * 0.9, fuzz.ended


def test_some_of_them_in_a_process_of_their_own(fuzz: Fuzz) -> None:
    for number in range(0, PROCESSES * 7, 7):
        fuzz.fresh()
        given = make(number, fuzz.folder / "in")
        if not isinstance(given.private, Path):
            continue
        asked = arguments(given, fuzz.folder / "out")
        if any("\x00" in argument for argument in asked):
            continue
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-m", "understudy.cli.main", *asked],
            capture_output=True,
            check=False,
            cwd=fuzz.folder / "out",
            env=os.environ | {"TMPDIR": str(fuzz.folder / "tmp")},
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        assert quiet(out + err), number
        check_told(done.returncode, out, err)
        fuzz.look(given, refused=done.returncode != 0)


# The watch itself can bark


def _saying(leak: Callable[[str], object]) -> Callable[..., Any]:
    """Make an engine that passes the first cell it sees on, one way or another."""
    real = DuckDB.attach

    def attach(engine: DuckDB, data: Any, **named: Any) -> Any:
        leak(Path(data).read_text(encoding="utf-8"))
        return real(engine, data, **named)

    return attach


def _told(text: str) -> None:
    raise MalformedFileError(f"cannot read {text}")


def _hidden(text: str) -> None:
    try:
        os.environ[text]
    except KeyError:
        raise MalformedFileError("cannot read it") from None


def _framed(text: str) -> None:
    raise MalformedFileError("cannot read it", got=len(text))


LEAKS: dict[str, Callable[[str], object]] = {
    "an error": _told,
    "behind an error": _hidden,
    "in a frame": _framed,
    "an error of another family": lambda text: int("one"),
    "output": print,
    "output past Python": lambda text: os.write(2, text.encode()),
    "a log": logging.getLogger("understudy").info,
    "a warning": lambda text: warnings.warn(text, stacklevel=1),
    "a file": lambda text: Path(tempfile.gettempdir(), "../out/kept").write_text(text),
    "the name of a file": lambda text: Path(tempfile.gettempdir(), "../out", WORD).touch(),
    "a temporary file": lambda text: Path(tempfile.gettempdir(), "kept").touch(),
}


@pytest.mark.parametrize("way", LEAKS)
def test_a_planted_leak_is_seen(fuzz: Fuzz, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    # The first maker is that of files which run.
    turns = range(len(MAKERS), 999, len(MAKERS))
    number = next(n for n in turns if n % COMMAND_EVERY and n % OWN_ENGINE_EVERY)
    fuzz.one(number)
    assert fuzz.ended["done"] == 1
    monkeypatch.setattr("tests.leaks.test_fuzz.SOURCE", str(Path(us.__file__).parent.parent.parent))
    monkeypatch.setattr(DuckDB, "attach", _saying(LEAKS[way]))
    with pytest.raises(AssertionError):
        fuzz.one(number)


def test_a_number_always_makes_the_same_input(tmp_path: Path) -> None:
    for number in range(60):
        made = []
        for turn in ("one", "other"):
            folder = tmp_path / turn / str(number)
            folder.mkdir(parents=True)
            given = make(number, folder)
            files = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
            made.append((given.kind, given.unit, given.bounding, given.runs, files))
        assert made[0] == made[1]


# Faults that were found once


@pytest.mark.parametrize("epsilon", [1e300, 1e200])
def test_an_epsilon_beyond_all_measure_is_refused_in_our_own_words(epsilon: float) -> None:
    with pytest.raises(UnderstudyError):
        us.Budget(epsilon=epsilon, delta=1e-6).grains  # noqa: B018


def test_more_noisy_rows_than_fit_into_memory_are_refused_in_our_own_words(
    fuzz: Fuzz, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large cap or a small epsilon makes noise of 10¹⁵ rows, half of the time."""
    fuzz.fresh()
    given = make(0, fuzz.folder / "in")
    monkeypatch.setattr(PrivateDoor, "total", lambda door, **asked: 1e15)
    with pytest.raises(UnderstudyError):
        run(given, fuzz.folder / "out" / "t.ledger")


@pytest.mark.parametrize("first", [f"{WORD},{NUMBER},a\n1,2,3\n", f"{WORD},{WORD},a\n1,2,3\n"])
def test_no_frame_of_a_failure_holds_a_first_line_that_is_no_header(fuzz: Fuzz, first: str) -> None:
    fuzz.fresh()
    given = make(0, fuzz.folder / "in")
    (fuzz.folder / "in" / "t.csv").write_text(first)
    given = replace(given, private=fuzz.folder / "in" / "t.csv")
    with pytest.raises(UnderstudyError) as caught:
        run(given, fuzz.folder / "out" / "t.ledger")
    assert all(map(quiet, held(caught.value)))
