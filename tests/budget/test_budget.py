"""Budgets, units, boundings, charges: exact, frozen, and refused when they cannot be."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import tried
from understudy.budget import (
    GRAIN,
    Budget,
    Charge,
    Currency,
    Event,
    Gaussian,
    Laplace,
    Norm,
    ResolvedUnit,
    Sample,
    Selection,
    Unit,
    Weights,
    bounding_from_dict,
    bounding_to_dict,
    epsilon_of,
    mu_of_pure_upper,
    mu_of_selection_upper,
    mu_upper,
    price_grains,
    price_lower,
    resolve,
    split,
)
from understudy.budget.unit import UnitColumn
from understudy.errors import BudgetError
from understudy.schema import Categorical, DateTime, Id, Schema
from understudy.schema.encoding.calendar import PARTS

ENDS: Any = {"min": 0, "max": 9999}
PLAIN = Schema("t", (Categorical(name="colour", values=("red",)),))
currencies = st.sampled_from([Currency.GDP, Currency.PURE])
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        Gaussian,
        squared_sensitivity=st.fractions(min_value=Fraction(1, 10**6), max_value=10**9),
        sigma=st.floats(1e-3, 1e9),
    ),
    st.builds(
        Laplace,
        sensitivity=st.fractions(min_value=Fraction(1, 10**3), max_value=10**3),
        scale=st.floats(1, 1e6),
    ),
    st.builds(Selection, epsilon=st.floats(1e-4, 10)),
)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60), st.integers(1, 2**90), currencies)
def test_shares_never_cost_more_than_the_whole(
    shares: list[float], grains: int, currency: Any
) -> None:
    prices = split(grains, currency, shares)
    spent = sum(price_grains(p, currency) for p in prices if p > 0)
    assert spent <= grains


@given(st.integers(0, 2**100), currencies)
def test_price_lower_is_the_greatest_float_within(grains: int, currency: Any) -> None:
    price = price_lower(grains, currency)
    power = 2 if currency == Currency.GDP else 1
    assert Fraction(price) ** power <= grains * GRAIN
    assert Fraction(math.nextafter(price, math.inf)) ** power > grains * GRAIN


@given(st.integers(0, 2**100))
def test_mu_upper_is_not_below(grains: int) -> None:
    assert Fraction(mu_upper(grains)) ** 2 >= grains * GRAIN


@given(st.integers(0, 2**100))
def test_pure_epsilon_is_not_below(grains: int) -> None:
    assert Fraction(epsilon_of(grains, Currency.PURE, 0)) >= grains * GRAIN


@given(st.lists(events, min_size=1, max_size=5).map(tuple))
@tried()
def test_a_charge_survives_being_written_down(parts: tuple[Event, ...]) -> None:
    charge = Charge(parts)
    again = Charge.from_dict(charge.to_dict())
    assert again == charge
    assert again.grains(Currency.GDP) == charge.grains(Currency.GDP)


@given(st.lists(events, min_size=1, max_size=5).map(tuple))
def test_the_cost_is_the_sum_of_its_parts_rounded_up_once(parts: tuple[Event, ...]) -> None:
    alone = sum(Charge((p,)).grains(Currency.GDP) for p in parts)
    assert alone - len(parts) <= Charge(parts).grains(Currency.GDP) <= alone


def test_squared_mu_adds_up_over_several_epsilons() -> None:
    budgets = [Budget(epsilon=e, delta=1e-6) for e in (1, 2, 10)]
    whole = mu_upper(sum(b.grains for b in budgets))
    assert whole == pytest.approx(math.sqrt(sum(b.price**2 for b in budgets)))


def test_fifty_two_weeks_cost_fifty_two_times_mu() -> None:
    """A taxi of 52 taxi-weeks at epsilon 1: mu 14.8 and epsilon about 168 (FACTS §4)."""
    week = Budget(epsilon=1, delta=2.5e-5)
    mu = 52 * week.price
    assert round(mu, 1) == 14.8
    assert round(epsilon_of(math.ceil(Fraction(mu) ** 2 / GRAIN), Currency.GDP, 2.5e-5)) == 168


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "1", True, None])
def test_epsilons_that_are_none(epsilon: Any) -> None:
    with pytest.raises(BudgetError, match="epsilon must be positive"):
        Budget(epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, math.nan, "0", None])
def test_deltas_that_are_none(delta: Any) -> None:
    with pytest.raises(BudgetError, match="delta must be a probability"):
        Budget(epsilon=1, delta=delta)


@pytest.mark.parametrize("price", [0, -1, math.inf, math.nan, "1"])
def test_prices_that_are_none(price: Any) -> None:
    with pytest.raises(BudgetError, match="price must be positive"):
        price_grains(price, Currency.GDP)


@pytest.mark.parametrize("shares", [[], [0.0, 1.0], [-1.0]])
def test_shares_that_are_none(shares: list[float]) -> None:
    with pytest.raises(BudgetError, match="shares of a budget"):
        split(2**80, Currency.GDP, shares)


def test_a_pure_ledger_takes_no_gaussian() -> None:
    with pytest.raises(BudgetError, match="Gaussian noise cannot be charged"):
        Charge((Gaussian(squared_sensitivity=Fraction(1), sigma=1.0),)).grains(Currency.PURE)


def test_a_budget_and_a_unit_survive_being_written_down() -> None:
    budget = Budget(epsilon=1, delta=1e-9)
    assert Budget.from_dict(budget.to_dict()) == budget
    parts = (UnitColumn("a"), UnitColumn("b", "week", "%d/%m/%Y"), UnitColumn("c:week"))
    for unit in (ResolvedUnit(parts, "one"), ResolvedUnit((), "drop")):
        assert ResolvedUnit.from_dict(json.loads(json.dumps(unit.to_dict()))) == unit


def test_a_unit_of_a_ledger_made_before_is_read() -> None:
    found = ResolvedUnit.from_dict({"columns": ["a", "b:week", "c:d"], "nulls": "one"})
    assert (found.columns, found.nulls) == (("a", "b:week", "c:d"), "one")
    assert ResolvedUnit.from_dict({"columns": ["(each row)"], "nulls": "drop"}).is_row
    # Formats were not kept then: the schema of a run tells them.
    schema = Schema("t", (DateTime(name="w", source="b", part="week", format="%d/%m/%Y", **ENDS),))
    now = Unit("a", "b:week", "c:d", nulls="one").resolved(schema)
    assert now.parts[1].format == "%d/%m/%Y"
    assert found.completed(schema) == now != found


@pytest.mark.parametrize(
    ("unit", "part", "period"),
    [
        (Unit("taxi"), False, None),
        (Unit("taxi", nulls="one"), False, None),
        (Unit("a:b"), False, None),
        (Unit(":week"), False, None),
        (Unit("week"), False, None),
        (Unit("time:week"), True, "week"),
        (Unit("taxi", "time:week"), True, "week"),
        (Unit("taxi", "time:week", "time:hour"), True, "hour"),
        (Unit("patient", "hospital"), True, None),
        (Unit.each_row(), True, None),
    ],
    ids=str,
)
def test_a_unit_knows_whether_it_may_be_a_part_of_a_person(
    unit: Unit, part: bool, period: str | None
) -> None:
    resolved = unit.resolved(PLAIN)
    assert (resolved.is_part, resolved.period) == (part, period)


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_date_is_a_period(part: str) -> None:
    assert Unit("taxi", f"time:{part}").resolved(PLAIN).period == part


@pytest.mark.parametrize("columns", [(), ("",), ("a", "a")])
def test_units_that_are_none(columns: tuple[str, ...]) -> None:
    with pytest.raises(BudgetError, match="a unit needs at least one column name"):
        Unit(*columns)


def test_null_rules_that_are_none() -> None:
    with pytest.raises(BudgetError, match="unknown rule for null ids"):
        Unit("a", nulls="each")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Weights, Sample])
@pytest.mark.parametrize("cap", [0, -1, 1.5, True, 2**31, "5"])
def test_caps_that_are_none(kind: type[Weights | Sample], cap: Any) -> None:
    with pytest.raises(BudgetError, match="cap must be a positive integer"):
        kind(cap)


def test_boundings_survive_being_written_down() -> None:
    for bounding in (Weights(150), Sample(3)):
        assert bounding_from_dict(bounding_to_dict(bounding)) == bounding
        assert str(bounding.cap) in str(bounding)
    with pytest.raises(BudgetError, match="unknown bounding"):
        bounding_from_dict({"kind": "none", "cap": 1})


def test_a_unit_means_what_the_schema_declares() -> None:
    """A date-time column is its part, even where the table has a column of the same name."""
    schema = Schema(
        "flights",
        (
            DateTime(name="when", part="week", min=0, max=9999),
            Categorical(name="plane", source="tailnum", values=("x",)),
        ),
    )
    unit = Unit("plane", "when", "crew", nulls="one").resolved(schema)
    parts = (UnitColumn("tailnum"), UnitColumn("when", "week"), UnitColumn("crew"))
    assert unit == ResolvedUnit(parts, "one")
    assert unit.columns == ("tailnum", "when:week", "crew")
    assert Unit.each_row().resolved(schema).is_row


def test_a_unit_is_resolved_once() -> None:
    """Columns may be read from columns of each other's names."""
    crossed = Schema(
        "crossed",
        (
            Categorical(name="driver", source="person", values=("x",)),
            Categorical(name="person", source="car", values=("x",)),
        ),
    )
    unit = Unit("driver").resolved(crossed)
    assert unit == ResolvedUnit.of("person")
    assert resolve(unit, crossed) is unit
    assert not hasattr(unit, "resolved")


