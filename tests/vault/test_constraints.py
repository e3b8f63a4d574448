"""Constraints and privacy: a person who comes or goes changes no other person's rows."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.audit.effort import PLANTED, effort, tried
from tests.schema.constraints.worlds import COLUMNS, FREE, constraints
from understudy.budget import Unit
from understudy.engine import CodedTable, engine_for
from understudy.errors import SchemaError
from understudy.schema import Id, Schema
from understudy.schema.constraints import Constraint, Implies, Never, Order

Rows = dict[str, Counter[tuple[int, ...]]]


def table(people: dict[str, int], seed: int) -> dict[str, Any]:
    """Rows of some people, each drawn by themselves."""
    parts = []
    for name, count in people.items():
        rng = np.random.default_rng([seed, *name.encode()])
        codes = {c.name: rng.integers(0, c.size, count).astype(np.int32) for c in FREE.modelled}
        part = {c.name: c.decode(codes[c.name], rng).astype(object) for c in FREE.modelled}
        parts.append({"who": np.array([name] * count, dtype=object)} | part)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def coded(data: object, schema: Schema) -> Rows:
    """The rows of codes that are kept, of each person."""
    with closing(engine_for(data)) as engine:
        held = CodedTable(engine, data, schema=schema, unit=Unit("who"))
        rows = engine.fetch(f"SELECT * FROM ({held.named('SELECT * FROM rows')}) AS r")
    found: Rows = {}
    for i, name in enumerate(rows["id"].tolist()):
        row = tuple(int(rows[code][i]) for code in held.code.values())
        found.setdefault(name, Counter())[row] += 1
    return found


def declared(said: tuple[Constraint, ...]) -> Schema:
    return Schema("small", (Id(name="who"), *COLUMNS), constraints=said)


@tried(10, usual=3)
@given(
    constraints(),
    st.dictionaries(st.sampled_from("abcde"), st.integers(1, 8), min_size=2, max_size=4),
    st.integers(0, 2**32),
)
def test_whoever_comes_changes_nobody_elses_rows(
    said: tuple[Constraint, ...], people: dict[str, int], seed: int
) -> None:
    try:
        schema = declared(said)
    except SchemaError:
        assume(False)
    everyone = coded(table(people, seed), schema)
    for name in people:
        rest = {other: count for other, count in people.items() if other != name}
        without = coded(table(rest, seed), schema)
        assert without == {who: rows for who, rows in everyone.items() if who != name}


SAID = (
    Never({"a": {"min": 2}, "b": "x"}, name="drops"),
    Implies({"b": ["y", "(missing)"]}, {"a": [0, 1]}, name="moves", otherwise="nearest"),
    Order("d", "c", name="order", otherwise="nearest"),
)


def test_both_engines_keep_the_same_rows(spark: Any) -> None:
    schema = declared(SAID)
    data = table({"ann": 40, "bob": 30, "é": 20}, 5)
    texts = {n: [None if v is None or v != v else str(v) for v in c] for n, c in data.items()}  # noqa: PLR0124
    frame = spark.createDataFrame(pa.table({n: pa.array(c, pa.string()) for n, c in texts.items()}))
    here = coded({n: np.array(c, dtype=object) for n, c in texts.items()}, schema)
    assert coded(frame, schema) == here
    assert sum(sum(rows.values()) for rows in here.values()) < 90


@pytest.mark.parametrize("rule", ["drop", "nearest"])
def test_each_row_is_judged_by_itself(rule: Any) -> None:
    """Many rows together become what every three of them become alone."""
    rows = 60 if PLANTED else effort(18, 60)
    said = Never({"a": 3, "b": ["x", "y"]}, otherwise=rule), Order("a", "c", otherwise=rule)
    schema, data = declared(said), table({"ann": rows}, 1)
    together = coded(data, schema).get("ann", Counter())
    alone: Counter[tuple[int, ...]] = Counter()
    for i in range(0, rows, 3):
        few = {name: column[i : i + 3] for name, column in data.items()}
        alone += coded(few, schema).get("ann", Counter())
    assert together == alone
