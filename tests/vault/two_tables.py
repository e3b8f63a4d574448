"""Worlds of two tables: everyone's lines in the table of people, and everyone's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.vault.obvious import Obvious, Row
from tests.vault.views import OF_PEOPLE, ORDERED, VIEWS, mode, viewed
from tests.vault.worlds import DOMAIN, KEY
from understudy.budget import Unit
from understudy.door import Derived, View
from understudy.engine import DuckDB
from understudy.schema import Schema
from understudy.vault import PrivateTable

World = Mapping[str, tuple[Sequence[int], Sequence[Row]]]
"""Of each person their lines in the table of people (codes of b), and their rows (a and c)."""

FROM_NONE = tuple(
    Derived(name=each.name, kind=each.kind, column=each.column, starts=each.starts and (0, 1, 2, 5))
    for each in OF_PEOPLE
)
EVERYONE = View(derived=FROM_NONE, people=True, everyone=True)
OF_TWO = [*VIEWS, EVERYONE, View(people=True, everyone=True)]

lines = st.lists(st.integers(0, DOMAIN["b"] - 1), max_size=4)
events = st.tuples(st.integers(0, DOMAIN["a"] - 1), st.integers(0, DOMAIN["c"] - 1))
somebody = st.tuples(lines, st.lists(events, max_size=6))
worlds = st.dictionaries(
    st.sampled_from(["1", "2", "ann", "bob", "é", "a b", "007"]), somebody, min_size=1, max_size=5
)


def tables(world: World, *, ids: type = str) -> dict[str, dict[str, Any]]:
    """Lay out the two tables, each in an order of its own."""
    people = [(who, code) for who, (own, _) in world.items() for code in own]
    rows = [(who, *row) for who, (_, held) in [*world.items()][::-1] for row in held]
    whole = {"dtype": np.int64} if ids is int else {"dtype": object}
    return {
        "people": {
            "id": np.array([ids(who) for who, _ in people], **whole),
            "b": np.array([code for _, code in people], dtype=np.int64),
        },
        "rows": {
            "id": np.array([who for who, *_ in rows], dtype=object),
            "a": np.array([row[1] for row in rows], dtype=np.int64),
            "c": np.array([row[2] for row in rows], dtype=np.int64),
        },
    }


def own_of(world: World) -> dict[str, dict[str, int]]:
    """Everyone of the table of people, each once: their most common code."""
    nobody = Obvious({}, DOMAIN, KEY)
    return {who: {"b": mode(nobody, who, own)} for who, (own, _) in world.items() if own}


def joined(world: World) -> Obvious:
    """The rows of everyone in the table of people; of some there are none."""
    people = {
        who: [(a, own["b"], c) for a, c in world[who][1]] for who, own in own_of(world).items()
    }
    return Obvious(people, DOMAIN, KEY)


def slowly_shown(world: World, schema: Schema, view: View) -> Counter[Row]:
    seen = viewed(joined(world), schema, view, own_of(world))
    return Counter(row for rows in seen.people.values() for row in rows)


@contextmanager
def opened(world: World, schema: Schema = ORDERED) -> Iterator[PrivateTable]:
    """A world as two private tables in a real engine."""
    engine = DuckDB()
    try:
        yield PrivateTable(engine, tables(world), schema=schema, unit=Unit("id"), key=KEY)
    finally:
        engine.close()
