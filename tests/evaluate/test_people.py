"""People: what the rows of one person have to do with each other, in two tables."""

from __future__ import annotations

import html
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from tests.audit.effort import tried
from tests.cli.place import Place
from tests.evaluate import obvious
from tests.evaluate.tables import random_table
from understudy.errors import QuestionError
from understudy.evaluate import (
    METRICS,
    Coded,
    PeopleDistances,
    Rate,
    compare,
    compare_people,
    read_private,
    read_synthetic,
    resample,
    resample_people,
)
from understudy.evaluate.histories import Histories
from understudy.evaluate.people import PEOPLE, SizeClass, class_starts
from understudy.schema import Categorical, Id, Integer, Schema

Row = obvious.Row
CLOSE = 1e-12
OWN, ORDERING = ("place", "company"), ("time", "fare")


def persons(table: Coded) -> list[list[Row]]:
    """Return each person's rows, in their order; rows that have none as they are shuffled."""
    found, rows = defaultdict(list), list(obvious.rows_of(table))
    people = np.asarray(table.people).tolist()
    for at in Histories.of(table, table.ordering).order.tolist():
        found[people[at]].append(rows[at])
    key = table.ordering
    return [sorted(each, key=lambda row: [row[name] for name in key]) for each in found.values()]


def distance(left: Sequence[Any], right: Sequence[Any]) -> float:
    """Return the total variation of two lists."""
    rows = [[{"value": each} for each in side] for side in (left, right)]
    return obvious.l1(rows[0], rows[1], ["value"]) / 2


def size_class(size: int) -> int:
    return max(start for start in map(int, class_starts(10**6)) if start <= size)


def mode(person: list[Row], name: str) -> int:
    counts = Counter(row[name] for row in person)
    return min(counts, key=lambda code: (-counts[code], code))


def agree(person: list[Row], name: str) -> float:
    return fmean(a[name] == b[name] for a, b in permutations(person, 2))


def spread(person: list[Row], name: str) -> float:
    return (len({row[name] for row in person}) - 1) / (len(person) - 1)


def rate(left: list[list[Row]], right: list[list[Row]], of: Any, name: str) -> Rate:
    sides = [[of(p, name) for p in side if len(p) > 1] for side in (left, right)]
    return Rate(*(fmean(side) if side else None for side in sides))


def steps(people: list[list[Row]], name: str) -> list[tuple[int, int]]:
    return [(a[name], b[name]) for person in people for a, b in pairwise(person)]


def slowly(real: Coded, synthetic: Coded) -> dict[str, Any]:
    """Compare people in loops."""
    left, right = persons(real), persons(replace(synthetic, ordering=real.ordering))
    events = [name for name in real.sizes if name not in real.own]
    gaps = [
        [min(b - a, 32) for a, b in steps(side, real.ordering[0])]
        for side in (left, right)
        if real.ordering
    ]
    return {
        "people": len(right) / len(left),
        "rows_per_person": distance(*([size_class(len(p)) for p in s] for s in (left, right))),
        "constant": fmean(
            [all(len({row[name] for row in p}) == 1 for name in real.own) for p in right] or [0]
        )
        if real.own
        else None,
        "own": {
            clique: distance(
                *([tuple(mode(p, name) for name in clique) for p in s] for s in (left, right))
            )
            for clique in combinations(real.own, min(2, len(real.own)))
            if clique
        },
        "repeats": {name: rate(left, right, agree, name) for name in events},
        "distinct": {name: rate(left, right, spread, name) for name in events},
        "transitions": {
            name: distance(steps(left, name), steps(right, name))
            for name in events
            if real.ordering
        },
        "gaps": distance(*gaps) if gaps else None,
    }


def flat(found: Any) -> list[float | None]:
    """Return all numbers of a result, in order."""
    if isinstance(found, Mapping):
        return [number for each in found.values() for number in flat(each)]
    return [n for each in found for n in flat(each)] if isinstance(found, tuple) else [found]


