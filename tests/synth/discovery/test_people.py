"""What is a person's own and what orders their rows, as noisy numbers of people tell it."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.schema import Categorical, Integer, Timestamp
from understudy.synth.discovery.people import Repeats, order_of, why_order


def seen(*, again: float = 800.0, alike: float = 0.0, scale: float = 5.0) -> Repeats:
    return Repeats(people=1000.0, again=again, alike=alike, scale=scale)


EVEN, LOPSIDED = np.array([500.0, 500.0]), np.array([960.0, 40.0])


@pytest.mark.parametrize(
    ("repeats", "weights", "own"),
    [
        (seen(alike=800.0), EVEN, True),
        (seen(alike=740.0), EVEN, True),
        (seen(alike=600.0), EVEN, False),
        # By chance, most people with several rows have one value of a lopsided column.
        (seen(alike=760.0), LOPSIDED, False),
        (seen(alike=800.0), np.array([1000.0]), False),
        # Too few people with several rows, beside the noise, of all people, or at all.
        (seen(alike=800.0, scale=100.0), EVEN, False),
        (seen(again=99.0, alike=99.0, scale=0.1), EVEN, False),
        (seen(again=150.0, alike=150.0), np.array([20_000.0, -9.0]), False),
        (seen(again=-7.0, alike=9.0), EVEN, False),
    ],
)
def test_a_column_is_a_persons_own_if_nearly_nobody_has_several_values(
    repeats: Repeats, weights: np.ndarray[tuple[int], np.dtype[np.float64]], *, own: bool
) -> None:
    assert repeats.is_own(weights) is own


def test_numbers_of_few_people_are_not_looked_at() -> None:
    few = Repeats(people=5000.0, again=300.0, alike=300.0, scale=2.0)
    assert not few.known
    assert not few.is_own(EVEN)


def test_a_date_time_orders_rows_or_else_numbers_named_after_times() -> None:
    day = Timestamp(name="day", min="2020-01-01", max="2020-12-31")
    year, month = Integer(name="year", min=0, max=9), Integer(name="month", min=1, max=12)
    born, code = Integer(name="birth_year", min=0, max=9), Categorical(name="date", values=("a",))
    found = {c.name: seen(alike=50.0) for c in (day, year, month, code)}
    found["birth_year"] = seen(alike=790.0)
    assert order_of((code, born, month, year, day), found) == ("day",)
    assert order_of((code, born, month, year), found) == ("year", "month")
    assert order_of((code, born), found) == ()
    # A person's own column orders nothing; one that was not asked about is not known.
    own = Timestamp(name="day", min="2020-01-01", max="2020-12-31", of="person")
    assert order_of((own,), found) == ()
    assert order_of((day,), {}) == ()
    assert why_order((), found) == ""
    assert "year for 94% and month for 94%" in why_order(("year", "month"), found)
