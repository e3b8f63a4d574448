"""What every registered mechanism keeps to; what MST, AIM and Pairs do whatever the table is."""

from __future__ import annotations

import signal
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import THOROUGH, effort, few, one_in
from tests.session.sameness import same
from tests.synth import rides
from understudy.errors import UnderstudyError
from understudy.ledger import RunState
from understudy.schema import Categorical, Id, Integer, Schema
from understudy.synth import MECHANISMS as REGISTERED
from understudy.synth import NEEDS_PUBLIC
from understudy.synth.lives import raking

MECHANISMS: dict[str, us.MST | us.AIM | us.Pairs | us.TwoRound] = {
    "mst": us.MST(most_each=12),
    "pairs": us.Pairs(most_each=12),
    "aim": us.AIM(rounds=3, most_each=12),
    "two rounds": us.TwoRound(),
    "aim by distances": us.AIM(rounds=3, selection="gaussian", most_each=12),
}
BOTH = ("mst", "aim", "pairs")
PRIVATE, PUBLIC = rides.rides(1, odd=True, people=60), rides.rides(2, people=60)
ENOUGH = us.Budget(epsilon=20.0, delta=1e-6)
"""Enough that noise cannot take all rows away."""
PURE = us.Budget(epsilon=40.0, delta=0)
ROOT = Path(__file__).parents[2]

PEOPLE: dict[str, dict[str, Any]] = {
    "weights": {"bounding": us.Weights(15)},
    "weights, pure, public people": {"bounding": us.Weights(15), "budget": PURE, "public": PUBLIC},
    "sample, public people": {"bounding": us.Sample(15), "public": PUBLIC},
    # Few people say little of how many rows people have, and so of how many there are in all.
    "norm": {"bounding": us.Norm(), "budget": us.Budget(epsilon=1000.0, delta=1e-6)},
    "norm, public people": {"bounding": us.Norm(), "public": PUBLIC},
}
ROWS: dict[str, dict[str, Any]] = {
    "sample, pure": {"bounding": us.Sample(1), "budget": PURE},
    "norm, public rows": {"bounding": us.Norm(), "public": PUBLIC},
}


def session(tmp_path: Path, **other: Any) -> us.Session:
    return rides.session(tmp_path, **{"private": PRIVATE, "budget": ENOUGH} | other)


def run_of(tmp_path: Path) -> RunState:
    """The one run of a ledger: it is closed, and what it booked is what it spent."""
    (run,) = rides.read(tmp_path).runs.values()
    assert run.closed
    assert run.spent == sum(r.grains for r in run.reservations) <= run.cap
    assert [r.ordinal for r in run.reservations] == list(range(len(run.reservations)))
    assert run.answers.keys() == {r.ordinal for r in run.reservations}
    return run


def check_kept(tmp_path: Path, held: us.Session, release: us.Release) -> RunState:
    """Rows lie in the schema, and the budget is spent, but for rounding."""
    codes, kept = held.schema.released().encode(release.columns)
    assert kept.all()
    assert list(codes) == list(held.schema.domain)
    assert release.manifest["guarantee"]["epsilon"] == held.budget.epsilon
    run = run_of(tmp_path)
    assert run.spent >= 0.999 * run.cap
    return run


def check_again(tmp_path: Path, held: us.Session, release: us.Release) -> None:
    """The ledger gives the same release again, and nothing is charged or drawn for it."""
    run = check_kept(tmp_path, held, release)
    assert same(held.resume(1), release)
    again = run_of(tmp_path)
    assert (again.reservations, again.answers) == (run.reservations, run.answers)


