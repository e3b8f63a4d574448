"""Splits: steps and remainders put together again are the codes they were made of."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.audit.effort import effort
from understudy.budget import Budget, ResolvedUnit, Unit, Weights
from understudy.door import Measurement
from understudy.errors import SchemaError
from understudy.public import Batches, PublicTable, Synthesis, Within
from understudy.release import Release, build
from understudy.schema import (
    Array,
    Categorical,
    Codes,
    Id,
    Ignored,
    Integer,
    Numeric,
    Remainder,
    Schema,
    Split,
)
from understudy.schema.columns.column import DROP

PROPERTY = settings(max_examples=effort(30, 60), deadline=None, database=None, derandomize=True)
RULES = ["nearest", "other", "drop"]
WAGE = Split(
    name="INCWAGE", parts=("hundreds", "rest"), step=100, top=5000, max=999_997, special=(999_998,)
)
VALUE: dict[str, Any] = {
    "kind": "numeric",
    "min": 0,
    "step": 5,
    "top": 25_000,
    "max": 9_999_997,
    "special": [9_999_998, 9_999_999],
    "whole": True,
}
PARTS = ("hundreds", "rest")
SMALL: dict[str, Any] = {"name": "wage", "parts": PARTS, "step": 10, "max": 99}


def rng() -> np.random.Generator:
    return np.random.default_rng(1940)


def objects(*values: object) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def codes_of(split: Split, values: Array) -> tuple[Codes, Codes]:
    steps, rest = split.modelled
    return steps.encode(values), rest.encode(values)


def joined(split: Split, high: Codes, low: Codes) -> Array:
    codes = dict(zip(split.parts, (high, low), strict=True))
    return split.joined(codes, lambda column, of: column.decode(of, rng()), rng())


def domain(split: Split) -> Array:
    """All numbers that a column holds, with nothing where it may be missing."""
    inside = range(split.min, split.max + 1)
    return objects(*inside, *split.special, *([None] if split.missing else []))


def there_and_back(split: Split) -> None:
    """Every pair of codes that a number has comes back, whatever is drawn."""
    high, low = codes_of(split, domain(split).repeat(20))
    back = joined(split, high, low)
    again = codes_of(split, back)
    assert [a.tolist() for a in again] == [high.tolist(), low.tolist()]
    held = {None, *range(split.min, split.max + 1), *split.special}
    assert set(back.tolist()) <= held


@st.composite
def splits(draw: st.DrawFn) -> Split:
    """Draw splits: some end within a step, some on top, which is as long as it likes."""
    low, step, steps = (draw(st.integers(*ends)) for ends in ((-60, 60), (2, 12), (1, 6)))
    end = low + steps * step
    topped = draw(st.booleans())
    most = end + draw(st.integers(1, 40)) if topped else end - draw(st.integers(1, step - 1))
    beyond = st.integers(most + 1, most + 9) | st.integers(low - 9, low - 1)
    special = draw(st.lists(beyond, max_size=3, unique=True))
    return Split(
        name="wage",
        parts=PARTS,
        step=step,
        min=low,
        top=end if topped else None,
        max=most,
        special=tuple(special),
        outside=draw(st.sampled_from(RULES)),
        missing=draw(st.booleans()),
        nulls=(),
    )


@PROPERTY
@given(splits())
def test_every_number_gets_its_codes_back(split: Split) -> None:
    there_and_back(split)


EDGES = {
    "a last step of two numbers": Split(**SMALL | {"max": 91}),
    "a top of two numbers": Split(**SMALL | {"max": 91}, top=90),
    "a top of many steps": Split(**SMALL | {"max": 255}, top=90),
    "a top behind the end": Split(**SMALL, top=100),
    "specials next to the ends": Split(**SMALL, top=90, special=(-1, 100)),
    "one step": Split(**SMALL | {"max": 9}),
    "steps of two numbers": Split(**SMALL | {"step": 2}, top=20),
    "steps from below 0": Split(**SMALL | {"step": 3, "min": -7, "max": 60}, top=50),
}


@pytest.mark.parametrize("name", EDGES)
def test_and_so_does_every_number_where_a_split_ends(name: str) -> None:
    there_and_back(EDGES[name])
    put_right(EDGES[name])


def pairs(split: Split) -> tuple[Codes, Codes]:
    """All codes with all others; *other* comes back as missing, and is left out."""
    steps, rest = split.modelled
    sizes = [c.values_count + int(c.missing) for c in (steps, rest)]
    high, low = np.indices(sizes, dtype=np.int32).reshape(2, -1).repeat(9, axis=1)
    return high, low


def put_right(split: Split) -> None:
    """Codes that go together stay; of others the step stays, and the number is one of it."""
    high, low = pairs(split)
    back = joined(split, high, low)
    steps, rest = codes_of(split, back)
    assert steps.tolist() == high.tolist()
    known = set(zip(*(c.tolist() for c in codes_of(split, domain(split))), strict=True))
    for pair, found in zip(
        zip(high.tolist(), low.tolist(), strict=True), rest.tolist(), strict=True
    ):
        assert (pair[0], found) in known
        assert pair not in known or found == pair[1]
    assert {v for v in back.tolist() if v is not None} <= set(domain(split).tolist())


@pytest.mark.parametrize("top", [None, 60])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("outside", RULES)
def test_codes_that_cannot_go_together_are_put_right(
    top: int | None, missing: bool, outside: Any
) -> None:
    put_right(Split(**SMALL, top=top, special=(200, -5), missing=missing, outside=outside))


def test_even_beyond_the_end() -> None:
    """Step 2 and remainder 9 would be 29, where 25 is the end."""
    put_right(Split(name="wage", parts=PARTS, step=10, max=25))


@PROPERTY
@given(splits())
def test_and_so_they_are_in_every_split(split: Split) -> None:
    put_right(split)


def test_even_where_the_first_step_is_not_whole() -> None:
    """Step 0 and remainder 9 would be 9, where 7 is the end; one step below that is -1."""
    put_right(Split(name="wage", parts=PARTS, step=10, max=7))


def test_a_special_step_has_no_remainder_and_a_step_no_special_one() -> None:
    steps, rest = WAGE.modelled
    special, missing = steps.bins, steps.if_missing
    high = np.array([3, 3, special, special, missing, missing], dtype=np.int32)
    low = np.array([100, 101, 100, 7, 101, 7], dtype=np.int32)
    back = joined(WAGE, high, low)
    assert back.dtype == object
    assert back[2:].tolist() == [999_998, 999_998, None, None]
    assert steps.encode(back).tolist() == high.tolist()
    assert rest.encode(back)[2:].tolist() == [100, 100, 101, 101]
    assert all(300 <= v < 400 for v in back[:2].tolist())


def test_remainders_that_are_none_are_drawn_evenly() -> None:
    back = joined(WAGE, np.full(2000, 7, dtype=np.int32), np.full(2000, 100, dtype=np.int32))
    assert back.dtype == np.int64
    assert set(back.tolist()) == set(range(700, 800))


# --- the census of 1940 -------------------------------------------------------------------


def test_wages_of_1940() -> None:
    """999998 stands for none, and is looked for before all that is 5000 and more."""
    steps, rest = WAGE.modelled
    assert (steps.size, rest.size) == (53, 102)
    values = objects(0, 99, 100, 4999, 5000, 5001, 999_997, 999_998, "999998", 10**6, -1, "NA", "x")
    high = [0, 0, 1, 49, 50, 50, 50, 51, 51, 50, 0, 52, 52]
    low = [0, 99, 0, 99, 0, 1, 97, 100, 100, 97, 0, 101, 101]
    assert [c.tolist() for c in codes_of(WAGE, values)] == [high, low]
    assert steps.labels()[49:] == ["[4900, 5000)", "[5000, 999997]", "999998", "(missing)"]
    assert rest.labels()[98:] == ["98", "99", "(special)", "(missing)"]
    assert (steps.table_column, rest.table_column) == ("INCWAGE", "INCWAGE")


def test_wages_of_1940_come_back_near_the_floor_of_the_top() -> None:
    values = np.array([0, 7, 4999, 5000, 7250, 999_997, 999_998])
    back = joined(WAGE, *codes_of(WAGE, values))
    assert back.tolist() == [0, 7, 4999, 5000, 5050, 5097, 999_998]


def test_values_of_houses_of_1940() -> None:
    """A ladder of fives up to a top, and two numbers that are none."""
    column = Schema.from_dict({"name": "t", "columns": {"VALUEH": VALUE}})["VALUEH"]
    assert isinstance(column, Numeric)
    assert (column.bins, column.values_count, column.size) == (5001, 5003, 5004)
    assert column.top_coded
    assert column.edges[:3] == (0.0, 5.0, 10.0)
    assert column.edges[-3:] == (24_995.0, 25_000.0, 9_999_997.0)
    values = objects(4, 5, 24_999, 25_000, 9_999_997, 9_999_998, 9_999_999, 10**7, None)
    codes = [0, 1, 4999, 5000, 5000, 5001, 5002, 5000, 5003]
    assert column.encode(values).tolist() == codes
    back = column.decode(np.array(codes, dtype=np.int32), rng()).tolist()
    assert back[3:] == [25_000, 25_000, 9_999_998, 9_999_999, 25_000, None]
    assert column.labels()[4999:] == [
        "[24995, 25000)",
        "[25000, 1e+07]",
        "9999998",
        "9999999",
        "(missing)",
    ]


# --- releases -----------------------------------------------------------------------------

PEOPLE = Schema(
    "people",
    (
        Id(name="id"),
        Split(
            name="wage",
            parts=PARTS,
            source="INCWAGE",
            step=100,
            top=5000,
            max=999_997,
            special=(999_998,),
        ),
        Ignored(name="note"),
        Categorical(name="city", values=(10, 20), groups=("CO", ""), missing=False),
        Schema.from_dict({"name": "t", "columns": {"VALUEH": VALUE | {"step": 250}}})["VALUEH"],
    ),
)


def released(codes: dict[str, Codes], **other: Any) -> Release:
    measured = Measurement(clique=("city",), values=np.zeros(3), scale=1.0)
    return build(
        Synthesis(batches=Batches.held(codes), measurements=(measured,), **other),
        schema=PEOPLE,
        unit=ResolvedUnit.of("id"),
        bounding=Weights(1),
        budget=Budget(epsilon=1, delta=1e-9),
        mechanism={"name": "test", "settings": {}},
        charges=[],
        ledger={},
        rng=rng(),
    )


def table(wages: list[Any]) -> dict[str, Array]:
    count = len(wages)
    return {
        "id": np.arange(count),
        "INCWAGE": objects(*wages),
        "city": np.resize([10, 20, 30], count),
        "VALUEH": np.resize([0, 123, 30_000, 9_999_998], count),
    }


WAGES = [0, 12, 250, 4999, 5000, 7250, 999_997, 999_998, None]


def test_a_release_has_one_column_again_and_is_read_back_to_the_same_codes(tmp_path: Any) -> None:
    codes, _ = PEOPLE.encode(table(WAGES))
    made = released(dict(codes))
    assert list(made.columns) == ["wage", "city", "VALUEH"]
    assert made.columns["wage"].tolist() == [0, 12, 250, 4999, 5000, 5050, 5097, 999_998, None]
    again, kept = PEOPLE.released().encode(made.columns)
    assert kept.all()
    assert {n: c.tolist() for n, c in again.items()} == {n: c.tolist() for n, c in codes.items()}
    assert list(PEOPLE.domain) == [*PARTS, "city", "VALUEH"]
    assert PEOPLE.released().domain == PEOPLE.domain
    folder = made.save(tmp_path / "out", format="csv")
    assert Schema.read(folder / "schema.toml") == PEOPLE.released()
    lines = (folder / "rows.csv").read_text(encoding="utf-8").splitlines()
    written = ["wage", *map(str, made.columns["wage"][:-1]), ""]
    assert [line.split(",")[0] for line in lines] == written


def test_a_release_counts_the_parts_of_a_split() -> None:
    codes, _ = PEOPLE.encode(table(WAGES))
    counted = released(dict(codes)).histogram(*PARTS)
    wanted = np.zeros((53, 102), dtype=np.int64)
    np.add.at(wanted, (codes["hundreds"], codes["rest"]), 1)
    assert counted.tolist() == wanted.tolist()


def test_top_codes_come_out_as_public_values_where_there_are_any() -> None:
    """The public value says which hundred it is, and the remainder is the row's own."""
    public = PublicTable.read(table([7250, 12_345, 12_345, 30]), schema=PEOPLE, unit=Unit("id"))
    codes, _ = PEOPLE.encode(table([6007] * 400 + [5] * 20 + [999_998] * 20 + [None]))
    plain = released(dict(codes)).columns["wage"].tolist()
    assert plain == [5007] * 400 + [5] * 20 + [999_998] * 20 + [None]
    found = released(dict(codes), within=Within(public)).columns
    assert found["wage"][400:].tolist() == plain[400:]
    top = found["wage"][:400].tolist()
    assert set(top) == {7207, 12_307}
    assert top.count(12_307) == pytest.approx(267, abs=40)


