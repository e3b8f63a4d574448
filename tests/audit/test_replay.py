"""Every registered mechanism goes the same way on neighbours; those that cheat are seen."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.audit.cheats import CHEATS
from tests.audit.effort import PLANTED, effort
from understudy.audit import check_distance, containers, pairs, replay
from understudy.audit.containers import CONTAINERS
from understudy.audit.neighbours import DATED, MANY_ROWS, ODD, SCHEMA, TYPED, Pair
from understudy.budget import Currency, Weights
from understudy.door import Candidate, Measure, Query, Select, Total, Units
from understudy.engine import engine_for, two_tables
from understudy.errors import AuditError
from understudy.synth import MECHANISMS, NEEDS_PUBLIC
from understudy.synth.aim import AIM
from understudy.synth.bestof import BestOf
from understudy.synth.independent import Independent
from understudy.synth.mst import MST
from understudy.vault import PrivateTable

PAIRS = effort(3, 500)
FIRST = effort(0 if PLANTED else 1, 0)
"""The pair to begin with: the second has many rows and a public table, the third a pure budget."""
MORE = effort(50 if PLANTED else 8, 500)
"""Pairs of many containers, and 50 have every kind of table in each: tried on the quickest."""
FEW = effort(2, 200)
QUICKER = {BestOf.name: BestOf(candidates=({"name": "mst"}, {"name": "independent"}))}
"""Those that run others, as quick as these may be."""
OTHERS = (
    AIM(selection="gaussian", at_once=2, rounds=4),
    AIM(workload=((("a", "b", "c"), 1.0), (("c", "a"), 2.0)), rounds=3, rare="other"),
    MST(targets=("b",), weights=((("b", "c"), 2.0),), shares=(1, 1, 2), threshold=0.0),
)
"""Mechanisms whose settings make them ask other questions than they do by themselves."""


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_does_the_same_on_a_neighbour_given_the_same_answers(name: str) -> None:
    count = MORE if name == Independent.name else PAIRS
    tried = islice(pairs(count, seed=2026, public=name in NEEDS_PUBLIC), FIRST, None)
    reached = [replay(QUICKER.get(name) or MECHANISMS[name](), pair).reach for pair in tried]
    assert len(reached) == count - FIRST
    # The pairs press: some person moves an answer as far as is declared.
    assert max(reached) == pytest.approx(1)


@pytest.mark.parametrize("mechanism", OTHERS, ids=["distances", "workload", "targets"])
def test_a_mechanism_does_the_same_on_a_neighbour_with_other_settings(mechanism: Any) -> None:
    reached = [replay(mechanism, pair) for pair in pairs(FEW, seed=9)]
    assert all(found.questions >= 2 for found in reached)
    assert 0.5 < max(found.reach for found in reached) <= 1 + 1e-9


def test_nobody_else_has_another_id_in_a_neighbour() -> None:
    """Samples hang on ids, and a mechanism that samples sees such a flaw by chance only."""
    for pair in pairs(effort(15 if PLANTED else 8, 500), seed=9):
        if pair.unit.is_row:
            continue
        one, other = (_ids(data, pair) for data in (pair.table, pair.neighbour))
        assert len(one - other) + len(other - one) <= 1, pair.container


def _ids(data: object, pair: Pair) -> Counter[str]:
    """Count everybody's rows."""
    with closing(engine_for(data)) as engine:
        table = PrivateTable(engine, data, schema=pair.schema, unit=pair.unit, key="a key")
        found = engine.fetch(f"SELECT id FROM ({table.named('SELECT person FROM rows')}) AS r")
        return Counter(found["id"].tolist())


def test_pairs_differ_by_one_person_with_all_rows() -> None:
    seen = list(pairs(80, seed=1))
    for pair in seen:
        longer, shorter = sorted(pair.cells, key=lambda t: -len(t["id"]))
        lines = [Counter(zip(*(map(repr, c) for c in t.values()), strict=True)) for t in pair.cells]
        gone = lines[0] - lines[1] or lines[1] - lines[0]
        assert not (lines[0] - lines[1] and lines[1] - lines[0])
        assert gone.total() == pair.apart == len(longer["id"]) - len(shorter["id"])
        (person,) = {line[0] for line in gone}
        assert person not in map(repr, shorter["id"])
    many = [p.apart for p in seen if p.apart in MANY_ROWS]
    assert len(many) >= 40
    assert set(many) == set(MANY_ROWS)
    assert {p.budget.currency for p in seen} == {Currency.GDP, Currency.PURE}
    assert any(p.unit.is_row for p in seen)
    assert any("" in {*p.cells[0]["id"], *p.cells[1]["id"]} for p in seen)
    assert any(p.unit.columns == ("id", "a:week") for p in seen)
    assert sum(two_tables(p.table) is not None for p in seen) >= 4
    constrained = [p for p in seen if p.schema.constraints]
    assert len(constrained) >= 10
    assert any(two_tables(p.table) is not None for p in constrained)