@tried(60)
@given(
    seed=st.integers(0, 2**32),
    rows=st.tuples(st.integers(1, 60), st.integers(0, 60)),
    people=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    own=st.sampled_from([OWN, OWN[:1], ()]),
    ordering=st.sampled_from([ORDERING, ORDERING[:1], ()]),
)
def test_fast_and_obvious_agree(
    seed: int,
    rows: tuple[int, int],
    people: tuple[int, int],
    own: tuple[str, ...],
    ordering: tuple[str, ...],
) -> None:
    real, made = (
        random_table(seed + i, rows=rows[i], people=people[i], skew=1 + i) for i in (0, 1)
    )
    real = replace(real, own=own, ordering=ordering)
    found = compare_people(real, made)
    expected = slowly(real, made)
    for key, value in expected.items():
        assert flat(getattr(found, key)) == pytest.approx(flat(value), abs=CLOSE), key
    figures = PEOPLE.summary(found)
    assert figures.pop("people, synthetic / real") >= 0
    assert all(0 <= each <= 1 for each in figures.values())
    assert sum(each.real for each in found.sizes) == real.headcount
    assert sum(each.synthetic for each in found.sizes) == made.headcount


@tried(20)
@given(seed=st.integers(0, 2**32), rows=st.integers(1, 80), people=st.integers(1, 30))
def test_the_same_people_are_at_distance_0_whatever_their_numbers(
    seed: int, rows: int, people: int
) -> None:
    real = replace(random_table(seed, rows=rows, people=people), own=OWN, ordering=("time",))
    assert real.people is not None
    moved = real.take(np.random.default_rng(seed).permutation(rows))
    assert moved.people is not None
    renamed = replace(moved, people=1000 - moved.people)
    found = PEOPLE.summary(compare_people(real, renamed))
    assert found.pop("people, synthetic / real") == 1
    found.pop("own columns, constant")
    assert found == pytest.approx(dict.fromkeys(found, 0.0), abs=CLOSE)
    assert len(found) == 6


def table(people: list[int], own: tuple[str, ...] = ("sex",), **codes: list[int]) -> Coded:
    return Coded(
        codes={name: np.array(each, np.int64) for name, each in codes.items()},
        sizes={"sex": 2, "drug": 3, "day": 99},
        people=np.array(people, np.int64),
        own=own,
        ordering=("day",),
    )


def by_hand() -> PeopleDistances:
    # Person 5 takes drug 0 on day 1, then 1 and 1; person 2 takes 2 and 2; person 9 comes once.
    real = table(
        [5, 5, 5, 2, 2, 9], sex=[0, 0, 0, 1, 1, 1], drug=[1, 0, 1, 2, 2, 0], day=[3, 1, 80, 4, 5, 7]
    )
    # One person changes sex, most often 0; the other comes once.
    made = table([1, 1, 1, 0], sex=[0, 1, 0, 1], drug=[1, 1, 0, 2], day=[2, 3, 5, 5])
    return compare_people(real, made)


def test_people_by_hand() -> None:
    found = by_hand()
    assert found.people == 2 / 3
    assert found.sizes == (SizeClass(1, 1, 1, 1), SizeClass(2, 2, 1, 0), SizeClass(3, 3, 1, 1))
    assert found.rows_per_person == pytest.approx(1 / 3)  # 1/2, 0, 1/2 in place of thirds
    assert found.constant == 0.5
    assert found.own == pytest.approx({("sex",): 1 / 6})  # half of the people, not a third
    assert found.repeats["drug"] == pytest.approx((fmean([1 / 3, 1]), 1 / 3))
    assert found.distinct["drug"] == pytest.approx((fmean([1 / 2, 0]), 1 / 2))
    assert found.repeats["day"] == Rate(0, 0)
    # Real steps are 0 → 1, 1 → 1, 2 → 2, and released ones 1 → 1, 1 → 0.
    assert found.transitions["drug"] == pytest.approx(2 / 3)
    # Real gaps are 2, 77 (counted as 32) and 1; released ones 1 and 2.
    assert found.gaps == pytest.approx(1 / 3)
    assert "sex" not in found.repeats