def test_top_codes_of_a_ladder_come_out_as_public_values_too() -> None:
    public = PublicTable.read(
        table([1, 2, 3, 4]) | {"VALUEH": np.array([27_500, 27_500, 9_999_998, 3])},
        schema=PEOPLE,
        unit=Unit("id"),
    )
    codes, _ = PEOPLE.encode(table([1] * 40))
    asked = {"VALUEH": np.resize(np.array([100, 101, 102, 0, 1, 103], dtype=np.int32), 40)}
    found = released(codes | asked, within=Within(public)).columns["VALUEH"].tolist()
    assert set(found[::6]) == {27_500}
    assert set(found[1::6]) == {9_999_998}
    assert set(found[2::6]) == {9_999_999}
    assert set(found[3::6]) == {3}
    assert set(found[4::6]) <= set(range(250, 500))
    assert set(found[5::6]) == {None}


def test_a_public_value_at_the_end_is_not_exceeded() -> None:
    """The step before has the same remainder: 999899, and not 999999."""
    public = PublicTable.read(table([999_997]), schema=PEOPLE, unit=Unit("id"))
    codes, _ = PEOPLE.encode(table([6099, 6097, 6098]))
    found = released(dict(codes), within=Within(public)).columns["wage"].tolist()
    assert found == [999_899, 999_997, 999_898]


