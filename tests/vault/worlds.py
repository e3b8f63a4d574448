"""Small worlds: tables of a few people, and questions of every kind about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from hypothesis import strategies as st

from tests.vault.obvious import Obvious, People
from understudy.budget import Bounding, Sample, Unit, Weights
from understudy.door import (
    Candidate,
    Distances,
    Measure,
    Merge,
    Query,
    Question,
    Rows,
    Select,
    Total,
    UnitCounts,
    UnitMode,
    Units,
)
from understudy.engine import DuckDB
from understudy.schema import Integer, Schema
from understudy.vault import PrivateTable

KEY = "00112233445566778899aabbccddeeff"
DOMAIN = {"a": 3, "b": 2, "c": 4}
SCHEMA = Schema(
    "world", tuple(Integer(name=n, min=0, max=s - 1, missing=False) for n, s in DOMAIN.items())
)
CLIQUES = [("a",), ("b",), ("a", "b"), ("c", "a"), ("a", "b", "c"), ()]

rows = st.tuples(*(st.integers(0, s - 1) for s in DOMAIN.values()))
# Plain people, people all in one cell, people in every cell, people with very many rows.
person_rows = st.one_of(
    st.lists(rows, min_size=1, max_size=4),
    st.tuples(rows, st.integers(1, 300)).map(lambda t: [t[0]] * t[1]),
    st.just([(i, j, k) for i in range(3) for j in range(2) for k in range(4)]),
    st.lists(rows, min_size=20, max_size=60),
)
worlds = st.dictionaries(
    st.sampled_from(["1", "2", "ann", "bob", "é", "a b", "007"]),
    person_rows,
    min_size=1,
    max_size=4,
)
boundings: st.SearchStrategy[Bounding] = st.one_of(
    st.builds(Weights, st.integers(1, 40)), st.builds(Sample, st.integers(1, 40))
)
scales = st.floats(0.5, 1e4)


def merge(column: str, codes: list[int]) -> Merge:
    """Put codes together that have the same label; new codes come in the order of the labels."""
    return Merge(column=column, codes=np.unique(codes, return_inverse=True)[1])


@st.composite
def merges(draw: st.DrawFn) -> tuple[Merge, ...]:
    """Merge codes of at least one column, in any order of columns."""
    names = draw(st.permutations(list(DOMAIN)))[: draw(st.integers(1, len(DOMAIN)))]
    labels = {n: st.lists(st.integers(0, 3), min_size=s, max_size=s) for n, s in DOMAIN.items()}
    return tuple(merge(name, draw(labels[name])) for name in names)


def domain(merged: tuple[Merge, ...]) -> dict[str, int]:
    return DOMAIN | {m.column: m.size for m in merged}


@st.composite
def queries(draw: st.DrawFn, sizes: dict[str, int] = DOMAIN) -> Query:
    clique = draw(st.sampled_from(CLIQUES))
    size = int(np.prod([sizes[n] for n in clique]))
    if draw(st.booleans()):
        return Query(clique=clique, scale=draw(scales))
    cells = st.sets(st.integers(0, size - 1), min_size=1)
    sets = draw(st.lists(cells, min_size=1, max_size=4))
    starts = np.cumsum([0, *(len(s) for s in sets)], dtype=np.int64)
    flat = np.array([c for s in sets for c in sorted(s)], dtype=np.int64)
    return Query(clique=clique, scale=draw(scales), rows=Rows(starts, flat))


@st.composite
def candidates(draw: st.DrawFn, sizes: dict[str, int] = DOMAIN) -> Candidate:
    clique = draw(st.sampled_from(CLIQUES))
    size = int(np.prod([sizes[n] for n in clique]))
    expected = draw(st.lists(st.floats(-5, 50), min_size=size, max_size=size))
    return Candidate(
        clique=clique,
        expected=np.array(expected),
        weight=draw(st.sampled_from([0.3, 1.0, 2.5])),
        penalty=draw(st.floats(-5, 10)),
    )


@st.composite
def questions(draw: st.DrawFn) -> Question:
    clique = draw(st.sampled_from(CLIQUES[:-1]))
    size = int(np.prod([DOMAIN[n] for n in clique]))
    labelled = st.lists(st.integers(-1, 3), min_size=size, max_size=size)
    cells = draw(st.sets(st.integers(0, size - 1), min_size=1))
    several = draw(st.lists(queries(), min_size=1, max_size=4))
    labels = np.array(draw(labelled))
    asked: Question = draw(
        st.one_of(
            st.builds(
                Measure, queries=st.just(tuple(several)), bounding=boundings, price=st.just(1e9)
            ),
            st.builds(
                UnitMode,
                clique=st.just(clique),
                scale=scales,
                labels=st.just(labels if labels.max() >= 0 else None),
            ),
            st.builds(
                UnitCounts,
                clique=st.just(clique),
                cells=st.just(np.array(sorted(cells))),
                times=st.sampled_from([(1,), (1, 2), (3, 1), (60, 2)]),
                most=st.integers(1, 6),
                scale=scales,
                upwards=st.booleans(),
            ),
            st.builds(
                Select,
                candidates=st.lists(candidates(), min_size=1, max_size=3).map(tuple),
                epsilon=st.floats(0.01, 5),
                bounding=boundings,
            ),
            st.builds(
                Distances,
                candidates=st.lists(candidates(), min_size=1, max_size=4).map(tuple),
                scale=scales,
                bounding=boundings,
            ),
            st.builds(Total, cap=st.integers(1, 50), scale=scales),
            st.builds(Units, scale=scales),
        )
    )
    return asked


@st.composite
def merged_questions(draw: st.DrawFn) -> Measure | Select | Distances:
    """Questions of merged codes, about cells that only these have."""
    merged = draw(merges())
    sizes = domain(merged)
    measure = st.builds(
        Measure,
        queries=st.lists(queries(sizes), min_size=1, max_size=4).map(tuple),
        bounding=boundings,
        price=st.just(1e9),
        merged=st.just(merged),
    )
    select = st.builds(
        Select,
        candidates=st.lists(candidates(sizes), min_size=1, max_size=3).map(tuple),
        epsilon=st.floats(0.01, 5),
        bounding=boundings,
        merged=st.just(merged),
    )
    distances = st.builds(
        Distances,
        candidates=st.lists(candidates(sizes), min_size=1, max_size=4).map(tuple),
        scale=scales,
        bounding=boundings,
        merged=st.just(merged),
    )
    asked: Measure | Select | Distances = draw(st.one_of(measure, select, distances))
    return asked


def obvious(people: People, sizes: Mapping[str, int] = DOMAIN) -> Obvious:
    return Obvious(people, sizes, KEY)


@contextmanager
def opened(people: People, schema: Schema = SCHEMA) -> Iterator[PrivateTable]:
    """A world as a private table in a real engine."""
    flat = [(person, *row) for person, own in people.items() for row in own]
    table = {"id": np.array([r[0] for r in flat], dtype=object)}
    for i, name in enumerate(schema.domain, 1):
        table[name] = np.array([r[i] for r in flat], dtype=np.int64)
    engine = DuckDB()
    try:
        yield PrivateTable(engine, table, schema=schema, unit=Unit("id"), key=KEY)
    finally:
        engine.close()
