"""A run of Lives that is killed again and again, each time between a charge and its answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import understudy as us
from tests.audit.effort import THOROUGH, effort
from tests.session.sameness import same
from tests.session.server import read
from tests.synth.lives.test_mechanism import NARROW, clinic, mended_briefly, session

__all__ = ["mended_briefly"]

ROOT = Path(__file__).parents[3]
SMALL = us.Budget(epsilon=2.0, delta=1e-6)
DIES = {
    "habits": ("measuring habits", " marginals of people"),
    "people": ("round 1", " marginals of people"),
    "rows": ("round 1", " marginals"),
    "transitions": ("measuring what follows what", " marginals"),
}
"""The stage, and how the question ends that is charged for last."""
LIFE = """
import os, signal, sys
from pathlib import Path
import understudy as us
from tests.synth.lives.test_resume import held
from understudy.ledger import ledger

# Each life is forked from this process, so that none of them waits for imports.
for line in sys.stdin:
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

folder, begins, ends = Path(sys.argv[1]), *line.rstrip("\\n").split(",")
stage, reserve = "", ledger.Run.reserve

def progress(told, done):
    global stage
    stage = told

def charged(run, ordinal, plan, what, charge):
    reserve(run, ordinal, plan, what, charge)
    if stage.startswith(begins) and what.endswith(ends):
        os.kill(os.getpid(), signal.SIGKILL)

ledger.Run.reserve = charged
if (folder / "clinic.ledger").exists():
    held(folder).resume(1, progress=progress)
else:
    held(folder).run(us.Lives(), progress=progress)
"""


def held(folder: Path) -> us.Session:
    return session(folder, budget=SMALL, private=clinic(effort(50, 300)), schema=NARROW)


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Begin a process of which lives are forked, each by a line that says when it dies."""
    process = subprocess.Popen(
        [sys.executable, "-c", LIFE, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    yield process
    process.communicate(timeout=600)


def test_killed_at_each_of_its_parts_it_ends_the_same(
    tmp_path: Path, lives: subprocess.Popen[str]
) -> None:
    ledger = tmp_path / "clinic.ledger"
    answers: dict[int, tuple[str, bytes]] = {}
    charges: list[object] = []
    for begins, ends in DIES.values():
        assert lives.stdin is not None
        assert lives.stdout is not None
        lives.stdin.write(f"{begins},{ends}\n")
        lives.stdin.flush()
        assert int(lives.stdout.readline()) == -signal.SIGKILL
        run = read(ledger).runs[1]
        # The last question is charged for, and has no answer; all before it are as they were.
        assert len(run.reservations) == len(run.answers) + 1 > len(charges)
        assert run.reservations[-1].what.endswith(ends)
        assert {i: run.answers[i] for i in answers} == answers
        assert list(run.reservations[: len(charges)]) == charges
        answers, charges = dict(run.answers), list(run.reservations)
    release = held(tmp_path).resume(1)
    run = read(ledger).runs[1]
    assert run.closed
    assert {i: run.answers[i] for i in answers} == answers
    assert list(run.reservations[: len(charges)]) == charges
    assert len(run.reservations) == len(run.answers) == len(release.manifest["charges"])
    assert 0.999 * SMALL.grains < run.spent <= SMALL.grains
    if THOROUGH:
        assert same(held(tmp_path).resume(1), release)
        assert read(ledger).runs[1] == run