# --- remainders ---------------------------------------------------------------------------


def test_remainders_are_counted_from_the_lower_end() -> None:
    column = Remainder(name="rest", step=10, min=-5, max=28, special=(-7, 99), outside="other")
    values = objects(-5, -1, 0, 4, 5, 6.99, -7, 7.5, 28, 28.5, 99, -6, "x", None)
    codes = [0, 4, 5, 9, 0, 1, 10, 2, 3, 12, 10, 12, 12, 11]
    assert column.encode(values).tolist() == codes
    assert column.size == 13
    assert column.labels()[8:] == ["8", "9", "(special)", "(missing)", "(other)"]


@pytest.mark.parametrize(
    ("rules", "codes"),
    [
        #  3, 99 (outside), -2 (outside), "x" (no value at all), None (missing)
        ({"outside": "nearest"}, [3, 1, 0, 5, 5]),
        ({"outside": "nearest", "missing": False}, [3, 1, 0, DROP, DROP]),
        ({"outside": "other"}, [3, 6, 6, 6, 5]),
        ({"outside": "drop"}, [3, DROP, DROP, DROP, 5]),
        ({"outside": "drop", "nulls": ("3",)}, [5, DROP, DROP, DROP, 5]),
    ],
    ids=str,
)
def test_rules_of_remainders(rules: dict[str, Any], codes: list[int]) -> None:
    column = Remainder(name="rest", step=5, min=0, max=11, **rules)
    assert column.encode(objects("3", 99, -2, "x", None)).tolist() == codes


