"""Runs killed at any moment: nothing is lost, doubled or changed, and they finish."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.audit.effort import THOROUGH, effort, few, one_in
from tests.session.server import BUDGET, Server, new_watch, read, serving
from understudy.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator


KILLS = effort(4, 200)
OF_COMMANDS = effort(1, 20)
QUESTIONS = effort(20, 60)
LOCKED = 9


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


def test_kills_at_random_moments_lose_double_and_change_nothing(
    tmp_path: Path, server: Server
) -> None:
    rng = random.Random(50)  # noqa: S311
    watch = new_watch(tmp_path / "whole", QUESTIONS)
    whole = server.live(watch.task())
    assert whole["code"] == 0
    watch.look_finished()
    # Moments are spread over the time of asking, as long as that is on this disk.
    most = min(0.3, 0.4 * whole["took"])
    kills, lives = 0, 0
    while kills < KILLS:
        watch = new_watch(tmp_path / f"{lives}", QUESTIONS)
        finished = False
        while not finished:
            task = watch.task()
            if kills < KILLS:
                since = "asking" if rng.random() < 0.85 else "birth"
                task |= {"after": rng.uniform(0, most), "since": since}
            ended = server.live(task)
            lives += 1
            assert ended["killed"] or ended["code"] == 0
            kills += ended["killed"]
            finished = not ended["killed"]
            watch.look()
        watch.look_finished()
    assert kills == KILLS


LEDGER = "understudy.ledger.ledger:"
JOURNAL = "understudy.ledger.journal:"


PLACES: list[tuple[list[Any], tuple[int, int, int]]] = [
    # While the ledger is made, before anything is booked.
    ([f"{JOURNAL}_publish", "after", 1], (0, 0, 0)),
    # Between check, count, charge and draw of the third question.
    ([f"{LEDGER}Run.check", "after", 3], (2, 2, 2)),
    (["understudy.vault.door:PrivateDoor._noisy", "after", 3], (3, 2, 2)),
    # Within a transaction: identity, run, then two a question; what is not committed is not.
    ([f"{JOURNAL}Journal.append", "after", 7], (2, 2, 2)),
    ([f"{JOURNAL}Journal.append", "after", 8], (3, 2, 2)),
    # Kills at commits are at these, or next to them.
    ([f"{JOURNAL}_publish", "before", 1], (0, 0, 0)),
    ([f"{LEDGER}Ledger.bind", "after", 1], (0, 0, 0)),
    ([f"{LEDGER}Ledger.begin", "after", 1], (0, 0, 0)),
    ([f"{JOURNAL}Journal.append", "after", 2], (0, 0, 0)),
    ([f"{LEDGER}Run.reserve", "after", 3], (3, 2, 2)),
    ([f"{LEDGER}Run.store", "after", 3], (3, 3, 2)),
]


@pytest.mark.parametrize(("die", "left"), few(PLACES, usual=5))
def test_a_kill_at_a_chosen_place(
    tmp_path: Path, server: Server, die: list[Any], left: tuple[int, int, int]
) -> None:
    watch = new_watch(tmp_path / "watched", 4)
    assert server.live(watch.task(die=die))["killed"]
    run = watch.look()
    reserved, answered = (len(run.reservations), len(run.answers)) if run else (0, 0)
    assert (reserved, answered, len(watch.handed())) == left
    # What was stored but not handed over is handed over by the next life.
    assert server.live(watch.task())["code"] == 0
    watch.look_finished()


# Commits of a run of four questions: the ledger, its table, the run, two a question, the end.
# Usually a run is killed before the first, once it has begun, after a charge, and after an answer.
COMMITS = 1 + 1 + 1 + 2 * 4 + 1


def left_after(commits: int, *, handing: bool) -> tuple[int, int, int]:
    """Say how many questions are charged, answered and handed over once so much is on disk."""
    of_questions = min(max(commits - 3, 0), 8)
    charged, answered = (of_questions + 1) // 2, of_questions // 2
    return charged, answered, answered - (handing and commits in (5, 7, 9, 11))


def test_a_run_has_as_many_commits_as_are_killed_at(tmp_path: Path, server: Server) -> None:
    watch = new_watch(tmp_path / "watched", 4)
    assert server.live(watch.counted("never", 0))["code"] == 0
    assert watch.commits == COMMITS
    watch.look_finished()


@pytest.mark.parametrize(
    ("commit", "when"), one_in(5, product(range(1, COMMITS + 1), ["before", "after"]))
)
def test_a_kill_at_any_commit(tmp_path: Path, server: Server, commit: int, when: str) -> None:
    watch = new_watch(tmp_path / "watched", 4)
    assert server.live(watch.counted(when, commit))["killed"]
    assert watch.commits == commit
    assert watch.ledger.exists() == (commit > 1)  # it is filled under another name first
    done = commit - (when == "before")
    run = watch.look()
    assert (run is not None) == (done >= 3)
    found = (len(run.reservations), len(run.answers)) if run else (0, 0)
    assert (*found, len(watch.handed())) == left_after(done, handing=when == "after")
    assert run is None or run.closed == (done == COMMITS)
    assert server.live(watch.counted("never", 0))["code"] == 0
    watch.look_finished()
    # The next life makes a commit for the table, two a question without an answer, one to end.
    assert run is None or watch.commits == 1 + 2 * (4 - found[1]) + 1


def test_a_run_finishes_though_each_of_its_lives_dies(tmp_path: Path, server: Server) -> None:
    questions = effort(2, 4)
    watch = new_watch(tmp_path / "watched", questions)
    for _ in range(1 + questions):  # each life gets one answer further: table, charge, answer
        assert server.live(watch.counted("after", 3))["killed"]
        watch.look()
    assert server.live(watch.counted("after", 3))["code"] == 0
    watch.look_finished()


def test_a_charge_asked_for_again_and_again_is_booked_once(tmp_path: Path, server: Server) -> None:
    watch = new_watch(tmp_path / "watched", 3)
    for ordinal in range(effort(2, 3)):
        for _ in range(2):
            # Replayed answers are not stored again: the first that is stored is a new one.
            assert server.live(watch.task(die=[f"{LEDGER}Run.store", "before", 1]))["killed"]
            run = watch.look()
            assert run is not None
            assert (len(run.reservations), len(run.answers)) == (ordinal + 1, ordinal)
        assert server.live(watch.task(die=[f"{LEDGER}Run.store", "after", 1]))["killed"]
        watch.look()
    assert server.live(watch.task())["code"] == 0
    watch.look_finished()


def test_two_lives_at_once_are_handed_the_same_answers(tmp_path: Path, server: Server) -> None:
    watch = new_watch(tmp_path / "watched", 30)
    assert server.live(watch.task(die=[f"{LEDGER}Ledger.begin", "after", 1]))["killed"]
    with serving(tmp_path) as other:
        finished = False
        while not finished:
            for each in (server, other):
                each.tell(watch.task())
            codes = [json.loads(each.hear())["code"] for each in (server, other)]
            # One of them gets through, or both are beaten to a question by the other.
            assert set(codes) <= {0, LOCKED}
            finished = 0 in codes
            watch.look()
    watch.look_finished()


# The command line


def _command(folder: Path, *arguments: str) -> list[str]:
    paths = [str(folder / a[1:]) if a.startswith("@") else a for a in arguments]
    return [sys.executable, "-m", "understudy.cli.main", *paths, "--json"]


def _write_table(folder: Path) -> None:
    folder.mkdir()
    rows = [f"{i % 40},{'red' if i % 3 else 'blue'},{i % 24}" for i in range(400)]
    (folder / "trips.csv").write_text("\n".join(["taxi,colour,hour", *rows, ""]))
    (folder / "trips.toml").write_text(
        'name = "trips"\n[columns.taxi]\nkind = "id"\n'
        '[columns.hour]\nkind = "integer"\nmin = 0\nmax = 23\n'
        '[columns.colour]\nkind = "categorical"\nvalues = ["red", "blue"]\n'
    )


SYNTH = (
    *("synth", "@trips.csv", "--schema", "@trips.toml", "--unit", "taxi", "--bounding", "sample:9"),
    *("--epsilon", "1", "--delta", "1e-6", "--ledger", "@a.ledger", "--out", "@out"),
    *("--format", "csv", "--mechanism", "independent"),
)


def _one_life(folder: Path, arguments: tuple[str, ...], rng: random.Random | None) -> bool:
    """Run a command, kill it at a random moment if asked to, and say whether it was killed."""
    if rng is None and not THOROUGH:
        # What nobody kills needs no process of its own.
        _, _, _, *words = _command(folder, *arguments)
        assert main(words) == 0
        return False
    process = subprocess.Popen(
        _command(folder, *arguments),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(folder)},
    )
    if rng is not None:
        deadline = time.monotonic() + rng.uniform(0.4, 1.6)
        if arguments[0] == "synth":
            # Wait for the ledger first: that is when questions are asked.
            while not (folder / "a.ledger").exists() and process.poll() is None:
                time.sleep(0.001)
            deadline = time.monotonic() + rng.uniform(0, 0.1)
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.001)
        process.kill()
    _, complaint = process.communicate(timeout=600)
    assert process.returncode in (0, -signal.SIGKILL), complaint
    return process.returncode != 0


def _rows(folder: Path) -> list[str]:
    return sorted((folder / "rows.csv").read_text().splitlines())


def test_the_command_line_survives_kills(tmp_path: Path) -> None:
    rng = random.Random(5)  # noqa: S311
    kills, turn = 0, 0
    while kills < OF_COMMANDS:
        turn += 1
        folder = tmp_path / f"{turn}"
        _write_table(folder)
        ledger = folder / "a.ledger"
        answers: dict[int, tuple[str, bytes]] = {}
        while not (folder / "out").exists():
            begun = ledger.exists() and bool(read(ledger).runs)
            arguments = ("resume", "@a.ledger") if begun else SYNTH
            kills += _one_life(folder, arguments, rng if kills < OF_COMMANDS else None)
            if ledger.exists() and read(ledger).runs:
                run = read(ledger).runs[1]
                assert {i: run.answers[i] for i in answers} == answers
                answers = dict(run.answers)
        run = read(ledger).runs[1]
        assert (len(run.reservations), sorted(run.answers)) == (3, [0, 1, 2])
        assert BUDGET.grains * (1 - 1e-12) < run.spent <= BUDGET.grains
        manifest = json.loads((folder / "out" / "manifest.json").read_text())
        assert manifest["ledger"]["head"] == run.head
        assert len(manifest["charges"]) == 3
        assert not _one_life(folder, ("resume", "@a.ledger", "--out", "@again"), None)
        assert _rows(folder / "again") == _rows(folder / "out")
        assert len(read(ledger).runs) == 1
