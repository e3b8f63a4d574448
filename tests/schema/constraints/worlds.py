"""Small schemas with constraints of every kind, drawn at random."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from understudy.schema import Array, Categorical, Codes, Declaration, Integer, Numeric, Schema
from understudy.schema.constraints import Constraint, Determines, Implies, Never, Order, Sum

COLUMNS: tuple[Declaration, ...] = (
    Integer(name="a", min=0, max=3),
    Categorical(name="b", values=("x", "y", "z")),
    Numeric(name="c", edges=(0.0, 1.0, 1.5, 4.0)),
    Numeric(name="d", edges=(-2.0, 1.2, 3.0), whole=True, missing=False),
    Categorical(name="e", values=("p", "q")),
    Numeric(name="f", edges=(-10.0, 0.0, 10.0)),
)
FREE = Schema("small", COLUMNS)
SAID = ("a", "b", "c", "d")
"""The columns that constraints of codes are about."""

labels = {name: st.sampled_from(FREE[name].labels()) for name in SAID}
ends = st.sampled_from([{"min": 1}, {"below": 1}, {"above": 0}, {"max": 2}])


def _conditions(*, least: int, most: int) -> st.SearchStrategy[dict[str, Any]]:
    def of(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
        values = {
            name: st.one_of(ends, st.lists(labels[name], min_size=1, max_size=3))
            if name == "a"
            else st.lists(labels[name], min_size=1, max_size=3)
            for name in names
        }
        return st.fixed_dictionaries(values)

    named = st.lists(st.sampled_from(SAID), min_size=least, max_size=most, unique=True)
    return named.flatmap(of)


rules: st.SearchStrategy[Any] = st.sampled_from(["drop", "nearest"])
nevers = st.builds(Never, _conditions(least=1, most=3), otherwise=rules)
implications = st.builds(
    Implies, _conditions(least=1, most=2), _conditions(least=1, most=2), otherwise=rules
)
orders = st.lists(st.sampled_from(["a", "c", "d"]), min_size=2, max_size=3, unique=True).flatmap(
    lambda names: st.builds(lambda rule: Order(*names, otherwise=rule), rules)
)
images = st.fixed_dictionaries({v: st.sampled_from(["p", "q"]) for v in ("x", "y")})
determined = st.builds(Determines, st.just("b"), st.just("e"), images)
sums = st.builds(Sum, st.just("f"), st.sampled_from([("c", "d"), ("a", "c"), ("d",)]))


@st.composite
def constraints(draw: st.DrawFn) -> tuple[Constraint, ...]:
    """Some constraints, each with a name of its own."""
    kinds = st.one_of(nevers, implications, orders)
    found: list[Constraint] = [*draw(st.lists(kinds, min_size=1, max_size=4))]
    found += [*draw(st.lists(determined, max_size=1)), *draw(st.lists(sums, max_size=1))]
    for number, constraint in enumerate(found):
        object.__setattr__(constraint, "name", f"rule {number}")
    return tuple(found)


def every_row(schema: Schema) -> dict[str, Codes]:
    """All combinations of codes."""
    cells = np.array(list(product(*(range(size) for size in schema.domain.values()))))
    return {n: cells[:, i].astype(np.int32) for i, n in enumerate(schema.domain)}


def broken(schema: Schema, rows: dict[str, Array]) -> dict[str, int]:
    """How many rows of values break each constraint."""
    codes = {c.name: c.encode(np.asarray(rows[c.name])) for c in schema.unconstrained.modelled}
    return {name: int(mask.sum()) for name, mask in schema.keeper.broken(codes, rows).items()}
