"""Independent, through the whole house, and the contract that every mechanism keeps."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import THOROUGH, one_in
from understudy.budget import Currency, split
from understudy.demo import City
from understudy.errors import BudgetError, UsageError
from understudy.ledger import Ledger
from understudy.schema import Id, Integer, Schema
from understudy.synth import (
    MECHANISMS,
    NEEDS_PUBLIC,
    independent,
    mechanism_from_dict,
    mechanism_to_dict,
)

TRIPS = City(taxis=150, trips_per_year=6000).year(2020)
SCHEMA = Schema.from_public(TRIPS, name="city", ids=("taxi_id",))


def session(tmp_path: Path, budget: us.Budget, unit: us.Unit | None = None) -> us.Session:
    return us.open(
        i_know=True,
        private=TRIPS,
        schema=SCHEMA,
        unit=unit or us.Unit("taxi_id"),
        bounding=us.Weights(100),
        budget=budget,
        ledger=tmp_path / "l.ledger",
    )


# UserCounts is for few cells and Archetypes for public tables; each has this test of its own.
# Every mechanism in an audit; what all of them keep to, test_contract.py looks at always.
@pytest.mark.parametrize(
    ("delta", "name"),
    one_in(2, product([1e-9, 0], [n for n in MECHANISMS if n not in {"usercounts", *NEEDS_PUBLIC}]))
    if THOROUGH
    else [(1e-9, "independent"), (0, "mst")],
)
def test_every_mechanism_spends_its_budget_and_stays_in_the_schema(
    tmp_path: Path, name: str, delta: float
) -> None:
    # Enough that noise cannot take all rows away: e^-50 of a chance.
    budget = us.Budget(epsilon=20.0, delta=delta)
    release = session(tmp_path, budget).run(MECHANISMS[name]())
    ledger = Ledger(tmp_path / "l.ledger")
    (run,) = ledger.state().runs.values()
    ledger.close()
    assert run.closed
    assert 0.999 * run.cap <= run.spent <= run.cap
    codes, kept = SCHEMA.released().encode(release.columns)
    assert kept.all()
    assert len(release) > 0
    assert np.bincount(release.columns["taxi_id"]).max() <= 100
    assert release.manifest["guarantee"]["epsilon"] == 20.0
    assert set(codes) == set(SCHEMA.domain)


def test_with_a_great_budget_the_one_way_counts_are_those_of_the_table(tmp_path: Path) -> None:
    trips = City(taxis=300, trips_per_year=20_000).year(2020)
    schema = Schema.from_public(trips, name="city", ids=("taxi_id",))
    budget = us.Budget(epsilon=1e8, delta=1e-9)
    held = us.open(
        i_know=True,
        private=trips,
        schema=schema,
        unit=us.Unit("taxi_id"),
        bounding=us.Sample(2000),
        budget=budget,
        ledger=tmp_path / "l.ledger",
    )
    release = held.run(us.Independent())
    true, _ = schema.encode(trips)
    made, _ = schema.released().encode(release.columns)
    for name, size in schema.domain.items():
        there, here = (np.bincount(c[name], minlength=size) for c in (true, made))
        assert np.abs(there - here).sum() <= 0.005 * len(trips["fare"]), name


def test_when_every_row_is_a_person_there_are_no_ids(tmp_path: Path) -> None:
    release = session(tmp_path, us.Budget(epsilon=1, delta=1e-9), us.Unit.each_row()).run(
        us.Independent()
    )
    assert "taxi_id" not in release.columns


def test_an_empty_table_gives_a_table_all_the_same(tmp_path: Path) -> None:
    empty = {name: column[:0] for name, column in TRIPS.items()}
    release = us.open(
        i_know=True,
        private=empty,
        schema=SCHEMA,
        unit=us.Unit("taxi_id"),
        bounding=us.Weights(100),
        budget=us.Budget(epsilon=1, delta=1e-9),
        ledger=tmp_path / "l.ledger",
    ).run(us.Independent())
    assert set(release.columns) == set(TRIPS)


def test_a_mechanism_survives_being_written_down() -> None:
    mechanism = us.Independent(people_share=0.1)
    assert mechanism_from_dict(mechanism_to_dict(mechanism)) == mechanism
    with pytest.raises(UsageError, match="unknown mechanism"):
        mechanism_from_dict({"name": "magic", "settings": {}})


@pytest.mark.parametrize("share", [0, 1, -0.1, 0.98])
def test_shares_that_are_none(share: float) -> None:
    with pytest.raises(
        BudgetError,
        match=r"people_share must be above 0 and below 1|rows_share must be below 1 \(got 1",
    ):
        us.Independent(people_share=share)


def test_splitting_leaves_nothing_worth_naming() -> None:
    whole = us.Budget(epsilon=1, delta=1e-9).grains
    prices = split(whole, Currency.GDP, [0.02, 0.02, 0.96])
    assert sum(p**2 for p in prices) == pytest.approx(whole / 2**80, rel=1e-12)


def test_codes_that_nobody_has_get_no_rows_of_people_who_are_weighted_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody has four rows, and is weighted down to about one."""
    monkeypatch.setattr(independent, "typical_size", lambda *_, **__: 1)
    table = {"who": np.repeat(np.arange(400), 4), "code": np.tile([0, 1, 1, 1], 400)}
    columns = (Id(name="who"), Integer(name="code", min=0, max=9, missing=False))
    release = us.open(
        private=table,
        schema=Schema("t", columns),
        unit=us.Unit("who"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=10.0, delta=1e-6),
        ledger=tmp_path / "t.ledger",
    ).run(us.Independent())
    shares = np.bincount(release.columns["code"], minlength=10) / len(release)
    assert shares[:2] == pytest.approx([0.25, 0.75], abs=0.05)
