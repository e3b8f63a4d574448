"""Candidates are counted once: what is kept gives the distances that rows would give.

A marginal is kept for one bounding and one way to merge codes; any other is counted anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import few, tried
from tests.vault.obvious import People
from tests.vault.worlds import KEY, candidates, domain, merge, obvious, opened, worlds
from understudy.budget import Budget, Capped, ResolvedUnit, Sample, Weights
from understudy.door import Candidate, Clique, Distances, Merge, Select
from understudy.ledger import Ledger
from understudy.vault import PrivateDoor, PrivateTable
from understudy.vault import candidates as vault_candidates
from understudy.vault.counts import exact

PEOPLE: People = {
    "ann": [(0, 0, 0)] * 5 + [(1, 1, 2)],
    "bob": [(2, 1, 3)],
    "cy": [(i, j, k) for i in range(3) for j in range(2) for k in range(4)],
}
CLIQUES: tuple[Clique, ...] = (("a",), ("b", "a"), ("a", "b"), ("c",), ("c", "a"), ())
BOUNDINGS: tuple[Capped, ...] = (Weights(2), Sample(2), Weights(3), Sample(3))
MERGES: tuple[tuple[Merge, ...], ...] = (
    (),
    (merge("a", [0, 1, 0]),),
    (merge("a", [0, 1, 1]),),
    (merge("a", [2, 1, 0]),),
    (merge("c", [0, 0, 1, 1]), merge("a", [0, 1, 0])),
)
Asked = Select | Distances
ONCE = 4
"""How often the engine is asked: here and there, each looks first how many rows there are."""


@pytest.fixture
def table() -> Iterator[PrivateTable]:
    with opened(PEOPLE) as held:
        yield held


@pytest.fixture
def given_to_engine(table: PrivateTable, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every call of the table's engine, by name, as it comes."""
    seen: list[str] = []

    def noted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            seen.append(name)
            return real(*given, **more)

        return call

    for name in ("fetch", "run", "load"):
        monkeypatch.setattr(table.engine, name, noted(name, getattr(table.engine, name)))
    return seen


def question(
    rng: np.random.Generator,
    *,
    bounding: Capped = BOUNDINGS[0],
    merged: tuple[Merge, ...] = (),
    cliques: tuple[Clique, ...] = CLIQUES,
) -> Asked:
    """A selection, or distances: every clique in any order, with expectations of its own."""
    asked = [cliques[i] for i in rng.permutation(len(cliques))]
    made = tuple(
        Candidate(
            clique=c,
            expected=rng.uniform(-9, 9, obvious({}).size(c, merged)),
            penalty=float(rng.uniform(-3, 3)),
        )
        for c in asked
    )
    if rng.integers(2):
        return Select(candidates=made, epsilon=1.0, bounding=bounding, merged=merged)
    return Distances(candidates=made, scale=1.0, bounding=bounding, merged=merged)


def slowly(asked: Asked) -> list[int]:
    return [int(step) for step in obvious(PEOPLE).exact(asked)]


def kept(table: PrivateTable) -> dict[tuple[str, str, Clique], tuple[Any, Any]]:
    """The marginals that are kept, by view and bounding."""
    return {
        (*key, c): held
        for key, (marginals, _) in table._kept.items()
        for c, held in marginals.items()
    }


def kept_bytes(table: PrivateTable) -> int:
    return sum(cells.nbytes + counts.nbytes for cells, counts in kept(table).values())


# Counted once


def test_marginals_are_counted_once_however_often_they_are_asked(
    table: PrivateTable, given_to_engine: list[str]
) -> None:
    rng = np.random.default_rng(1)
    first = question(rng)
    assert exact(first, table).tolist() == slowly(first)
    assert given_to_engine.count("fetch") == ONCE
    given_to_engine.clear()
    others = [question(rng) for _ in range(20)]
    assert {type(asked).__name__ for asked in others} == {"Select", "Distances"}
    for asked in others:
        assert exact(asked, table).tolist() == slowly(asked)
    assert not given_to_engine


def test_only_what_was_not_asked_before_is_counted(
    table: PrivateTable, given_to_engine: list[str]
) -> None:
    rng = np.random.default_rng(2)
    asked: list[Clique] = []
    for clique in CLIQUES:
        asked.append(clique)
        given_to_engine.clear()
        more = question(rng, cliques=tuple(asked))
        assert exact(more, table).tolist() == slowly(more)
        assert given_to_engine.count("fetch") == ONCE
        assert set(kept(table)) == {("0", "bounded_0_weights_2", c) for c in asked}


@pytest.mark.parametrize(
    "differ",
    [[{"bounding": b} for b in BOUNDINGS], [{"merged": m} for m in MERGES]],
    ids=["bounding", "merged"],
)
def test_another_bounding_or_other_merged_codes_are_counted_on_their_own(
    table: PrivateTable, given_to_engine: list[str], differ: list[dict[str, Any]]
) -> None:
    """Each once; and afterwards each is answered by its own counts, in any order."""
    rng = np.random.default_rng(3)
    for own in differ:
        given_to_engine.clear()
        asked = question(rng, **own)
        assert exact(asked, table).tolist() == slowly(asked)
        assert given_to_engine.count("fetch") == ONCE
    given_to_engine.clear()
    for i in rng.integers(len(differ), size=20):
        asked = question(rng, **differ[i])
        assert exact(asked, table).tolist() == slowly(asked)
    assert not given_to_engine


