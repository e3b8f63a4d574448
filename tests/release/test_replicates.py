"""Replicates: tables that vary as the measurements would, and what they say together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import understudy as us
from tests.audit.effort import effort
from tests.release.modelled import made, model
from understudy.door import Measurement, Rows
from understudy.errors import UsageError
from understudy.release.known_facts import known_facts
from understudy.release.replicates import Replica, replicas, rows_error

if TYPE_CHECKING:
    from pathlib import Path

NOISE = 30.0


def measured(*more: Measurement, scale: float = NOISE, rows: int = 4000) -> us.Release:
    """Give a release whose model was measured: hour × price over merged codes, colour by code."""
    pair = model().marginal(("hour", "price")).reshape(-1)
    merged = model().marginal(("colour",))
    colour = np.array([merged[0], merged[1] / 4, merged[1] * 3 / 4])
    return replace(
        made(rows=rows, people=None),
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
    assert len(table) == pytest.approx(len(release), rel=0.02)
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
    assert next(iter(release.replicates(1, rows=len(release)))).shape == (len(release), 3)


def test_replicates_are_tables_like_the_release() -> None:
    release = measured()
    first, second = release.replicates(2, seed=1)
    assert list(first.columns) == list(release.rows.columns)
    assert len(first) == pytest.approx(len(release), rel=0.02) == len(second)
    assert not first.equals(second)
    again = next(iter(release.replicates(1, seed=1)))
    assert again.equals(first)
    assert len(next(iter(release.replicates(1, rows=7)))) == 7


def with_error(release: us.Release, error: float) -> us.Release:
    """Give a release whose manifest tells the standard error of its number of rows."""
    told = {**release.manifest["mechanism"], "crowd": {"rows_standard_error": error}}
    return replace(release, manifest={**release.manifest, "mechanism": told})


def charged(release: us.Release, noise: dict[str, Any], known: Any = ()) -> us.Release:
    """Give a release whose rows were counted by themselves, and whose known totals are these."""
    charges = [{"asked": "number of rows", "events": [noise]}]
    return replace(
        release, manifest={**release.manifest, "charges": charges, "known": known_facts(known)}
    )


def test_a_number_of_rows_that_follows_from_answers_varies_by_their_noise() -> None:
    """Of 40 totals the deviation is told within 22 % (two standard errors)."""
    replica, rng = Replica.of(measured()), np.random.default_rng(4)
    found = [replica.fitted(rng).total for _ in range(40)]
    # Twelve cells of a pair; of colours one answer, and one that counts two of them.
    wanted = NOISE * (1 / 12 + 1 / 3) ** -0.5
    assert np.std(found) == pytest.approx(wanted, rel=0.35)
    assert np.mean(found) == pytest.approx(model().total, abs=wanted)


def test_the_error_of_a_number_of_rows_is_that_of_people_or_else_of_its_count() -> None:
    release = measured()
    gaussian = charged(release, {"noise": "gaussian", "sigma": 30.0, "squared_sensitivity": "1"})
    laplace = charged(release, {"noise": "laplace", "scale": 10.0, "sensitivity": "1"})
    assert rows_error(release) is None
    assert rows_error(gaussian) == 30.0
    assert rows_error(laplace) == pytest.approx(200**0.5)
    assert rows_error(with_error(gaussian, 50.0)) == 50.0


def test_numbers_of_rows_are_covered_by_what_replicates_give() -> None:
    """Of 12 noisy releases about 11 cover the truth; fewer than 8 do less than once in a thousand.

    Where all replicates have as many rows as the release, none of them does.
    """
    rng, hits, fixed = np.random.default_rng(9), 0, 0
    tries, true, error = effort(12, 25), 4000, 200.0
    for _ in range(tries):
        found = measured(rows=round(true + rng.normal(0.0, error)))
        # The model has more rows than the release, and the same relative error.
        noisy = with_error(found, error * model().total / true)
        sizes = [size for _, size in replicas(noisy, 5, rng)]
        told = us.combine(sizes)
        hits += bool(told.low <= true <= told.high)
        assert 0 < told.standard_error < 3 * error
        told = us.combine([len(found)] * 5)
        fixed += bool(told.low <= true <= told.high)
    assert hits >= effort(8, 19)
    assert fixed == 0


def test_where_rows_are_asked_for_or_publicly_known_all_replicates_have_as_many() -> None:
    release = with_error(measured(rows=900), 5000.0)
    assert [len(table) for table in release.replicates(3, rows=50, seed=1)] == [50] * 3
    counts = us.Known("colour", {"red": 400, "blue": 300, "green": 200})
    exact = charged(release, {"noise": "laplace", "scale": 1.0}, [counts])
    assert [len(table) for table in exact.replicates(2, seed=1)] == [900] * 2
    shares = charged(release, {"noise": "laplace", "scale": 1.0}, [replace(counts, scaled=True)])
    assert len({size for _, size in replicas(shares, 3, np.random.default_rng(1))}) > 1
    none = with_error(measured(rows=1), 0.0)
    assert [size for _, size in replicas(none, 2, np.random.default_rng(1))] == [1, 1]


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
    with pytest.raises(UsageError, match=r"count must be at least 1 \(got 0\)"):
        measured().replicates(0)
    with pytest.raises(UsageError, match="seed"):
        measured().replicates(1, seed=-1)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"count": 2.5}, r"count must be a whole number \(got 2.5; allowed: at least 1\)"),
        ({"count": "a"}, r"count must be a whole number \(got 'a'; allowed: at least 1\)"),
        ({"count": None}, r"count must be a whole number \(got None; "),
        ({"seed": "x"}, r"seed must be a whole number \(got 'x'; allowed: at least 0\)"),
        ({"rows": 7.0}, r"rows must be a whole number \(got 7.0; allowed: at least 0\)"),
        ({"rows": -1}, r"rows must be at least 0 \(got -1\)"),
    ],
)
def test_numbers_that_are_not_whole_are_refused_before_anything_is_drawn(
    asked: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        measured().replicates(**asked)


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


# Labels


def test_categories_are_matched_by_label_in_whatever_order_they_come() -> None:
    """`value_counts` has the most frequent one first, which differs between replicates."""
    tables = [pd.Series(list("xxxxxyyyzz")), pd.Series(list("yyyyyxxxxz"))]
    found = us.combine([table.value_counts() for table in tables])
    assert found.labels == (("x", "y", "z"),)
    assert found.estimate.tolist() == [4.5, 4.0, 1.5]
    assert repr(found).splitlines()[1].startswith("x: 4.50 (95 % interval ")
    declared = [t.astype(pd.CategoricalDtype(list("zyx"))).value_counts() for t in tables]
    assert us.combine(declared).estimate.tolist() == [4.5, 4.0, 1.5]
    assert us.combine([[1.0, 2.0], [2.0, 3.0]]).labels == ()


def test_data_frames_are_matched_by_rows_and_columns_and_variances_with_them() -> None:
    one = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["p", "q"])
    other = one.loc[["q", "p"], ["b", "a"]]
    found = us.combine([one, other], [one, other])
    assert found.labels == (("p", "q"), ("a", "b"))
    assert found.estimate.tolist() == one.to_numpy().tolist()
    assert found.standard_error.tolist() == np.sqrt(one.to_numpy()).tolist()
    assert "q, a: 2.0 (95 %" in repr(found)


def test_variances_without_labels_are_in_the_estimates_order_if_they_have_one() -> None:
    series = pd.Series([1.0, 2.0], index=["a", "b"])
    assert us.combine([series, series], [[4.0, 9.0]] * 2).standard_error.tolist() == [2.0, 3.0]
    with pytest.raises(UsageError, match="variances need labels where the estimates' labels are"):
        us.combine([series, series[::-1]], [[4.0, 9.0]] * 2)
    with pytest.raises(UsageError, match="variances must all have labels of the same kind"):
        us.combine([1.0, 2.0], [series, series])


@pytest.mark.parametrize(
    ("others", "told"),
    [
        (pd.Series([1], index=["x"]), r"lack labels .*got 'y'\). Hint: .*reindex.*fill_value=0"),
        (pd.Series([1, 2, 3], index=list("xyz")), r"lack labels that others have \(got 'z'\)"),
        (pd.Series([1, 2], index=["x", "x"]), r"must be distinct, .*\(got 'x'\)"),
        (np.ones(2), "labels of the same kind, or none"),
    ],
)
def test_labels_that_cannot_be_matched_are_refused(others: Any, told: str) -> None:
    given = [pd.Series([1, 2], index=["x", "y"]), others]
    for each in (given, given[::-1]):
        with pytest.raises(UsageError, match=told):
            us.combine(each)
    with pytest.raises(UsageError, match="two or more finite numbers"):
        us.combine(5)  # type: ignore[arg-type]


def test_replicates_vary_by_what_was_measured_not_by_drawing_rows() -> None:
    """Merged codes share their rows anew; rows are rounded, as those of a release are."""
    tables = list(measured(scale=NOISE).replicates(40, rows=4000, seed=3))
    counts = np.array([t["colour"].value_counts().reindex(["green", "blue"]) for t in tables])
    assert measured().merged["colour"].tolist() == [0, 1, 1]
    noisy, scale = counts.std(axis=0), NOISE * 4000 / model().total
    assert 0.5 * scale < noisy.min() <= noisy.max() < 2.5 * scale
    exact = list(measured(scale=1e-3).replicates(10, rows=4000, seed=3))
    again = np.array([t["colour"].value_counts().reindex(["green", "blue"]) for t in exact])
    # Rows that are drawn one by one would vary by thirty.
    assert again.std(axis=0).max() < 3


def test_codes_that_the_release_has_none_of_have_none_in_replicates() -> None:
    release = measured()
    only = replace(release, merged={**release.merged, "colour": np.array([0, 1, 1])})
    for table in only.replicates(3, seed=1):
        assert set(table["colour"].unique()) <= set(only.rows["colour"].unique())


def test_intervals_are_around_the_release_where_its_own_value_is_given() -> None:
    found = us.combine([[1.0, 5.0], [3.0, 5.0]], released=[3.0, 5.0])
    assert found.estimate.tolist() == [3.0, 5.0]
    # The deviation of replicates, and how far their mean is from the release.
    assert found.standard_error.tolist() == pytest.approx([3**0.5, 0.0])
    labelled = pd.Series([5.0, 1.0], index=["b", "a"])
    each = [pd.Series([1.0, 5.0], index=["a", "b"])] * 2
    assert us.combine(each, released=labelled).estimate.tolist() == [1.0, 5.0]
    with pytest.raises(UsageError, match="released must be what the analysis gave"):
        us.combine([1.0, 2.0], released=[1.0, 2.0])
