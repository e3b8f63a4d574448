"""Whether a release is any good, told from its noisy answers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import understudy as us
from understudy.pages.release import release_page
from understudy.release.quality import clear_share
from understudy.schema import Categorical, Integer, Schema

if TYPE_CHECKING:
    from pathlib import Path


SCHEMA = Schema(
    "signs",
    (
        Categorical(name="clear", values=("a", "b", "c")),
        Integer(name="fine", min=0, max=1999),
        Integer(name="hour", min=0, max=3),
    ),
)


def signs(folder: Path) -> us.Release:
    """Two thousand rows: three values stand out, two thousand do not."""
    count = np.arange(2000)
    private = {"clear": np.array(["a", "b", "c"])[count % 3], "fine": count, "hour": count % 4}
    return us.open(
        private=private,
        schema=SCHEMA,
        unit="each-row",
        bounding="weights:1",
        budget=us.Budget(epsilon=1, delta=1e-6),
        ledger=folder / "signs.ledger",
    ).run("independent")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> us.Release:
    return signs(tmp_path_factory.mktemp("signs"))


def test_a_column_of_noise_has_little_signal(tmp_path: Path) -> None:
    """One release says 0.15, give or take 0.07; the mean of nine is 6 deviations below 0.3."""
    folders = [tmp_path / str(i) for i in range(9)]
    for folder in folders:
        folder.mkdir()
    shares = [signs(folder).quality.columns["fine"] for folder in folders]
    assert np.mean(shares) < 0.3


def test_a_column_of_noise_is_told_from_one_of_signal(release: us.Release) -> None:
    told = release.quality
    assert told.columns["clear"] > 0.8
    assert told.facts()["columns"]["mostly noise"] == ["fine"]
    assert list(told.sentences()) == [
        "Of 3 columns: 2 mostly signal, 1 mostly noise (fine).",
        "3 other pairs were not measured cell by cell: how their columns go together follows from "
        "the model.",
    ]


def test_pairs_are_told_too(tmp_path: Path) -> None:
    count = np.arange(60_000)
    release = us.open(
        private={
            "clear": np.array(["a", "b", "c"])[count % 3],
            "fine": count % 7,
            "hour": count % 3,
        },
        schema=SCHEMA,
        unit="each-row",
        bounding="weights:1",
        budget=us.Budget(epsilon=1, delta=1e-6),
        ledger=tmp_path / "signs.ledger",
    ).run("mst")
    told = release.quality
    assert told.pairs["clear", "hour"] > 0.8
    assert len(told.pairs) + told.unmeasured_pairs == 3


@pytest.mark.parametrize("cells", [10, 1000, 100_000])
def test_pure_noise_is_never_signal(cells: int) -> None:
    rng = np.random.default_rng(cells)
    for _ in range(20):
        share = clear_share(rng.normal(0, 50, cells), np.full(cells, 50.0))
        assert share is not None
        assert share < 0.5


def test_the_report_begins_with_it(release: us.Release) -> None:
    text = release_page(release).html()
    first = text.index("Is it any good?")
    assert text.index("mostly noise (fine)") > first
    assert first < text.index("What was asked, and what it cost")
