"""The census score: random triples, random conjunctions, and the wages of cities."""

from __future__ import annotations

from itertools import combinations
from math import log, sqrt
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.audit.effort import effort, tried
from tests.contests.metrics import obvious
from tests.evaluate.obvious import Row, l1
from understudy.contests.metrics import CensusScore, census_score
from understudy.contests.metrics.census import (
    conjunctions_alike,
    draw_conjunctions,
    gini,
    paid_by_place,
    wages_alike,
)
from understudy.errors import QuestionError
from understudy.evaluate import Coded

Table = dict[str, NDArray[Any]]
NAMES = ("CITY", "SEX", "INCWAGE", "AGE")


def table(rows: list[tuple[int, ...]], names: tuple[str, ...] = NAMES) -> Table:
    columns = zip(*rows, strict=True) if rows else [[] for _ in names]
    return {n: np.array(c, dtype=np.int64) for n, c in zip(names, columns, strict=True)}


def rows_of(one: Table) -> list[Row]:
    columns = [column.tolist() for column in one.values()]
    return [dict(zip(one, row, strict=True)) for row in zip(*columns, strict=True)]


def random_census(seed: int, rows: int = 400, skew: float = 1.0) -> Table:
    """Draw a table of twelve columns whose low values are the more common."""
    rng = np.random.default_rng(seed)
    drawn = {f"C{i}": (i * 5 * rng.random(rows) ** skew).astype(np.int64) for i in range(1, 10)}
    wages = (3000 * rng.random(rows) ** (2 * skew)).astype(np.int64)
    return drawn | {
        "CITY": np.array([0, 70, 9999])[rng.integers(0, 3, rows)],
        "SEX": rng.integers(1, 3, rows),
        "INCWAGE": np.where(rng.random(rows) < 0.3, 999_998 + rng.integers(0, 2, rows), wages),
    }


def wages(real: Table, made: Table) -> float:
    """Return the part of wages, from 0 to 1."""
    return census_score(real, made, triples=1, conjunctions=1).wages / 1e6


def test_a_table_scores_a_million_in_each_part_against_itself() -> None:
    one = random_census(0)
    million = CensusScore(triples=1e6, conjunctions=1e6, wages=1e6)
    assert census_score(one, one) == million
    assert million.score == 1e6
    shuffled = np.random.default_rng(1).permutation(400)
    assert census_score(one, {n: one[n][shuffled] for n in reversed(one)}) == million


def test_a_better_table_scores_higher_in_each_part() -> None:
    real = random_census(0, rows=4000)
    near, far = (census_score(real, random_census(1, 4000, skew=s)) for s in (1.0, 3.0))
    for part in ("triples", "conjunctions", "wages", "score"):
        assert 0 < getattr(far, part) < getattr(near, part) < 1e6, part


def test_the_order_of_columns_decides_nothing_and_the_seed_chooses() -> None:
    real, made = random_census(0), random_census(1, skew=2)
    found = census_score(real, made, seed=3)
    mirrored = ({n: t[n] for n in reversed(t)} for t in (real, made))
    assert census_score(*mirrored, seed=3) == found
    other = census_score(real, made, seed=4)
    assert other.triples != found.triples
    assert other.conjunctions != found.conjunctions
    assert other.wages == found.wages


def test_triples_by_hand() -> None:
    real = table([(1, 1, 5), (1, 1, 5), (2, 2, 7), (2, 2, 7)], NAMES[:3])
    made = table([(1, 1, 5), (2, 1, 7), (2, 2, 7), (2, 2, 7)], NAMES[:3])
    # One triple; a quarter has moved from a cell to another: L1 is 1/2.
    assert census_score(real, made).triples == 750_000


def conjunctions(real: Table, count: int = 300, **options: Any) -> list[dict[str, set[int]]]:
    """Draw conjunctions on tables whose codes are their values."""
    whole, values = coded(real)
    return draw_conjunctions(whole, values, count=count, seed=0, **({"largest": {}} | options))