def test_a_part_of_a_date_is_read_as_the_schema_says_and_is_no_column_of_that_name() -> None:
    schema = Schema(
        "t",
        (
            DateTime(name="hour", source="start", part="hour", format="%d/%m/%Y %H:%M"),
            Id(name="odd:week"),
        ),
    )
    read = UnitColumn("start", "week", "%d/%m/%Y %H:%M")
    assert Unit("start:week").resolved(schema).parts == (read,)
    assert Unit("hour:week").resolved(schema).parts == (read,)
    assert Unit("odd:week").resolved(schema).parts == (UnitColumn("odd:week"),)
    assert Unit("other:week").resolved(schema).parts == (UnitColumn("other", "week"),)
    assert Unit("other:weak").resolved(schema).parts == (UnitColumn("other:weak"),)


def test_two_names_of_one_column_are_refused() -> None:
    schema = Schema("t", (Categorical(name="plane", source="tail", values=("x",)),))
    with pytest.raises(BudgetError, match="two names of the unit refer to the same column"):
        Unit("plane", "tail").resolved(schema)


def test_units_that_differ_in_what_defines_a_person_are_described_apart() -> None:
    week = (UnitColumn("start", "week"),)
    told = {
        ResolvedUnit(week, "drop").described,
        ResolvedUnit(week, "one").described,
        ResolvedUnit((UnitColumn("start", "week", "%d/%m/%Y"),), "drop").described,
        ResolvedUnit((UnitColumn("start:week"),), "drop").described,
    }
    assert len(told) == 4
    assert "week of start (%d/%m/%Y); rows without an id are dropped" in told