# Every mechanism has one of the two budgets here, and the other one in test_independent.py.
@pytest.mark.parametrize(
    ("name", "budget"),
    [
        pytest.param(name, budget, id=f"{name}-{kind}")
        for (kind, budget), name in one_in(
            2, product({"pure": PURE, "gdp": ENOUGH}.items(), REGISTERED)
        )
    ],
)
def test_every_registered_mechanism(
    tmp_path: Path, name: str, budget: us.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows lie in the schema, no more is spent than there is, and the ledger gives it all again."""
    monkeypatch.setattr(raking, "SWEEPS", effort(1, 8))
    held = session(tmp_path, bounding=us.Weights(15), public=PUBLIC, budget=budget)
    # How many kinds of people suit best is found out where archetypes are tried.
    settings = {"kinds": 4} if name == "archetypes" and not THOROUGH else {}
    release = held.run(REGISTERED[name](**settings))
    codes, kept = held.schema.released().encode(release.columns)
    assert kept.all()
    assert list(codes) == list(held.schema.domain)
    assert release.manifest["mechanism"]["name"] == name
    run = run_of(tmp_path)
    assert same(held.resume(1), release)
    assert run_of(tmp_path).spent == run.spent > 0
    # UserCounts is for few cells and Archetypes for public tables; each has a test of its own.
    if name not in {"usercounts", *NEEDS_PUBLIC}:
        assert run.spent >= 0.999 * run.cap
        assert len(release) > 0
        assert np.bincount(release.columns["who"]).max() <= 15
        assert release.manifest["guarantee"]["epsilon"] == budget.epsilon


@pytest.mark.parametrize(
    ("name", "case"),
    # One in four has each case, and each mechanism.
    one_in(
        4,
        [
            *product(BOTH, PEOPLE),
            ("aim by distances", "norm"),
            ("aim by distances", "weights, pure, public people"),
        ],
    ),
)
def test_people_of_many_rows(tmp_path: Path, name: str, case: str) -> None:
    held = session(tmp_path, **PEOPLE[case])
    release = held.run(MECHANISMS[name])
    check_again(tmp_path, held, release)
    assert list(release.columns) == ["who", *rides.NAMES]
    assert len(release) > 100
    often = np.bincount(release.columns["who"])
    assert 1 < often.max() <= 12
    assert release.manifest["notes"] == [
        "Standard errors of measurements cover the added noise, not the bias of contribution "
        f"bounding ({held.bounding}); those of `estimate` cover both, or say that they do not."
    ]


@pytest.mark.parametrize(("name", "case"), one_in(3, product(BOTH, ROWS)))
def test_rows_that_are_people(tmp_path: Path, name: str, case: str) -> None:
    held = session(tmp_path, unit=us.Unit.each_row(), **ROWS[case])
    release = held.run(MECHANISMS[name])
    check_again(tmp_path, held, release)
    assert list(release.columns) == list(rides.NAMES)
    assert len(release) == pytest.approx(len(PRIVATE["who"]), rel=0.2)
    assert release.manifest["notes"] == []


def with_who(*columns: Any) -> Schema:
    return Schema("rides", (Id(name="who"), *columns))


SHIFT, ZONE = rides.SCHEMA["shift"], rides.SCHEMA["zone"]
ONLY = Categorical(name="only", values=("this",), missing=False, outside="drop")
ODD: dict[str, tuple[Schema, dict[str, Any]]] = {
    "one column": (with_who(ZONE), PRIVATE),
    "two columns": (with_who(ZONE, SHIFT), PRIVATE),
    "a column of one code": (
        with_who(ZONE, ONLY, SHIFT),
        {**PRIVATE, "only": np.full(len(PRIVATE["who"]), "this", dtype=object)},
    ),
    "columns of one code alone": (
        with_who(ONLY, Integer(name="zone", min=3, max=3, missing=False)),
        {
            "who": PRIVATE["who"],
            "only": np.full(len(PRIVATE["who"]), "this", dtype=object),
            "zone": np.full(len(PRIVATE["who"]), 3),
        },
    ),
    "rows all alike": (
        rides.SCHEMA,
        {n: c if n == "who" else np.repeat(c[:1], len(c)) for n, c in PRIVATE.items()},
    ),
    "no rows": (rides.SCHEMA, {n: c[:0] for n, c in PRIVATE.items()}),
}


@pytest.mark.parametrize(
    ("case", "name"),
    one_in(2, [*product(ODD, BOTH), ("no rows", "aim by distances")])
    if THOROUGH
    else list(zip(ODD, BOTH * 2, strict=True)),
)
def test_odd_tables(tmp_path: Path, name: str, case: str) -> None:
    schema, private = ODD[case]
    # So little noise that it cannot hide what is there.
    asked = {"bounding": us.Weights(15), "budget": us.Budget(epsilon=200.0, delta=1e-6)}
    held = session(tmp_path, schema=schema, private=private, **asked)
    release = held.run(MECHANISMS[name])
    check_kept(tmp_path, held, release)
    rows = len(private["who"])
    # Noise makes up a few rows, and bounding leaves some out.
    assert 0.5 * rows <= len(release) <= rows + 100
    if case == "rows all alike":
        codes, _ = schema.released().encode(release.columns)
        for column in codes.values():
            assert np.bincount(column).max() > 0.8 * len(release)


@pytest.mark.parametrize("name", few(BOTH, usual=1))
def test_norm_of_an_empty_table(tmp_path: Path, name: str) -> None:
    empty = {n: c[:0] for n, c in PRIVATE.items()}
    held = session(tmp_path, private=empty, bounding=us.Norm(), public=PUBLIC)
    release = held.run(MECHANISMS[name])
    check_kept(tmp_path, held, release)
    # A few hundred rows of noise at most, for people of up to forty rows.
    assert len(release) < 1000


# Runs that stop


class StoppedError(Exception):
    """What stops a run."""


class Stopping:
    """Progress that stops a run where a stage is told for the n-th time."""

    def __init__(self, stage: str, times: int) -> None:
        self.stage, self.left = stage, times

    def __call__(self, stage: str, done: float) -> None:
        self.left -= stage.startswith(self.stage)
        if stage.startswith(self.stage) and not self.left:
            raise StoppedError


STOPS = one_in(
    2,
    [
        ("mst", "choosing pairs", 1, 4),
        ("mst", "fitting", 1, 8),
        ("aim", "fitting", 1, 8),
        ("aim", "measuring what the model", 1, 4),
        ("aim by distances", "measuring what the model", 2, 6),
    ],
)
"""Mechanism, stage, which time, and how many questions were answered by then at least."""
STOPS.append(("two rounds", "round 2", 1, 1))


@pytest.mark.parametrize(("name", "stage", "times", "answered"), STOPS)
def test_a_run_that_stopped_goes_on_with_the_answers_it_has(
    tmp_path: Path, name: str, stage: str, times: int, answered: int
) -> None:
    held = session(tmp_path, bounding=us.Norm())
    with pytest.raises(StoppedError):
        held.run(MECHANISMS[name], progress=Stopping(stage, times))
    before = rides.read(tmp_path).runs[1]
    assert not before.closed
    assert len(before.answers) == len(before.reservations) >= answered
    release = held.resume()
    after = run_of(tmp_path)
    assert after.reservations[: len(before.reservations)] == before.reservations
    assert all(after.answers[n] == answer for n, answer in before.answers.items())
    check_kept(tmp_path, held, release)


KILLED = """
import os, signal, sys
from pathlib import Path
import understudy as us
from tests.synth.test_contract import MECHANISMS, session

asked = 0
def progress(stage, done):
    global asked
    asked += stage.startswith("measuring what the model")
    if asked == 2:
        os.kill(os.getpid(), signal.SIGKILL)

session(Path(sys.argv[1])).run(MECHANISMS["aim"], progress=progress)
"""


def test_a_run_that_was_killed_goes_on_in_another_process(tmp_path: Path) -> None:
    """Its questions are the same to the last bit, and so it pays for none of them again."""
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    before = rides.read(tmp_path).runs[1]
    assert not before.closed
    # How many rows people have, people, columns, and the first round.
    assert len(before.answers) == len(before.reservations) == 5
    held = session(tmp_path)
    release = held.resume()
    assert run_of(tmp_path).reservations[: len(before.reservations)] == before.reservations
    check_kept(tmp_path, held, release)


# Whose rows they are, and what is within a bin


@pytest.mark.parametrize("kind", few([us.MST, us.AIM], usual=1))
@pytest.mark.parametrize(("within", "rests"), [("public", {0}), ("evenly", {0, 1})])
def test_values_within_a_bin_are_public_ones_where_asked_for(
    tmp_path: Path, kind: Any, within: str, rests: set[int]
) -> None:
    """Private fares are odd and public ones even: the release has even ones."""
    release = session(tmp_path, public=PUBLIC).run(kind(within=within))
    assert set(np.unique(release.columns["fare"] % 2)) == rests


@pytest.mark.parametrize("kind", few([us.MST, us.AIM], usual=1))
def test_rows_are_given_to_public_people_by_the_columns_asked_for(
    tmp_path: Path, kind: Any
) -> None:
    """Public people keep to one zone each, so that synthetic ones do too.

    Nearly all of them have as many rows as they may have, so that there is little room to move.
    """
    public = {**PUBLIC, "zone": PUBLIC["who"] % 6}
    held = session(tmp_path, public=public, bounding=us.Weights(10), budget=rides.VAST)
    release = held.run(kind(ids_by=("zone",)))
    who, zone = release.columns["who"], release.columns["zone"]
    assert len(np.unique(who * 6 + zone)) <= 1.05 * len(np.unique(who))
    # Nobody has more rows than the bounding's cap, where no other number is given.
    assert np.bincount(who).max() <= 10


def test_a_budget_that_cannot_pay_is_refused_with_nothing_spent(tmp_path: Path) -> None:
    """A second run of the whole budget finds nothing left, and asks for nothing."""
    held = session(tmp_path)
    held.run(us.MST())
    with pytest.raises(UnderstudyError, match="left"):
        held.run(us.AIM())
    assert list(rides.read(tmp_path).runs) == [1]
