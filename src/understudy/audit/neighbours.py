"""Neighbours: tables that differ by one person, with all of their rows.

The person may bring an odd cell: one that is missing, or of no kind that the column has.  Both
tables are then put into the same container, each by itself, so that a column may be of one type
in one of them and of another in the other (`understudy.audit.containers`).
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.audit.containers import OBJECTS, available
from understudy.budget import Budget, Norm, Sample, Unit, Weights
from understudy.schema import Categorical, DateTime, Id, Integer, Numeric, Schema
from understudy.schema.constraints import Never, Order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from understudy.audit.containers import Columns, Container
    from understudy.budget import Bounding

    Row = list[Any]

MANY_ROWS = (2, 5, 17, 64)
CAPS = (1, 2, 3, 10, 50)
FEW_ROWS = (1, 2, 3)
"""Caps that are small compared with the other rows, so that any effect on those shows."""
SCHEMA = Schema(
    "neighbours",
    (
        Id(name="id"),
        Integer(name="a", min=0, max=2, missing=False),
        Categorical(name="b", values=("x", "y"), missing=True, of="person"),
        Integer(name="c", min=0, max=3, missing=True),
    ),
    order_by=("c",),
)
CONSTRAINED = replace(
    SCHEMA,
    constraints=(
        Never({"a": 2, "b": "x"}, name="dropped"),
        Order("a", "c", name="moved", otherwise="nearest"),
    ),
)
"""The same columns: rows that break the one constraint are dropped, those that break the other get
another code."""
TYPED = Schema(
    "typed neighbours",
    (
        Id(name="id"),
        Integer(name="a", min=0, max=1, missing=False),
        Categorical(name="b", values=("1", "2", "0.7"), missing=True),
        Numeric(name="c", edges=(0.0, 0.35, 0.7, 1.0), missing=True),
    ),
)
FORMAT = "%d/%m/%Y %H:%M"
DAYS = tuple(datetime(2020, month, 7 * month % 28 + 1, 8, month) for month in range(1, 13))  # noqa: DTZ001  without a time zone
DATED = Schema(
    "dated neighbours",
    (
        Id(name="id"),
        DateTime(name="a", part="quarter", format=FORMAT, missing=False),
        Categorical(name="b", values=tuple(map(str, DAYS[:3])), missing=True),
        Numeric(name="c", edges=(0.0, 1.0, 90.0, 3600.0), missing=True),
    ),
)
LENGTHS = tuple(timedelta(seconds=s) for s in (0.5, 1, 30, 90, 1800))
OVERLONG = "x" * 20_000
ODD: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "NaN": (float("nan"),),
    "infinity": (float("inf"), float("-inf")),
    "a date out of range": (datetime(9999, 12, 31, 23, 59), datetime(1, 1, 1)),  # noqa: DTZ001
    "a text": ("red", "31/12/1999", "NA", "-"),
    "a number in a text": ("900.0", "1e3"),
    "an overlong text": (OVERLONG,),
    "an unknown category": ("unheard of", 77),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Pair:
    """Two tables that differ by one person, and the settings to run on them."""

    schema: Schema
    unit: Unit
    bounding: Bounding
    budget: Budget
    table: object
    neighbour: object
    public: object
    apart: int
    """The number of rows of the person who is in only one of them."""
    container: str = OBJECTS.name
    """How the tables are stored."""
    odd: dict[str, str] = field(default_factory=dict)
    """The columns in which the person has an odd cell, and of which kind."""
    cells: tuple[Columns, Columns] = ({}, {})
    """The cells of both tables, before they were put into containers."""


@dataclass(frozen=True, slots=True)
class _Look:
    """The people of a pair: their schema, and the values to draw from."""

    schema: Schema
    values: tuple[tuple[Any, ...], ...]
    people: tuple[int, int]

    def rows(self, rng: np.random.Generator, size: int) -> list[Row]:
        """Draw a person's rows, all alike or each by itself."""
        rows = [[v[int(rng.integers(len(v)))] for v in self.values] for _ in range(size)]
        return rows if rng.random() < 0.5 else [list(rows[0]) for _ in rows]


