"""A run of Lives that is killed again and again, each time between a charge and its answer."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import understudy as us
from tests.session.sameness import same
from tests.session.server import read
from tests.synth.lives.test_mechanism import clinic, session

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

folder, begins, ends = Path(sys.argv[1]), *sys.argv[2:]
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
    return session(folder, budget=SMALL, private=clinic(300))


def test_killed_at_each_of_its_parts_it_ends_the_same(tmp_path: Path) -> None:
    ledger = tmp_path / "clinic.ledger"
    answers: dict[int, tuple[str, bytes]] = {}
    charges: list[object] = []
    for begins, ends in DIES.values():
        killed = subprocess.run(
            [sys.executable, "-c", LIFE, str(tmp_path), begins, ends], cwd=ROOT, check=False
        )
        assert killed.returncode == -signal.SIGKILL
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
    assert same(held(tmp_path).resume(1), release)
    assert read(ledger).runs[1] == run
