"""Between two date-times of a row the time is not kept, which a draft says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.schema import Schema, Timestamp
from understudy.schema.importers.durations import between_dates


def test_every_date_time_after_the_first_has_a_remark() -> None:
    days = np.array(["2024-01-05", "2024-03-09"])
    names = ("ward", "admitted", "operated", "discharged")
    table = {name: np.array(["a", "b"]) if name == "ward" else days for name in names}
    found = between_dates(Schema.from_public(table, name="t").columns)
    assert list(found) == ["operated", "discharged"]
    for told in found.values():
        assert told.startswith("the time from admitted to it is not kept")
        assert "the days or hours since admitted" in told


def test_one_date_time_and_none_have_no_remark() -> None:
    for names in (("when",), ()):
        table = {name: np.array(["2024-01-05"]) for name in names} | {"x": np.array([1])}
        assert between_dates(Schema.from_public(table, name="t").columns) == {}


def test_dates_of_birth_and_a_persons_own_are_no_ends_of_a_row() -> None:
    spans = {"birth": "1950", "admitted": "2024", "first_seen": "2024", "discharged": "2024"}
    dates = [
        Timestamp(
            name=name,
            min=f"{year}-01-01",
            max=f"{year}-12-31",
            of="person" if name == "first_seen" else "row",
        )
        for name, year in spans.items()
    ]
    found = between_dates(dates)
    assert list(found) == ["discharged"]
    assert found["discharged"].startswith("the time from admitted to it")
    # The years of one may go on where those of another end.
    later = replace(dates[1], name="later", min="2024-12-31", max="2025-12-31")
    assert list(between_dates([dates[1], later])) == ["later"]
