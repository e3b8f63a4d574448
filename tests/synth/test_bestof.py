"""The best of several: every candidate is paid for, and the nearest is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.session.sameness import same
from tests.synth import rides
from understudy.errors import BudgetError, UsageError
from understudy.schema import Integer, Schema
from understudy.synth import mechanism_from_dict, mechanism_to_dict
from understudy.synth.bestof import IN_ORDER, BestOf
from understudy.vault import PrivateDoor

SCHEMA = Schema("t", tuple(Integer(name=n, min=0, max=4, missing=False) for n in "abc"))
BUDGET = us.Budget(epsilon=4.0, delta=1e-6)


def session(folder: Path, **other: Any) -> us.Session:
    """Open a table of 4,000 rows whose columns are all the same."""
    code = np.random.default_rng(3).integers(0, 5, 4000)
    asked: dict[str, Any] = {
        "private": {"a": code, "b": code, "c": code},
        "schema": SCHEMA,
        "unit": us.Unit.each_row(),
        "bounding": us.Weights(1),
        "budget": BUDGET,
        "ledger": folder / "rides.ledger",
    }
    return us.open(**asked | other)


@pytest.mark.parametrize("budget", [BUDGET, us.Budget(epsilon=4.0, delta=0)], ids=["gdp", "pure"])
@pytest.mark.parametrize("order", [("independent", "mst"), ("mst", "independent")])
def test_the_nearest_is_published_and_all_are_paid_for(
    tmp_path: Path, budget: us.Budget, order: tuple[str, str]
) -> None:
    release = session(tmp_path, budget=budget).run(BestOf(candidates=order))  # type: ignore[arg-type]
    told = release.manifest["mechanism"]
    assert told["name"] == "bestof"
    assert told["chosen"]["name"] == "mst"
    near, far = (m["mean"] for m in sorted(told["candidates"], key=lambda m: m["mean"]["distance"]))
    assert near["high"] < 0.3 < far["low"]
    assert "those of the others, independent by 0." in told["why"]
    assert release.histogram("a", "b").trace() > 0.8 * len(release)
    # The promise is that of the whole run: both candidates, and the choice.
    assert release.manifest["guarantee"]["epsilon"] == budget.epsilon
    (run,) = rides.read(tmp_path).runs.values()
    assert [r.what for r in run.reservations].count("3 marginals") == 2
    assert run.reservations[-1].what == "distances of 12 marginals"
    assert 0.99 * run.cap < run.spent <= run.cap


def test_each_candidate_has_an_equal_part_and_the_choice_its_share(tmp_path: Path) -> None:
    session(tmp_path).run(BestOf(candidates=("independent",) * 3, choice_share=0.2))  # type: ignore[arg-type]
    (run,) = rides.read(tmp_path).runs.values()
    parts = np.array([r.grains / run.cap for r in run.reservations])
    assert parts[-2:].sum() == pytest.approx(0.2, rel=1e-6)
    assert parts[:-2].reshape(3, -1).sum(axis=1) == pytest.approx([0.8 / 3] * 3, rel=1e-6)


def test_it_is_continued_where_it_was_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = BestOf(candidates=("independent", "mst"))  # type: ignore[arg-type]

    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PrivateDoor, "distances", cut)
        with pytest.raises(KeyboardInterrupt):
            session(tmp_path).run(chooser)
    before = rides.read(tmp_path).runs[1]
    release = session(tmp_path).resume()
    (after,) = rides.read(tmp_path).runs.values()
    assert after.reservations[: len(before.reservations)] == before.reservations
    assert same(session(tmp_path).resume(), release)


def test_people_with_many_rows(tmp_path: Path) -> None:
    held = rides.session(
        tmp_path,
        private=rides.rides(1, people=80),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=50.0, delta=1e-6),
    )
    told = held.run(BestOf(candidates=(us.MST(), us.Independent()))).manifest["mechanism"]  # type: ignore[arg-type]
    assert len(told["candidates"]) == 2
    assert told["candidates"][0]["mechanism"] == mechanism_to_dict(us.MST())


def test_candidates_are_mechanisms_names_or_plain_data() -> None:
    plain = {"name": "mst", "settings": {"threshold": 0.0}}
    chooser = BestOf(candidates=("auto", us.AIM(rounds=2), plain))  # type: ignore[arg-type]
    assert [c["name"] for c in chooser.candidates] == ["auto", "aim", "mst"]
    assert mechanism_from_dict(mechanism_to_dict(chooser)) == chooser
    assert [c["name"] for c in BestOf.first(3).candidates] == list(IN_ORDER[:3])


@pytest.mark.parametrize("count", [1, 5, -2])
def test_a_number_out_of_reach_is_refused(count: int) -> None:
    with pytest.raises(UsageError, match="cannot choose the best of this many"):
        BestOf.first(count)


@pytest.mark.parametrize("names", [("mst",), (), ("mst", "bestof")])
def test_no_choice_is_refused(names: Any) -> None:
    with pytest.raises(UsageError, match="at least two mechanisms"):
        BestOf(candidates=names)


def test_settings_are_checked_by_name_and_type() -> None:
    with pytest.raises(UsageError, match="mst has no such setting"):
        BestOf(candidates=("auto", {"name": "mst", "settings": {"none": 1}}))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="candidates of bestof has the wrong type"):
        mechanism_from_dict({"name": "bestof", "settings": {"candidates": ["mst", "aim"]}})
    with pytest.raises(BudgetError, match="choice_share"):
        BestOf(choice_share=1.0)
