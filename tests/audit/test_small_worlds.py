"""Every small table in a real engine, against the sum of its people."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from copy import copy
from fractions import Fraction
from multiprocessing import get_context
from typing import Any

import pytest

from tests.audit.effort import THOROUGH, in_audit
from understudy.audit.small_worlds import (
    APART,
    BOUNDINGS,
    CAPPED,
    QUESTIONS,
    SCHEMA,
    check_small_worlds,
    every_world,
)
from understudy.budget import Currency
from understudy.door import Clique, Distances, Measure, Question, Select, Total
from understudy.engine import Columns
from understudy.errors import AuditError
from understudy.vault import PrivateTable, candidates, counts, marginals, norm, sensitivity
from understudy.vault import table as vault_table
from understudy.vault.sensitivity import charge


@pytest.mark.parametrize(
    ("people", "rows", "cells", "worlds"),
    [
        (2, 2, 2, 21),
        pytest.param(1, 2, 3, 10, marks=in_audit),
        pytest.param(3, 2, 2, 56, marks=in_audit),
        pytest.param(2, 1, 4, 15, marks=in_audit),
        pytest.param(1, 2, 4, 15, marks=in_audit),
        pytest.param(4, 2, 2, 126, marks=in_audit),
        pytest.param(2, 1, 6, 28, marks=in_audit),
        pytest.param(1, 2, 6, 28, marks=in_audit),
    ],
)
def test_small_worlds(people: int, rows: int, cells: int, worlds: int) -> None:
    assert check_small_worlds(people, rows, cells) == worlds


@in_audit
def test_all_worlds_of_four_people_with_two_rows_on_six_cells() -> None:
    """Split by how many cores there are; each part looks at every n-th world."""
    parts = os.cpu_count() or 1
    with ProcessPoolExecutor(parts, mp_context=get_context("spawn")) as pool:
        found = pool.map(
            check_small_worlds, *zip(*[(4, 2, 6, i, parts) for i in range(parts)], strict=True)
        )
        assert sum(found) == 31_465 == len(list(every_world(4, 2, 6)))


def test_a_person_who_moves_others_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two or more rows one is lost: who is alone counts for more."""
    real = counts._total

    def crowded(question: Total, table: PrivateTable) -> Any:
        found = real(question, table)
        return found - (found > 1)

    monkeypatch.setattr(counts, "_total", crowded)
    with pytest.raises(AuditError, match=r"people affect each other's counts \(got Total\)"):
        check_small_worlds(2, 1, 2)


def test_a_person_who_counts_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = counts._unit_mode
    monkeypatch.setattr(counts, "_unit_mode", lambda *given: 2 * real(*given))
    with pytest.raises(
        AuditError, match="one person moves a UnitMode by more than its sensitivity"
    ):
        check_small_worlds(1, 1, 2)


def test_merged_codes_are_in_every_kind_of_question_that_takes_them() -> None:
    measures = [q for q in QUESTIONS if isinstance(q, Measure)]
    assert {q.bounding for q in measures if q.merged} == set(BOUNDINGS)
    assert {q.bounding for q in measures if not q.merged} == set(BOUNDINGS)
    for kind in (Select, Distances):
        asked = [(q.bounding, bool(q.merged)) for q in APART if isinstance(q, kind)]
        assert set(asked) == {(bounding, merged) for bounding in CAPPED for merged in (True, False)}
    for question in (*QUESTIONS, *APART):
        counts.check(SCHEMA, question)
        charge(question, SCHEMA, Currency.GDP)


def test_a_row_that_merging_counts_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is alone moves merged codes, and no others, by twice what was declared."""
    real = PrivateTable.as_seen

    def twice(self: PrivateTable, weighted: str, names: set[str]) -> str:
        seen = real(self, weighted, names)
        return seen if seen == weighted else f"(FROM {seen} UNION ALL FROM {seen}) AS t"

    monkeypatch.setattr(PrivateTable, "as_seen", twice)
    monkeypatch.setattr(vault_table, "MOST_HELD", -1)
    with pytest.raises(AuditError, match="one person moves a Measure by more than its sensitivity"):
        check_small_worlds(1, 1, 2)


def test_and_so_it_is_where_rows_are_counted_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    real = marginals._tallied

    def twice(table: PrivateTable, clique: Clique, rows: Columns) -> Any:
        return real(table, clique, rows) * (2 if table._merged else 1)

    monkeypatch.setattr(marginals, "_tallied", twice)
    with pytest.raises(AuditError, match="one person moves a Measure by more than its sensitivity"):
        check_small_worlds(1, 1, 2)


def test_people_who_are_weighed_by_their_own_codes_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Under Norm two rows in two codes that are one weigh less than in two: in the tenth world."""
    real = norm.normed

    def unmerged(question: Measure, table: PrivateTable) -> str:
        own = copy(table)
        own.schema, own._merged = SCHEMA, {}
        return real(question, own)

    monkeypatch.setattr(counts, "normed", unmerged)
    with pytest.raises(AuditError, match="one person moves a Measure by more than its sensitivity"):
        check_small_worlds(1, 2, 5, *(() if THOROUGH else (10, 21)))


@pytest.mark.parametrize("kind", [Select, Distances])
def test_a_distance_that_is_something_else_is_seen(
    kind: type[Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = candidates.distances

    def other(question: Select | Distances, table: PrivateTable) -> Any:
        return real(question, table) + isinstance(question, kind)

    monkeypatch.setattr(counts, "distances", other)
    with pytest.raises(AuditError, match=f"a {kind.__name__} does not match its marginal"):
        check_small_worlds(1, 1, 1)


def test_distances_that_are_charged_for_one_of_two_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who is alone moves both candidates by the cap."""
    real = sensitivity._bound

    def one(question: Any, power: int) -> Fraction:
        found = real(question, power)
        return found / 2 if isinstance(question, Distances) else found

    monkeypatch.setattr(sensitivity, "_bound", one)
    with pytest.raises(
        AuditError, match="one person moves a Distances by more than its sensitivity"
    ):
        check_small_worlds(1, 1, 1)
