"""Shares, means, totals, ratios and quantiles are those of the table, within their intervals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import understudy as us
from tests.audit.effort import THOROUGH, few
from understudy.door import Measurement, Rows
from understudy.errors import SchemaError, UsageError
from understudy.public import Batches, Synthesis
from understudy.release import build
from understudy.release.estimates import LAPLACE, NORMAL
from understudy.schema import Categorical, DateTime, Integer, Numeric, Schema, Timestamp

Floats = NDArray[np.float64]

SCHEMA = Schema(
    "trips",
    (
        Categorical(name="area", values=("north", "south", "east"), missing=False, outside="drop"),
        Integer(name="age", min=0, max=9),
        Integer(name="tips", min=0, max=4, missing=False),
        Numeric(name="fare", edges=(0.0, 5.0, 10.0, 20.0, 50.0), missing=False),
    ),
)
AREA, AGE, TIPS, FARE = "area", "age", "tips", "fare"
CLIQUES = ((AREA, AGE), (AREA, TIPS, FARE))
ROWS = 4000
ALL: dict[str, Any] = {
    "share": {"columns": (AGE,), "by": AREA, "share": True},
    "mean": {"columns": (AREA,), "mean": AGE},
    "total": {"columns": (AREA,), "total": AGE},
    "ratio": {"columns": (AREA,), "ratio": (TIPS, FARE)},
    "quantile": {"columns": (AREA,), "quantile": (FARE, 0.4)},
}


@cache
def table() -> dict[str, NDArray[np.int32]]:
    """Draw codes: people of the east are older and tip more."""
    rng = np.random.default_rng(3)
    area = rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])
    age = np.where(rng.random(ROWS) < 0.1, 10, rng.binomial(9, 0.3 + 0.15 * area))
    fare = rng.binomial(3, 0.2 + 0.2 * area)
    tips = np.minimum(4, rng.binomial(2, 0.4, ROWS) + (fare > 1))
    codes = {AREA: area, AGE: age, TIPS: tips, FARE: fare}
    return {name: code.astype(np.int32) for name, code in codes.items()}


def counts(clique: tuple[str, ...]) -> Floats:
    shape = [SCHEMA.domain[name] for name in clique]
    cells = np.ravel_multi_index([table()[name] for name in clique], shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(float)


@cache
def empty(delta: float = 1e-6) -> us.Release:
    """Release the rows themselves, without any measurement."""
    made = build(
        Synthesis(batches=Batches.held(table()), measurements=()),
        schema=SCHEMA,
        unit=us.Unit.each_row(),
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=1, delta=delta),
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={"run": 1, "head": "abc"},
        rng=np.random.default_rng(0),
    )
    assert len(made.columns[FARE]) == ROWS
    return made


def measured(
    scale: float = 1e-6, rng: np.random.Generator | None = None, **other: Any
) -> list[Measurement]:
    found = []
    for clique in CLIQUES:
        true = counts(clique)
        noise = 0.0 if rng is None else rng.normal(0, scale, len(true))
        found.append(Measurement(clique=clique, values=true + noise, scale=scale, **other))
    return found


def release(*given: Measurement, delta: float = 1e-6) -> us.Release:
    return replace(empty(delta), measurements=tuple(given))


@cache
def exact() -> us.Release:
    return release(*measured())


def estimate(made: us.Release, columns: tuple[str, ...] = (), **asked: Any) -> us.Estimate:
    return made.estimate(*columns, **asked)


def rows(area: int | None = None) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.ones(ROWS, dtype=bool) if area is None else table()[AREA] == area
    return found


# Against NumPy


@pytest.mark.parametrize("area", [None, 0, 1, 2])
def test_of_exact_counts_every_statistic_is_that_of_the_table(area: int | None) -> None:
    where = None if area is None else {AREA: ("north", "south", "east")[area]}
    here, made = rows(area), exact()
    ages = table()[AGE][here & (table()[AGE] < 10)].astype(float)
    tips = table()[TIPS][here]
    assert made.estimate(where=where, mean=AGE).estimate[0] == pytest.approx(ages.mean())
    assert made.estimate(where=where, total=AGE).estimate[0] == pytest.approx(ages.sum())
    for level in (0.1, 0.5, 0.77):
        found = made.estimate(where=where, quantile=(AGE, level))
        assert found.estimate[0] == np.quantile(ages, level, method="inverted_cdf")
        assert found.low[0] == found.high[0] == found.estimate[0]
    fares = made.columns[FARE][here]
    means = np.array([made.columns[FARE][table()[FARE] == code].mean() for code in range(4)])
    wanted = tips.sum() / means[table()[FARE][here]].sum()
    found = made.estimate(where=where, ratio=(TIPS, FARE))
    assert found.estimate[0] == pytest.approx(wanted, rel=1e-3)
    assert found.estimate[0] == pytest.approx(tips.sum() / fares.sum(), rel=0.02)
    found = made.estimate(where=where, quantile=(FARE, 0.6))
    assert found.estimate[0] == pytest.approx(np.quantile(fares, 0.6), rel=0.05)
    assert found.standard_error[0] < 1e-6


def test_groups_are_by_columns_in_either_way_of_naming_them() -> None:
    one, other = exact().estimate(AREA, mean=TIPS), exact().estimate(by=[AREA], mean=TIPS)
    true = [table()[TIPS][rows(area)].mean() for area in range(3)]
    assert one.estimate.tolist() == other.estimate.tolist() == pytest.approx(true)
    assert one.labels[AREA].tolist() == ["north", "south", "east"]
    assert repr(one).startswith("Estimate of mean of tips by area\n")


def test_rows_are_chosen_by_values_and_ranges_as_in_a_sample() -> None:
    made = exact()
    young = made.estimate(AREA, where={AGE: {"below": 3}})
    true = np.bincount(table()[AREA][table()[AGE] < 3])
    assert np.allclose(young.estimate, true)
    assert repr(young).startswith("Estimate of rows by area where age = {'below': 3}\n")
    both = made.estimate(where={AREA: ["north", "east"], AGE: "(missing)"})
    assert both.estimate[0] == pytest.approx(((table()[AREA] != 1) & (table()[AGE] == 10)).sum())
    assert repr(both).splitlines()[1].split() == ["estimate", "standard_error", "low", "high"]
    own = made.estimate(AREA, where={AREA: ["east", "north"]}, mean=AGE)
    assert own.labels[AREA].tolist() == ["north", "east"]
    assert own.notes == ("Rows without a number in age are left out.",)
    some = made.estimate(mean=AGE, where={AGE: [2, 3]})
    assert some.estimate[0] == pytest.approx(table()[AGE][np.isin(table()[AGE], [2, 3])].mean())


def test_shares_are_of_all_rows_or_of_those_of_a_group() -> None:
    whole = exact().estimate(AREA, share=True)
    assert np.allclose(whole.estimate, counts((AREA,)) / ROWS)
    inside = exact().estimate(AGE, by=AREA, share=True)
    true = counts((AREA, AGE)).reshape(3, 11)
    assert np.allclose(inside.estimate, (true / true.sum(axis=1, keepdims=True)).reshape(-1))
    assert inside.columns == (AREA, AGE)
    assert inside.labels[AREA].tolist() == [
        v for v in ("north", "south", "east") for _ in range(11)
    ]
    assert inside.labels[AGE].tolist() == 3 * [*map(str, range(10)), "(missing)"]
    some = exact().estimate(AREA, share=True, where={AREA: ["north", "south"]})
    assert np.allclose(some.estimate, counts((AREA,))[:2] / counts((AREA,))[:2].sum())


def test_a_number_in_a_list_of_values_is_its_number() -> None:
    schema = Schema("t", (Categorical(name="x", values=(10, 2, 5), outside="drop"),))
    given = Measurement(clique=("x",), values=np.array([1.0, 2.0, 1.0, 7.0]), scale=1e-6)
    held = {"x": np.zeros(9, dtype=np.int32)}
    made = replace(release(given), schema=schema, decoded=_decoded(schema, held))
    assert made.estimate(mean="x").estimate[0] == pytest.approx(19 / 4)
    assert made.estimate(quantile=("x", 0.9)).estimate[0] == 10


def _decoded(schema: Schema, codes: dict[str, NDArray[np.int32]]) -> Any:
    return build(
        Synthesis(batches=Batches.held(codes), measurements=()),
        schema=schema,
        unit=us.Unit.each_row(),
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=1, delta=1e-6),
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={"run": 1, "head": "abc"},
        rng=np.random.default_rng(0),
    ).decoded


# Errors


@pytest.mark.parametrize("name", ["share", "mean", "total", "ratio"])
def test_the_standard_error_is_that_of_the_linearised_statistic(name: str) -> None:
    given = measured(3.0)
    base = estimate(release(*given), **ALL[name])
    found = np.zeros(len(base))
    for i, m in enumerate(given):
        for j in range(len(m.values)):
            bump = np.zeros(len(m.values))
            bump[j] = 1e-3
            moved = [*given[:i], replace(m, values=m.values + bump), *given[i + 1 :]]
            slope = (estimate(release(*moved), **ALL[name]).estimate - base.estimate) / 1e-3
            found += (3.0 * slope) ** 2
    assert np.allclose(base.standard_error, np.sqrt(found), rtol=1e-3)
    reach = (base.high - base.low) / (2 * base.standard_error)
    # Fieller's interval is a little longer than that of the delta method.
    assert reach.min() > NORMAL * (1 - 1e-9)
    assert reach.max() < NORMAL * 1.05


@pytest.mark.parametrize("name", list(ALL) if THOROUGH else ["ratio", "quantile"])
def test_intervals_hold_the_truth_95_times_in_100(name: str) -> None:
    """Of 250 × 3 intervals or more, 95 % ± 0.8 %: errors a fifth too small would give 88 %.

    A mean is a ratio, and shares and totals are sums: their errors are looked at above.
    """
    rng = np.random.default_rng(7)
    truth = estimate(exact(), **ALL[name]).estimate
    hits = []
    for _ in range(250):
        found = estimate(release(*measured(8.0, rng)), **ALL[name])
        hits.append((found.low <= truth) & (truth <= found.high))
    assert 0.926 < np.mean(hits) < (0.99 if name == "quantile" else 0.974)


@pytest.mark.parametrize("name", few(["ratio", "quantile", "share", "mean"], usual=2))
def test_where_noise_drowns_the_rows_intervals_are_wide_and_not_wrong(name: str) -> None:
    """The noise of a group is about a third of its rows, or more than all of them."""
    rng = np.random.default_rng(8)
    truth = estimate(exact(), **ALL[name]).estimate
    hits, unknown = [], 0
    for _ in range(150):
        found = estimate(release(*measured(150.0, rng)), **ALL[name])
        hits.append((found.low <= truth) & (truth <= found.high))
        bounded = np.isfinite(found.standard_error)
        unknown += int((~bounded).sum())
        assert np.isnan(found.estimate[~bounded]).all()
        assert any("too few rows for the noise" in note for note in found.notes) != bounded.all()
    assert unknown
    assert np.mean(hits) > 0.92


def test_of_a_group_without_rows_nothing_is_said() -> None:
    given = replace(measured(5.0)[0], values=np.zeros(33))
    found = release(given).estimate(AREA, mean=AGE)
    assert np.isnan(found.estimate).all()
    assert found.low.tolist() == [-np.inf] * 3
    assert found.high.tolist() == [np.inf] * 3
    assert found.notes[0] == "3 of these cannot be told: there are too few rows for the noise."
    ranged = release(given).estimate(AREA, quantile=(AGE, 0.5))
    assert (ranged.low.tolist(), ranged.high.tolist()) == ([0.0] * 3, [9.0] * 3)
    assert np.isinf(ranged.standard_error).all()


def test_laplace_noise_has_its_own_reach() -> None:
    found = release(*measured(2.0), delta=0).estimate(AREA, total=TIPS)
    assert np.allclose(found.high - found.estimate, LAPLACE * found.standard_error)
    gauss = release(*measured(2.0)).estimate(AREA, total=TIPS)
    assert np.allclose(found.standard_error, np.sqrt(2) * gauss.standard_error)


@pytest.mark.parametrize("name", few(["mean", "quantile", "share"], usual=2))
def test_bias_that_goes_with_the_numbers_is_covered(name: str) -> None:
    """Bounding leaves too little of all large numbers at once: 200 × 3 intervals, 95 % ± 0.9 %."""
    rng = np.random.default_rng(9)
    clique, code = ((AREA, AGE), 11) if name == "mean" else ((AREA, FARE), 4)
    every: dict[str, dict[str, Any]] = {
        "mean": {"mean": AGE, "by": AREA},
        "share": {"columns": (FARE,), "by": AREA, "share": True},
        "quantile": {"quantile": (FARE, 0.5), "by": AREA},
    }
    asked = every[name]
    true = counts(clique).reshape(3, code)
    large = np.where(np.arange(code) > (true @ np.arange(code) / true.sum(axis=1))[:, None], 1, -1)
    truth = estimate(release(Measurement(clique=clique, values=true.ravel(), scale=1e-6)), **asked)
    hits = []
    for _ in range(200):
        off = true * (1 + 0.1 * rng.normal() * large) + rng.normal(0, 2, true.shape)
        m = Measurement(clique=clique, values=off.ravel(), scale=2.0, bias=0.1)
        found = estimate(release(m), **asked)
        hits.append((found.low <= truth.estimate) & (truth.estimate <= found.high))
    assert np.mean(hits) > 0.92


def test_a_cell_of_which_it_is_unsure_what_bounding_left_has_a_wider_interval(
    tmp_path: Path,
) -> None:
    """Alone, and as far as it is in a sum; from a file, too."""
    one = Measurement(clique=(AREA, FARE), values=counts((AREA, FARE)), scale=1e-3)
    unsure = np.zeros(len(one.values))
    unsure[3] = 0.2
    release(replace(one, unsure=unsure)).save(tmp_path / "made")
    for made in (release(replace(one, unsure=unsure)), us.Release.read(tmp_path / "made")):
        cells = made.estimate(AREA, FARE)
        errors = cells.standard_error / np.maximum(1.0, np.abs(cells.estimate))
        assert errors[3] == pytest.approx(0.2, rel=1e-2)
        assert np.delete(errors, 3).max() < 0.01
        area = made.estimate(AREA)
        assert area.standard_error[0] == pytest.approx(cells.standard_error[3], rel=1e-2)
        assert area.standard_error[1] < 0.1


def test_a_sum_of_many_corrected_cells_is_less_biased_than_each() -> None:
    """As a column is less biased than its pairs; where nothing was corrected, all are alike."""
    one = Measurement(clique=(AREA, FARE), values=counts((AREA, FARE)), scale=1e-3, bias=0.2)
    left = replace(one, left=np.ones(len(one.values)))
    for m, least, most in ((one, 0.199, 0.201), (left, 0.4 * 0.2, 0.8 * 0.2)):
        whole = release(m).estimate(AREA)
        errors = whole.standard_error / whole.estimate
        assert least <= errors.min() <= errors.max() <= most
        cells = release(m).estimate(AREA, FARE)
        some = cells.estimate > 50
        assert (cells.standard_error / cells.estimate)[some] == pytest.approx(0.2, rel=1e-2)


def test_what_all_cells_share_matters_to_sums_alone() -> None:
    made = release(*measured(1e-3, bias=1e-6))
    crowd = {"rows": 4000.0, "rows_standard_error": 400.0}
    made = replace(made, manifest={**made.manifest, "mechanism": {"name": "x", "crowd": crowd}})
    total = made.estimate(total=TIPS)
    assert total.standard_error[0] / total.estimate[0] == pytest.approx(0.1, rel=1e-3)
    assert made.estimate(mean=TIPS).standard_error[0] < 1e-4
    assert made.estimate(AREA, share=True).standard_error.max() < 1e-4


def test_the_scale_of_a_weighted_table_cancels_in_means_and_shares() -> None:
    weighted = [replace(m, values=0.25 * m.values, group="question 0") for m in measured(3.0)]
    plain = [replace(m, values=0.25 * m.values) for m in measured(3.0)]
    for asked in (ALL["mean"], ALL["share"], ALL["quantile"]):
        one, other = estimate(release(*weighted), **asked), estimate(release(*plain), **asked)
        assert np.allclose(one.standard_error, other.standard_error)
        assert np.allclose(one.estimate, other.estimate)
        assert not any("scaled" in note for note in one.notes)
    total = release(*weighted).estimate(total=TIPS)
    assert total.estimate[0] == pytest.approx(table()[TIPS].sum())
    assert any("scaled to the release's 4,000 rows" in note for note in total.notes)


# What was merged, or not measured


def test_values_that_were_measured_together_are_divided_as_in_the_synthetic_rows() -> None:
    merged = np.array([0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7])
    true = counts((AGE,))
    given = Measurement(
        clique=(AGE,),
        values=np.bincount(merged, weights=true).astype(float),
        scale=1e-6,
        merged={AGE: merged},
    )
    made = release(given)
    ages = table()[AGE][table()[AGE] < 10]
    assert made.estimate(mean=AGE).estimate[0] == pytest.approx(ages.mean(), abs=0.01)
    for level in (0.5, 0.99):
        found = made.estimate(quantile=(AGE, level)).estimate[0]
        assert found == np.quantile(ages, level, method="inverted_cdf")
    assert made.estimate(mean=AGE).notes == (
        "Rows without a number in age are left out.",
        "Values of age that were measured together are taken to be as frequent as in the "
        "synthetic rows.",
    )
    assert made.estimate(mean=AGE).groups is None
    with pytest.raises(UsageError, match="no cell of age was measured, or is a sum"):
        made.estimate(mean=AGE, where={AGE: {"below": 9}})
    with pytest.raises(UsageError, match="no cell of age was measured, or is a sum"):
        made.estimate(where={AGE: 9})
    kept = made.estimate(AGE, where={AGE: {"min": 6}})
    assert kept.labels[AGE].tolist() == ["6"]
    assert kept.notes[0] == "1 of 2 cells were not measured one by one, and are left out."


def test_bins_are_said_to_be_approximated() -> None:
    assert exact().estimate(mean=FARE).notes == (
        "The mean of each bin of fare is that of the synthetic rows; that approximation is not "
        "part of the error.",
    )
    assert (
        "spread evenly within each bin of fare" in exact().estimate(quantile=(FARE, 0.5)).notes[0]
    )


def test_of_a_large_release_one_batch_of_rows_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.release.code_values.ENOUGH_ROWS", 1)
    batches: Any = [{FARE: np.full(50, 4.0)}, {FARE: np.full(50, 1.0)}]
    given = Measurement(clique=(FARE,), values=np.array([9.0, 0.0, 0.0, 0.0]), scale=1e-6)
    made = replace(release(given), decoded=batches)
    assert made.estimate(mean=FARE).estimate[0] == pytest.approx((200 + 2.5) / 51)


def test_a_group_with_a_cell_that_was_not_measured_is_left_out() -> None:
    cells = [c for c in range(15) if c != 7]
    held = Rows(np.arange(15), np.array(cells))
    true = counts((AREA, TIPS))[cells]
    made = release(Measurement(clique=(AREA, TIPS), values=true, scale=1e-6, rows=held))
    found = made.estimate(AREA, mean=TIPS)
    assert found.labels[AREA].tolist() == ["north", "east"]
    assert found.notes == ("1 of 3 cells were not measured one by one, and are left out.",)
    assert len(made.estimate(TIPS, by=AREA, share=True)) == 10
    with pytest.raises(UsageError, match="no cell of tips × area was measured"):
        made.estimate(TIPS, where={AREA: ["south"]}, share=True)


# Refusals


def test_one_statistic_at_a_time() -> None:
    with pytest.raises(UsageError, match=r"one statistic at a time \(got share and mean; allowed"):
        exact().estimate(AREA, share=True, mean=AGE)
    with pytest.raises(UsageError, match="got total and quantile"):
        exact().estimate(AREA, total=AGE, quantile=(AGE, 0.5))


@pytest.mark.parametrize(
    "asked",
    [
        {"mean": 3},
        {"total": (AGE,)},
        {"ratio": AGE},
        {"ratio": (AGE, 1)},
        {"quantile": AGE},
        {"quantile": (AGE, 1.0)},
        {"quantile": (AGE, "half")},
        {"quantile": (AGE, 0.5, 0.6)},
        {"quantile": (0.5, AGE)},
    ],
)
def test_other_forms_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"{next(iter(asked))} has another form .*allowed: "):
        exact().estimate(**asked)


def test_columns_that_cannot_be() -> None:
    with pytest.raises(UsageError, match=r"'area' is not .*allowed: age, tips, fare\)"):
        exact().estimate(mean=AREA)
    with pytest.raises(UsageError, match="a share needs a column"):
        exact().estimate(by=AREA, share=True)
    wrong: list[dict[str, Any]] = [
        {"mean": "z"},
        {"mean": AGE, "by": AGE},
        {"ratio": (AGE, AGE)},
        {},
    ]
    for asked in wrong:
        with pytest.raises(UsageError, match="distinct column names"):
            exact().estimate(**asked)
    with pytest.raises(UsageError, match=r"not measured together \(got fare × age;"):
        exact().estimate(FARE, mean=AGE)
    with pytest.raises(UsageError, match="column 'area' has no such value"):
        exact().estimate(mean=AGE, where={AREA: "west"})
    with pytest.raises(SchemaError, match="no modelled column 'z'"):
        exact().estimate(mean=AGE, where={"z": 1})
    with pytest.raises(UsageError, match="no cell of age was measured"):
        exact().estimate(mean=AGE, where={AGE: "(missing)"})


def test_people_cannot_be_added_up() -> None:
    made = release(replace(measured()[0], counted="people"))
    assert len(made.estimate(AREA, AGE)) == 33
    every: list[dict[str, Any]] = [{"mean": AGE}, {"where": {AGE: [1, 2]}}]
    for asked in every:
        with pytest.raises(UsageError, match=r"people cannot be added up: .*got area × age"):
            made.estimate(AREA, **asked)


KINDS = Schema(
    "kinds",
    (
        Integer(name="count", min=1, max=5),
        Numeric(name="weight", edges=(0.0, 1.0, 2.5), special=(99.0,)),
        Numeric(name="years", edges=(0.0, 1.0, 5.0, 9.0), whole=True),
        Numeric(name="income", edges=(0.0, 10.0, 50.0), top_coded=True),
        Categorical(name="rate", values=(0.5, 1), outside="drop"),
        Categorical(name="member", values=(False, True), outside="drop"),
        DateTime(name="hour", part="hour"),
        Timestamp(name="day", min="2020-01-01", max="2020-12-31", resolution="day"),
    ),
)


def kinds() -> us.Release:
    """Give a release whose columns were measured: the first code once, the second twice, ..."""
    given = [
        Measurement(clique=(name,), values=np.arange(1.0, size + 1), scale=1e-6)
        for name, size in KINDS.domain.items()
    ]
    held = {name: np.zeros(9, dtype=np.int32) for name in KINDS.domain}
    return replace(release(*given), schema=KINDS, decoded=_decoded(KINDS, held))


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [
        ("count", 3, 3),
        ("count", "3", 3),
        ("count", 3.0, 3),
        ("count", np.int64(3), 3),
        ("count", [1, "(missing)"], 7),
        ("weight", "[1, 2.5]", 2),
        ("weight", {"min": 0, "below": 1}, 1),
        ("weight", 99, 3),
        ("years", 0, 1),
        ("income", 10, 2),
        ("rate", 0.5, 1),
        ("member", True, 2),
        ("hour", 3, 4),
        ("day_month", "2020-03", 3),
        ("day_month", "2020-03-05", 3),
    ],
)
def test_a_single_value_is_that_of_a_code(name: str, value: object, count: float) -> None:
    assert kinds().estimate(where={name: value}).estimate[0] == pytest.approx(count)


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("weight", 0.5, r"\[0, 1\)"),
        ("weight", "0.5", r"\[0, 1\)"),
        ("weight", 0, r"\[0, 1\)"),
        ("weight", [99, 2.5], r"\[1, 2.5\]"),
        ("years", 3, r"\[1, 5\)"),
        ("years", 3.5, r"\[1, 5\)"),
        ("income", 9, r"\[0, 10\)"),
    ],
)
def test_a_number_within_a_bin_is_refused(name: str, value: object, part: str) -> None:
    """What is true of the bin would be told of the number."""
    told = rf"'{name}': a single value must not cut a bin .*part of {part}.*range from edge to edge"
    for mean in (None, name):
        with pytest.raises(UsageError, match=told):
            kinds().estimate(where={name: value}, mean=mean)


@pytest.mark.parametrize(("name", "value"), [("count", 3.5), ("count", "2.7"), ("income", 12)])
def test_a_number_that_no_code_stands_for_is_refused(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"column '{name}' has no such value .*allowed: ."):
        kinds().estimate(where={name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rate", []),
        ("count", {"min": 3, "below": 3}),
        ("count", {"min": 100}),
        ("count", {"above": 1, "below": 2}),
    ],
)
def test_a_condition_that_no_value_satisfies_is_named(name: str, value: object) -> None:
    told = f"no value of column '{name}' satisfies the condition .got {name} = "
    with pytest.raises(UsageError, match=told):
        kinds().estimate(where={name: value})


@pytest.mark.parametrize("where", ["area=north", [(AREA, "north")], [], 5])
def test_conditions_that_are_not_a_dict_are_refused(where: Any) -> None:
    with pytest.raises(UsageError, match=r"where must be a dict of columns .*got .*allowed: "):
        exact().estimate(AREA, where=where)


@pytest.mark.parametrize("by", [5, None])
def test_groups_that_are_no_columns_are_refused(by: Any) -> None:
    with pytest.raises(UsageError, match=r"by must be a column or a list .*got .*allowed: by="):
        exact().estimate(AREA, by=by)
