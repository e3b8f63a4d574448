"""Neighbours: tables that differ by one person, with all of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import Budget, Norm, Sample, Unit, Weights
from understudy.schema import Categorical, Id, Integer, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from understudy.budget import Bounding
    from understudy.schema import Array

    Table = dict[str, Array]

MANY_ROWS = (2, 5, 17, 64)
CAPS = (1, 2, 3, 10, 50)
SCHEMA = Schema(
    "neighbours",
    (
        Id(name="id"),
        Integer(name="a", min=0, max=2, missing=False),
        Categorical(name="b", values=("x", "y"), missing=True),
        Integer(name="c", min=0, max=3, missing=True),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Two tables, one of which has a person more, and how they are to be asked."""

    schema: Schema
    unit: Unit
    bounding: Bounding
    budget: Budget
    table: Table
    neighbour: Table
    public: Table | None
    apart: int
    """The number of rows of the person who is in one of them only."""


def pairs(count: int, seed: int, *, public: bool = False) -> Iterator[Pair]:
    """Make random pairs; in every other one the person has 2, 5, 17 or 64 rows.

    In some the person is the one of all rows without an id, in some every row is a person, and
    in some, or in all, there is a public table beside.
    """
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        each_row = number % 10 == 8
        sizes = [int(n) for n in rng.geometric(0.4, size=int(rng.integers(2, 12)))]
        sizes[0] = MANY_ROWS[number // 2 % 4] if number % 2 else int(rng.integers(1, 4))
        if each_row:
            sizes = [1] * len(sizes)
        people = [_rows(rng, size) for size in sizes]
        names = ["" if number % 7 == 3 else "0", *map(str, range(1, len(people)))]
        table, neighbour = _laid_out(names, people, rng), _laid_out(names[1:], people[1:], rng)
        if rng.random() < 0.5:
            table, neighbour = neighbour, table
        pure = number % 3 == 2
        cap = 1 if each_row else int(rng.choice(CAPS))
        yield Pair(
            schema=SCHEMA,
            unit=Unit.each_row() if each_row else Unit("id", nulls="one"),
            bounding=_bounding(rng, cap, pure=pure),
            budget=Budget(epsilon=float(rng.uniform(0.1, 5)), delta=0.0 if pure else 1e-6),
            public=_public(rng) if public or number % 4 == 1 else None,
            table=table,
            neighbour=neighbour,
            apart=sizes[0],
        )


def _bounding(rng: np.random.Generator, cap: int, *, pure: bool) -> Bounding:
    kinds: tuple[Bounding, ...] = (Weights(cap), Sample(cap), Norm())
    return kinds[int(rng.integers(2 if pure else 3))]


def _public(rng: np.random.Generator) -> Table:
    """Make a public table; the people in it are nobody's neighbours."""
    people = [_rows(rng, int(size)) for size in rng.geometric(0.3, size=16)]
    return _laid_out([f"public {i}" for i in range(len(people))], people, rng)


def _rows(rng: np.random.Generator, size: int) -> list[tuple[str, str, str]]:
    """Give a person rows all alike, or each of its own; some values are out of all bounds."""
    texts = (("0", "1", "2", "99"), ("x", "y", "z", ""), ("0", "1", "2", "3", "nan", "-7"))
    rows = [tuple(str(rng.choice(values)) for values in texts) for _ in range(size)]
    return rows if rng.random() < 0.5 else rows[:1] * size  # type: ignore[return-value]


def _laid_out(
    names: Sequence[str], people: Sequence[list[tuple[str, str, str]]], rng: np.random.Generator
) -> Table:
    """Write people's rows into one table, in an order of no meaning."""
    flat = [(name, *row) for name, rows in zip(names, people, strict=True) for row in rows]
    order = rng.permutation(len(flat))
    columns = ("id", "a", "b", "c")
    return {
        name: np.array([flat[i][place] for i in order], dtype=object)
        for place, name in enumerate(columns)
    }
