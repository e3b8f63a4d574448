"""Discovery where people have a table of their own: whose texts count, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.effort import effort, tried
from tests.vault.test_spread import slowly_kinds, slowly_spread, spreads
from tests.vault.texts import KEY, People, searches, slowly, texts, weighed, weights_of
from understudy.budget import Unit
from understudy.door import Kinds, Search, Spread
from understudy.engine import DuckDB
from understudy.schema import Id, Schema, Text
from understudy.vault import PrivateTable
from understudy.vault.counts import exact

SCHEMA = Schema(
    "texts", (Id(name="id"), Text(name="code"), Text(name="place", nulls=("?",), of="person"))
)
World = Mapping[str, tuple[Sequence[str | None], Sequence[str | None]]]
"""The places of a person's lines in the table of people, and the codes of their rows."""
somebody = st.tuples(st.lists(texts, max_size=3), st.lists(texts, max_size=5))
worlds = st.dictionaries(st.sampled_from("pqrstuv"), somebody, max_size=5)


@contextmanager
def opened(world: World) -> Iterator[PrivateTable]:
    """A world as two private tables in a real engine."""
    lines = [(who, place) for who, (places, _) in world.items() for place in places]
    rows = [(who, code) for who, (_, codes) in world.items() for code in codes]
    data: dict[str, Any] = {}
    for table, name, held in (("people", "place", lines), ("rows", "code", rows)):
        columns = zip(*held, strict=True) if held else ((), ())
        data[table] = {
            n: np.array(c, dtype=object) for n, c in zip(("id", name), columns, strict=True)
        }
    engine = DuckDB()
    try:
        yield PrivateTable(engine, data, schema=SCHEMA, unit=Unit("id"), key=KEY)
    finally:
        engine.close()


def held_by(world: World) -> People:
    """Everyone of the table of people, with their texts of both tables."""
    return {
        who: [*((code, None) for code in codes), *((None, place) for place in places)]
        for who, (places, codes) in world.items()
        if places
    }


@given(worlds, searches, spreads)
@tried(15, usual=3)
def test_the_engine_counts_people_of_the_table_of_people_and_nobody_else(
    world: World, search: Search, spread: Spread
) -> None:
    people, kinds = held_by(world), Kinds(columns=("code", "place"), scale=1.0)
    with opened(world) as table:
        for column in ("code", "place"):
            asked = replace(search, column=column)
            assert weighed(table, asked) == slowly(people, asked)
        assert exact(spread, table).tolist() == slowly_spread(people, spread)
        assert exact(kinds, table).tolist() == slowly_kinds(people, kinds.columns)


@given(worlds, somebody, searches)
@tried(10, usual=2)
def test_one_person_more_in_both_tables_adds_their_own_and_moves_nobody_elses(
    world: World, newcomer: tuple[list[str | None], list[str | None]], search: Search
) -> None:
    kinds = Kinds(columns=("code", "place")[: effort(1, 2)], scale=1.0)
    alone = held_by({"newcomer": newcomer})
    own = alone.get("newcomer", [])
    with opened(world) as before, opened({**world, "newcomer": newcomer}) as after:
        for column in ("code", "place"):
            asked = replace(search, column=column)
            old, new = weighed(before, asked), weighed(after, asked)
            moved = {v: new.get(v, 0) - old.get(v, 0) for v in {*old, *new}}
            added = weights_of("newcomer", own, asked)
            assert {v: w for v, w in moved.items() if w} == added
            assert sum(w**2 for w in added.values()) <= 2**32
        moved_kinds = exact(kinds, after) - exact(kinds, before)
        assert moved_kinds.tolist() == slowly_kinds(alone, kinds.columns)