def test_remainders_come_back_as_whole_numbers() -> None:
    column = Remainder(name="rest", step=3, min=0, max=11, special=(50,))
    codes = np.array([0, 1, 2, 3, 4], dtype=np.int32)
    assert column.decode(codes, rng()).tolist() == [0, 1, 2, None, None]
    assert column.decode(codes[:3], rng()).dtype == np.int64
    assert column.encode(column.decode(codes[:3], rng())).tolist() == [0, 1, 2]


def test_remainders_are_part_of_a_split_and_not_declared() -> None:
    declared = {"kind": "remainder", "step": 10, "min": 0, "max": 99}
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict({"name": "t", "columns": {"rest": declared}})
    assert caught.value.what == "column 'rest' needs a kind"
    assert caught.value.got == "'remainder'"


# --- what a split may not be --------------------------------------------------------------


@pytest.mark.parametrize("parts", [(), ("a",), ("a", "a"), ("a", ""), ("a", "b", "c")], ids=str)
def test_parts_that_are_not_two(parts: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Split(**SMALL | {"parts": parts})
    assert caught.value.what == "column 'wage': parts must be two different names"
    assert caught.value.got == parts


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        ({"step": 0}, "step 0, 0 to 100 to 99"),
        ({"step": -1}, "step -1, 0 to 100 to 99"),
        ({"max": -1}, "step 10, 0 to 0 to -1"),
        ({"min": 100}, "step 10, 100 to 100 to 99"),
        ({"top": 0}, "step 10, 0 to 0 to 99"),
        ({"top": -10}, "step 10, 0 to -10 to 99"),
        ({"top": 101}, "step 10, 0 to 101 to 99"),
        ({"top": 110}, "step 10, 0 to 110 to 99"),
        ({"step": 1}, "step 1, 0 to 100 to 99"),
        ({"step": 1, "top": 20}, "step 1, 0 to 20 to 99"),
        ({"step": 2**16 + 1}, "step 65537, 0 to 100 to 99"),
        ({"step": 2, "max": 2**17 + 1}, "step 2, 0 to 131074 to 131073"),
        ({"step": 2, "top": 2**17 + 2, "max": 10**9}, "step 2, 0 to 131074 to 1000000000"),
        ({"step": 2**40, "max": 2**52}, f"step {2**40}, 0 to {2**52 + 1} to {2**52}"),
        ({"step": 2**40, "min": -(2**52)}, f"step {2**40}, {-(2**52)} to 100 to 99"),
        ({"max": 10**400}, f"step 10, 0 to {10**400 + 1} to {10**400}"),
        ({"min": -(10**400)}, f"step 10, {-(10**400)} to 100 to 99"),
        ({"top": 10**400}, f"step 10, 0 to {10**400} to 99"),
    ],
    ids=lambda case: str(case)[:50],
)
def test_steps_and_ends_that_cannot_be(wrong: dict[str, Any], got: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Split(**SMALL | wrong)
    error = caught.value
    assert error.what == "column 'wage': a split needs a step of at least 2, and min < top <= max"
    assert error.got == got[:90]
    assert error.allowed == (
        "at most 65536 steps, each of at most 65536, and ends between -2^52 and 2^52"
    )


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [
        ({"top": 25}, "0 plus a multiple of 10"),
        ({"top": 99}, "0 plus a multiple of 10"),
        ({"top": 50, "min": 5}, "5 plus a multiple of 10"),
        ({"top": 51, "min": -7, "step": 3, "max": 60}, "-7 plus a multiple of 3"),
    ],
    ids=str,
)
def test_a_top_that_is_no_step(wrong: dict[str, Any], allowed: str) -> None:
    """Within a step it would cut off some of its remainders."""
    with pytest.raises(SchemaError) as caught:
        Split(**SMALL | wrong)
    assert caught.value.what == "column 'wage': top must lie on a step"
    assert caught.value.got == wrong["top"]
    assert caught.value.allowed == allowed


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"max": 30}, "take 29 or 39 for max"),
        ({"max": 30, "top": 30}, "take 29 or 39 for max"),
        ({"max": 95, "min": -5}, "take 94 or 104 for max"),
        ({"max": 10}, "take 9 or 19 for max"),
    ],
    ids=str,
)
def test_an_end_on_the_first_number_of_a_step(wrong: dict[str, Any], hint: str) -> None:
    """The last bin is closed, and would have the step before in it; either hint puts it right."""
    with pytest.raises(SchemaError) as caught:
        Split(**SMALL | wrong)
    error = caught.value
    assert error.what == ("column 'wage': max must not be the first number of a step")
    assert error.got == wrong["max"]
    assert error.hint == hint
    for most in (int(word) for word in hint.split() if word.isdigit()):
        there_and_back(Split(**SMALL | wrong | {"max": most}))


