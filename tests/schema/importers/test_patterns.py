"""Proposals of constraints: planted ones are found, and nothing that chance would show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from understudy.schema import Categorical, Integer, Numeric, Released, Schema
from understudy.schema.constraints import Constraint, Determines, Never, Order, Sum
from understudy.schema.importers.patterns import FEWEST, MOST, MOST_NEVER, Pattern, find_patterns

TOWNS = {"Evanston": "Cook", "Skokie": "Cook", "Aurora": "Kane", "Elgin": "Kane", "Joliet": "Will"}
Table = dict[str, Any]
COLUMNS: tuple[Released, ...] = (
    Categorical(name="town", values=tuple(sorted(TOWNS))),
    Categorical(name="county", values=("Cook", "Kane", "Will")),
    Integer(name="number", min=0, max=4),
    Categorical(name="constant", values=("x",)),
    Categorical(name="key", values=tuple(f"k{i}" for i in range(100))),
    Categorical(name="sex", values=("F", "M")),
    Categorical(name="pregnant", values=("no", "yes")),
    *(Numeric(name=name, edges=(0.0, 5.0, 20.0, 99.0)) for name in ("fare", "tips", "tolls")),
    Integer(name="noise", min=0, max=29),
    Numeric(name="total", edges=(0.0, 5.0, 20.0, 299.0)),
    *(Numeric(name=n, edges=(0.0, 300.0, 600.0, 1300.0)) for n in ("start", "end", "later")),
)


def trips(rows: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    towns = np.array(list(TOWNS), dtype=object)[rng.integers(0, 5, rows)]
    sex = np.array(["M", "F"], dtype=object)[rng.integers(0, 2, rows)]
    fare = np.round(rng.gamma(2, 8, rows), 2)
    tips = np.round(np.where(rng.random(rows) < 0.5, 0, rng.gamma(1, 9, rows)), 2)
    tolls = np.where(rng.random(rows) < 0.2, rng.choice([1.5, 2.5, 4.0], rows), 0.0)
    start = rng.integers(0, 1000, rows)
    pregnant = np.where((sex == "F") & (rng.random(rows) < 0.3), "yes", "no")
    return {
        "town": towns,
        "county": np.array([TOWNS[t] for t in towns], dtype=object),
        "number": np.array([list(TOWNS).index(t) for t in towns]),
        "constant": np.full(rows, "x", dtype=object),
        "key": np.array([f"k{i}" for i in range(rows)], dtype=object),
        "sex": sex,
        "pregnant": pregnant.astype(object),
        "fare": fare,
        "tips": tips,
        "tolls": tolls,
        "noise": rng.integers(0, 30, rows),
        "total": np.round(fare + tips + tolls, 2),
        "start": start,
        "end": start + rng.integers(0, 90, rows),
    }


def found(table: Table, columns: tuple[Released, ...] = COLUMNS) -> list[Pattern]:
    schema = Schema("trips", columns)
    return find_patterns(table, columns, lambda said: replace(schema, constraints=said))


def said(table: Table) -> dict[str, Pattern]:
    return {pattern.constraint.label: pattern for pattern in found(table)}


def of(kind: type[Constraint], table: Table) -> list[Constraint]:
    return [p.constraint for p in found(table) if isinstance(p.constraint, kind)]


def test_what_is_planted_is_found_and_nothing_else() -> None:
    patterns = said(trips(2000))
    assert {label: pattern.why for label, pattern in patterns.items()} == {
        "determines: town, county": "In 2,000 public rows each of 5 values of town has one "
        "value of county.",
        "determines: town, number": "In 2,000 public rows each of 5 values of town has one value "
        "of number.",
        "sum: total, fare, tips, tolls": "In 100 % of 2,000 public rows total = fare + tips + "
        "tolls.",
        "order: start, end": "In all of 2,000 public rows start ≤ end.",
        "sex M, never pregnant yes": patterns["sex M, never pregnant yes"].why,
    }
    assert patterns["sex M, never pregnant yes"].constraint == Never(
        {"sex": "M", "pregnant": "yes"}, name="sex M, never pregnant yes"
    )
    why = patterns["sex M, never pregnant yes"].why
    assert why.startswith("None of 2,000 public rows has both; about 1")
    determined = patterns["determines: town, county"].constraint
    assert isinstance(determined, Determines)
    assert dict(determined.pairs) == TOWNS


def test_all_that_is_proposed_can_be_declared_together() -> None:
    together = tuple(pattern.constraint for pattern in found(trips(1000, seed=4)))
    assert len(together) == 5
    declared = Schema("trips", COLUMNS, constraints=together)
    assert declared.keeper.computed.keys() == {"county", "number", "total"}


def test_independent_columns_suggest_nothing() -> None:
    rng = np.random.default_rng(9)
    table: Table = {f"n{i}": rng.integers(0, 40, 1500) for i in range(4)}
    table |= {f"c{i}": np.array(list("abcd"))[rng.integers(0, 4, 1500)] for i in range(3)}
    table |= {"zero": np.where(rng.random(1500) < 0.97, 0, 3), "also": np.zeros(1500)}
    numbers = [Integer(name=name, min=0, max=39) for name in table if name[0] != "c"]
    lists = [Categorical(name=f"c{i}", values=tuple("abcd")) for i in range(3)]
    assert found(table, (*numbers, *lists)) == []


def test_too_few_rows_suggest_nothing() -> None:
    assert found(trips(FEWEST - 1)) == []
    assert find_patterns({}, (), lambda _: None) == []


def test_one_exception_is_enough_against_what_determines_and_what_is_ordered() -> None:
    table = trips(1000)
    table["county"][0] = "Kane" if table["county"][0] != "Kane" else "Cook"
    table["end"][3] = table["start"][3] - 1
    assert [c.columns for c in of(Determines, table)] == [("town", "number")]
    assert not of(Order, table)


def test_a_sum_may_have_exceptions_and_a_fee_that_has_no_column() -> None:
    table = trips(1000)
    table["total"][:15] += 7
    (sum_,) = of(Sum, table)
    assert sum_ == Sum("total", ("fare", "tips", "tolls"))
    fee = np.random.default_rng(1).random(1000) < 0.2
    table["total"] = trips(1000)["total"] + 0.5 * fee
    pattern = said(table)["sum: total, fare, tips, tolls"]
    assert isinstance(pattern.constraint, Sum)
    assert pattern.constraint.tolerance == 0.5
    assert "and in 100 % to within 0.5; synthetic sums are exact." in pattern.why
    table["total"] = trips(1000)["total"] + 9 * fee
    assert not of(Sum, table)


def test_missing_parts_count_as_nothing_and_missing_totals_not_at_all() -> None:
    table = trips(1000)
    table["tolls"] = np.where(table["tolls"] == 0, np.nan, table["tolls"])
    table["total"] = np.where(np.arange(1000) % 4 == 0, np.nan, table["total"])
    (pattern,) = [p for p in found(table) if isinstance(p.constraint, Sum)]
    assert pattern.why == "In 100 % of 750 public rows total = fare + tips + tolls."


def years(dummies: int) -> tuple[Table, tuple[Released, ...]]:
    """Make a table of years, with a dummy for each of them but the first."""
    year = np.arange(40 * (dummies + 1)) % (dummies + 1)
    made = {"year": year, **{f"d{i}": (year == i).astype(int) for i in range(1, dummies + 1)}}
    return made, tuple(Integer(name=n, min=0, max=int(v.max())) for n, v in made.items())


def test_every_dummy_of_a_year_follows_from_it() -> None:
    patterns = found(*years(12))
    assert [p.constraint.columns for p in patterns] == [("year", f"d{i}") for i in range(1, 13)]
    assert not any(p.more for p in patterns)


def test_of_more_than_are_proposed_the_last_says_so() -> None:
    for dummies, more in ((MOST, False), (MOST + 1, True)):
        patterns = found(*years(dummies))
        assert [p.more for p in patterns] == [False] * (MOST - 1) + [more]
    # Of six pairs of values that never meet in twelve columns, the last that is taken.
    one = np.random.default_rng(0).integers(0, 2, (MOST_NEVER + 1, 2000))
    both = {f"a{i}": each for i, each in enumerate(one)}
    both |= {f"b{i}": (1 - each) * (np.arange(2000) % 3 > 0) for i, each in enumerate(one)}
    table = {name: each.astype(str).astype(object) for name, each in both.items()}
    patterns = found(table, tuple(Categorical(name=n, values=("0", "1")) for n in table))
    assert [p.constraint.kind for p in patterns] == ["never"] * MOST_NEVER
    assert [p.more for p in patterns] == [False] * (MOST_NEVER - 1) + [True]


def test_a_chain_of_orders_is_proposed_by_its_links() -> None:
    table = trips(1000)
    kept: Table = {name: table[name] for name in ("start", "end")}
    kept["later"] = kept["end"] + np.random.default_rng(2).integers(0, 90, 1000)
    assert [c.columns for c in of(Order, kept)] == [("start", "end"), ("end", "later")]