def test_a_tie_goes_to_the_lowest_code() -> None:
    one = table([1, 1], sex=[1, 0], drug=[0, 0], day=[0, 1])
    low = table([1], sex=[0], drug=[0], day=[0])
    assert compare_people(one, low).own == {("sex",): 0.0}


def test_rows_that_are_equal_in_the_order_come_as_if_shuffled() -> None:
    """Neither as they were read nor sorted: each drug follows each as often as by chance."""
    people = np.repeat(np.arange(4000), 3)
    days, sexes = np.full(12_000, 5), np.zeros(12_000, np.int64)
    rng = np.random.default_rng(0)
    drugs = np.sort(rng.integers(0, 3, (4000, 3)), axis=1).reshape(-1)
    own = table([], sex=[], drug=[], day=[])
    real = replace(own, codes={"sex": sexes, "drug": drugs, "day": days}, people=people)
    other = real.take(rng.permutation(12_000))
    assert compare_people(real, other).transitions["drug"] == 0
    found = Histories.of(real, ("day",)).steps("drug").histogram(["previous", "this"])
    # 8,000 steps, each of nine as likely: five standard deviations.
    assert abs(found - 1 / 9).max() < 5 * np.sqrt(1 / 9 / 8000)


def test_a_table_in_which_nobody_has_two_rows_is_as_far_as_can_be_from_one_that_has_some() -> None:
    several = table([1, 1], sex=[0, 0], drug=[0, 1], day=[0, 1])
    alone = table([1, 2], sex=[0, 0], drug=[0, 1], day=[0, 1])
    for real, made in ((several, alone), (alone, several)):
        found = PEOPLE.summary(compare_people(real, made))
        assert found["repeats, mean error"] == found["distinct values, mean error"] == 1
        assert found["transitions, mean"] == found["gaps"] == 1
    found = PEOPLE.summary(compare_people(alone, alone))
    assert found["repeats, mean error"] == found["transitions, mean"] == 0
    assert "–" in compare(several, alone).table()


def test_rows_that_change_hands_are_seen_by_this_metric_alone() -> None:
    rng = np.random.default_rng(0)
    people = np.sort(rng.integers(0, 200, 3000))
    # Each person has a habit, and follows it in nine of ten rows.
    habit = np.where(rng.random(3000) < 0.9, people % 4, rng.integers(0, 4, 3000))
    days = rng.integers(0, 30, 3000)
    real = Coded(
        codes={"habit": habit, "day": days},
        sizes={"habit": 4, "day": 30},
        people=people,
        ordering=("day",),
    )
    shuffled = replace(real, people=rng.permutation(people))
    found = compare(real, shuffled).synthetic.summary()
    assert found["pairs, largest"] == 0
    assert found["rows per person"] == 0
    assert found["repeats, mean error"] > 0.2
    assert found["transitions, mean"] > 0.2
    assert found["distinct values, mean error"] > 0.05


def test_a_resample_of_people_is_close_where_one_of_rows_is_not() -> None:
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(500), rng.integers(1, 6, 500))
    codes = {"a": people % 7, "b": rng.integers(0, 9, len(people))}
    real = Coded(codes=codes, sizes={"a": 7, "b": 9}, people=people, own=("a",))
    found = compare(real, real)
    again = found.yardsticks["resample"].summary()
    assert again["people, synthetic / real"] == 1
    assert again["own columns, constant"] == 1
    assert again["rows per person"] < 0.06
    assert again["repeats, mean error"] < 0.02
    assert again["own columns, mean"] < 0.1
    shares = [each.summary()["people, synthetic / real"] for each in found.yardsticks.values()]
    assert shares == [1, 0.1, 0.01]
    # One of rows has rows twice, which agree.
    assert compare_people(real, resample(real, rng)).repeats["b"].error > 0.1


