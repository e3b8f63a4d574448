"""People with texts, and the slow obvious version of what discovery weighs."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import strategies as st

from understudy.budget import Unit
from understudy.door import Discover, Search
from understudy.engine import DuckDB
from understudy.schema import Id, Schema, Text
from understudy.vault import PrivateTable
from understudy.vault.discovery import present

KEY = "00112233445566778899aabbccddeeff"
SCHEMA = Schema("texts", (Id(name="id"), Text(name="code"), Text(name="place", nulls=("?",))))
Held = Sequence[tuple[str | None, str | None]]
"""The texts of a person's rows."""
People = Mapping[str, Held]

UNSEEN = {
    *"\u061c\u200e\u200f\u2028\u2029\u2066\u2067\u2068\u2069\ufeff",
    *map(chr, range(0x202A, 0x202F)),
}
ODD = (
    "it's",
    '"x"',
    "<b>&amp;",
    "a,b",
    "é",
    "日本",
    "x" * 200,
    "x" * 201,
    "a\tb",
    "a\u202eb",
    "-",
    "=",
    "²",
    "٣",
)
FORMULAS = ("=", "=1+1", "@SUM(1)", "+cmd|' /C calc'!A0", "-2+(3)", "=-", "-x", "+", "@home")
texts = st.one_of(
    st.none(),
    st.sampled_from(
        ["a", "b", "c", "d", "E11.9", "NA", "?", "", " a ", "1", "1.0", *ODD, *FORMULAS]
    ),
    st.sampled_from(["E11.0", "E11.1", "E11", "E12.9", "E1", "E", "NAB", "?2", "1.01", "-0.5"]),
    st.text(max_size=6),
)
held = st.lists(st.tuples(texts, texts), min_size=1, max_size=8)
worlds = st.dictionaries(st.sampled_from("pqrstuvw"), held, max_size=6)
searches = st.builds(
    Search,
    column=st.sampled_from(["code", "place"]),
    most=st.integers(1, 5),
    scale=st.floats(0.5, 30),
    threshold=st.floats(0.5, 90),
    known=st.sampled_from([(), ("a",), ("E11.9", "b", "E12"), ("it's", "é", "E", '"x"')]),
    prefixes=st.sampled_from([(), (), (3,), (3, 1), (5, 2, 1), (2,)]),
)


def read(text: str | None, column: str) -> str | None:
    """Read a text as a value that may be brought, or None."""
    if text is None:
        return None
    # An engine cannot store half a surrogate pair.
    value = text.encode("utf-8", "backslashreplace").decode().strip(" ")
    whole, point, rest = value.partition(".")
    if point and rest and set(rest) == {"0"} and whole.removeprefix("-").isascii():
        value = whole if whole.removeprefix("-").isdigit() else value
    value = "0" if value == "-0" else value
    nulls = ("?",) if column == "place" else ("NA", "N/A", "NaN", "nan", "NULL", "null", "None")
    unseen = any(unicodedata.category(c) == "Cc" or c in UNSEEN for c in value)
    if value in (*nulls, "", *(("<NA>",) if column == "code" else ())):
        return None
    formula = value[0] == "=" != value or (value[0] in "-+@" and any(c in "(|!" for c in value))
    return None if len(value) > 200 or unseen or formula else value


def sought(text: str | None, search: Search) -> str | None:
    """Return what a cell is brought as: its value, or its last prefix, unless one is known."""
    value = read(text, search.column)
    for length in (None, *search.prefixes):
        shortened = None if value is None else read(value[:length], search.column)
        if value is None or value in search.known or shortened in search.known:
            return None
    return shortened


def weights_of(person: str, rows: Held, search: Search) -> dict[str, int]:
    """Weigh the values of one person: at most k of them, by the keyed hash."""
    place = ("code", "place").index(search.column)
    own = {sought(row[place], search) for row in rows}
    chosen = by_hash(person, search.column, {v for v in own if v is not None})[: search.most]
    return {value: math.isqrt(2**32 // len(chosen)) for value in chosen}


def by_hash(person: str, column: str, values: set[str]) -> list[str]:
    """Order a person's values by the keyed hash."""

    def hashed(value: str) -> tuple[str, str]:
        what = f"{KEY}:{len(person)}:{person}:{len(column)}:{column}:{value}"
        return hashlib.md5(what.encode()).hexdigest(), value  # noqa: S324  an order, not a secret

    return sorted(values, key=hashed)


def slowly(people: People, search: Search) -> dict[str, int]:
    """Weigh all values, person by person."""
    found: Counter[str] = Counter()
    for person, rows in people.items():
        found.update(weights_of(person, rows, search))
    return dict(found)


def columns(people: People) -> dict[str, Any]:
    """Lay people's rows out as columns of objects."""
    flat = [(person, *row) for person, rows in people.items() for row in rows]
    return {
        name: np.array([row[i] for row in flat], dtype=object)
        for i, name in enumerate(("id", "code", "place"))
    }


@contextmanager
def opened(people: People, *, unit: Unit | None = None) -> Iterator[PrivateTable]:
    """Open people as a private table in a real engine."""
    engine = DuckDB()
    try:
        yield PrivateTable(engine, columns(people), schema=SCHEMA, unit=unit or Unit("id"), key=KEY)
    finally:
        engine.close()


def weighed(table: PrivateTable, search: Search) -> dict[str, int]:
    """Read the weights of all values out of the engine, as nobody but a test may."""
    (there,) = present(Discover(searches=(search,)), table)
    found = table.engine.fetch(f"SELECT value, name, w FROM {there.relation}")
    named = dict(zip(there.names.tolist(), there.weights.tolist(), strict=True))
    assert named == dict(zip(found["name"].tolist(), found["w"].tolist(), strict=True))
    assert list(named) == sorted(named)
    return dict(zip(found["value"].tolist(), found["w"].tolist(), strict=True))
