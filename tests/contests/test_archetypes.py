"""The recipe chicago-taxi-archetypes: the contest's files in, its submission out."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.audit.effort import few
from tests.contests.taxis import check_submission, parameters, write_parameters, write_trips
from understudy.contests import run_recipe
from understudy.errors import UsageError
from understudy.ledger import Ledger

NAME = "chicago-taxi-archetypes"


def cook(folder: Path, **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "private": write_trips(folder / "2020.csv", 900, seed=1),
        "public": write_trips(folder / "2019.csv", 900, seed=2),
        "parameters": write_parameters(folder / "parameters.json"),
        "ledger": folder / "ledger",
        "out": folder / "submission.csv",
    }
    return run_recipe(NAME, **given | changes)


@pytest.mark.parametrize("published", few([True, False], usual=1))
def test_a_submission_keeps_the_contests_rules(tmp_path: Path, published: bool) -> None:
    made = cook(tmp_path, published=published)
    check_submission(tmp_path / "submission.csv", parameters())
    assert [run["guarantee"]["epsilon"] for run in made["runs"]] == [1, 10]
    if published:
        assert [run["mechanism"]["archetypes"] for run in made["runs"]] == [10, 10]
    with closing(Ledger(tmp_path / "ledger")) as ledger:
        assert all(run.reservations for run in ledger.state().runs.values())


def test_without_public_trips_there_are_no_archetypes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="archetypes needs a public table"):
        cook(tmp_path, public=None)
    assert not (tmp_path / "submission.csv").exists()