@pytest.mark.parametrize("ends", [{"max": 0}, {"min": 99}], ids=str)
def test_splits_of_nothing(ends: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="max must not be the first number of a step"):
        Split(**SMALL | ends)


@pytest.mark.parametrize("step", [2**16 + 1, 2**40, 10**400], ids=["2^16+1", "2^40", "10^400"])
def test_a_step_of_more_remainders_than_codes(step: int) -> None:
    with pytest.raises(SchemaError):
        Split(**SMALL | {"step": step})


def test_the_most_steps_and_the_farthest_ends_are_allowed() -> None:
    long = Split(name="wage", parts=PARTS, step=2, max=2**17 - 1)
    assert long.modelled[0].bins == 2**16
    topped = Split(name="wage", parts=PARTS, step=2, top=2**17, max=10**9)
    assert topped.modelled[0].bins == 2**16 + 1
    far = Split(name="wage", parts=PARTS, step=2**16, min=2**52 - 2**20, max=2**52 - 1)
    value = 2**52 - 2
    back = joined(far, *codes_of(far, np.array([value])))
    assert back.tolist() == [value]


def test_the_rule_of_a_split() -> None:
    with pytest.raises(SchemaError) as caught:
        Split(**SMALL, outside="clip")  # type: ignore[arg-type]
    assert caught.value.what == "column 'wage': unknown rule for values outside the domain"
    assert caught.value.allowed == "'nearest', 'other', 'drop'"