def test_pairs_are_held_in_every_container_and_bring_every_odd_cell() -> None:
    seen = list(pairs(3 * len(CONTAINERS), seed=1))
    held = {(p.container, p.schema.name) for p in seen}
    assert held == {(c.name, s.name) for c in CONTAINERS for s in (SCHEMA, TYPED, DATED)}
    odd = [p.odd for p in seen]
    assert {kind for found in odd for kind in found.values()} == set(ODD)
    assert {column for found in odd for column in found} == {"id", "a", "b", "c"}
    assert {} in [p.odd for p in seen if p.schema.name != SCHEMA.name]


def test_a_container_whose_library_is_missing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = {"pandas", "polars", "pyarrow"}
    monkeypatch.setattr(containers, "find_spec", lambda name: None if name in gone else name)
    assert {p.container for p in pairs(12, seed=1)} == {
        *("dict of object arrays", "dict of lists", "dict of NumPy arrays"),
        *("dict of masked arrays", "CSV file"),
    }


def test_the_files_of_a_pair_go_with_it() -> None:
    pair = next(p for p in pairs(60, seed=1, public=True) if p.container == "CSV file")
    files = [pair.table, pair.neighbour, pair.public]
    assert all(isinstance(path, Path) and path.exists() for path in files)
    del pair
    gc.collect()
    assert not any(path.exists() for path in files if isinstance(path, Path))


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda c: c.name)
def test_a_mechanism_that_cheats_is_seen(cheat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, cheat.name, cheat)
    # A pair that differs by an odd number of rows.
    odd = next(
        p for p in pairs(60, seed=3) if p.apart % 2 and not p.unit.is_row and p.schema is SCHEMA
    )
    with pytest.raises(AuditError, match=r"(of|on) a neighbour"):
        replay(cheat(), odd)


def test_a_bound_that_is_not_kept_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody's rows count in full: the first person above the cap is too far."""

    def unbounded(self: PrivateTable, bounding: Weights) -> str:
        del bounding
        return f"SELECT {', '.join(self.code.values())}, CAST(65536 AS UINTEGER) AS w FROM rows"

    monkeypatch.setattr(PrivateTable, "_weighted", unbounded)
    heavy = next(
        p
        for p in pairs(200, seed=4)
        if isinstance(p.bounding, Weights) and p.apart > p.bounding.cap and p.schema is SCHEMA
    )
    with pytest.raises(AuditError, match="one person moves a Measure by more than its sensitivity"):
        replay(Independent(), heavy)


MEASURE = Measure(queries=(Query(clique=("a",), scale=2.0),), bounding=Weights(3), price=1e9)


def rows(*moved: float) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([round(m * 2**16) for m in moved], dtype=np.int64)


def test_distances_are_told_in_shares_of_what_is_declared() -> None:
    assert check_distance(MEASURE, rows(3, 0, 0), SCHEMA) == pytest.approx(1)
    assert check_distance(MEASURE, rows(1, -1, 0), SCHEMA) == pytest.approx(2 / 3)
    assert check_distance(Total(cap=4, scale=1.0), np.array([-2]), SCHEMA) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("moved", "norm"), [(rows(2, 2, 0), "L1"), (rows(3.01, 0, 0), "L1"), (rows(0, 0, -4), "L1")]
)
def test_a_measure_that_moves_too_far(moved: Any, norm: str) -> None:
    with pytest.raises(AuditError, match=f"times the sensitivity in {norm}"):
        check_distance(MEASURE, moved, SCHEMA)


def test_other_questions_that_move_too_far() -> None:
    with pytest.raises(AuditError, match="Units by more"):
        check_distance(Units(scale=1.0), np.array([2]), SCHEMA)
    candidate = Candidate(clique=("a",), expected=np.zeros(3))
    question = Select(candidates=(candidate,), epsilon=1.0, bounding=Weights(2))
    assert check_distance(question, rows(2), SCHEMA) == pytest.approx(1)
    with pytest.raises(AuditError, match="L∞"):
        check_distance(question, rows(2.1), SCHEMA)
