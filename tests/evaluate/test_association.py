"""How much columns say about each other; a slow, obvious version and SciPy are the judges."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from tests.evaluate.tables import random_table
from understudy.evaluate import Coded, Tables, compare, matching
from understudy.evaluate.association import Associations, associations


def obvious(table: Coded, a: str, b: str) -> float:
    """Compute Bergsma's Cramér's V from SciPy's chi-squared."""
    crossed = table.counts([a, b]).reshape(table.sizes[a], table.sizes[b])
    crossed = crossed[crossed.sum(axis=1) > 0][:, crossed.sum(axis=0) > 0]
    r, k = crossed.shape
    n = crossed.sum()
    if min(r, k) < 2:
        return 0.0
    squared = chi2_contingency(crossed, correction=False).statistic / n
    least = max(0.0, squared - (r - 1) * (k - 1) / (n - 1))
    rows, columns = (m - (m - 1) ** 2 / (n - 1) for m in (r, k))
    return float(min(1.0, np.sqrt(least / (min(rows, columns) - 1))))


def depending(seed: int, *, rows: int = 500) -> Coded:
    rng = np.random.default_rng(seed)
    cause = rng.integers(0, 4, rows)
    codes = {
        "cause": cause,
        "effect": np.where(rng.random(rows) < 0.7, cause, rng.integers(0, 4, rows)),
        "copy": 3 - cause,
        "noise": rng.integers(0, 30, rows),
        "one": np.full(rows, 2),
    }
    sizes = {"cause": 5, "effect": 4, "copy": 4, "noise": 40, "one": 3}
    return Coded(codes=codes, sizes=sizes, people=None)


def found(real: Coded, synthetic: Coded) -> Associations:
    result = associations(Tables(real=real, synthetic=synthetic))
    assert result is not None
    return result


@pytest.mark.parametrize("sorting", [False, True])
def test_every_pair_is_what_scipy_says(sorting: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if sorting:
        monkeypatch.setattr(matching, "DENSE_CELLS", 1)
    real, made = depending(0), depending(1, rows=300)
    result = found(real, made)
    for pair in combinations(real.sizes, 2):
        assert result.real[pair] == pytest.approx(obvious(real, *pair))
        assert result.synthetic[pair] == pytest.approx(obvious(made, *pair))


def test_it_is_one_for_copies_and_nothing_for_noise() -> None:
    result = found(depending(0), depending(1)).real
    assert result["cause", "copy"] == pytest.approx(1)
    assert 0.5 < result["cause", "effect"] < 0.8
    # Without the correction, 500 rows in 120 cells would look associated.
    assert result["cause", "noise"] < 0.1
    assert result["cause", "one"] == 0


def test_columns_that_were_torn_apart_are_far_off_and_a_resample_is_not() -> None:
    real = depending(0)
    rng = np.random.default_rng(2)
    torn = replace(real, codes={n: rng.permutation(c) for n, c in real.codes.items()})
    told = compare(real, torn)
    assert told.synthetic.summary()["associations, largest"] > 0.9
    # Rows that are drawn twice look associated: chance adds more than is taken off.
    assert told.yardsticks["resample"].summary()["associations, largest"] < 0.35
    assert compare(real, real).synthetic.summary()["associations, largest"] == 0
    lines = told.table().split("farthest off (Cramér's V):\n")[1].splitlines()
    assert lines[1].split()[:3] == ["cause", "×", "copy"]
    assert [float(v) for v in lines[1].split()[3:]] == pytest.approx([0, 1, 1], abs=0.1)
    plain = json.loads(json.dumps(told.to_dict()))["synthetic"]["associations"]
    assert len(plain) == 10
    assert set(plain[0]) == {"columns", "real", "synthetic"}


def test_one_column_and_no_rows_have_none() -> None:
    one = random_table(0, sizes={"only": 3})
    assert compare(one, one).synthetic["associations"] is None
    real = random_table(0)
    assert set(found(real, random_table(0, rows=0)).synthetic.values()) == {0.0}