def pairs(count: int, seed: int, *, public: bool = False) -> Iterator[Pair]:
    """Make random pairs; in every other one the person has 2, 5, 17 or 64 rows.

    All containers occur, and in three times as many pairs as there are containers each of them
    holds texts, typed values, and date-times.  In most pairs of the last two the person has an odd
    cell.  In some the person is the one of all rows without an id, in some every row is a person,
    in some a person is a week of someone, in some people have a table of their own, in some the
    schema has constraints, and in some, or in all, there is a public table beside.
    """
    containers = available()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        turn, place = divmod(number, len(containers))
        order = np.random.default_rng([seed, turn, 2**31]).permutation(len(containers))
        chosen = int(order[place])
        look = (_texts, _typed, _dated)[(turn + chosen) % 3](rng)
        yield _pair(number, rng, look, containers[chosen], public=public or number % 4 == 1)


def _texts(rng: np.random.Generator) -> _Look:
    """Texts, some of them outside the domain."""
    del rng
    texts = (("0", "1", "2", "99"), ("x", "y", "z", ""), ("0", "1", "2", "3", "nan", "-7"))
    return _Look(SCHEMA, texts, (2, 12))


def _typed(rng: np.random.Generator) -> _Look:
    """Booleans, numbers as categories, and floats near an edge, perhaps short ones."""
    short = np.float32 if rng.random() < 0.75 else float
    levels = tuple(map(short, (0.1, 0.35, 0.5, 0.7, 0.9, 7.0)))
    codes = (1, 2, 4) if rng.random() < 0.5 else tuple(map(short, (1.0, 0.7, 4.0)))
    return _Look(TYPED, _with_gaps(rng, ((True, False), codes, levels)), (20, 60))


def _dated(rng: np.random.Generator) -> _Look:
    """Date-times by a part, or written in a format; as categories; and durations."""
    written = rng.random() < 0.2
    days = tuple(day.strftime(FORMAT) for day in DAYS) if written else DAYS
    return _Look(DATED, _with_gaps(rng, (days, DAYS[:4], LENGTHS)), (20, 60))


def _with_gaps(
    rng: np.random.Generator, values: tuple[tuple[Any, ...], ...]
) -> tuple[tuple[Any, ...], ...]:
    """In some pairs, let other people have missing values too, except in the first column."""
    gaps = rng.random() < 0.25
    return tuple((*v, None) if gaps and i else v for i, v in enumerate(values))


