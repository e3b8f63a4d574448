"""`session.check()` gives in Python what `understudy check` gives on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import understudy as us
from understudy.errors import MissingColumnError, UsageError
from understudy.rehearsal import OpenedSession
from understudy.schema import Categorical, Id, Integer, Schema

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.place import Place

SCHEMA = Schema(
    "trips",
    (
        Id(name="taxi"),
        Categorical(name="colour", values=("red", "blue")),
        Integer(name="hour", min=0, max=3),
    ),
)


def table() -> dict[str, Any]:
    return {
        "taxi": [i % 30 for i in range(120)],
        "colour": ["red" if i % 3 else "blue" for i in range(120)],
        "hour": [i % 4 for i in range(120)],
    }


def opened(folder: Path, **other: Any) -> OpenedSession:
    asked: dict[str, Any] = {
        "private": table(),
        "public": table(),
        "schema": SCHEMA,
        "unit": "taxi",
        "bounding": "weights:4",
        "budget": us.Budget(epsilon=1.0, delta=1e-6),
        "ledger": folder / "trips.ledger",
    }
    return us.open(**asked | other)


def test_it_is_what_the_command_line_prints_and_nothing_is_spent(
    tmp_path: Path, place: Place
) -> None:
    found = opened(tmp_path).check(us.Independent())
    assert not (tmp_path / "trips.ledger").exists()
    (place / "public.csv").write_text((place / "trips.csv").read_text())
    line = place.synth(out=None, public=place / "public.csv", ledger=tmp_path / "trips.ledger")
    facts = place.facts("check", *line[1:])
    assert facts.keys() == found.facts.keys()
    for name in ("rehearsed_on", "mechanism", "ledger", "people", "warnings"):
        assert facts[name] == found.facts[name]
    assert str(found).splitlines()[:2] == place.fine("check", *line[1:]).splitlines()[:2]
    assert found._repr_html_().startswith("<pre>The private table has the columns")


def test_people_are_made_up_and_boundings_compared(tmp_path: Path) -> None:
    session = opened(tmp_path, public=None)
    found = session.check("independent", people=200, rows_per_person=4)
    assert "200 people made up" in str(found)
    assert set(found.facts["boundings"]) == {"weights:2", "norm"}


def test_what_cannot_be_rehearsed_is_told(tmp_path: Path) -> None:
    read = us.PublicTable.read(table(), schema=SCHEMA, unit=us.Unit("taxi"))
    with pytest.raises(UsageError, match="reads the public table itself"):
        opened(tmp_path, public=read).check()
    with pytest.raises(MissingColumnError, match="no 'hour'"):
        opened(tmp_path, private={"taxi": [1], "colour": ["red"]}).check()