@pytest.mark.parametrize(
    ("special", "got"),
    [
        ((0,), "0"),
        ((53,), "53"),
        ((99,), "99"),
        ((200, 50), "200, 50"),
        ((200, 200), "200, 200"),
        ((200, 200.0), "200, 200"),
        ((200.5,), "200.5"),
        ((2**52,), "inf"),
        ((-1, 10**400), "-1, inf"),
        ((float("nan"),), "inf"),
    ],
    ids=lambda case: str(case)[:50],
)
@pytest.mark.parametrize("top", [None, 50])
def test_special_values_are_looked_at_when_a_split_is_declared(
    special: Any, got: str, top: int | None
) -> None:
    """They lie beyond its ends, or a number of theirs would have lost its step."""
    with pytest.raises(SchemaError) as caught:
        Split(**SMALL, special=special, top=top)
    error = caught.value
    assert (
        error.what == "column 'hundreds': special values must be distinct numbers outside the bins"
    )
    assert error.got == got
    assert error.allowed == "numbers between -2^52 and 2^52, whole if the column is"


def test_special_values_may_lie_next_to_the_ends_or_far_off() -> None:
    split = Split(**SMALL, special=(-1, 100, 2**52 - 1, 1 - 2**52))
    assert split.modelled[0].encode(np.array(split.special)).tolist() == [10, 11, 12, 13]
    there_and_back(split)


@pytest.mark.parametrize(
    ("columns", "got"),
    [
        ((Split(**SMALL), Integer(name="rest", min=0, max=1)), "rest"),
        ((Split(**SMALL), Ignored(name="REST")), "REST, rest"),
        ((Split(**SMALL | {"parts": ("wage", "rest")}),), "wage"),
        ((Split(**SMALL), Split(**SMALL | {"name": "other"})), "hundreds, rest"),
    ],
    ids=["a column", "in capitals", "the split itself", "another split"],
)
def test_parts_have_names_of_their_own(columns: Any, got: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema("t", columns)
    assert caught.value.what == "columns declared twice"
    assert caught.value.got == got


# --- as a file ----------------------------------------------------------------------------

FILE = """\
name = "census"

[columns.INCWAGE]
kind = "split"
parts = ["hundreds", "rest"]
step = 100
max = 999997
top = 5000
special = [999998]

[columns.VALUEH]
kind = "numeric"
min = 0
step = 250
top = 25000
max = 9999997
whole = true
special = [9999998, 9999999]

[columns.age]
kind = "numeric"
min = 0
max = 100
step = 10

[columns.CITY]
kind = "categorical"
values = [0, 10]
groups = ["", "Colorado"]
"""


def test_a_file_says_it_all_and_is_written_as_it_was_read() -> None:
    schema = Schema.from_dict(tomllib.loads(FILE))
    wage, value, age, city = schema.columns
    assert wage == WAGE
    assert value == PEOPLE["VALUEH"]
    assert age == Numeric(name="age", edges=tuple(float(e) for e in range(0, 101, 10)))
    assert city == Categorical(name="CITY", values=(0, 10), groups=("", "Colorado"))
    assert Schema.from_dict(tomllib.loads(schema.to_toml())) == schema
    assert schema.to_toml().startswith(FILE[: FILE.index("\n[columns.VALUEH]")])
    assert schema.modelled[:2] == WAGE.modelled
    assert schema.released_columns == schema.columns
    with pytest.raises(SchemaError, match="no modelled column 'INCWAGE'"):
        schema["INCWAGE"]
