"""Replicates: tables that vary as the measurements would, and what they say together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import understudy as us
from tests.audit.effort import effort
from tests.release.modelled import made, model
from understudy.door import Measurement, Rows
from understudy.errors import UsageError
from understudy.release.replicates import Replica

if TYPE_CHECKING:
    from pathlib import Path

NOISE = 30.0


def measured(*more: Measurement, scale: float = NOISE) -> us.Release:
    """Give a release whose model was measured: hour × price over merged codes, colour by code."""
    pair = model().marginal(("hour", "price")).reshape(-1)
    merged = model().marginal(("colour",))
    colour = np.array([merged[0], merged[1] / 4, merged[1] * 3 / 4])
    return replace(
        made(rows=4000, people=None),
        measurements=(
            Measurement(clique=("hour", "price"), values=pair, scale=scale),
            Measurement(clique=("colour",), values=colour, scale=scale),
            *more,
        ),
    )


def shares(release: us.Release, count: int) -> Any:
    """Give what replicas' models say of hour × price and of colour."""
    replica, rng = Replica.of(release), np.random.default_rng(0)
    fits = [replica.fitted(rng) for _ in range(count)]
    return (
        np.array([fit.marginal(("hour", "price")).reshape(-1) for fit in fits]),
        np.array([fit.marginal(("colour",)) for fit in fits]),
    )


def test_models_vary_around_the_releases_by_the_noise() -> None:
    """Of 100 fits the deviation is told within 14 % (two standard errors), of 60 within 18 %."""
    fits = effort(60, 100)
    pairs, colours = shares(measured(), fits)
    large = model().marginal(("hour", "price")).reshape(-1) > 5 * NOISE
    assert large.sum() > 5
    spread = pairs.std(axis=0)[large]
    # The total is known, so that a cell varies a little less.
    np.testing.assert_allclose(spread, NOISE, rtol=2.5 / fits**0.5)
    off = pairs.mean(axis=0) - model().marginal(("hour", "price")).reshape(-1)
    assert np.abs(off[large]).max() < 4 * NOISE / fits**0.5 + NOISE / 4
    # Two codes were measured as one code of the model: √2 times the noise of each.
    assert 0.4 * NOISE < colours.std(axis=0).max() < 1.5 * NOISE


def test_a_weighted_groups_answers_vary_in_units_of_the_table() -> None:
    half = Measurement(
        clique=("hour",), values=model().marginal(("hour",)) / 2, scale=1.0, group="half"
    )
    replica = Replica.of(measured(half))
    np.testing.assert_allclose(replica.asked[-1].values, half.values, rtol=1e-6)


def test_what_bounding_left_is_what_the_model_is_told() -> None:
    left = np.array([0.5, 1.0, 1.0, 2.0])
    less = Measurement(
        clique=("hour",), values=left * model().marginal(("hour",)), scale=1.0, left=left
    )
    replica = Replica.of(measured(less))
    np.testing.assert_allclose(replica.asked[-1].values, less.values, rtol=1e-6)


def test_what_says_nothing_of_the_models_cells_alone_is_left_out() -> None:
    torn = Measurement(clique=("colour", "hour"), values=np.ones(12), scale=1.0)
    some = Measurement(
        clique=("colour",), values=np.ones(1), scale=1.0, rows=Rows(np.array([0, 1]), np.array([2]))
    )
    several = Measurement(
        clique=("colour",),
        values=np.ones(1),
        scale=1.0,
        rows=Rows(np.array([0, 2]), np.array([0, 1])),
    )
    people = Measurement(clique=("hour",), values=np.ones(4), scale=1.0, counted="people")
    assert len(Replica.of(measured(torn, some, several, people)).asked) == 2


def test_models_vary_by_the_bias_that_may_remain_too() -> None:
    """A code that is counted by two columns is off by the same in both, and so is its sum.

    Of 60 fits the deviation is told within 18 % (two standard errors).
    """
    pair = model().marginal(("hour", "price"))
    biased = Measurement(clique=("hour", "price"), values=pair.reshape(-1), scale=0.1, bias=0.1)
    whole = Measurement(clique=(), values=np.array([pair.sum()]), scale=50.0, bias=0.1)
    release = replace(measured(), measurements=(biased, replace(biased, scale=0.2), whole))
    replica, rng = Replica.of(release), np.random.default_rng(5)
    fits = np.array([replica.fitted(rng).marginal(("hour", "price")) for _ in range(60)])
    spread = fits.std(axis=0) / pair
    # As shares of the table's own total, which is known, large cells vary less.
    assert np.median(spread) == pytest.approx(0.1, rel=0.3)
    hours = fits.sum(axis=2).std(axis=0) / pair.sum(axis=1)
    assert np.median(hours) == pytest.approx(0.1 / 2**0.5, rel=0.4)


