"""On a real terminal: progress that says what it means, Ctrl-C, and the way on after a kill."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from tests.audit.effort import THOROUGH, in_audit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.place import Place

PROGRAM = """
import fcntl, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
def wait(*given, **named):
    print("WAITING", flush=True)
    for _ in range(600):  # one long sleep might begin between the key and its interrupt
        time.sleep(0.1)
{code}
from understudy.cli.main import main
sys.exit(main())
"""
BEFORE = "import understudy.session.session as s\ns.Session._read = wait"
BEGUN = "import understudy.session.session as s\ns.Session._door = wait"
CHARGED = "import understudy.ledger.ledger as s\ns.Run.store = wait"
SLOW = """
import understudy.synth.independent as s
run = s.Independent.run
def slow(self, door, *, public, rng, progress):
    for i in range(1, 5):
        progress("dawdling", i / 10)
        time.sleep(0.3)
    return run(self, door, public=public, rng=rng, progress=progress)
s.Independent.run = slow
"""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@dataclass
class Terminal:
    """A command on a terminal of its own, and all that it shows."""

    process: subprocess.Popen[bytes]
    end: int
    shown: str = ""

    def until(self, text: str | None) -> None:
        """Read until a text appears, or to the end."""
        with suppress(OSError):  # the terminal of a process that has ended
            while text is None or text not in self.shown:
                if not (more := os.read(self.end, 4096)):
                    break
                self.shown += CONTROL.sub("", more.decode(errors="replace"))

    def ended(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and the last line."""
        self.until(None)
        lines = [line for line in self.shown.split("understudy: ")[-1].split("\n") if line.strip()]
        return self.process.wait(), " ".join(" ".join(lines).split())


@pytest.fixture
def terminals(place: Place) -> Iterator[Terminals]:
    opened = Terminals([], place)
    yield opened
    for terminal in opened.all:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.end)


@dataclass
class Terminals:
    """Opens terminals."""

    all: list[Terminal]
    place: Place

    def run(self, code: str) -> Terminal:
        """Run `synth` on a new terminal, after some code."""
        end, inside = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(code=code), *self.place.synth()],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            env={**os.environ, "COLUMNS": "400", "TERM": "xterm"},
        )
        os.close(inside)
        self.all.append(Terminal(process, end))
        return self.all[-1]

    def stopped(self, code: str) -> str:
        """Press Ctrl-C where the code waits, and return what is said then."""
        terminal = self.run(code)
        terminal.until("WAITING")
        os.write(terminal.end, b"\x03")
        code_, said = terminal.ended()
        assert code_ == 130
        return said

    def interrupted(self, code: str, place: str) -> str:
        """Interrupt it there: usually in this process, which is quicker, and where code waits."""
        if THOROUGH:
            return self.stopped(code)
        with patch(place, side_effect=KeyboardInterrupt):
            told = self.place.say(*self.place.synth())
        assert told.code == 130
        return told.line.removeprefix("understudy: ")


def test_elapsed_time_is_not_called_what_is_left(terminals: Terminals) -> None:
    terminal = terminals.run(SLOW)
    assert terminal.ended()[0] == 0
    times = re.findall(r"dawdling +\S* *(\d:\d\d:\d\d *\S*)", terminal.shown)
    assert times
    assert not any(time.endswith("left") for time in times)
    assert re.search(r"about 0:00:0\d left", terminal.shown)
    assert "-:--:--" not in terminal.shown


def test_ctrl_c_before_there_is_a_ledger_says_that_nothing_was_spent(terminals: Terminals) -> None:
    said = terminals.interrupted(BEFORE, "understudy.session.session.Session._read")
    assert said == "interrupted before anything was spent"
    assert not (terminals.place / "trips.ledger").exists()


def test_ctrl_c_before_the_first_charge_names_the_run_and_both_ways_on(
    terminals: Terminals,
) -> None:
    said = terminals.interrupted(BEGUN, "understudy.session.session.Session._door")
    ledger = terminals.place / "trips.ledger"
    assert "run 1 has spent nothing yet" in said
    assert f"'understudy resume {ledger} --run 1' continues it" in said
    terminals.place.fine("ledger", ledger, "--abandon", "1")
    terminals.place.fine(*terminals.place.synth())


def test_ctrl_c_after_a_charge_names_the_run(terminals: Terminals) -> None:
    said = terminals.stopped(CHARGED)
    assert "run 1 has spent a part of its budget: 'understudy resume" in said
    rerun(terminals.place)


def rerun(place: Place) -> None:
    """See that the same command names the run to resume, and resume it."""
    told = place.say(*place.synth())
    ledger = place / "trips.ledger"
    assert f"Hint: run 1 is unfinished: 'understudy resume {ledger} --run 1'" in told.line
    place.fine("resume", ledger, "--run", "1")


@in_audit  # a kill leaves what Ctrl-C does: `tests/session/test_kill.py` looks at that
def test_a_rerun_after_a_kill_names_the_run_to_resume(terminals: Terminals) -> None:
    terminal = terminals.run(CHARGED)
    terminal.until("WAITING")
    terminal.process.send_signal(signal.SIGKILL)
    terminal.process.wait()
    rerun(terminals.place)
