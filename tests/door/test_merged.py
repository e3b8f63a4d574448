"""A door with merged codes: its own schema and names, and every question asked of the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.vault.obvious import People
from tests.vault.worlds import KEY, obvious
from understudy.audit import FixedEntropy
from understudy.budget import Bounding, Budget, Norm, ResolvedUnit, Sample, Unit, Weights
from understudy.door import Candidate, Distances, Merge, MergedDoor, Query, Rows, plan
from understudy.engine import DuckDB
from understudy.errors import QuestionError, SchemaError
from understudy.ledger import Ledger
from understudy.public import Batches, Synthesis
from understudy.release import build
from understudy.schema import Categorical, Integer, Numeric, Schema
from understudy.vault import PrivateDoor, PrivateTable

COLOURS = ("red", "blue", "green")
SCHEMA = Schema(
    "world",
    (
        Categorical(name="colour", values=COLOURS),
        Integer(name="age", min=0, max=3, missing=False),
        Numeric(name="fare", edges=(0.0, 1.0, 2.0), special=(9.0,), missing=False),
    ),
)
MERGED = (
    Merge(column="colour", codes=np.array([0, 1, 0, 2, 0])),
    Merge(column="age", codes=np.array([1, 1, 0, 0])),
)
PEOPLE: People = {"ann": [(0, 0, 0), (2, 1, 2), (4, 3, 1)], "bob": [(1, 2, 0)] * 3}
BUDGET = Budget(epsilon=1e9, delta=1e-9)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger.create(tmp_path / "l.ledger", budget=BUDGET, key=KEY)) as held:
        held.bind(name="world", unit=ResolvedUnit.of("id"))
        yield held


def opened(ledger: Ledger, engine: DuckDB, bounding: Bounding) -> PrivateDoor:
    colours, ages, fares = np.array([row for own in PEOPLE.values() for row in own]).T
    table = {
        "id": np.repeat(list(PEOPLE), [len(own) for own in PEOPLE.values()]),
        "colour": np.array([*COLOURS, "", "other"])[colours],
        "age": ages,
        "fare": np.array([0.5, 1.5, 9.0])[fares],
    }
    held = PrivateTable(engine, table, schema=SCHEMA, unit=Unit("id"), key=KEY)
    run = ledger.begin(BUDGET, {})
    return PrivateDoor(held, run=run, bounding=bounding, entropy=FixedEntropy(1))


@pytest.fixture
def behind(ledger: Ledger) -> Iterator[PrivateDoor]:
    with closing(DuckDB()) as engine:
        yield opened(ledger, engine, Weights(2))


def test_its_schema_has_fewer_codes_and_all_else_is_as_behind_it(behind: PrivateDoor) -> None:
    door = MergedDoor(behind, MERGED)
    assert behind.schema.domain == {"colour": 5, "age": 4, "fare": 3}
    assert door.schema.domain == {"colour": 3, "age": 2, "fare": 3}
    for name in ("bounding", "currency", "grains"):
        assert getattr(door, name) == getattr(behind, name)


@pytest.mark.parametrize("bounding", [Weights(2), Sample(2), Norm()], ids=str)
def test_measurements_are_of_merged_codes_and_say_which(ledger: Ledger, bounding: Bounding) -> None:
    asked = [Query(clique=("age", "fare", "colour"), scale=0.01), Query(clique=(), scale=0.01)]
    with closing(DuckDB()) as engine:
        behind = opened(ledger, engine, bounding)
        door = MergedDoor(behind, list(MERGED))
        whole, alone = door.measure(asked, price=1e4)
        left = door.grains
    assert left == behind.grains < BUDGET.grains
    codes = {merge.column: merge.codes.tolist() for merge in MERGED}
    assert {name: merged.tolist() for name, merged in whole.merged.items()} == codes
    assert alone.merged == {}
    if isinstance(bounding, Norm):
        assert (whole.group, alone.group) == ("question 0", "question 0")
        assert abs(alone.values[0] - 6) < 0.5
    else:
        world = obvious(PEOPLE, SCHEMA.domain)
        wanted = world.marginal(("age", "fare", "colour"), bounding, MERGED)
        assert np.abs(whole.values - wanted / bounding.unit_weight).max() < 0.5


def test_a_selection_is_among_merged_codes(behind: PrivateDoor) -> None:
    door = MergedDoor(behind, MERGED)
    right = obvious(PEOPLE, SCHEMA.domain).marginal(("age",), Sample(3), MERGED).astype(float)
    candidates = [
        Candidate(clique=("colour",), expected=np.zeros(3)),
        Candidate(clique=("age",), expected=right),
    ]
    assert door.select(candidates, epsilon=1e3, bounding=Sample(3)) == 0


def test_distances_are_of_merged_codes(behind: PrivateDoor, ledger: Ledger) -> None:
    """They are asked of the door behind, with all that was asked, and paid there."""
    door = MergedDoor(behind, MERGED)
    candidates = (
        Candidate(clique=("age", "colour"), expected=np.arange(6.0)),
        Candidate(clique=("fare",), expected=np.zeros(3), penalty=1.5),
    )
    found = door.distances(candidates, scale=0.01, bounding=Sample(2))
    asked = Distances(candidates=candidates, scale=0.01, bounding=Sample(2), merged=MERGED)
    wanted = obvious(PEOPLE, SCHEMA.domain).exact(asked) / 2**16
    assert np.abs(found - wanted).max() < 0.5
    (booked,) = ledger.state().runs[1].reservations
    assert booked.plan == plan(asked)
    assert door.grains == behind.grains == BUDGET.grains - booked.grains


def test_a_release_of_merged_codes_names_them_as_the_door_did(behind: PrivateDoor) -> None:
    door = MergedDoor(behind, MERGED[:1])
    rows = Rows(np.array([0, 1, 2]), np.array([2, 1]))
    asked = [
        Query(clique=("colour", "fare"), scale=1.0),
        Query(clique=("colour",), scale=1.0, rows=rows),
    ]
    measured = (
        *door.measure(asked, price=1e6),
        *behind.measure([Query(clique=("age",), scale=1.0)], price=1e6),
    )
    codes: dict[str, Any] = {n: np.zeros(2, dtype=np.int32) for n in SCHEMA.domain}
    release = build(
        Synthesis(batches=Batches.held(codes), measurements=measured),
        schema=SCHEMA,
        unit=ResolvedUnit.of("id"),
        bounding=Weights(2),
        budget=BUDGET,
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={},
        rng=np.random.default_rng(0),
    )
    told = release._noisy_table()["label"].tolist()
    assert release.measurements[2].merged == {}
    assert told[2:4] == ["(3 values) × 9", "blue × [0, 1)"]
    assert told[9:] == ["(missing)", "blue", "0", "1", "2", "3"]


def test_a_door_onto_no_column_is_refused(behind: PrivateDoor) -> None:
    with pytest.raises(SchemaError, match="no modelled column 'size'"):
        MergedDoor(behind, [Merge(column="size", codes=np.array([0]))])


@pytest.mark.parametrize("codes", [[0, 1], [0, 1, 0], [0, 1, 0, 1, 0]], ids=str)
def test_a_door_of_codes_that_do_not_fit_is_refused(behind: PrivateDoor, codes: list[int]) -> None:
    with pytest.raises(QuestionError) as caught:
        MergedDoor(behind, [*MERGED[:1], Merge(column="age", codes=np.array(codes))])
    error = caught.value
    assert error.what == "merged codes of age must map every code"
    assert (error.got, error.allowed) == (f"{len(codes)} codes", "4")
