from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.evaluate.tables import SIZES, random_table
from understudy.contests.metrics import METRICS as CONTESTS
from understudy.contests.metrics import census_score, excerpt_score, pie_score, trip_score
from understudy.errors import QuestionError
from understudy.evaluate import METRICS, Comparison, Raw, Tables, one_way, pairs, triples
from understudy.evaluate import compare as compare_by
from understudy.evaluate.marginals import WORST_LINES

ROLES: dict[str, Any] = {"place": "place", "time": "time", "edge": ("place", "to")}
PIE: dict[str, Any] = {"pie": ["place", "time"], "slices": "fare"}
BOTH = {"excerpts": True, "census": True}
REAL, MADE = random_table(0, rows=3000, people=60), random_table(1, rows=2500, people=50, skew=2)


def compare(*tables: Any, **settings: Any) -> Comparison:
    """Compare by the metrics of any table and those of contests, as the command line does."""
    return compare_by(*tables, metrics=METRICS | CONTESTS, **settings)


def test_a_comparison_gathers_every_metric_of_every_table() -> None:
    found = compare(REAL, MADE, **ROLES, **PIE, count=5, seed=3)
    assert found.synthetic["columns"] == one_way(REAL, MADE)
    assert found.synthetic["pairs"] == pairs(REAL, MADE)
    assert found.synthetic["triples"] == triples(REAL, MADE, count=5, seed=3)
    assert found.synthetic["trips"] == trip_score(REAL, MADE, **ROLES)
    assert found.synthetic["pies"] == pie_score(REAL, MADE, **PIE)
    assert list(found.yardsticks) == ["resample", "10 % of rows", "1 % of rows"]
    assert [each.rows for each in found.yardsticks.values()] == [3000, 300, 30]
    for each in found.yardsticks.values():
        assert list(each["triples"]) == list(found.synthetic["triples"])


def test_yardsticks_lie_in_their_order() -> None:
    found = compare(REAL, MADE, **ROLES, **PIE)
    for figure in ("columns, mean", "pairs, mean", "triples, mean"):
        values = [each.summary()[figure] for each in found.yardsticks.values()]
        assert values == sorted(values)
    scores = [each["trips"].score for each in found.yardsticks.values() if each["trips"]]
    assert scores == sorted(scores, reverse=True)
    means = [each.summary()["pie score, mean"] for each in found.yardsticks.values()]
    assert means == sorted(means, reverse=True)


def test_the_real_table_itself_is_at_no_distance() -> None:
    same = compare(REAL, REAL, **ROLES, **PIE).synthetic.summary()
    assert same.pop("trip score") == 1000
    assert (same.pop("pie score, mean"), same.pop("pie score, sum")) == (1, 12)
    assert {name: v for name, v in same.items() if v} == {
        "  k-marginal": 1,
        "  graph edges": 1,
        "  people": 1,
        "people, synthetic / real": 1,
    }


def test_the_text_says_first_that_it_is_private() -> None:
    text = compare(REAL, MADE, **ROLES, **PIE).table()
    first = text.splitlines()[0]
    assert "contains private information: exact differences from the private table" in first
    assert "not part of any release" in first
    words = ("trip score", "k-marginal", "pie score, sum", "resample", "1 % of rows", "company")
    for word in (*words, "place × fare"):
        assert word in text, word


def test_the_text_shows_what_was_measured() -> None:
    found = compare(REAL, MADE, **ROLES)
    line = next(li for li in found.table().splitlines() if li.startswith("pairs, mean"))
    each = [found.synthetic, *found.yardsticks.values()]
    assert line.split()[2:] == [f"{d.summary()['pairs, mean']:.5f}" for d in each]


def test_the_worst_pairs_come_worst_first() -> None:
    real, made = (random_table(i, rows=900, sizes=SIZES | {"tip": 3}) for i in (0, 1))
    found = compare(real, made)
    measured = found.synthetic["pairs"]
    text = found.table().split("worst pairs:")[1]
    lines = [line.split() for line in text.splitlines() if " × " in line]
    assert [value for _, _, _, value, *_ in lines] == [
        f"{value:.5f}" for value in sorted(measured.values(), reverse=True)[:WORST_LINES]
    ]
    for first, _, second, value, *_ in lines:
        assert value == f"{measured[first, second]:.5f}"


def test_plain_data_goes_through_json_and_says_that_it_is_private() -> None:
    for roles in (ROLES, PIE, {}):
        found = compare(REAL, MADE, **roles)
        data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert "private information" in data["notice"]
        assert data["synthetic"]["pairs"][0] == {
            "columns": ["place", "time"],
            "variation": found.synthetic["pairs"]["place", "time"],
        }
        assert set(data["yardsticks"]) == set(found.yardsticks)
        assert (data["synthetic"]["trips"] is None) == (roles is not ROLES)
        for each in (data["synthetic"], *data["yardsticks"].values()):
            assert (each["pies"] is None) == (roles is not PIE)
    pies = compare(REAL, MADE, **PIE).to_dict()["synthetic"]["pies"]
    found_pies = pie_score(REAL, MADE, **PIE)
    assert pies == {"mean": found_pies.mean, "pies": 12, "score": found_pies.score}


def test_a_table_of_one_column_has_no_pairs_and_its_text_still_reads() -> None:
    real, made = (random_table(i, sizes={"only": 3}, people=None) for i in (0, 1))
    found = compare(real, made)
    assert list(found.synthetic.summary()) == ["columns, mean", "columns, largest"]
    assert "worst pairs" not in found.table()
    assert found.synthetic["columns"] == one_way(real, made)


