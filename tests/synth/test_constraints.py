"""Every row that any mechanism makes obeys every constraint, and so does what is drawn later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import few, one_in
from tests.schema.constraints.worlds import broken
from understudy.schema import Array, Categorical, Id, Integer, Numeric, Schema
from understudy.schema.constraints import (
    ConstantPerPerson,
    Determines,
    Implies,
    Never,
    Order,
    Sum,
    UniquePerPerson,
)
from understudy.synth import MECHANISMS

VISITS = Schema(
    "visits",
    (
        Id(name="who"),
        Categorical(name="sex", values=("M", "F"), missing=False, outside="drop"),
        Integer(name="born", min=0, max=19, missing=False),
        Integer(name="year", min=8, max=27, missing=False),
        Categorical(name="ward", values=("labour", "heart", "skin")),
        Categorical(name="town", values=("Evanston", "Aurora", "Elgin"), of="person"),
        Categorical(name="county", values=("Cook", "Kane"), of="person"),
        Numeric(name="fee", edges=(0.0, 5.0, 10.0, 40.0)),
        Numeric(name="extra", edges=(0.0, 1.0, 5.0), whole=True),
        Numeric(name="total", edges=(0.0, 20.0, 45.0)),
    ),
    constraints=(
        ConstantPerPerson("sex"),
        ConstantPerPerson("born"),
        Never({"sex": "M", "ward": "labour"}, name="men give no birth"),
        Implies({"ward": "skin"}, {"fee": {"below": 10}}, name="skin is cheap"),
        Order("born", "year", name="nobody comes before birth"),
        UniquePerPerson("year", name="one visit a year"),
        Determines("town", "county", {"Evanston": "Cook", "Aurora": "Kane", "Elgin": "Kane"}),
        Sum("total", ("fee", "extra"), name="what is paid"),
    ),
)


def visits(seed: int, people: int = 120) -> dict[str, Array]:
    """A table that obeys, but for a total that is not always the sum."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), rng.integers(1, 7, people))
    sex, born = rng.choice(["M", "F"], people)[who], rng.integers(0, 20, people)[who]
    ward = np.where(sex == "M", "heart", rng.choice(["labour", "heart", "skin"], len(who)))
    fee, extra = rng.uniform(0, 9, len(who)), rng.integers(0, 5, len(who))
    return {
        "who": who,
        "sex": sex,
        "born": born,
        "year": np.maximum(born, 8) + rng.integers(0, 8, len(who)),
        "ward": ward,
        "town": np.array(["Evanston", "Aurora", "Elgin"])[who % 3],
        "county": np.array(["Cook", "Kane", "Kane"])[who % 3],
        "fee": fee,
        "extra": extra,
        "total": fee + extra + rng.integers(0, 2, len(who)),
    }


def check(rows: dict[str, Array]) -> None:
    """No row breaks anything, and no person."""
    assert set(broken(VISITS, rows).values()) == {0}
    people = rows["who"]
    for name in ("sex", "born", "town", "county"):
        pairs = {(w, v) for w, v in zip(people.tolist(), rows[name].tolist(), strict=True)}
        assert len(pairs) == len(set(people.tolist())), name
    years = list(zip(people.tolist(), rows["year"].tolist(), strict=True))
    assert len(set(years)) == len(years)


def session(tmp_path: Path, **other: Any) -> us.Session:
    settings = {
        "private": visits(1),
        "schema": VISITS,
        "unit": us.Unit("who"),
        "bounding": us.Weights(8),
        "budget": us.Budget(epsilon=2.0, delta=1e-6),
        "ledger": tmp_path / "visits.ledger",
    }
    return us.open(**settings | other)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", one_in(4, MECHANISMS))
def test_every_row_obeys(tmp_path: Path, name: str) -> None:
    release = session(tmp_path, public=visits(2)).run(MECHANISMS[name]())
    check(release.columns)
    assert len(release) > 20
    read = us.Release.read(release.save(tmp_path / "release"))
    check(read.columns)
    more = read.sample_columns(200, seed=1, where={"county": "Kane", "ward": ["heart", "skin"]})
    check(more)
    assert set(more["county"]) == {"Kane"}
    assert set(more["ward"]) <= {"heart", "skin"}


def test_two_tables_obey_together(tmp_path: Path) -> None:
    whole = visits(1)
    own = ("sex", "born", "town", "county")
    _, first = np.unique(whole["who"], return_index=True)
    people = {name: whole[name][first] for name in ("who", *own)}
    rows = {name: column for name, column in whole.items() if name not in own}
    for mechanism in few((us.Lives(), us.MST()), usual=1):
        folder = tmp_path / mechanism.name
        folder.mkdir()
        release = session(folder, private={"people": people, "rows": rows}).run(mechanism)
        check(release.columns)
        assert set(release.row_columns) == set(rows)


@pytest.mark.parametrize("mechanism", [us.MST(), us.Independent()], ids=lambda m: m.name)
def test_what_no_row_can_have_is_not_drawn(tmp_path: Path, mechanism: Any) -> None:
    """Whether the model knows that, or, having no pairs, only the constraints do."""
    budget = us.Budget(epsilon=15.0, delta=1e-6)
    release = session(tmp_path, budget=budget).run(mechanism)
    with pytest.raises(us.errors.UsageError, match="no synthetic row has these values"):
        release.sample_columns(10, where={"sex": "M", "ward": "labour"})
    with pytest.raises(us.errors.UsageError, match="a column that is a sum"):
        release.sample_columns(10, where={"total": 3})


def test_a_run_is_resumed_with_its_constraints(tmp_path: Path) -> None:
    held = session(tmp_path)
    release = held.run(us.Pairs())
    again = held.resume(1)
    for name, column in release.columns.items():
        np.testing.assert_array_equal(again.columns[name], column)
