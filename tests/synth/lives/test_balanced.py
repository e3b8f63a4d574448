"""A balanced panel: a few hundred people with one row in each of some years, as most panels are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import understudy as us
from understudy.schema import Categorical, Id, Integer, Schema

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE, YEARS = 400, 7
FLAGS = ("union", "south", "married")
SCHEMA = Schema(
    "panel",
    (
        Id(name="who"),
        Integer(name="born", min=0, max=4, missing=False, of="person"),
        Integer(name="year", min=0, max=YEARS - 1, missing=False),
        *(Categorical(name=name, values=("no", "yes"), missing=False) for name in FLAGS),
    ),
    order_by=("year",),
)


def panel() -> dict[str, Any]:
    """People who nearly always answer alike, one in seven, in four and in two of them yes."""
    rng = np.random.default_rng(5)
    who, year = np.repeat(np.arange(PEOPLE), YEARS), np.tile(np.arange(YEARS), PEOPLE)
    table: dict[str, Any] = {"who": who, "born": rng.integers(0, 5, PEOPLE)[who], "year": year}
    for name, share in zip(FLAGS, (1 / 7, 1 / 4, 1 / 2), strict=True):
        usual = (rng.random(PEOPLE) < share)[who]
        other = rng.random(len(who)) < 0.05
        table[name] = np.where(usual ^ other, "yes", "no")
    return table


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[float, us.Release]:
    """A release of each epsilon."""
    folder: Path = tmp_path_factory.mktemp("balanced")
    return {
        epsilon: us.open(
            private=panel(),
            schema=SCHEMA,
            unit=us.Unit("who"),
            bounding=us.Norm(),
            budget=us.Budget(epsilon=epsilon, delta=1e-5),
            ledger=folder / f"{epsilon:g}.ledger",
        ).run(us.Auto())
        for epsilon in (3.0, 10.0)
    }


@pytest.mark.parametrize("epsilon", [3.0, 10.0])
def test_nobody_has_two_rows_of_a_year(runs: dict[float, us.Release], epsilon: float) -> None:
    rows = runs[epsilon].rows
    assert not rows.duplicated(["who", "year"]).any()
    assert rows.groupby("who").size().max() <= YEARS


@pytest.mark.parametrize("epsilon", [3.0, 10.0])
def test_no_column_is_lost(runs: dict[float, us.Release], epsilon: float) -> None:
    """Shares are off by 0.01, as the standard deviation of runs at the smaller epsilon has it."""
    real = panel()
    for name in FLAGS:
        there, found = (np.mean(t[name] == "yes") for t in (real, runs[epsilon].rows))
        assert found == pytest.approx(there, abs=0.2)


def test_estimates_are_those_of_all_rows(runs: dict[float, us.Release]) -> None:
    """Everybody has as many rows: there is no bias of size to be corrected.

    The standard deviation of runs is 0.02 of the rows.
    """
    for name in ("born", "year", *FLAGS):
        assert runs[10.0].estimate(name).estimate.sum() == pytest.approx(PEOPLE * YEARS, rel=0.2)