def test_rows_that_were_drawn_person_by_person_are_replicated_as_rows_of_nobody() -> None:
    release = replace(made(by_person=True), measurements=measured().measurements)
    (table,) = release.replicates(1, seed=1)
    assert list(table.columns) == ["colour", "hour", "price"]
    assert len(table) == len(release)
    shares = np.bincount(table["hour"], minlength=4) / len(table)
    there = model().marginal(("hour",)) / model().total
    np.testing.assert_allclose(shares, there, atol=0.05)


def test_more_of_what_was_drawn_person_by_person_are_its_people(tmp_path: Path) -> None:
    made(by_person=True).save(tmp_path / "r")
    release = us.Release.read(tmp_path / "r")
    lives, again = (
        table.groupby("who")["hour"].apply(lambda hours: tuple(sorted(hours)))
        for table in (release.rows, release.sample(500, seed=2))
    )
    # The last one's rows may be cut off.
    assert set(again.iloc[:-1]) <= set(lives)
    assert next(iter(release.replicates(1))).shape == (len(release), 3)


def test_replicates_are_tables_like_the_release() -> None:
    release = measured()
    first, second = release.replicates(2, seed=1)
    assert list(first.columns) == list(release.rows.columns)
    assert len(first) == len(release) == len(second)
    assert not first.equals(second)
    again = next(iter(release.replicates(1, seed=1)))
    assert again.equals(first)
    assert len(next(iter(release.replicates(1, rows=7)))) == 7


def test_a_mean_is_covered_by_what_replicates_give() -> None:
    """Of 25 noisy releases about 24 cover the truth; fewer than 19 do once in ten thousand.

    Of 15 about 14 do, and fewer than 10 once in ten thousand.
    """
    true = model().marginal(("hour",)) @ np.arange(4) / model().total
    rng, hits, exact = np.random.default_rng(3), 0, measured()
    for _ in range(effort(15, 25)):
        # The release's model is a fit to answers with noise.
        noisy = replace(exact, model=Replica.of(exact).fitted(rng))
        replica = Replica.of(noisy)
        fits = [replica.fitted(rng) for _ in range(effort(5, 8))]
        found = us.combine([fit.marginal(("hour",)) @ np.arange(4) / fit.total for fit in fits])
        hits += bool(found.low <= true <= found.high)
    assert hits >= effort(10, 19)


def test_pure_noise_is_laplaces() -> None:
    release = measured()
    promise = {**release.manifest["guarantee"], "delta": 0}
    release = replace(release, manifest={**release.manifest, "guarantee": promise})
    assert Replica.of(release).laplace


def test_what_cannot_be_replicated_is_refused() -> None:
    with pytest.raises(UsageError, match="no model to fit again"):
        made(modelled=False).replicates(2)
    with pytest.raises(UsageError, match="at least one"):
        measured().replicates(0)
    with pytest.raises(UsageError, match="seed"):
        measured().replicates(1, seed=-1)


def test_combining_is_the_mean_and_its_deviation() -> None:
    found = us.combine([[1.0, 10.0], [3.0, 10.0], [5.0, 10.0]])
    assert found.estimate.tolist() == [3.0, 10.0]
    assert found.standard_error.tolist() == [2.0, 0.0]
    assert found.low[0] < 3 - 1.96 * 2 < 3 + 1.96 * 2 < found.high[0]
    assert "3 replicates" in repr(found)
    wider = us.combine([1.0, 3.0, 5.0], variances=[5.0, 5.0, 5.0])
    assert wider.standard_error == 3.0


@pytest.mark.parametrize(
    ("estimates", "variances"),
    [
        ([1.0], None),
        ([], None),
        (["a", "b"], None),
        ([1.0, float("nan")], None),
        ([[1], [1, 2]], None),
    ],
)
def test_what_cannot_be_combined_is_refused(estimates: Any, variances: Any) -> None:
    with pytest.raises(UsageError, match="two or more finite numbers"):
        us.combine(estimates, variances)


def test_variances_belong_to_estimates() -> None:
    with pytest.raises(UsageError, match="one for each estimate"):
        us.combine([1.0, 2.0], [1.0, -1.0])
    with pytest.raises(UsageError, match="one for each estimate"):
        us.combine([1.0, 2.0], [1.0, 1.0, 1.0])