def _pair(
    number: int, rng: np.random.Generator, look: _Look, container: Container, *, public: bool
) -> Pair:
    each_row, pure, plain = number % 10 == 8, number % 3 == 2, look.schema is SCHEMA
    weekly = look.schema is DATED and not each_row and bool(rng.random() < 0.5)
    sizes = [int(n) for n in rng.geometric(0.4, size=int(rng.integers(*look.people)))]
    sizes[0] = MANY_ROWS[number // 2 % 4] if number % 2 else int(rng.integers(1, 4))
    if each_row:
        sizes = [1] * len(sizes)
    people = [look.rows(rng, size) for size in sizes]
    names = list(range(len(people))) if plain else _names(rng, len(people))
    if plain:
        names = ["" if number % 7 == 3 else "0", *map(str, names[1:])]
    if weekly:
        people[0] = [[people[0][0][0], *row[1:]] for row in people[0]]
    odd = {} if plain else _odd(rng, names, people[0], weekly=weekly)
    tables = [_laid_out(names, people, rng), _laid_out(names[1:], people[1:], rng)]
    if rng.random() < 0.5:
        tables.reverse()
    two = plain and not each_row and number % 4 == 2
    cap = 1 if each_row else int(rng.choice(CAPS if plain else FEW_ROWS))
    unit = Unit("id", "a:week", nulls="one") if weekly else Unit("id", nulls="one")
    folder = Path(tempfile.mkdtemp(prefix="understudy-audit-"))
    pair = Pair(
        schema=CONSTRAINED if plain and number % 2 == 0 else look.schema,
        unit=Unit.each_row() if each_row else unit,
        bounding=_bounding(rng, cap, pure=pure),
        budget=Budget(epsilon=float(rng.uniform(0.1, 5)), delta=0.0 if pure else 1e-6),
        public=container.hold(_public(rng, look), folder / "public") if public else None,
        table=_held(container, tables[0], folder / "table", two=two),
        neighbour=_held(container, tables[1], folder / "neighbour", two=two),
        apart=sizes[0],
        container=container.name,
        odd=odd,
        cells=(tables[0], tables[1]),
    )
    weakref.finalize(pair, shutil.rmtree, folder, ignore_errors=True)
    return pair


def _held(container: Container, table: Columns, place: Path, *, two: bool) -> object:
    """Put a table into a container, or into two: people, with a line for each row, and rows.

    Every fifth person, by name, is not in the table of people, and every third has no rows.
    """
    if not two:
        return container.hold(table, place)
    numbers = [int(name or 0) for name in table["id"]]
    lines = [i for i, number in enumerate(numbers) if number % 5 != 4]
    rows = [i for i, number in enumerate(numbers) if number % 3 != 2]
    people = {name: [table[name][i] for i in lines] for name in ("id", "b")}
    events = {name: [table[name][i] for i in rows] for name in ("id", "a", "c")}
    return {
        "people": container.hold(people, place.with_name(f"{place.name}-people")),
        "rows": container.hold(events, place),
    }


def _bounding(rng: np.random.Generator, cap: int, *, pure: bool) -> Bounding:
    kinds: tuple[Bounding, ...] = (Weights(cap), Sample(cap), Norm())
    return kinds[int(rng.integers(2 if pure else 3))]


def _public(rng: np.random.Generator, look: _Look) -> Columns:
    """Make a public table; the people in it are nobody's neighbours."""
    people = [look.rows(rng, int(size)) for size in rng.geometric(0.3, size=16)]
    return _laid_out([f"public {i}" for i in range(len(people))], people, rng)


def _names(rng: np.random.Generator, count: int) -> list[Any]:
    """Name people by numbers, short floats, text, or numbers as text."""
    kinds = (int, lambda i: np.float32(i + 0.1), "p{}".format, str)
    name = kinds[int(rng.integers(len(kinds)))]
    return [name(i) for i in range(count)]


def _odd(
    rng: np.random.Generator, names: list[Any], rows: list[Row], *, weekly: bool
) -> dict[str, str]:
    """Put odd cells into one or all of a person's rows, and perhaps an odd id.

    Half of these cells are missing.  One person in ten is as ordinary as all others.
    """
    kinds = rng.choice(["null", *ODD], size=4, p=[0.4, *[0.6 / len(ODD)] * len(ODD)])
    chosen = {
        column: str(kind)
        for column, kind in zip(("a", "b", "c", "id"), kinds, strict=True)
        if rng.random() < 0.6
    }
    if rng.random() < 0.1:
        return {}
    for column, kind in chosen.items():
        value = ODD[kind][int(rng.integers(len(ODD[kind])))]
        usual = names[0] if column == "id" else rows[0]["abc".index(column)]
        if isinstance(usual, np.float32) and isinstance(value, (int, float)):
            # An array of both would be of doubles: NumPy would have decided for everybody.
            value = np.float32(value)
        if column == "id":
            names[0] = value
            continue
        whole = (weekly and column == "a") or rng.random() < 0.5
        for row in rows if whole else rows[:1]:
            row["abc".index(column)] = value
    return chosen


def _laid_out(
    names: Sequence[Any], people: Sequence[list[Row]], rng: np.random.Generator
) -> Columns:
    """Write people's rows into one table, in random order."""
    flat = [(name, *row) for name, rows in zip(names, people, strict=True) for row in rows]
    order = rng.permutation(len(flat))
    return {
        name: [flat[i][place] for i in order] for place, name in enumerate(("id", "a", "b", "c"))
    }
