"""Estimates are what was measured: unbiased, with the noise's own standard errors, or refused."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import understudy as us
from tests.audit.effort import few, tried
from understudy.door import Measurement, Rows
from understudy.errors import MissingPackageError, UsageError
from understudy.pages.release import release_page
from understudy.public import Batches, Synthesis
from understudy.release import Estimate, build
from understudy.release.cells import UNSEEN
from understudy.release.estimates import LAPLACE, NORMAL
from understudy.schema import Categorical, Id, Integer, Schema

Numbers = NDArray[np.float64]

SIZES = {"a": 3, "b": 4, "c": 2}
SCHEMA = Schema(
    "small", tuple(Integer(name=n, min=0, max=s - 1, missing=False) for n, s in SIZES.items())
)
TRUTH = np.random.default_rng(5).integers(0, 60, (3, 4, 2)).astype(float)


def release(
    *measured: Measurement,
    delta: float = 1e-6,
    unit: us.Unit | None = None,
    schema: Schema = SCHEMA,
) -> us.Release:
    return build(
        Synthesis(
            batches=Batches.held({n: np.zeros(1000, dtype=np.int32) for n in schema.domain}),
            measurements=measured,
        ),
        schema=schema,
        unit=unit or us.Unit.each_row(),
        bounding=us.Weights(1),
        budget=us.Budget(epsilon=1, delta=delta),
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={"run": 1, "head": "abc"},
        rng=np.random.default_rng(0),
    )


def marginal(table: Numbers, clique: tuple[str, ...]) -> Numbers:
    """Sum a table of all columns to some of them, in their own order."""
    names = [n for n in SIZES if n in clique]
    summed = table.sum(axis=tuple(i for i, n in enumerate(SIZES) if n not in clique))
    moved: Numbers = np.transpose(summed, [names.index(n) for n in clique])
    return moved


def matrix(m: Measurement) -> Numbers:
    """Say of every answer, slowly, what it counts of every cell of all columns."""
    shape = tuple(SIZES.values())
    out = np.zeros((len(m.values), math.prod(shape)))
    sizes = [int(np.max(m.merged.get(n, np.arange(SIZES[n])))) + 1 for n in m.clique]
    for number, codes in enumerate(np.ndindex(shape)):
        at = dict(zip(SIZES, codes, strict=True))
        place = tuple(int(m.merged.get(n, np.arange(SIZES[n]))[at[n]]) for n in m.clique)
        cell = int(np.ravel_multi_index(place, sizes))
        if m.rows is None:
            out[cell, number] = 1
            continue
        for row in range(m.rows.count):
            for i in range(m.rows.starts[row], m.rows.starts[row + 1]):
                if m.rows.cells[i] == cell:
                    out[row, number] += 1 if m.weights is None else m.weights[i]
    return out


def wanted(columns: tuple[str, ...]) -> Numbers:
    """Say of every cell of some columns which cells of all columns it has."""
    shape = tuple(SIZES.values())
    out = np.zeros((math.prod(SIZES[n] for n in columns), math.prod(shape)))
    for number, codes in enumerate(np.ndindex(shape)):
        at = dict(zip(SIZES, codes, strict=True))
        cell = np.ravel_multi_index([at[n] for n in columns], [SIZES[n] for n in columns])
        out[cell, number] = 1
    return out


def answered(m: Measurement, noise: Numbers | float = 0.0) -> Measurement:
    """Answer a question truly, and add noise."""
    return replace(m, values=matrix(m) @ TRUTH.reshape(-1) + noise)


def asked(clique: tuple[str, ...], scale: float = 1.0, **other: Any) -> Measurement:
    rows, merged = other.get("rows"), other.get("merged", {})
    sizes = [int(np.max(merged.get(n, np.arange(SIZES[n])))) + 1 for n in clique]
    count = math.prod(sizes) if rows is None else rows.count
    m = Measurement(clique=clique, values=np.zeros(count), scale=scale, **other)
    return answered(m)


def sets(*rows: list[int]) -> Rows:
    return Rows(np.cumsum([0, *map(len, rows)]), np.concatenate([np.array(r) for r in rows]))


# Exact cases


def test_a_marginal_that_was_measured_is_given_as_it_is() -> None:
    noisy = answered(asked(("a", "b"), 2.0), np.random.default_rng(1).normal(0, 2, 12))
    found = release(noisy).estimate("a", "b")
    assert found.estimate.tolist() == noisy.values.tolist()
    assert found.standard_error.tolist() == [2.0] * 12
    assert found.columns == ("a", "b")
    assert found.labels["a"].tolist() == [str(i // 4) for i in range(12)]
    assert found.labels["b"].tolist() == [str(i % 4) for i in range(12)]
    assert np.allclose(found.high - found.low, 2 * NORMAL * 2.0)
    assert found.notes == ()
    assert found.counted == "rows"
    assert len(found) == 12


def test_columns_come_in_the_order_in_which_they_are_asked() -> None:
    found = release(asked(("a", "b"))).estimate("b", "a")
    assert np.allclose(found.estimate, marginal(TRUTH, ("b", "a")).reshape(-1))
    assert list(found.table) == ["b", "a", "estimate", "standard_error", "low", "high"]


def test_other_columns_are_summed_out_and_several_are_put_together_by_inverse_variance() -> None:
    rng = np.random.default_rng(2)
    one = answered(asked(("a",), 3.0), rng.normal(0, 3, 3))
    two = answered(asked(("a", "b"), 1.0), rng.normal(0, 1, 12))
    three = answered(asked(("c", "a"), 2.0), rng.normal(0, 2, 6))
    found = release(one, two, three, asked(("b",), 0.1)).estimate("a")
    precise = np.array([1 / 9, 1 / 4, 1 / 8])
    read = [one.values, two.values.reshape(3, 4).sum(1), three.values.reshape(2, 3).sum(0)]
    assert np.allclose(found.estimate, precise @ np.array(read) / precise.sum())
    assert np.allclose(found.standard_error, precise.sum() ** -0.5)
    assert found.measurements == 3


def test_laplace_noise_has_twice_its_scales_square() -> None:
    found = release(asked(("a", "b"), 2.0), delta=0).estimate("a")
    assert np.allclose(found.standard_error, math.sqrt(4 * 2 * 4))
    assert np.allclose(found.high - found.estimate, LAPLACE * found.standard_error)


def test_the_laplace_interval_is_exact_for_one_answer_and_wide_for_sums() -> None:
    rng = np.random.default_rng(3)
    noise = rng.laplace(size=(200_000, 4))
    for terms in (1, 2, 4):
        inside = np.abs(noise[:, :terms].sum(1)) < LAPLACE * math.sqrt(2 * terms)
        assert inside.mean() > 0.9485
        assert terms > 1 or inside.mean() < 0.9515


def test_single_cells_and_sums_within_a_cell_count_and_those_across_do_not() -> None:
    within = sets([0, 1, 2, 3], [4, 5], [6], [7], [8, 3])
    m = asked(("a", "b"), 2.0, rows=within)
    found = release(m).estimate("a")
    assert found.labels["a"].tolist() == ["0", "1"]
    assert np.allclose(found.estimate, marginal(TRUTH, ("a",))[:2])
    assert np.allclose(found.standard_error, [2.0, 2.0 * math.sqrt(3)])
    assert found.notes == ("1 of 3 cells were not measured one by one, and are left out.",)
    pairs = release(m).estimate("a", "b")
    assert list(zip(pairs.labels["a"], pairs.labels["b"], strict=True)) == [("1", "2"), ("1", "3")]


def test_weights_of_rows_are_divided_out() -> None:
    m = asked(("a",), 2.0, rows=sets([0], [1], [2], [2]), weights=np.array([0.5, 4.0, 1.0, 0.0]))
    found = release(m).estimate("a")
    assert np.allclose(found.estimate, marginal(TRUTH, ("a",)))
    assert np.allclose(found.standard_error, [4.0, 0.5, 2.0])
    uneven = asked(("a", "c"), rows=sets([0, 1], [2], [3]), weights=np.array([1.0, 2.0, 1.0, 1.0]))
    assert release(uneven).estimate("a").labels["a"].tolist() == ["1"]


def test_parts_of_a_cell_may_come_from_several_measurements_as_in_adagrid() -> None:
    fine = asked(("a", "b"), 1.0, rows=sets([0], [1], [4], [5]))
    coarse = asked(("a", "b"), 2.0, rows=sets([2, 3], [6, 7], [8, 9, 10, 11]))
    found = release(fine, coarse).estimate("a")
    assert np.allclose(found.estimate, marginal(TRUTH, ("a",)))
    assert np.allclose(found.standard_error**2, [1 + 1 + 4, 1 + 1 + 4, 4])


def test_of_single_cells_all_answers_are_used_where_sums_fill_the_rest() -> None:
    one = asked(("a", "b"), 1.0, rows=sets([0], [1]))
    two = asked(("a", "b"), 1.0, rows=sets([0], [2, 3]))
    found = release(one, two).estimate("a")
    assert found.labels["a"].tolist() == ["0"]
    assert np.allclose(found.standard_error**2, 0.5 + 1 + 1)
    assert np.allclose(found.estimate, marginal(TRUTH, ("a",))[0])


def test_sums_that_overlap_evenly_are_weighed_by_their_precision() -> None:
    cells = list(range(4))
    one = asked(("b",), 1.0, rows=sets(cells))
    two = asked(("b",), 2.0, rows=sets(cells[:2], cells[2:]))
    joint = asked(("b", "a"), 1.0, rows=sets(list(range(3)), [0, 1], [2], list(range(3, 12))))
    found = release(one, two, joint).estimate("b")
    assert found.labels["b"].tolist() == ["0"]
    # Three answers of variance 1, of which two cover each part: (1 + 1 + 1) / 2².
    assert np.allclose(found.estimate, marginal(TRUTH, ("b",))[0])
    assert np.allclose(found.standard_error**2, 3 / 4)


# Merged codes


def test_merged_codes_are_groups_with_their_values_named() -> None:
    merged = {"b": np.array([0, 1, 1, 0])}
    found = release(asked(("a", "b"), 2.0, merged=merged)).estimate("b")
    whole = marginal(TRUTH, ("b",))
    assert np.allclose(found.estimate, [whole[0] + whole[3], whole[1] + whole[2]])
    assert np.allclose(found.standard_error, 2 * math.sqrt(3))
    assert found.labels["b"].tolist() == ["(2 values: 0, …)", "(2 values: 1, …)"]
    assert found.groups == {"b": {"(2 values: 0, …)": ("0", "3"), "(2 values: 1, …)": ("1", "2")}}
    assert "measured together" in found.notes[-1]
    alone = release(asked(("b",), merged={"b": np.array([1, 0, 0, 0])})).estimate("b")
    assert alone.labels["b"].tolist() == ["0", "(3 values)"]
    assert np.allclose(alone.estimate, [whole[0], whole[1:].sum()])


def test_the_finest_cells_are_told_and_coarser_answers_help_where_they_can() -> None:
    fine = asked(("b",), 2.0)
    coarse = asked(("b", "c"), 1.0, merged={"b": np.array([0, 1, 1, 2])})
    for order in ((fine, coarse), (coarse, fine)):
        found = release(*order).estimate("b")
        assert found.labels["b"].tolist() == ["0", "1", "2", "3"]
        assert found.groups is None
        shared = (1 / 4 + 1 / 2) ** -0.5
        assert np.allclose(found.standard_error, [shared, 2, 2, shared])
        assert np.allclose(found.estimate, marginal(TRUTH, ("b",)))


def test_merges_that_cross_each_other_are_told_by_the_one_with_more_cells() -> None:
    one = asked(("b",), merged={"b": np.array([0, 0, 1, 2])})
    two = asked(("b",), merged={"b": np.array([0, 1, 1, 1])})
    found = release(two, one).estimate("b")
    assert found.labels["b"].tolist() == ["(2 values)", "2", "3"]
    assert np.allclose(found.standard_error, 1.0)


def test_a_column_that_is_summed_out_may_be_merged() -> None:
    m = asked(("a", "b"), 1.0, merged={"b": np.array([0, 1, 1, 0])})
    found = release(m).estimate("a")
    assert np.allclose(found.standard_error, math.sqrt(2))
    assert np.allclose(found.estimate, marginal(TRUTH, ("a",)))


# Tables of weights


def test_what_was_weighed_is_scaled_to_the_releases_rows() -> None:
    first = asked(("a",), 1.0)
    other = asked(("b",), 1.0)
    m = [replace(x, values=0.25 * x.values, group="question 0") for x in (first, other)]
    found = release(*m, unit=us.Unit("taxi")).estimate("a")
    share = marginal(TRUTH, ("a",)) / TRUTH.sum()
    assert np.allclose(found.estimate, share * 1000)
    total, spread = 0.25 * TRUTH.sum(), (1 / 3 + 1 / 4) ** -0.5
    wanted = (1000 / total) ** 2 * (1 + (share * spread) ** 2)
    assert np.allclose(found.standard_error**2, wanted)
    assert "scaled to the release's 1,000 rows" in found.notes[1]
    assert "is not included" in found.notes[1]
    assert "contribution bounding" in found.notes[0]


def test_the_error_of_all_rows_is_included_where_it_is_known() -> None:
    m = replace(asked(("a",), 1.0), group="question 0", bias=0.01)
    made = release(m, unit=us.Unit("taxi"))
    without = made.estimate("a")
    made.manifest["mechanism"]["crowd"] = {"rows": 1000.0, "rows_standard_error": 100.0}
    found = made.estimate("a")
    assert "is not included" in without.notes[1]
    assert "is not included" not in found.notes[1]
    assert (found.standard_error > without.standard_error).all()


@pytest.mark.parametrize("each", [1, 20])
def test_where_nobodys_number_of_rows_is_seen_notes_say_so(each: int, tmp_path: Any) -> None:
    """Of 40 people with 20 rows each noise hides how many rows they have; of 800 it does not."""
    people = 800 // each
    private = {"who": np.arange(800) % people, "a": np.arange(800) % 3}
    schema = Schema("few", (Id(name="who"), Integer(name="a", min=0, max=2, missing=False)))
    made = us.open(
        private=private,
        schema=schema,
        unit=us.Unit("who"),
        bounding=us.Norm(),
        budget=us.Budget(epsilon=1, delta=1e-6),
        ledger=tmp_path / "ledger",
    ).run(us.Pairs())
    made = us.Release.read(made.save(tmp_path / "out"))
    told = [UNSEEN] if each > 1 else []
    assert [note for note in made.manifest["notes"] if note == UNSEEN] == told
    for found in (made.estimate("a"), made.estimate("a", share=True)):
        assert [note for note in found.notes if note == UNSEEN] == told
    assert (f"({UNSEEN})" in repr(made.estimate("a"))) is (each > 1)
    page = release_page(made).html()
    assert page.count(f"<p>{UNSEEN}</p>") == 2 * len(told)


def test_counts_of_people_need_no_note_on_rows() -> None:
    made = release(asked(("a",), counted="people"), unit=us.Unit("who"))
    made.manifest["mechanism"]["crowd"] = {"rows": 9.0, "sizes_unseen": True}
    assert made.estimate("a").notes == ("These are counts of people, not of rows.",)


def test_of_a_release_without_rows_shares_stay_shares() -> None:
    made = release(replace(asked(("a",), 1.0), group="question 0"))
    made.manifest["rows"] = 0
    assert made.estimate("a").estimate.sum() == pytest.approx(1.0)


def test_shares_of_a_weighted_table_are_covered() -> None:
    rng = np.random.default_rng(4)
    truth = 0.5 * marginal(TRUTH, ("a", "b"))
    question, made = asked(("a", "b"), 8.0), release()
    shares = 1000 * marginal(TRUTH, ("a",)) / TRUTH.sum()
    hits = []
    for _ in range(300):
        noise = rng.normal(0, 8, 12)
        m = replace(question, values=truth.reshape(-1) + noise, group="question 0")
        found = replace(made, measurements=(m,)).estimate("a")
        hits.append((found.low < shares) & (shares < found.high))
    # That a cell is part of its total is not taken off, so a little more than 95 %.
    assert 0.94 < np.mean(hits) < 0.999


@pytest.mark.parametrize("rows", [None, sets([0, 1, 2], [3, 4])])
def test_a_weighted_table_without_a_size_tells_nothing(rows: Rows | None) -> None:
    base = asked(("a", "b"), rows=rows)
    drowned = replace(base, values=-np.abs(base.values), group="question 0")
    with pytest.raises(UsageError, match="no cell of a was measured, or is"):
        release(drowned).estimate("a")


# Against brute force


def questions() -> st.SearchStrategy[Measurement]:
    """Any question over two columns, with sums, weights or merges."""

    @st.composite
    def made(draw: st.DrawFn) -> Measurement:
        clique = draw(
            st.sampled_from([("a",), ("a", "b"), ("b", "a"), ("c", "a"), ("a", "b", "c")])
        )
        merged = {
            n: np.unique(
                draw(st.lists(st.integers(0, 2), min_size=SIZES[n], max_size=SIZES[n])),
                return_inverse=True,
            )[1]
            for n in clique
            if draw(st.integers(0, 3)) == 0
        }
        sizes = [int(np.max(merged.get(n, np.arange(SIZES[n])))) + 1 for n in clique]
        cells, rows, weights = math.prod(sizes), None, None
        if draw(st.booleans()):
            lists = draw(
                st.lists(
                    st.lists(st.integers(0, cells - 1), min_size=1, max_size=4, unique=True),
                    min_size=1,
                    max_size=12,
                )
            )
            rows = sets(*lists)
            if draw(st.booleans()):
                each = draw(
                    st.lists(
                        st.sampled_from([0.5, 1.0, 2.0]), min_size=len(lists), max_size=len(lists)
                    )
                )
                weights = np.repeat(each, np.diff(rows.starts))
        scale = draw(st.sampled_from([0.5, 1.0, 3.0]))
        return asked(clique, scale, rows=rows, weights=weights, merged=merged)

    return made()


@tried(100, usual=15)
@given(st.lists(questions(), min_size=1, max_size=4), st.sampled_from([("a",), ("b", "a")]))
def test_every_estimate_is_unbiased_and_as_sure_as_it_says(
    measured: list[Measurement], columns: tuple[str, ...]
) -> None:
    """The estimates are linear in the answers: found one by one, their weights tell it all."""
    made = release(*measured)
    try:
        base = made.estimate(*columns)
    except UsageError:
        return
    weights = []
    for i, m in enumerate(measured):
        for j in range(len(m.values)):
            bump = np.zeros(len(m.values))
            bump[j] = 1.0
            moved = [*measured[:i], replace(m, values=m.values + bump), *measured[i + 1 :]]
            again = replace(made, measurements=tuple(moved)).estimate(*columns)
            weights.append(again.estimate - base.estimate)
    by_cell = np.array(weights).T
    questions = np.concatenate([matrix(m) for m in measured])
    scales = np.concatenate([np.full(len(m.values), m.scale) for m in measured])
    # What the answers' weights come to is the whole of each cell (or group of cells), once.
    codes = [[_members(base, name, str(label)) for label in base.labels[name]] for name in columns]
    cells = wanted(columns).reshape(*(SIZES[n] for n in columns), -1)
    for row, count in enumerate(by_cell):
        truth = cells[np.ix_(*(codes[k][row] for k in range(len(columns))))]
        assert np.allclose(count @ questions, truth.reshape(-1, truth.shape[-1]).sum(0), atol=1e-6)
    assert np.allclose((by_cell**2) @ scales**2, base.standard_error**2)
    assert np.allclose(base.estimate, by_cell @ questions @ TRUTH.reshape(-1))


def _members(found: Estimate, name: str, label: str) -> list[int]:
    groups = (found.groups or {}).get(name, {})
    return [int(v) for v in groups.get(label, (label,))]


@tried(60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([("a",), ("b", "a"), ("a", "c"), ("c", "b", "a")]),
            st.sampled_from([0.5, 1.0, 2.0, 7.0]),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_of_whole_marginals_it_is_the_mean_by_inverse_variance(
    given: list[tuple[tuple[str, ...], float]],
) -> None:
    rng = np.random.default_rng(len(given))
    measured = []
    for clique, scale in given:
        m = asked(clique, scale)
        measured.append(answered(m, rng.normal(0, scale, len(m.values))))
    found = release(*measured).estimate("a")
    sums, precisions = [], []
    for m in measured:
        table = m.values.reshape([SIZES[n] for n in m.clique])
        axes = tuple(i for i, n in enumerate(m.clique) if n != "a")
        sums.append(table.sum(axes))
        precisions.append(1 / (m.scale**2 * math.prod(table.shape[i] for i in axes)))
    assert np.allclose(found.estimate, precisions @ np.array(sums) / sum(precisions))
    assert np.allclose(found.standard_error, sum(precisions) ** -0.5)


@pytest.mark.parametrize("delta", few([1e-6, 0.0], usual=1))
def test_intervals_hold_the_truth_95_times_in_100(delta: float) -> None:
    rng = np.random.default_rng(6)
    draw = rng.normal if delta else rng.laplace
    hits, scores = [], []
    exact, made = (asked(("a",), 2.0), asked(("a", "b"), 1.0)), release(delta=delta)
    truth = marginal(TRUTH, ("a",))
    for _ in range(400):
        measured = tuple(
            replace(m, values=m.values + draw(0, m.scale, len(m.values))) for m in exact
        )
        found = replace(made, measurements=measured).estimate("a")
        hits.append((found.low < truth) & (truth < found.high))
        scores.append((found.estimate - truth) / found.standard_error)
    assert 0.93 < np.mean(hits) < (0.97 if delta else 0.985)
    assert np.mean(scores) == pytest.approx(0, abs=0.1)
    assert np.std(scores) == pytest.approx(1, abs=0.07)


# Refusals


def test_columns_that_were_not_measured_together_are_named_with_those_that_were() -> None:
    made = release(asked(("a", "b")), asked(("a",)), asked(("c",)))
    with pytest.raises(
        UsageError,
        match=r"not measured together \(got b × c; allowed: any of a × b, any of c\)\. "
        r'Hint: release.histogram\("b", "c"\) counts synthetic rows',
    ):
        made.estimate("b", "c")
    with pytest.raises(UsageError, match="none of them was measured"):
        release(asked(("a",))).estimate("b", "c")
    with pytest.raises(UsageError, match=r"allowed: any of a × b, all of c × a \(people\)\)"):
        release(asked(("a", "b")), replace(asked(("c", "a")), counted="people")).estimate("b", "c")


def test_people_do_not_add_up_over_other_columns() -> None:
    people = replace(asked(("a", "c")), counted="people")
    with pytest.raises(UsageError, match=r"allowed: all of a × c \(people\)\)"):
        release(people).estimate("a")
    assert len(release(people).estimate("c", "a")) == 6


@pytest.mark.parametrize("columns", [(), ("a", "a"), ("a", "z")])
def test_columns_that_are_none(columns: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"distinct column names .* allowed: a, b, c"):
        release(asked(("a",))).estimate(*columns)


def test_sums_that_reach_over_several_cells_tell_none() -> None:
    with pytest.raises(UsageError, match="sum of measured cells"):
        release(asked(("a",), rows=sets([0, 1], [1, 2]))).estimate("a")


def test_people_are_told_only_where_rows_were_not_counted() -> None:
    rows, people = asked(("a",)), replace(asked(("a",), 5.0), counted="people who have it")
    assert release(rows, people).estimate("a").standard_error.tolist() == [1.0] * 3
    found = release(people).estimate("a")
    assert found.counted == "people who have it"
    assert found.notes == ("These are counts of people who have it, not of rows.",)
    assert repr(found).startswith("Estimate of people who have it by a\n")
    named = release(rows, people).estimate("a", counted="people who have it")
    assert named.standard_error.tolist() == [5.0] * 3


def test_several_things_that_are_not_rows_have_to_be_chosen_from() -> None:
    made = release(
        replace(asked(("a",)), counted="people once"), replace(asked(("a",)), counted="twice")
    )
    with pytest.raises(UsageError, match=r"allowed: 'people once', 'twice'\). Hint: .*counted="):
        made.estimate("a")
    with pytest.raises(UsageError, match="no planes were counted by a"):
        made.estimate("a", counted="planes")
    assert len(made.estimate("a", counted="twice")) == 3


# The result


def test_an_estimate_is_shown_as_a_short_table() -> None:
    found = release(asked(("a", "b"), 2.0)).estimate("a", "b")
    lines = repr(found).splitlines()
    assert lines[0] == "Estimate of rows by a × b"
    assert lines[1].split() == ["a", "b", "estimate", "standard_error", "low", "high"]
    assert len({len(line) for line in lines[1:12]}) == 1
    assert lines[-1] == "… 2 more"
    assert len(lines) == 2 + 10 + 1


def test_html_is_escaped() -> None:
    bad = "<script>alert(1)</script>"
    schema = Schema("t", (Categorical(name="<b>", values=(bad, "&"), missing=False),))
    made = replace(
        release(asked(("a",))),
        schema=schema,
        measurements=(Measurement(clique=("<b>",), values=np.zeros(3), scale=1.0),),
    )
    found = made.estimate("<b>")._repr_html_()
    assert "<script" not in found
    assert "<b>" not in found
    assert "&lt;script&gt;" in found
    assert "&lt;b&gt;" in found
    assert "&amp;" in found


def test_the_table_keeps_columns_that_have_its_own_names() -> None:
    schema = Schema("t", (Integer(name="low", min=0, max=1, missing=False),))
    made = replace(
        release(asked(("a",))),
        schema=schema,
        measurements=(Measurement(clique=("low",), values=np.array([1.0, 2.0]), scale=1.0),),
    )
    found = made.estimate("low")
    assert list(found.table) == ["low_", "estimate", "standard_error", "low", "high"]
    frame = found.to_pandas()
    assert frame["estimate"].tolist() == [1.0, 2.0]
    assert frame["low_"].tolist() == ["0", "1"]


def test_without_pandas_the_table_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"to_pandas\(\) needs pandas.*estimate.table"):
        release(asked(("a",))).estimate("a").to_pandas()


def test_a_release_that_was_saved_tells_the_same(tmp_path: Any) -> None:
    merged = asked(("a", "b"), 2.0, merged={"b": np.array([0, 1, 1, 0])})
    summed = asked(("a", "c"), rows=sets([0, 1], [2], [3]), weights=np.array([2.0, 2.0, 1.0, 3.0]))
    weighed = replace(asked(("c",)), group="question 1")
    made = release(merged, summed, weighed, delta=0)
    read = us.Release.read(made.save(tmp_path / "out"))
    for columns in (("a",), ("b",), ("a", "b"), ("c",)):
        one, other = made.estimate(*columns), read.estimate(*columns)
        assert repr(one) == repr(other)
        assert all(np.array_equal(one.table[n], other.table[n]) for n in one.table)
        assert one.groups == other.groups
    assert repr(read) == repr(made)


# With mechanisms


def simulated(rows: int) -> dict[str, NDArray[np.int64]]:
    rng = np.random.default_rng(9)
    a = rng.integers(0, 3, rows)
    return {"a": a, "b": (a + rng.integers(0, 2, rows)) % 4, "c": rng.integers(0, 2, rows)}


@pytest.mark.parametrize(
    ("mechanism", "bounding"),
    # One that merges no codes, two of one round, one of two, and one that weighs its rows.
    few(
        [
            (us.Independent(), us.Weights(1)),
            (us.MST(), us.Weights(1)),
            (us.TwoRound(), us.Weights(1)),
            (us.AdaGrid(), us.Norm()),
            (us.AIM(rounds=3), us.Weights(1)),
            (us.AdaGrid(), us.Weights(1)),
            (us.Independent(), us.Norm()),
        ],
        usual=4,
    ),
    ids=lambda x: type(x).__name__,
)
def test_estimates_of_every_mechanism_are_near_the_truth(
    mechanism: Any, bounding: Any, tmp_path: Any
) -> None:
    table = simulated(3000)
    made = us.open(
        private=table,
        schema=SCHEMA,
        unit=us.Unit.each_row(),
        bounding=bounding,
        budget=us.Budget(epsilon=5, delta=1e-6),
        ledger=tmp_path / "ledger",
    ).run(mechanism)
    seen = 0
    cliques = {m.clique for m in made.measurements if m.counted == "rows"}
    for clique in cliques:
        found = made.estimate(*clique)
        if found.groups is not None:
            continue
        keys = [found.labels[n].astype(int) for n in clique]
        true = np.zeros([SIZES[n] for n in clique])
        np.add.at(true, tuple(table[n] for n in clique), 1)
        factor = len(made) / 3000 if any(m.group for m in made.measurements) else 1.0
        off = (found.estimate - factor * true[tuple(keys)]) / found.standard_error
        assert np.abs(off).max() < 6, clique
        seen += len(found)
    assert seen >= sum(SIZES.values())


def test_a_value_with_which_what_is_no_value_was_merged_is_that_value() -> None:
    """*Other* is merged with the most common value where no more of it is seen than noise."""
    schema = Schema(
        "t",
        (
            Categorical(name="sex", values=("f", "m"), missing=False),
            Integer(name="age", min=0, max=2, missing=False),
        ),
    )
    pair = Measurement(
        clique=("sex", "age"),
        values=np.array([50.0, 50, 0, 0, 0, 100]),
        scale=1e-6,
        merged={"sex": np.array([0, 1, 0])},
    )
    made = release(pair, schema=schema)
    assert made.estimate("sex").labels["sex"].tolist() == ["f", "m"]
    assert made.estimate("sex").groups is None
    for wanted in ("f", ["f"]):
        assert made.estimate("age", where={"sex": wanted}).estimate.tolist() == [50, 50, 0]
    assert made.estimate(where={"sex": ["f", "m"]}).estimate.tolist() == [200]
    with pytest.raises(UsageError, match="no cell of sex was measured"):
        made.estimate(where={"sex": "(other)"})