def coded(one: Table) -> tuple[Coded, dict[str, NDArray[np.int64]]]:
    sizes = {name: int(column.max(initial=0)) + 1 for name, column in one.items()}
    values = {name: np.arange(size) for name, size in sizes.items()}
    return Coded(codes=one, sizes=sizes, people=None), values


def test_a_conjunction_takes_a_tenth_of_columns_and_holds_for_a_real_row() -> None:
    names = tuple(f"c{i:02}" for i in range(40))
    rng = np.random.default_rng(0)
    real = table([tuple(3 * rng.integers(0, 30, 40)) for _ in range(50)], names)
    drawn = conjunctions(real, count=1000)
    taken = sum(len(conjunction) for conjunction in drawn)
    assert abs(taken - 4000) < 5 * sqrt(40_000 * 0.1 * 0.9)
    for conjunction in drawn:
        for name, allowed in conjunction.items():
            assert allowed <= set(real[name].tolist())
        assert any(
            all(row[n] in those for n, those in conjunction.items()) for row in rows_of(real)
        )


def test_values_are_drawn_until_the_first_repeat() -> None:
    real = table([(i,) for i in range(3)], ("c",))
    sizes = [len(d["c"]) for d in conjunctions(real, count=30_000) if d]
    # Of 3 values: a repeat at once in 1/3, after one more in 2/3 × 2/3, else all three.
    for size, share in ((1, 1 / 3), (2, 4 / 9), (3, 2 / 9)):
        assert abs(sizes.count(size) / len(sizes) - share) < 0.05
    real = table([(5,)] * 3, ("c",))
    assert {frozenset(d["c"]) for d in conjunctions(real) if d} == {frozenset({5})}


def test_a_declared_largest_code_widens_what_is_drawn() -> None:
    real = table([(5,)] * 3, ("c",))
    drawn = [d["c"] for d in conjunctions(real, count=3000, largest={"c": 9}) if d]
    assert set().union(*drawn) == set(range(10))
    assert all(5 in allowed for allowed in drawn)
    one = random_census(0)
    found = census_score(one, random_census(1, skew=2), largest={"C9": 10**6, "SEX": 2})
    assert 0 < found.conjunctions < 1e6


def test_conjunctions_by_hand() -> None:
    (real, values), (made, _) = (
        coded(table([(v,) for v in c], ("c",))) for c in (range(4), [0, 3])
    )
    # {0}: a quarter against a half.  {1, 2}: a half against nothing.  No column: all of both.
    drawn: list[dict[str, set[int]]] = [{"c": {0}}, {"c": {1, 2}}, {}]
    made = Coded(codes=made.codes, sizes=real.sizes, people=None)
    rms = sqrt((log(2) ** 2 + log(0.5e6) ** 2) / 3)
    assert conjunctions_alike(real, made, values, drawn[:1]) == pytest.approx(
        1 - log(2) / log(1000)
    )
    assert conjunctions_alike(real, made, values, drawn[1:2]) == 0
    expected = max(0, 1 - rms / log(1000))
    assert conjunctions_alike(real, made, values, drawn) == pytest.approx(expected)
    assert conjunctions_alike(real, made, values, drawn[2:]) == 1


def test_the_gini_index_by_hand() -> None:
    assert gini(np.array([0.0, 0, 0, 8])) == 0.75
    assert gini(np.array([1.0, 3])) == 0.25
    assert gini(np.array([5.0, 5, 5])) == gini(np.array([4.0])) == gini(np.zeros(3)) == 0


