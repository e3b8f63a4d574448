"""Impossible cells are those that constraints forbid: no others, on the right axes, merged too."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from understudy.graph import Domain
from understudy.schema import Categorical, Integer, Schema
from understudy.schema.constraints import Implies, Never, Order
from understudy.synth.measure.impossible import zeros_of

SCHEMA = Schema(
    "small",
    (
        Categorical(name="sex", values=("M", "F"), missing=False, outside="drop"),
        Integer(name="born", min=0, max=3, missing=False),
        Integer(name="year", min=1, max=3),
        Categorical(name="ward", values=("labour", "heart", "skin"), missing=False),
    ),
    constraints=(
        Never({"ward": "labour", "sex": "M"}, name="men"),
        Order("born", "year", name="order"),
        Implies({"year": 3}, {"ward": ["heart", "(other)"], "sex": "F"}, name="last year"),
    ),
)
CLIQUES = [("sex", "ward", "year"), ("born", "year")]


def forbidden(row: dict[str, int]) -> bool:
    """Say so of the codes of a row, by hand."""
    year = row["year"] + 1
    last = row["year"] == 2
    return (
        (row["ward"] == 0 and row["sex"] == 0)
        or (row["year"] < 3 and row["born"] > year)
        or (last and (row["ward"] in {0, 2} or row["sex"] == 0))
    )


@pytest.mark.parametrize("merging", [False, True])
def test_impossible_cells_are_those_that_no_row_can_be_in(merging: bool) -> None:
    groups = {n: np.arange(size) for n, size in SCHEMA.domain.items()}
    if merging:
        groups |= {"ward": np.array([0, 1, 1, 1]), "born": np.array([0, 0, 1, 2])}
    domain = Domain({n: int(group.max()) + 1 for n, group in groups.items()})
    zeros = zeros_of(SCHEMA, domain, CLIQUES, groups if merging else None)
    assert zeros
    names = list(SCHEMA.domain)
    possible = {
        tuple(int(groups[n][row[n]]) for n in names)
        for codes in product(*(range(size) for size in SCHEMA.domain.values()))
        if not forbidden(row := dict(zip(names, codes, strict=True)))
    }
    for zero in zeros:
        shape = domain.shape(zero.clique)
        at = [names.index(n) for n in zero.clique]
        left = {tuple(cell[i] for i in at) for cell in possible}
        # A cell of merged codes is possible where any of its rows are, whatever else they have.
        banned = set(zip(*np.unravel_index(zero.cells, shape), strict=True))
        assert not banned & left
    found = sum(len(zero.cells) for zero in zeros)
    # Men, three of the order, and of the last year men and two wards, of which one is merged.
    assert found == (6 if merging else 7)


def test_what_the_model_does_not_hold_together_is_left_to_mending() -> None:
    assert not zeros_of(SCHEMA, SCHEMA.domain, [("sex",), ("ward",)])
    (zero,) = zeros_of(SCHEMA, SCHEMA.domain, [("born", "year")])
    assert zero.clique == ("born", "year")
