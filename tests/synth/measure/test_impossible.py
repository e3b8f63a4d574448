"""Impossible cells: what constraints forbid, over a model's own codes and over merged ones."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.schema.constraints.worlds import COLUMNS, constraints
from understudy.errors import SchemaError
from understudy.graph import Domain, Measurement, estimate
from understudy.schema import Schema
from understudy.schema.constraints import Constraint, Never
from understudy.synth.measure.impossible import zeros_of

GROUPS = {
    "a": np.array([0, 0, 1, 1, 2]),
    "b": np.array([0, 1, 1, 2, 2]),
    "c": np.arange(4),
    "d": np.zeros(2, dtype=np.int64),
}


@settings(max_examples=30, deadline=None)
@given(constraints(), st.booleans())
def test_a_cell_is_impossible_where_all_of_its_codes_are(
    said: tuple[Constraint, ...], merged: bool
) -> None:
    try:
        schema = Schema("small", COLUMNS, constraints=said)
    except SchemaError:
        assume(False)
    names = ("a", "b", "c", "d")
    groups = {n: GROUPS[n] if merged else np.arange(schema.domain[n]) for n in names}
    domain = Domain({n: int(group.max()) + 1 for n, group in groups.items()})
    found = zeros_of(schema, domain, [names], groups if merged else None)
    relations = schema.keeper.relations
    assert len(found) == len(relations)
    for zeros, relation in zip(found, relations, strict=True):
        possible = set()
        for codes in product(*(range(schema.domain[n]) for n in relation.scope)):
            row = {n: np.array([code]) for n, code in zip(relation.scope, codes, strict=True)}
            if not relation.broken(row)[0]:
                possible.add(tuple(int(groups[n][row[n][0]]) for n in relation.scope))
        shape = domain.shape(zeros.clique)
        cells = [tuple(map(int, np.unravel_index(cell, shape))) for cell in zeros.cells]
        assert {*product(*map(range, shape))} - {*cells} == possible


def test_what_a_model_does_not_hold_together_is_left_to_the_end() -> None:
    schema = Schema("small", COLUMNS, constraints=(Never({"a": 1, "b": "x"}),))
    assert zeros_of(schema, schema.domain, [("a",), ("b", "c")]) == []
    assert len(zeros_of(schema, schema.domain, [("b", "a")])) == 1
    assert zeros_of(schema.unconstrained, schema.domain, [("b", "a")]) == []


def test_no_row_of_a_model_breaks_what_it_holds() -> None:
    schema = Schema("small", COLUMNS, constraints=(Never({"a": [0, 1], "b": ["x", "y"]}),))
    rng = np.random.default_rng(0)
    noisy = Measurement(clique=("a", "b"), values=rng.normal(20, 30, 25), scale=30.0)
    fit = estimate(
        schema.domain, [noisy], total=500.0, zeros=zeros_of(schema, schema.domain, [("a", "b")])
    )
    rows = fit.model.sample(5000, rng)
    assert not any(r.broken(rows).any() for r in schema.keeper.relations)