def test_cities_are_ranked_by_the_gap_of_mens_and_womens_wages() -> None:
    places, wage, sex = np.array(
        [
            (7, 10, 1),
            (7, 20, 1),
            (7, 5, 2),  # a gap of 10
            (3, 9, 1),
            (3, 999_998, 2),  # no wage: none of a woman, a gap of 9
            (3, 999_999, 1),
            (5, 30, 2),  # no man: a gap of −30
            (8, 8, 1),
            (8, 999_999, 2),
            (9, 8, 1),  # as large as 8's, and after it
            (1, 999_999, 1),  # no wage at all
        ]
    ).T
    found = paid_by_place(places, wage, sex, male=1, no_wage=999_998)
    assert {name: paid.rank for name, paid in found.items()} == {7: 0, 3: 1, 8: 2, 9: 3, 5: 4}
    assert found[7].gini == pytest.approx((-2 * 5 + 2 * 20) / (3 * 35))
    assert found[3].gini == found[5].gini == 0
    turned = paid_by_place(places, wage, sex, male=2, no_wage=999_998)
    assert {name: paid.rank for name, paid in turned.items()} == {5: 0, 8: 1, 9: 2, 3: 3, 7: 4}


def test_wages_by_hand() -> None:
    # Two cities with gaps 10 and 0, of Gini 0.25 and 0.
    real = table([(1, 1, 30, 0), (1, 2, 10, 0), (2, 1, 5, 0), (2, 2, 5, 0)])
    # Gaps −20 and 1: the ranks change places.  Ginis 0.25 and 1 / 12.
    made = table([(1, 2, 30, 0), (1, 1, 10, 0), (2, 1, 7, 0), (2, 2, 5, 0)])
    half = sqrt((1 + (1 - 1 / 12) ** 2) / 2)
    assert wages(real, made) == pytest.approx(half / 2)
    assert wages(real, real) == 1


def test_a_city_without_synthetic_wages_counts_0() -> None:
    real = table([(1, 1, 30, 0), (1, 2, 10, 0), (2, 1, 5, 0), (2, 2, 5, 0)])
    made = table([(1, 1, 30, 0), (1, 2, 10, 0), (2, 1, 999_999, 0)])
    assert wages(real, made) == pytest.approx(sqrt(1 / 2))
    elsewhere = table([(3, 1, 30, 0)])
    assert wages(real, elsewhere) == 0


def test_a_single_city_is_right_or_wrong() -> None:
    real = table([(1, 1, 30, 0), (1, 2, 10, 0)])
    assert wages(real, real) == 1
    more = table([(1, 1, 30, 0), (1, 2, 10, 0), (2, 1, 99, 0)])
    assert wages(real, more) == pytest.approx(1 / 2)  # the other city has the larger gap
    below = table([(1, 1, 30, 0), (1, 2, 10, 0), (2, 1, 9, 0)])
    assert wages(real, below) == 1
    # Far more cities than truly are put a rank as wrong as can be, and no worse.
    many = table([(1, 1, 30, 0), (1, 2, 10, 0), *((c, 1, 99, 0) for c in range(2, 9))])
    assert wages(real, many) == pytest.approx(1 / 2)


def test_cities_without_men_or_women_and_wages_of_nothing_are_scored() -> None:
    real = table([(1, 1, 0, 0), (2, 2, 7, 0)])
    assert wages(real, real) == 1
    assert wages_alike(
        paid_by_place(*(real[n] for n in ("CITY", "INCWAGE", "SEX")), male=1, no_wage=999_998), {}
    ) == pytest.approx(0)


def test_a_synthetic_table_without_rows_scores_0() -> None:
    nothing = CensusScore(triples=0, conjunctions=0, wages=0)
    assert census_score(random_census(0), random_census(0, rows=0)) == nothing


ROWS = st.tuples(
    st.integers(0, 3), st.integers(1, 2), st.sampled_from([0, 0, 7, 30, 999_998]), st.integers(0, 9)
)