def test_figures_are_there_where_they_are_declared() -> None:
    plain = random_table(0)
    alone = replace(plain, people=None)
    assert compare(alone, plain).synthetic["people"] is None
    assert compare(plain, alone).synthetic["people"] is None
    assert "people" not in compare(plain, alone).table()
    found = compare(plain, plain).synthetic.summary()
    assert "repeats, mean error" in found
    assert not {"own columns, mean", "transitions, mean", "gaps"} & set(found)
    everything = replace(plain, own=tuple(plain.sizes))
    assert "repeats, mean error" not in compare(everything, plain).synthetic.summary()
    assert "two random rows" not in compare(everything, plain).table()


def test_plain_data_have_every_part() -> None:
    data = json.loads(json.dumps(by_hand().to_dict(), allow_nan=False))
    assert data["rows_per_person"]["classes"][1] == {
        "least": 2,
        "most": 2,
        "real": 1,
        "synthetic": 0,
    }
    assert data["own"]["constant"] == 0.5
    assert set(data["repeats"]["drug"]) == {"real", "synthetic", "error"}
    assert set(data["transitions"]) == {"drug", "day"}
    assert data["gaps"] == pytest.approx(1 / 3)


def test_unknown_columns_are_refused() -> None:
    for declared in ({"own": ("sx",)}, {"ordering": ("dy",)}):
        with pytest.raises(QuestionError, match="does not have these columns"):
            replace(random_table(0), **declared)  # type: ignore[arg-type]


SCHEMA = Schema(
    "visits",
    (
        Id(name="patient"),
        Categorical(name="sex", values=("f", "m"), of="person"),
        Integer(name="day", min=0, max=30),
        Categorical(name="drug", values=("a", "b", "c")),
    ),
    order_by=("day",),
)


def visits(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    patients = np.repeat(np.arange(60), rng.integers(1, 7, 60))
    return {
        "patient": patients,
        "sex": np.array(["f", "m"])[patients % 2],
        "day": rng.integers(0, 31, len(patients)),
        "drug": np.array(["a", "b", "c"])[patients % 3],
    }


def test_a_schema_says_what_is_a_persons_own_and_what_orders_rows(tmp_path: Path) -> None:
    unit = us.Unit("patient")
    real = read_private(visits(0), schema=SCHEMA, unit=unit)
    assert (real.own, real.ordering) == (("sex",), ("day",))
    assert resample_people(real, np.random.default_rng(0)).own == real.own
    write(tmp_path / "made.csv", visits(1))
    made = read_synthetic(tmp_path / "made.csv", schema=SCHEMA, unit=unit)
    found = compare_people(real, made)
    assert found.constant == 1
    assert set(found.repeats) == {"day", "drug"}
    assert found.gaps is not None


def write(path: Path, columns: Mapping[str, Any]) -> None:
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *lines, ""]))


def test_it_is_in_the_text_the_plain_data_and_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path / "here", capsys)
    (place / "visits.toml").write_text(SCHEMA.to_toml())
    for i, name in enumerate(("visits.csv", "made.csv")):
        write(place / name, visits(i))
    known = f"--private={place / 'visits.csv'}", f"--schema={place / 'visits.toml'}"
    asked = ["evaluate", str(place / "made.csv"), *known, "--unit=patient"]
    text = place.fine(*asked)
    lines = {line[:30].strip(): line[30:].split() for line in text.splitlines()}
    assert lines["people, synthetic / real"] == ["1.00000", "1.00000", "0.10000", "0.01667"]
    assert lines["own columns, constant"] == ["1.00000"] * 4
    assert "How often two random rows of a person agree:" in text
    facts = place.facts(*asked)["synthetic"]
    assert facts["summary"]["gaps"] == facts["people"]["gaps"]
    assert facts["people"]["repeats"]["drug"]["synthetic"] == 1
    place.fine(*asked, f"--report={place / 'page.html'}")
    page = html.unescape((place / "page.html").read_text(encoding="utf-8"))
    for part in (
        ">People</h2>",
        "from one row to the next, mean total variation",
        ">People and their rows</h2>",
        "Shares of the people by rows per person",
        "Two rows of a person agree",
        "Distinct values of a person",
        "From one row to the next",
    ):
        assert part in page, part


def test_it_is_one_entry_of_the_registry() -> None:
    assert METRICS["people"] is PEOPLE
    assert not PEOPLE.options
