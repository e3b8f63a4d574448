"""Gaps: classes cover all of them, and wanted counts follow an answer as far as it is precise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.public import PublicTable
from understudy.schema import Integer, Schema
from understudy.synth.lives.gaps import EXACT, Gaps, gap_classes

WEEKLY = np.where(np.arange(30) % 7 == 0, 700.0, 20.0)
EVEN = np.linspace(200.0, 2.0, 30)


@given(st.integers(1, 5000))
@tried(50)
def test_each_gap_has_one_class_and_small_ones_their_own(size: int) -> None:
    classes = gap_classes(size)
    assert len(classes) == size
    assert set(np.diff(classes).tolist()) <= {0, 1}
    assert classes[: EXACT + 1].tolist() == list(range(min(size, EXACT + 1)))
    lengths = np.bincount(classes)[EXACT:-1]
    assert (lengths <= 1 + 0.11 * np.flatnonzero(np.diff(classes, prepend=-1))[EXACT:-1]).all()


def apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)


@pytest.mark.parametrize(
    ("noise", "public", "like"),
    [
        (1.0, None, WEEKLY),
        (1e6, None, EVEN),
        (1e6, WEEKLY / WEEKLY.sum(), WEEKLY),
        (1.0, EVEN / EVEN.sum(), WEEKLY),
    ],
)
def test_wanted_counts_are_the_answer_s_or_what_was_known(
    noise: float, public: np.ndarray | None, like: np.ndarray
) -> None:
    values = WEEKLY + np.random.default_rng(3).normal(0, noise, len(WEEKLY))
    wanted = Gaps(np.arange(30), values, noise, public=public).wanted(EVEN)
    assert wanted.sum() == pytest.approx(EVEN.sum())
    assert apart(wanted, like) < 0.02
    assert apart(wanted, WEEKLY + EVEN - like) > 0.3


def test_gaps_are_counted_without_first_rows_as_far_as_their_people_count() -> None:
    gaps = Gaps(np.array([0, 1, 2, 2, 2]), np.zeros(3), 1.0)
    times, sizes = np.array([1, 1, 2, 0, 0, 4]), np.array([3, 1, 2])
    assert gaps.counts(times, sizes).tolist() == [1, 1, 1]
    # Who has three rows counts for two in all, or by the square root of three where none repeat.
    assert replace(gaps, norm=2.0).counts(times, sizes) == pytest.approx([2 / 3, 2 / 3, 1])
    weighed = replace(gaps, norm=1.0, repeats=0.0).counts(times, sizes)
    assert weighed == pytest.approx([3**-0.5, 3**-0.5, 2**-0.5])


def test_public_people_have_gaps_and_public_rows_have_none() -> None:
    schema = Schema("t", (Integer(name="day", min=0, max=4, missing=False),))
    codes = {"day": np.array([2, 1, 1, 0, 4, 0], dtype=np.int32)}
    people = np.array([0, 0, 0, 1, 2, 2])
    shown = PublicTable(schema=schema, codes=codes, people=people, numbers={})
    gaps = Gaps(np.array([0, 1, 2, 2, 2]), np.zeros(3), 1.0)
    assert gaps.beside(shown, "day").public == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    rows = PublicTable(schema=schema, codes=codes, people=None, numbers={})
    assert gaps.beside(rows, "day").public is None
    assert gaps.beside(None, "day").public is None
