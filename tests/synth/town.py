"""A town of people with one row each."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from understudy.door import Clique
from understudy.ledger import Ledger, State
from understudy.schema import Categorical, Integer, Numeric, Schema, Split

CITIES = tuple(f"{state}{i}" for state in "nsw" for i in range(4))
SCHEMA = Schema(
    "town",
    (
        Categorical(name="sex", values=("f", "m"), missing=False, outside="drop"),
        Integer(name="age", min=0, max=59, missing=False),
        Categorical(name="city", values=CITIES, groups=tuple(c[0] for c in CITIES), missing=False),
        Split(
            name="wage",
            parts=("tens", "rest"),
            step=10,
            top=80,
            max=199,
            special=(999,),
            missing=False,
        ),
        Numeric(name="rent", edges=(0.0, 20.0, 40.0, 80.0, 160.0), whole=True, missing=False),
    ),
)
CLIQUES: tuple[Clique, ...] = (("sex", "tens"), ("age", "city"), ("rent", "city"), ("tens", "rest"))
BUDGET = us.Budget(epsilon=2.0, delta=1e-6)


def town(seed: int, *, odd: bool = False, rows: int = 2500) -> dict[str, Any]:
    """A town of the north: wages go by sex, cities by age, rents by city, and cents are round."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=rows)
    age = np.minimum(rng.integers(50, size=rows), rng.integers(50, size=rows))
    place = np.where(rng.random(rows) < 0.85, age // 13, rng.integers(4, size=rows))
    tens = np.minimum(rng.integers(5, size=rows) + 4 * sex, 8)
    wage = 10 * tens + np.where(rng.random(rows) < 0.3 + 0.6 * (tens % 2), 0, 5)
    wage = np.where(rng.random(rows) < 0.2, 999, wage)
    low = np.array([0, 20, 40, 80])[place]
    rent = low + 2 * rng.integers(10, size=rows) + odd
    return {
        "sex": np.array(["f", "m"], dtype=object)[sex],
        "age": age,
        "city": np.array(CITIES, dtype=object)[place],
        "wage": wage,
        "rent": rent,
    }


PRIVATE, PUBLIC = town(1, odd=True), town(2)


def session(tmp_path: Path, **other: Any) -> us.Session:
    asked: dict[str, Any] = {
        "private": PRIVATE,
        "schema": SCHEMA,
        "unit": us.Unit.each_row(),
        "bounding": us.Weights(1),
        "budget": BUDGET,
        "ledger": tmp_path / "town.ledger",
        "i_know": True,
    }
    return us.open(**asked | other)


def read(tmp_path: Path) -> State:
    with closing(Ledger(tmp_path / "town.ledger")) as ledger:
        return ledger.state()


def check_spent(tmp_path: Path, least: float = 0.999) -> None:
    """All of the cap was spent, but for rounding, and no more than it."""
    (run,) = read(tmp_path).runs.values()
    assert run.closed
    assert least * run.cap <= run.spent <= run.cap


def check_untouched(tmp_path: Path) -> None:
    """Nothing was spent, and at most an empty run is left, which holds nothing back."""
    state = read(tmp_path)
    assert state.left == state.total
    for run in state.runs.values():
        assert run.closed
        assert (run.spent, run.reservations, run.answers) == (0, [], {})


KNOWN = "sex, age, city, tens, rest, rent"
NAMED = "settings name columns that the schema does not model (got road; allowed: " + KNOWN + ")"
IDS_BY = (
    "ids_by needs a public table with the unit's columns. "
    "Hint: use one, or leave out ids_by: people then follow a noisy distribution"
)