@st.composite
def series(draw: st.DrawFn) -> Asked:
    """One of a series of questions that have cliques, boundings and merged codes in common."""
    merged = draw(st.sampled_from(MERGES))
    made = tuple(draw(st.lists(candidates(domain(merged)), min_size=1, max_size=5)))
    bounding = draw(st.sampled_from(BOUNDINGS))
    if draw(st.booleans()):
        return Select(candidates=made, epsilon=1.0, bounding=bounding, merged=merged)
    return Distances(candidates=made, scale=1.0, bounding=bounding, merged=merged)


@given(worlds, st.lists(series(), min_size=4, max_size=12))
@tried(40, usual=5)
def test_what_is_kept_gives_the_distances_that_rows_give(
    people: People, asked: list[Asked]
) -> None:
    """Answers of a series are those of each question alone, to the last step of 2⁻¹⁶."""
    with opened(people) as table:
        found = [exact(one, table).tolist() for one in asked]
        assert found == [obvious(people).exact(one).tolist() for one in asked]
        alone = []
        for one in reversed(asked):
            table.forget()
            alone.append(exact(one, table).tolist())
    assert found == alone[::-1]


@pytest.mark.parametrize("sign", [1, -1])
def test_distances_are_exact_as_far_as_expectations_may_go(table: PrivateTable, sign: int) -> None:
    """Just below 2³⁶ rows, in cells that hold something, and in a table that holds nothing."""
    far = sign * np.array([2.0**35 - 1, -(2.0**34), 2.0**34 - 2.0**-9])
    made = (
        Candidate(clique=("a",), expected=far),
        Candidate(clique=("a",), expected=np.zeros(3), penalty=sign * (2.0**36 - 2.0**-9)),
    )
    asked = Distances(candidates=made, scale=1.0, bounding=Sample(4))
    assert exact(asked, table).tolist() == slowly(asked)
    with opened({}) as empty:
        assert exact(asked, empty).tolist() == obvious({}).exact(asked).tolist()


# What is kept


def test_only_cells_that_hold_anything_are_kept() -> None:
    made = (Candidate(clique=("a", "b", "c"), expected=np.ones(24)),)
    with opened({"p": [(0, 0, 1)] * 3, "q": [(2, 1, 3)]}) as table:
        (found,) = exact(Distances(candidates=made, scale=1.0, bounding=Sample(2)), table)
        ((cells, counts),) = kept(table).values()
    assert (cells.tolist(), counts.tolist()) == ([1, 23], [2, 1])
    assert found == (22 + 1) * 2**16


FITS: list[tuple[int, list[Clique]]] = [
    (31, []),
    (32, [("b",)]),
    (80, [("b",), ("a",)]),
    (0, []),
    (79, [("b",)]),
]


@pytest.mark.parametrize(("most", "fits"), few(FITS, usual=3), ids=str)
@pytest.mark.parametrize("together", [True, False], ids=["together", "one by one"])
def test_no_more_than_fits_is_kept_and_answers_stay_right(
    table: PrivateTable,
    given_to_engine: list[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    most: int,
    fits: list[Clique],
    together: bool,
) -> None:
    """Cells and counts of 8 bytes each: 32 bytes for b, 48 for a, 192 for both with c."""
    monkeypatch.setattr(vault_candidates, "MOST_KEPT", most)
    sizes: dict[Clique, int] = {("b",): 2, ("a",): 3, ("c", "a"): 12}

    def made() -> list[Candidate]:
        return [Candidate(clique=c, expected=np.arange(n, dtype=float)) for c, n in sizes.items()]

    for _ in range(2):
        for part in [tuple(made())] if together else [(one,) for one in made()]:
            asked = Distances(candidates=part, scale=1.0, bounding=Weights(2))
            assert exact(asked, table).tolist() == slowly(asked)
            assert kept_bytes(table) <= most
    assert [clique for *_, clique in kept(table)] == fits
    given_to_engine.clear()
    for one in made():
        exact(Distances(candidates=(one,), scale=1.0, bounding=Weights(2)), table)
    assert given_to_engine == ["fetch"] * ONCE * (len(sizes) - len(fits))


def test_a_candidate_that_is_asked_again_is_known_for_its_own_bounding_and_merged_codes(
    table: PrivateTable, given_to_engine: list[str]
) -> None:
    """The same record, in every setting, twice; nothing is counted or compared a second time."""
    one = Candidate(clique=("b", "c"), expected=np.linspace(-1, 2, 8), penalty=0.5)
    settings_ = [(b, m) for b in BOUNDINGS for m in ((), (merge("a", [0, 1, 0]),))]
    for _ in range(2):
        for bounding, merged in settings_:
            asked = Distances(candidates=(one,), scale=1.0, bounding=bounding, merged=merged)
            assert exact(asked, table).tolist() == slowly(asked)
    given_to_engine.clear()
    exact(Distances(candidates=(one,), scale=9.0, bounding=BOUNDINGS[0]), table)
    assert not given_to_engine
    held = table._kept["0", "bounded_0_weights_2"][1]
    assert list(held) == [one]
    del one, asked
    assert not held


def test_a_closed_door_has_forgotten_what_was_kept(table: PrivateTable, tmp_path: Path) -> None:
    rich = Budget(epsilon=1e9, delta=1e-9)
    made = [Candidate(clique=("b",), expected=np.zeros(2))]
    with closing(Ledger.create(tmp_path / "l.ledger", budget=rich, key=KEY)) as ledger:
        ledger.bind(name="world", unit=ResolvedUnit.of("id"))
        door = PrivateDoor(table, run=ledger.begin(rich, {}), bounding=Weights(4))
        for merged in MERGES:
            door.select(made, epsilon=1.0, bounding=Sample(2), merged=merged)
            door.distances(made, scale=1.0, bounding=Weights(2), merged=merged)
        assert len(kept(table)) == 2 * len(MERGES)
        door.close()
    assert not table._kept
