"""Missing date-times: all parts tell together whether there are some."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy.door import Measurement
from understudy.public import PublicTable
from understudy.schema import Id, Integer, Schema, Timestamp
from understudy.synth.measure.missing import missing_dates
from understudy.synth.measure.support import Rule, find_support

WHEN = Timestamp(name="when", min="2024-01-01", max="2024-06-30")
SCHEMA = Schema("t", (Id(name="id"), WHEN, Integer(name="n", min=0, max=3)))
RULE = Rule(threshold=3.0, rare="neighbours", most=250, bins=32)


def measured(*missing: float, scale: float = 10.0) -> list[Measurement]:
    """Return counts of each part, with so many rows that have none."""
    found = []
    for column, rows in zip(SCHEMA.modelled, (*missing, 0.0), strict=True):
        values = np.full(column.size, 100.0)
        if column.missing_code is not None:
            values[column.missing_code] = rows
        found.append(Measurement(clique=(column.name,), values=values, scale=scale))
    return found


@pytest.mark.parametrize(
    ("rows", "there"),
    [
        # One part alone would say that there are none, and one that there are some.
        ((22.0, 35.0, 28.0), True),
        ((35.0, 5.0, -10.0), False),
        ((0.0, 0.0, 0.0), False),
    ],
)
def test_parts_of_a_date_time_agree_whether_rows_have_none(
    rows: tuple[float, float, float], there: bool
) -> None:
    answers = measured(*rows)
    found = missing_dates(SCHEMA, answers, lambda _: RULE)
    assert found == dict.fromkeys(WHEN.part_names, there)
    for column, answer in zip(SCHEMA.modelled[:3], answers, strict=False):
        support = find_support(column, answer, RULE, None, missing=found[column.name])
        assert support.supported[column.missing_code or 0] == there


def test_what_never_is_missing_is_not_looked_for() -> None:
    whole = Schema("t", (Id(name="id"), replace(WHEN, missing=False)))
    answers = [
        Measurement(clique=(c.name,), values=np.ones(c.size), scale=1.0) for c in whole.modelled
    ]
    assert missing_dates(whole, answers, lambda _: RULE) == {}


def test_what_public_people_often_miss_is_looked_for_whatever_noise_says() -> None:
    column, answer = SCHEMA.modelled[0], measured(0.0, 0.0, 0.0)[0]
    code = column.missing_code
    assert code is not None
    codes = {c.name: np.full(300, c.missing_code or 0) for c in SCHEMA.modelled}
    people = np.arange(300)
    public = PublicTable(schema=SCHEMA, codes=codes, people=people, numbers={})
    rule = replace(RULE, seen=0.05)
    assert find_support(column, answer, rule, public, missing=False).supported[code]