@tried()
@given(
    real=st.lists(ROWS, min_size=1, max_size=25).filter(
        lambda r: any(w < 999_998 for *_, w, _ in r)
    ),
    made=st.lists(ROWS, min_size=1, max_size=25),
    seed=st.integers(0, 99),
)
def test_fast_and_obvious_agree(real: list[Any], made: list[Any], seed: int) -> None:
    left, right = table(real), table(made)
    found = census_score(left, right, seed=seed, conjunctions=20)
    slow, other = rows_of(left), rows_of(right)
    gaps = [l1(slow, other, triple) for triple in combinations(NAMES, 3)]
    assert found.triples == pytest.approx(1e6 * (1 - sum(gaps) / 8), abs=1e-6)
    assert found.wages == pytest.approx(1e6 * obvious.wages_alike(slow, other), abs=1e-6)
    assert 0 <= found.conjunctions <= 1e6


@tried()
@given(
    real=st.lists(ROWS, min_size=1, max_size=25),
    made=st.lists(ROWS, min_size=1, max_size=25),
    drawn=st.lists(
        st.dictionaries(st.sampled_from(["CITY", "SEX", "AGE"]), st.sets(st.integers(0, 9))),
        min_size=1,
    ),
)
def test_conjunctions_are_counted_as_by_hand(real: list[Any], made: list[Any], drawn: Any) -> None:
    left, right = table(real), table(made)
    first = rows_of(left)[0]
    drawn = [{n: those | {first[n]} for n, those in each.items()} for each in drawn]
    whole, values = coded({n: np.append(left[n], right[n]) for n in NAMES})
    true, other = (
        whole.take(np.arange(a, b)) for a, b in ((0, len(real)), (len(real), whole.rows))
    )
    slow = obvious.conjunctions_alike(rows_of(left), rows_of(right), drawn)
    assert conjunctions_alike(true, other, values, drawn) == pytest.approx(slow, abs=1e-12)


def test_whole_numbers_may_be_written_in_any_way() -> None:
    one = random_census(0)
    for other in (
        {n: c.astype(np.float64) for n, c in one.items()},
        {n: c.astype(str).astype(object) for n, c in one.items()},
        {n: c.astype(np.int32) for n, c in one.items()},
    ):
        assert census_score(one, other).score == 1e6
    far = one | {"C1": one["C1"] * 10**12}
    assert census_score(far, far).score == 1e6


def test_other_columns_may_be_place_wage_and_sex() -> None:
    one = random_census(0)
    named = {"CITY": "town", "INCWAGE": "pay", "SEX": "who"}
    real, made = ({named.get(n, n): c for n, c in t.items()} for t in (one, random_census(1)))
    roles: dict[str, Any] = {"place": "town", "wage": "pay", "sex": "who"}
    found = census_score(real, made, **roles, triples=1000)
    assert found.wages == census_score(one, random_census(1)).wages
    assert census_score(real, made, **roles, no_wage=2000).wages != found.wages


def test_what_cannot_be_scored_is_refused_and_no_value_is_quoted() -> None:
    one = random_census(0)
    for bad in ("secret", 1.5, None, "inf"):
        column = one["C3"].astype(object)
        column[7] = bad
        with pytest.raises(QuestionError, match="column C3 has values that are not whole") as error:
            census_score(one | {"C3": column}, one)
        assert "secret" not in str(error.value)
    without = {n: c for n, c in one.items() if n not in {"CITY", "SEX"}}
    with pytest.raises(QuestionError, match=r"in both tables \(got no CITY, SEX\)"):
        census_score(one, without)
    with pytest.raises(QuestionError, match="with rows"):
        census_score(random_census(0, rows=0), one)
    with pytest.raises(QuestionError, match="a real table with wages"):
        census_score(one | {"INCWAGE": np.full(400, 999_999)}, one)


def test_many_rows_and_columns_take_seconds() -> None:
    rng, rows = np.random.default_rng(0), effort(15_000, 60_000)
    real = {f"C{i}": rng.integers(0, 3000, rows) for i in range(95)}
    real |= {n: rng.integers(1, 3, rows) for n in ("CITY", "SEX", "INCWAGE")}
    made = {n: rng.permutation(c) for n, c in real.items()}
    begin = process_time()
    census_score(real, made)
    assert process_time() - begin < effort(5, 20)
