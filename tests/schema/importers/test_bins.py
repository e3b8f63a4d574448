"""Bins of a draft: what is drawn within them is like what was there."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from understudy.schema import Array, Integer, Numeric
from understudy.schema.importers.bins import BINS, FAR, GAPS
from understudy.schema.importers.draft import draft


def drafted(values: Array) -> Numeric:
    """Draft one column of numbers, and expect bins."""
    (column,) = draft({"x": values}, ids=())
    assert isinstance(column, Numeric)
    return column


def drawn(column: Numeric, read: Array) -> Array:
    """Draw every number again, within its bin."""
    return column.decode(column.encode(read), np.random.default_rng(1)).astype(float)


def payments(digits: int, rows: int = 4000) -> Array:
    """Make payments by card, and salaries far above 0, as one in ten."""
    rng = np.random.default_rng(3)
    cards, salaries = -rng.lognormal(3, 1, rows), rng.lognormal(7.7, 0.4, rows)
    amounts = np.where(rng.random(rows) < 0.1, salaries, cards - 0.5)
    return np.round(amounts, digits) if digits < 15 else amounts


@pytest.mark.parametrize("digits", [0, 2, 15])
def test_payments_do_not_become_credits(digits: int) -> None:
    """Without an edge at 0, one bin went from a payment of 4 to a salary of 1,100."""
    read = payments(digits)
    column = drafted(read)
    assert 0.0 in column.edges
    out = drawn(column, read)
    assert ((out < 0) == (read < 0)).all()
    for part in (read < 0, read > 0):
        assert out[part].mean() == pytest.approx(read[part].mean(), rel=0.2)
    assert column.bins < BINS + 8


@pytest.mark.parametrize("low", [-1e-17, -1e-3])
def test_a_few_errors_of_rounding_have_no_bin_of_their_own(low: float) -> None:
    rng = np.random.default_rng(4)
    read = np.append(rng.uniform(0.1, 90, 3000), [low] * 3)
    assert (0.0 in drafted(read).edges) is False
    assert 0.0 in drafted(np.append(read, -rng.random(20) * 9)).edges
    # And neither have they above 0.
    assert (0.0 in drafted(-read).edges) is False


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_of_one_sign_have_no_edge_at_zero(sign: int) -> None:
    read = sign * np.random.default_rng(5).uniform(3, 90, 3000)
    assert 0.0 not in drafted(read).edges


def test_no_edge_is_put_into_a_bin_without_rows() -> None:
    read = np.append(np.random.default_rng(6).uniform(20, 90, 3000), [-999.0] * 200)
    column = drafted(np.round(read, 1))
    assert 0.0 not in column.edges
    assert -999.0 in column.edges


def clusters(kind: str, last: int) -> Array:
    """Make numbers of two clusters, far apart, and perhaps one number far above all."""
    rng = np.random.default_rng(7)
    read = np.concatenate(
        [rng.uniform(10, 40, 1530), rng.uniform(9000, 9900, 1470), [50_000] * last]
    )
    return {"whole": np.round(read), "decimals": np.round(read, 2), "floats": read}[kind]


@pytest.mark.parametrize("kind", ["whole", "decimals", "floats"])
@pytest.mark.parametrize("last", [0, 60])
def test_nothing_is_drawn_where_a_wide_gap_is(kind: str, last: int) -> None:
    read = clusters(kind, last)
    column = drafted(read)
    out = drawn(column, read)
    between = ((out > 41) & (out < 8990)) | ((out > 9901) & (out < 49_999))
    assert not between.any()
    assert out.mean() == pytest.approx(read.mean(), rel=0.01)
    # The gap is a bin of its own, for private numbers that may be there.
    assert any(a < 50 and b > 8900 for a, b in pairwise(column.edges))
    assert column.bins <= BINS + 6


def test_a_bin_of_several_clusters_is_cut_at_each_gap() -> None:
    rng = np.random.default_rng(8)
    few = np.concatenate([rng.uniform(at, at + 3, 150) for at in (1000, 2000, 3000)])
    read = np.round(np.append(few, rng.uniform(0, 300, 9000)), 2)
    assert np.abs(drawn(drafted(read), read) - read).max() < 20


@pytest.mark.parametrize("name", ["uniform", "normal", "heaped", "skewed", "whole"])
def test_other_numbers_have_as_many_bins_as_before(name: str) -> None:
    rng = np.random.default_rng(9)
    rows = 5000
    read: Array = {
        "uniform": rng.uniform(5, 9, rows),
        "normal": rng.normal(100, 9, rows),
        "heaped": 100.0 * rng.integers(1, 40, rows),
        "skewed": np.round(rng.lognormal(3, 2, rows), 2),
        "whole": rng.integers(0, 5000, rows).astype(float),
    }[name]
    # Up to four more are those of wide outermost bins.
    assert drafted(read).bins <= BINS + 4


def test_the_gaps_that_are_cut_are_few() -> None:
    rng = np.random.default_rng(10)
    starts = 1000.0 ** np.arange(1, 4)
    read = np.concatenate([rng.uniform(s, s * 1.001, 100) * k for s in starts for k in range(1, 9)])
    assert BINS < drafted(read).bins <= BINS + 2 * GAPS + 5
    assert FAR > 1


@pytest.mark.parametrize(
    "read",
    [
        [-1.7e308, *range(-40, 300), 1.7e308],
        [0.5, -0.25, 3.0],
        [-(2.0**60), *range(400), 2.0**60],
        [5e-324, -5e-324, *range(1, 400)],
    ],
    ids=["all", "three", "whole", "smallest"],
)
def test_extreme_numbers_have_bins(read: list[float]) -> None:
    column = drafted(np.repeat(np.array(read, dtype=float), 12))
    codes = np.arange(column.bins, dtype=np.int32)
    assert column.encode(column.decode(codes, np.random.default_rng(1))).tolist() == codes.tolist()


@pytest.mark.parametrize(
    ("factor", "unit", "what"), [(1, "s", "seconds"), (1000, "ms", "milliseconds")]
)
def test_numbers_that_look_like_epochs_are_said_to_be_so(factor: int, unit: str, what: str) -> None:
    rng = np.random.default_rng(11)
    read = 1_704_067_200 + rng.integers(0, 90 * 86400, 2000)
    for numbers in (read * factor, np.append(read * factor, [-1] * 300)):
        said = drafted(numbers).summary.splitlines()
        assert said[1].startswith(f"These look like {what} since 1970.")
        assert f'pandas.to_datetime(column, unit="{unit}")' in said[3]


@pytest.mark.parametrize("low", [0.0, 5e8, 3e9])
def test_other_large_numbers_are_not(low: float) -> None:
    read = np.floor(low + np.random.default_rng(12).uniform(0, 9e8, 2000))
    assert "1970" not in drafted(read).summary
    few: Any = Integer(name="x", min=1_700_000_000, max=1_700_000_100)
    assert few.summary == "integer, 102 codes."
