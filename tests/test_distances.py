"""Quality that may be published: charged on the ledger, written beside the release, continued."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import understudy as us
from understudy.budget import epsilon_of
from understudy.errors import (
    BudgetError,
    BudgetExhaustedError,
    LedgerMismatchError,
    MalformedFileError,
    OutputExistsError,
    UsageError,
)
from understudy.ledger import Ledger, State
from understudy.schema import Categorical, Id, Integer, Schema
from understudy.vault import PrivateDoor

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = 400
SCHEMA = Schema(
    "visits",
    (
        Id(name="who"),
        Categorical(name="ward", values=("x", "y", "z"), missing=False),
        Integer(name="hour", min=0, max=5, missing=False),
        Integer(name="sex", min=0, max=1, missing=False),
    ),
)
MODELLED = ("ward", "hour", "sex")
TOTAL, BUDGET = us.Budget(epsilon=12.0, delta=1e-6), us.Budget(epsilon=6.0, delta=1e-6)


def visits() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(PEOPLE), rng.integers(1, 6, PEOPLE))
    hour = rng.binomial(5, 0.4, len(who))
    ward = np.array(["x", "y", "z"], dtype=object)[np.minimum(hour // 2, 2)]
    return {"who": who, "ward": ward, "hour": hour, "sex": who % 2}


PRIVATE = visits()


@dataclass(frozen=True)
class Made:
    """A session and its release."""

    session: us.Session
    release: us.Release

    def state(self) -> State:
        with closing(Ledger(self.session.ledger)) as ledger:
            return ledger.state()


def made(folder: Path, **other: Any) -> Made:
    asked: dict[str, Any] = {
        "private": PRIVATE, "schema": SCHEMA, "unit": us.Unit("who"), "bounding": us.Norm(),
        "budget": BUDGET, "ledger": folder / "visits.ledger",
    }  # fmt: skip
    Ledger.create(folder / "visits.ledger", budget=TOTAL).close()
    session = us.open(**asked | other)
    return Made(session, session.run(us.Independent()))


@pytest.fixture
def here(tmp_path: Path) -> Made:
    return made(tmp_path)


def true_mean(release: us.Release) -> float:
    codes, _ = SCHEMA.encode(PRIVATE)
    found = []
    for pair in combinations(MODELLED, 2):
        shape = [SCHEMA.domain[n] for n in pair]
        cells = np.ravel_multi_index([codes[n] for n in pair], shape)
        real = np.bincount(cells, minlength=int(np.prod(shape))) / len(cells)
        there = release.histogram(*pair).reshape(-1) / len(release)
        found.append(np.abs(real - there).sum() / 2)
    return float(np.mean(found))


def test_distances_are_told_and_charged_and_the_promises_add_up(here: Made) -> None:
    told = us.accuracy(here.session, here.release, epsilon=4.0)
    assert told.mean_pair is not None
    assert told.mean_pair.within < 0.1
    # Three times half the interval is beyond any noise that is ever seen.
    assert told.mean_pair.distance == pytest.approx(
        true_mean(here.release), abs=3 * told.mean_pair.within
    )
    assert [d.columns for d in told.pairs] == list(combinations(MODELLED, 2))
    assert told.release == {n: here.release.manifest["ledger"][n] for n in ("run", "head")}
    state = here.state()
    released, asked = state.runs[1], state.runs[2]
    assert [r.what for r in asked.reservations] == ["number of rows", "distances of 6 marginals"]
    assert asked.closed
    assert 0.999 * asked.cap < asked.spent <= asked.cap == us.Budget(epsilon=4.0, delta=1e-6).grains
    promise = told.guarantee
    assert (promise["run"], promise["epsilon"], promise["delta"]) == (2, 4.0, 1e-6)
    assert promise["with_the_release"] == {
        "epsilon": epsilon_of(released.cap + asked.cap, state.currency, 1e-6),
        "delta": 1e-6,
    }
    assert promise["with_the_release"]["epsilon"] > BUDGET.epsilon


@pytest.mark.parametrize("budget", [BUDGET, us.Budget(epsilon=6.0, delta=0)], ids=["gdp", "pure"])
def test_where_each_row_is_a_person(tmp_path: Path, budget: us.Budget) -> None:
    columns = {name: PRIVATE[name] for name in MODELLED}
    Ledger.create(tmp_path / "l", budget=replace(TOTAL, delta=budget.delta)).close()
    session = us.open(
        private=columns, schema=Schema("rows", SCHEMA.columns[1:]), unit=us.Unit.each_row(),
        bounding=us.Weights(1), budget=budget, ledger=tmp_path / "l",
    )  # fmt: skip
    release = session.run(us.Independent())
    told = us.accuracy(session, release, epsilon=4.0)
    assert (told.cap, told.clipped) == (1, 0)
    assert told.mean_pair is not None
    assert told.mean_pair.distance == pytest.approx(
        true_mean(release), abs=3 * told.mean_pair.within
    )
    assert told.mean_pair.within < 0.05


def test_the_same_call_tells_the_same_and_costs_nothing(here: Made, tmp_path: Path) -> None:
    first = us.accuracy(here.session, here.release, epsilon=1.0)
    before = here.state()
    here.release.save(tmp_path / "out")
    assert us.accuracy(here.session, us.Release.read(tmp_path / "out"), epsilon=1.0) == first
    assert here.state() == before
    other = us.accuracy(here.session, here.release, epsilon=1.0, cap=3)
    assert other.cap == 3
    state = here.state()
    assert list(state.runs) == [1, 2, 3]
    # Both were told, so that both count.
    assert other.guarantee["with_the_release"]["epsilon"] == epsilon_of(
        sum(run.cap for run in state.runs.values()), state.currency, 1e-6
    )


@pytest.mark.parametrize("question", ["total", "distances"])
def test_what_was_interrupted_is_continued(
    here: Made, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PrivateDoor, question, cut)
        with pytest.raises(KeyboardInterrupt):
            us.accuracy(here.session, here.release, epsilon=1.0)
    before = here.state().runs[2]
    us.accuracy(here.session, here.release, epsilon=1.0)
    state = here.state()
    assert list(state.runs) == [1, 2]
    assert state.runs[2].closed
    assert state.runs[2].reservations[: len(before.reservations)] == before.reservations
    assert len(state.runs[2].reservations) == 2


def test_it_stands_beside_the_release_and_is_read_with_it(here: Made, tmp_path: Path) -> None:
    told = us.accuracy(here.session, here.release, epsilon=1.0)
    assert here.release.accuracy is None
    here.release.save(tmp_path / "out")
    assert us.save_accuracy(told, tmp_path / "out") == tmp_path / "out" / "accuracy.json"
    assert us.Release.read(tmp_path / "out").accuracy == told
    with pytest.raises(OutputExistsError, match=r"accuracy\.json exists already"):
        us.save_accuracy(told, tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{", "is not what 'understudy quality' writes"),
        ('{"columns": []}', "is not what 'understudy quality' writes"),
        (None, "belongs to another release"),
    ],
)
def test_a_file_that_is_not_the_releases_is_refused(
    here: Made, tmp_path: Path, text: str | None, match: str
) -> None:
    here.release.save(tmp_path / "out")
    if text is None:
        told = us.accuracy(here.session, here.release, epsilon=1.0).to_dict()
        text = json.dumps({**told, "release": {"run": 1, "head": "another"}})
    (tmp_path / "out" / "accuracy.json").write_text(text)
    with pytest.raises(MalformedFileError, match=match):
        us.Release.read(tmp_path / "out")


def test_a_release_of_another_table_or_schema_is_refused(here: Made, tmp_path: Path) -> None:
    hour = replace(SCHEMA.columns[2], max=6)  # type: ignore[call-arg]
    columns = (*SCHEMA.columns[:2], hour, SCHEMA.columns[3])
    ward = replace(SCHEMA.columns[1], values=("x", "y", "w"))  # type: ignore[call-arg]
    for schema, got in (
        (replace(SCHEMA, columns=columns), "other codes of hour"),
        (replace(SCHEMA, columns=(SCHEMA.columns[0], ward, *SCHEMA.columns[2:])), "codes of ward"),
        (replace(SCHEMA, name="stays"), "got table visits; allowed: table stays"),
    ):
        with pytest.raises(UsageError, match="another table, or was made with another") as caught:
            us.accuracy(replace(here.session, schema=schema), here.release, epsilon=1.0)
        assert got in str(caught.value)
    (tmp_path / "other").mkdir()
    other = made(tmp_path / "other")
    with pytest.raises(LedgerMismatchError, match="has the manifest's head"):
        us.accuracy(here.session, other.release, epsilon=1.0)
    assert list(here.state().runs) == [1]


def test_too_little_or_more_than_there_is_is_refused_and_costs_nothing(here: Made) -> None:
    before = here.state()
    with pytest.raises(BudgetError, match="epsilon is too small") as caught:
        us.accuracy(here.session, here.release, epsilon=0.001)
    assert "allowed: epsilon of about " in str(caught.value)
    with pytest.raises(BudgetExhaustedError):
        us.accuracy(here.session, here.release, epsilon=12.0)
    empty = replace(here.release, decoded=_Nothing())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the release has no rows"):
        us.accuracy(here.session, empty, epsilon=1.0)
    assert here.state() == before


class _Nothing:
    """Rows of a release, of which there are none."""

    sizes = (0,)

    def __iter__(self) -> Any:
        return iter([{n: c[:0] for n, c in PRIVATE.items()}])
