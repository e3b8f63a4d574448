"""Mending: counts come closer to what is wanted, and are kept up to date row by row."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import one_in
from understudy.synth.lives.habits import differing
from understudy.synth.lives.mending import SWEEPS, Kept, Mending, OfferedRows, Wanted
from understudy.synth.lives.walks import Walk

CODES, PLACES, TIMES = 4, 3, 5


def column(seed: int, sizes: Any, *, ordered: bool, steps: bool) -> tuple[Wanted, OfferedRows, Any]:
    """Rows drawn at random, of which other counts are wanted than they have."""
    rng = np.random.default_rng(seed)
    rows, codes = int(sizes.sum()), np.arange(CODES)
    own = rng.dirichlet(np.ones(CODES), size=PLACES)
    place = rng.integers(PLACES, size=rows)
    habits = [Kept(1.0 - np.eye(CODES), 0.3, 0.0)]
    if ordered:
        far = np.abs(codes[:, None] - codes) / (CODES - 1)
        habits = [Kept(far, 0.3, 0.0), Kept(1.0 - np.eye(CODES), 0.55, 0.0)]
    follows = rng.dirichlet(np.ones(CODES), size=CODES + 1)
    counts = np.append(np.full(CODES, (rows - len(sizes)) / CODES), len(sizes))
    wanted = Wanted(
        pairs=[np.bincount(place, minlength=PLACES)[:, None] * own],
        steps=follows * counts[:, None] if steps else None,
        habits=habits,
    )
    lifts = (CODES * follows).astype(np.float32) if steps else None
    drawn = rng.integers(CODES, size=rows)
    return wanted, OfferedRows(Walk(sizes), [place], own[place].astype(np.float32), lifts), drawn


def counted(wanted: Wanted, rows: OfferedRows, codes: Any) -> tuple[list[Any], list[float]]:
    """Count everything anew: by how much cells are too many, and how far apart rows are."""
    first = rows.walk.first
    tables = [*zip(wanted.pairs, rows.given, strict=True)]
    if wanted.steps is not None:
        tables.append((wanted.steps, np.where(first, CODES, np.roll(codes, 1))))
    over = []
    for table, lines in tables:
        got = np.zeros(table.shape)
        np.add.at(got, (lines, codes), 1)
        over.append(got - table)
    sizes, starts = rows.walk.sizes, np.flatnonzero(first)
    several = [codes[s : s + n].tolist() for s, n in zip(starts, sizes, strict=True) if n > 1]
    apart = [
        np.mean([np.mean([far[a, b] for a, b in combinations(own, 2)]) for own in several])
        if several
        else 0.0
        for far, _, _ in wanted.habits
    ]
    return over, [float(each) for each in apart]


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_what_is_counted_step_by_step_is_what_there_is(
    seed: int, ordered: bool, steps: bool
) -> None:
    sizes = np.random.default_rng(seed).integers(1, 6, size=12)
    wanted, rows, drawn = column(seed, sizes, ordered=ordered, steps=steps)
    when = np.random.default_rng(seed).integers(TIMES, size=len(drawn))
    further = np.outer(np.bincount(when, minlength=TIMES), np.full(CODES, 1 / CODES))
    wanted = wanted._replace(pairs=[*wanted.pairs, further])
    rows = rows._replace(given=[*rows.given, when])
    mending = Mending(wanted, rows, drawn)
    codes = mending.run(np.random.default_rng(seed), sweeps=2)
    over, apart = counted(wanted, rows, codes)
    told = [mending._pairs, *([] if mending._steps is None else [mending._steps])]
    found = np.concatenate([cells._over for cells in told])
    assert found == pytest.approx(np.concatenate([each.reshape(-1) for each in over]))
    assert mending._apart == pytest.approx(apart, abs=1e-5)


@pytest.mark.parametrize(
    ("ordered", "steps"), one_in(3, [(False, False), (False, True), (True, False), (True, True)])
)
def test_counts_come_closer(ordered: bool, steps: bool) -> None:
    wanted, rows, drawn = column(5, np.full(600, 5), ordered=ordered, steps=steps)
    before, _ = counted(wanted, rows, drawn)
    after, apart = counted(wanted, rows, Mending(wanted, rows, drawn).run(np.random.default_rng(6)))
    for was, now in zip(before, after, strict=True):
        # With steps, what is wanted of pairs and of consecutive rows cannot both be.
        assert np.abs(now).sum() < (0.7 if steps else 0.05) * np.abs(was).sum()
    assert steps or apart == pytest.approx([each.apart for each in wanted.habits], abs=0.005)


def test_rows_that_are_as_wanted_are_hardly_offered_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, rows, drawn = column(5, np.full(4000, 5), ordered=False, steps=False)
    got = np.bincount(rows.given[0] * CODES + drawn, minlength=wanted.pairs[0].size)
    made, real = [], Mending._offer

    def counted_offer(self: Mending, some: Any, *others: Any) -> None:
        made.append(len(some))
        real(self, some, *others)

    monkeypatch.setattr(Mending, "_offer", counted_offer)
    offers = []
    for pairs in ([got.reshape(wanted.pairs[0].shape).astype(float)], wanted.pairs[:1]):
        made.clear()
        alike = Wanted(pairs=pairs, steps=None, habits=[])
        few = OfferedRows(rows.walk, rows.given[:1], rows.own, None)
        Mending(alike, few, drawn).run(np.random.default_rng(6))
        offers.append(sum(made) / len(drawn))
    # An offer or two for each row, to see that none helps.
    assert offers[0] < 2
    assert offers[0] < offers[1] <= SWEEPS


def test_a_code_that_cannot_be_is_never_taken() -> None:
    """Two places share people but no code, whatever agreement is wanted."""
    sizes = np.full(500, 4)
    place = np.tile([0, 1], 1000)
    own = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    wanted = Wanted(pairs=[1000 * own], steps=None, habits=[Kept(1.0 - np.eye(CODES), 0.0, 0.0)])
    rows = OfferedRows(Walk(sizes), [place], own[place].astype(np.float32), None)
    drawn = 2 * place + np.random.default_rng(0).integers(2, size=2000)
    codes = Mending(wanted, rows, drawn).run(np.random.default_rng(1))
    assert (codes // 2).tolist() == place.tolist()
    assert differing(rows.walk.first, codes) < 0.7


def test_people_of_one_row_are_mended_too() -> None:
    wanted, rows, drawn = column(7, np.ones(900, dtype=np.int64), ordered=False, steps=False)
    codes = Mending(wanted, rows, drawn).run(np.random.default_rng(8))
    before, after = (np.abs(counted(wanted, rows, each)[0][0]).sum() for each in (drawn, codes))
    assert after < before / 2
