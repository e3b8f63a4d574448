"""Every registered mechanism goes the same way on neighbours; those that cheat are seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.audit.cheats import CHEATS
from tests.audit.effort import effort
from understudy.audit import check_distance, pairs, replay
from understudy.audit.neighbours import MANY_ROWS, SCHEMA
from understudy.budget import Weights
from understudy.door import Candidate, Measure, Query, Select, Total, Units
from understudy.errors import AuditError
from understudy.synth import AIM, MECHANISMS, MST, NEEDS_PUBLIC, Independent
from understudy.vault import PrivateTable

PAIRS = effort(50, 500)
FEW = effort(4, 200)
OTHERS = (
    AIM(selection="gaussian", at_once=2, rounds=4),
    AIM(workload=((("a", "b", "c"), 1.0), (("c", "a"), 2.0)), rounds=3, rare="other"),
    MST(targets=("b",), weights=((("b", "c"), 2.0),), shares=(1, 1, 2), threshold=0.0),
)
"""Mechanisms whose settings make them ask other questions than they do by themselves."""


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_does_the_same_on_a_neighbour_given_the_same_answers(name: str) -> None:
    tried = pairs(PAIRS, seed=2026, public=name in NEEDS_PUBLIC)
    reached = [replay(MECHANISMS[name](), pair).reach for pair in tried]
    assert len(reached) == PAIRS
    # The pairs press: some person moves an answer as far as is declared.
    assert max(reached) == pytest.approx(1)


@pytest.mark.parametrize("mechanism", OTHERS, ids=["distances", "workload", "targets"])
def test_a_mechanism_does_the_same_on_a_neighbour_with_other_settings(mechanism: Any) -> None:
    reached = [replay(mechanism, pair) for pair in pairs(FEW, seed=9)]
    assert all(found.questions >= 2 for found in reached)
    assert 0.5 < max(found.reach for found in reached) <= 1 + 1e-9


def test_pairs_differ_by_one_person_with_all_rows() -> None:
    seen = list(pairs(80, seed=1))
    for pair in seen:
        longer, shorter = sorted((pair.table, pair.neighbour), key=lambda t: -len(t["id"]))
        lines = [
            sorted(zip(*(t[n].tolist() for n in ("id", "a", "b", "c")), strict=True))
            for t in (longer, shorter)
        ]
        gone = {line for line in lines[0] if line[0] in {"0", ""}}
        assert len({line[0] for line in gone}) == 1
        assert [line for line in lines[0] if line not in gone] == lines[1]
        assert gone
        assert len(lines[0]) - len(lines[1]) == pair.apart
    many = [p.apart for p in seen if p.apart in MANY_ROWS]
    assert len(many) >= 40
    assert set(many) == set(MANY_ROWS)
    assert {p.budget.currency for p in seen} == {"gdp", "pure"}
    assert any(p.unit.is_row for p in seen)
    assert any("" in {*p.table["id"], *p.neighbour["id"]} for p in seen)


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda c: c.name)
def test_a_mechanism_that_cheats_is_seen(cheat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, cheat.name, cheat)
    # A pair that differs by an odd number of rows.
    odd = next(p for p in pairs(20, seed=3) if p.apart % 2 and not p.unit.is_row)
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
        if isinstance(p.bounding, Weights) and p.apart > p.bounding.cap
    )
    with pytest.raises(AuditError, match="one person moves a Measure by more than was declared"):
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
    with pytest.raises(AuditError, match=f"times as far in {norm}"):
        check_distance(MEASURE, moved, SCHEMA)


def test_other_questions_that_move_too_far() -> None:
    with pytest.raises(AuditError, match="Units by more"):
        check_distance(Units(scale=1.0), np.array([2]), SCHEMA)
    candidate = Candidate(clique=("a",), expected=np.zeros(3))
    question = Select(candidates=(candidate,), epsilon=1.0, bounding=Weights(2))
    assert check_distance(question, rows(2), SCHEMA) == pytest.approx(1)
    with pytest.raises(AuditError, match="L∞"):
        check_distance(question, rows(2.1), SCHEMA)