@pytest.mark.parametrize(
    "record",
    [
        Budget(epsilon=1.0, delta=1e-6),
        Unit("taxi"),
        Weights(3),
        Sample(3),
        Charge((Selection(epsilon=1.0),)),
        Selection(epsilon=1.0),
        Laplace(sensitivity=Fraction(1), scale=1.0),
        Gaussian(squared_sensitivity=Fraction(1), sigma=1.0),
    ],
    ids=lambda r: type(r).__name__,
)
def test_what_was_declared_cannot_change(record: Any) -> None:
    for field in fields(record):
        with pytest.raises(FrozenInstanceError):
            setattr(record, field.name, getattr(record, field.name))


def test_the_largest_epsilon_and_caps_are_taken_and_no_larger_ones() -> None:
    assert Budget(epsilon=1e9, delta=1e-6).price > 0
    with pytest.raises(BudgetError, match="epsilon must be positive"):
        Budget(epsilon=math.nextafter(1e9, math.inf), delta=1e-6)
    for cap in (1, 2**31 - 1):
        assert Weights(cap).cap == Sample(cap).cap == cap


def test_a_delta_that_is_true_is_none() -> None:
    with pytest.raises(BudgetError, match="delta must be a probability"):
        Budget(epsilon=1, delta=False)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 8.0])
def test_a_pure_event_in_a_gaussian_ledger_costs_the_square_of_its_mu(epsilon: float) -> None:
    def grains(mu: float) -> int:
        return math.ceil(Fraction(mu) ** 2 / GRAIN)

    laplace = Charge((Laplace(sensitivity=Fraction(2), scale=2 / epsilon),))
    assert laplace.grains(Currency.GDP) == grains(mu_of_pure_upper(epsilon))
    selection = Charge((Selection(epsilon=epsilon),))
    assert selection.grains(Currency.GDP) == grains(mu_of_selection_upper(epsilon))
    assert (
        laplace.grains(Currency.PURE)
        == selection.grains(Currency.PURE)
        == math.ceil(Fraction(epsilon) / GRAIN)
    )


def test_a_weighted_row_is_counted_in_steps_of_a_65536th_and_a_sampled_one_whole() -> None:
    assert Weights.unit_weight == Norm.unit_weight == 2**16
    assert Sample.unit_weight == 1


def test_a_charge_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(BudgetError, match="unknown kind"):
        Charge.from_dict([{"noise": "gift"}])