def test_an_empty_synthetic_table_is_as_far_as_can_be() -> None:
    found = compare(REAL, random_table(0, rows=0), **ROLES).synthetic
    assert set(found["pairs"].values()) == {1.0}


def test_the_same_seed_gives_the_same_comparison() -> None:
    assert compare(REAL, MADE, seed=1) == compare(REAL, MADE, seed=1)
    assert compare(REAL, MADE, seed=1) != compare(REAL, MADE, seed=2)


def test_progress_is_told_stage_by_stage() -> None:
    told: list[tuple[str, float]] = []
    compare(REAL, MADE, progress=lambda stage, done: told.append((stage, done)))
    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages == ["synthetic", "resample", "10 % of rows", "1 % of rows"]
    for stage in stages:
        shares = [done for name, done in told if name == stage]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0, 1)


def raw() -> Raw:
    """Return raw tables of other rows than the codes, with the columns of two contests."""
    rng = np.random.default_rng(0)
    names = ("CITY", "INCWAGE", "SEX", "AGEP")
    real, made = ({n: rng.integers(1, 5, rows) for n in names} for rows in (900, 800))
    return Raw(real=real, synthetic=made, largest={"SEX": 9})


def test_scores_of_raw_values_are_made_of_every_table() -> None:
    both = raw()
    found = compare(REAL, MADE, raw=both, **BOTH, seed=3)
    assert found.synthetic["excerpts"] == excerpt_score(both.real, both.synthetic)
    expected = census_score(both.real, both.synthetic, largest={"SEX": 9}, seed=3)
    assert found.synthetic["census"] == expected
    assert compare(REAL, MADE, raw=both, **BOTH, seed=3) == found
    each = [found.synthetic, *found.yardsticks.values()]
    scores = [d["excerpts"].score for d in each if d["excerpts"]]
    assert len(scores) == 4
    assert scores[1:] == sorted(scores[1:], reverse=True)
    assert scores[1] < 1000
    for figure in ("excerpt score", "census score", "  triples", "  conjunctions", "  wages"):
        line = next(li for li in found.table().splitlines() if li.startswith(figure))
        assert line.split()[-4:] == [f"{d.summary()[figure]:,.1f}" for d in each]
    # The other metrics are what they are without raw values.
    without = compare(REAL, MADE, seed=3)
    assert [d["pairs"] for d in each] == [
        d["pairs"] for d in (without.synthetic, *without.yardsticks.values())
    ]


def test_scores_of_raw_values_are_made_where_they_are_asked_for() -> None:
    data = json.loads(json.dumps(compare(REAL, MADE, raw=raw(), excerpts=True).to_dict()))
    assert data["synthetic"]["census"] is None
    assert set(data["synthetic"]["excerpts"]) == {"score", "features"}
    assert set(data["synthetic"]["excerpts"]["features"]) == {"CITY", "INCWAGE", "SEX", "AGEP"}
    data = json.loads(json.dumps(compare(REAL, MADE, raw=raw(), census=True).to_dict()))
    assert data["yardsticks"]["resample"]["excerpts"] is None
    parts = data["yardsticks"]["resample"]["census"]
    assert parts["score"] == pytest.approx(
        (parts["triples"] + parts["conjunctions"] + parts["wages"]) / 3
    )
    assert compare(REAL, MADE).synthetic.to_dict()["excerpts"] is None


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(QuestionError, match="has no rows to compare with"):
        compare(random_table(0, rows=0), MADE)
    with pytest.raises(
        QuestionError, match="a trip score needs place, time and edge: name all of them or none"
    ):
        compare(REAL, MADE, place="place")
    halves: list[dict[str, Any]] = [{"pie": ["place"]}, {"slices": "fare"}]
    for half in halves:
        with pytest.raises(
            QuestionError, match="a pie score needs pie and slices: name all of them or none"
        ):
            compare(REAL, MADE, **half)
    with pytest.raises(QuestionError, match="same columns"):
        compare(REAL, random_table(0, sizes={"a": 2}))
    with pytest.raises(QuestionError, match="an excerpt score needs raw values"):
        compare(REAL, MADE, excerpts=True)
    with pytest.raises(QuestionError, match="no raw values to compare"):
        _ = Tables(real=REAL, synthetic=MADE).values


def test_a_metric_that_is_not_passed_takes_no_settings() -> None:
    with pytest.raises(QuestionError, match=r"got place, time, edge; .* understudy.contests"):
        compare_by(REAL, MADE, **ROLES)
    found = compare_by(REAL, MADE, metrics={"trips": CONTESTS["trips"]}, **ROLES)
    assert found.synthetic.results == {"trips": trip_score(REAL, MADE, **ROLES)}
    assert "Total variation" not in found.table()
    assert "trip score" in found.table()


def test_a_worse_table_is_farther() -> None:
    """The figures can tell: noise on one column moves them all."""
    codes = dict(MADE.codes) | {"fare": np.zeros(MADE.rows, np.int64)}
    worse = type(MADE)(codes=codes, sizes=MADE.sizes, people=MADE.people)
    near, far = (compare(REAL, t, **ROLES).synthetic.summary() for t in (MADE, worse))
    for figure in ("columns, mean", "pairs, mean", "triples, mean", "pairs, largest"):
        assert far[figure] > near[figure]
    assert far["trip score"] < near["trip score"]
