"""One person's odd cell moves counts by what one person may, however a table is held.

A flaw that was found by review: of 20,000 people, a boolean column read by pandas and declared as
0 or 1, counts went from [9997, 10000, 1] to [1, 2, 20002] when one person more came with an empty
cell.  How a column was read depended on whether any of its values was missing.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.audit.effort import THOROUGH, effort, one_in
from tests.vault.worlds import KEY
from understudy.audit import check_distance
from understudy.audit.containers import CONTAINERS, Columns, Container
from understudy.audit.neighbours import ODD
from understudy.budget import Bounding, Norm, Sample, Unit, Weights
from understudy.door import Measure, Query, Question, Total, Units
from understudy.engine import DuckDB
from understudy.errors import AuditError
from understudy.schema import Categorical, DateTime, Integer, Numeric, Schema
from understudy.vault import PrivateTable
from understudy.vault.counts import exact

BOUNDINGS: tuple[Bounding, ...] = (Weights(2), Sample(2), Norm())
PEOPLE, ROWS = 60, 3
START = dt.datetime(2020, 1, 6, 8, 30)  # noqa: DTZ001  of no zone
DAYS = [START + dt.timedelta(days=11 * i) for i in range(30)]
FORMAT = "%d/%m/%Y %H:%M"
FLOATS = [0.1, 0.35, 0.5, 0.7, 0.9]
SCHEMA = Schema(
    "t",
    (
        Integer(name="flag", min=0, max=1),
        Categorical(name="truth", source="flag", values=("true", "false")),
        Numeric(name="level", edges=(0.0, 0.35, 0.7, 1.0)),
        Numeric(name="short", edges=(0.0, 0.35, 0.7, 1.0)),
        Categorical(name="listed", source="short", values=("0.1", "0.7")),
        DateTime(name="month", source="when", part="month", format=FORMAT),
        Categorical(name="day", source="when", values=tuple(map(str, DAYS[:4]))),
        Numeric(name="length", edges=(0.0, 1.0, 90.0, 3600.0)),
        Categorical(name="code", values=("1", "2", "2.5")),
        Integer(name="turn", min=0, max=ROWS - 1),
    ),
)
CELLS: Columns = {
    "flag": [True, False],
    "level": FLOATS,
    "short": [np.float32(x) for x in FLOATS],
    "when": DAYS,
    "length": [dt.timedelta(seconds=s) for s in (0.5, 1, 90, 1800)],
    "code": [1, 2, 3],
}
"""The cells that ordinary people have in each column, by turns."""
IDS: dict[str, Callable[[int], Any]] = {
    "whole numbers": lambda i: i,
    "floats": lambda i: i + 0.1,
    "short floats": lambda i: np.float32(i + 0.1),
    "texts": "p{}".format,
    "numbers in texts": str,
    "date-times": lambda i: START + dt.timedelta(hours=i),
    "durations": lambda i: dt.timedelta(milliseconds=100 * i),
}
LAST = START.replace(year=9999)
ODD_IDS: tuple[Any, ...] = (None, "red", float("nan"), LAST)[: effort(2, 4)]
ODD_DATES: tuple[Any, ...] = (None, "red", "06/01/2020 08:30", LAST)[: effort(2, 4)]


def tried(container: int, kind: int) -> bool:
    """Say whether a container is tried with a kind of cell: the first, and in turns the others."""
    return THOROUGH or kind == 0 or (container + kind) % 10 == 0


@contextmanager
def opened(data: object, schema: Schema, unit: Unit) -> Iterator[PrivateTable]:
    with closing(DuckDB()) as engine:
        yield PrivateTable(engine, data, schema=schema, unit=unit, key=KEY)


def questions(schema: Schema) -> list[Question]:
    """Every column and every column by a person's rows in turn, under each bounding."""
    names = [name for name in schema.domain if name != "turn"]
    cliques = [("turn",), *((n,) for n in names), *((n, "turn") for n in names)]
    queries = tuple(Query(clique=clique, scale=2.0) for clique in cliques)
    return [
        Units(scale=1.0),
        Total(cap=2, scale=1.0),
        *(
            Measure(queries=queries, bounding=b, price=0.5 if isinstance(b, Norm) else 1e9)
            for b in BOUNDINGS
        ),
    ]


def answers(data: object, schema: Schema, unit: Unit) -> list[Any]:
    with opened(data, schema, unit) as one:
        return [exact(question, one) for question in questions(schema)]


def check(before: list[Any], after: list[Any], schema: Schema) -> None:
    """Refuse counts that one person moves by more than is declared."""
    for question, one, other in zip(questions(schema), before, after, strict=True):
        check_distance(question, other - one, schema)


def table(ids: list[Any], odd: Any = ..., *, columns: Columns = CELLS) -> Columns:
    """Ordinary people of three rows each, and perhaps one whose cells are all odd."""
    rows = [(who, i) for i, who in enumerate(ids) for _ in range(ROWS)]
    made = {"who": [who for who, _ in rows], "turn": [i % ROWS for i in range(len(rows))]}
    for name, cells in columns.items():
        made[name] = [cells[i % len(cells)] for _, i in rows]
        if odd is not ...:
            short = isinstance(cells[0], np.float32) and isinstance(odd, float)
            made[name].append(np.float32(odd) if short else odd)
    return made


USUAL: dict[str, list[Any]] = {}
"""What is counted where nobody has an odd cell, by container."""


@pytest.mark.parametrize(
    ("container", "odd"),
    [
        pytest.param(container, odd[0], id=f"{container.name}-{kind}")
        for i, container in enumerate(CONTAINERS)
        for j, (kind, odd) in enumerate(ODD.items())
        if tried(i, j)
    ],
)
def test_an_odd_cell_moves_counts_by_one_person(
    container: Container, odd: Any, tmp_path: Path
) -> None:
    ids, unit = [f"p{i}" for i in range(PEOPLE)], Unit("who")
    if container.name not in USUAL:
        USUAL[container.name] = answers(
            container.hold(table(ids), tmp_path / "plain"), SCHEMA, unit
        )
    more = table(ids, odd)
    more["who"].append("odd")
    more["turn"].append(0)
    held = container.hold(more, tmp_path / "more")
    check(USUAL[container.name], answers(held, SCHEMA, unit), SCHEMA)


FEW = Schema("t", tuple(c for c in SCHEMA.columns if c.name in {"flag", "turn"}))


@pytest.mark.parametrize(
    ("container", "kind"),
    [
        pytest.param(container, kind, id=f"{container.name}-{kind}")
        for i, container in enumerate(CONTAINERS)
        for j, kind in enumerate(IDS)
        if tried(i, j)
    ],
)
def test_an_odd_id_is_another_person_and_renames_nobody(
    container: Container, kind: str, tmp_path: Path
) -> None:
    ids = [IDS[kind](i) for i in range(PEOPLE)]
    columns = {"flag": CELLS["flag"]}
    unit = Unit("who", nulls="one")
    plain = container.hold(table(ids, columns=columns), tmp_path / "plain")
    before = answers(plain, FEW, unit)
    for number, odd in enumerate(ODD_IDS):
        more = table(ids, None, columns=columns)
        short = isinstance(ids[0], np.float32) and isinstance(odd, float)
        more["who"].append(np.float32(odd) if short else odd)
        more["turn"].append(0)
        held = container.hold(more, tmp_path / f"{number}")
        check(before, answers(held, FEW, unit), FEW)


DATED = Schema("t", tuple(c for c in SCHEMA.columns if c.name in {"month", "turn"}))


@pytest.mark.parametrize("container", one_in(3, CONTAINERS), ids=lambda c: c.name)
def test_an_odd_date_is_another_person_where_a_week_of_someone_is_a_person(
    container: Container, tmp_path: Path
) -> None:
    ids = [f"p{i % 7}" for i in range(PEOPLE)]
    columns = {"when": DAYS}
    unit = Unit("who", "when:week", nulls="one")
    plain = container.hold(table(ids, columns=columns), tmp_path / "plain")
    before = answers(plain, DATED, unit)
    for number, odd in enumerate(ODD_DATES):
        more = table(ids, odd, columns=columns)
        more["who"].append("odd")
        more["turn"].append(0)
        held = container.hold(more, tmp_path / f"{number}")
        check(before, answers(held, DATED, unit), DATED)


BOOLEANS: dict[str, Callable[[list[Any]], Any]] = {
    "NumPy": np.array,
    "list": lambda v: v,
    "object": lambda v: np.array(v, dtype=object),
    "masked": lambda v: np.ma.MaskedArray([bool(x) for x in v], [x is None for x in v]),
    "pandas": pd.Series,
    "pandas, nullable": lambda v: pd.Series(v, dtype="boolean"),
    "pandas, Arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.bool_())),
    "pandas, category": lambda v: pd.Series(v).astype("category"),
    "pandas, object": lambda v: pd.Series(v, dtype=object),
    "Arrow": pa.array,
    "read by pandas": lambda v: pd.read_csv(
        io.StringIO("x,\n" + "\n".join(f"{'' if x is None else x}," for x in v))
    )["x"],
}
ALONE = Schema("t", (Integer(name="x", min=0, max=1),))


@pytest.mark.parametrize("held", BOOLEANS)
def test_twenty_thousand_people_and_one_with_an_empty_cell(held: str) -> None:
    """The very example of the review."""
    rng = np.random.default_rng(0)
    cells: list[bool | None] = [bool(x) for x in rng.integers(2, size=20_000)]
    found = []
    for values in (cells, [*cells, None]):
        column = {"who": np.arange(len(values)), "x": BOOLEANS[held](values)}
        with opened(column, ALONE, Unit("who")) as one:
            asked = [
                Measure(queries=(Query(clique=("x",), scale=1.0),), bounding=b, price=1.0)
                for b in BOUNDINGS
            ]
            found.append([exact(q, one) for q in asked])
    for question, before, after in zip(asked, *found, strict=True):
        check_distance(question, after - before, ALONE)
        assert ((after - before) / question.bounding.unit_weight).tolist() == [0, 0, 1]
    assert (found[0][1][:2] > 9_000).all()


SHORT_IDS: dict[str, Callable[[Any], Any]] = {
    "NumPy": lambda v: np.array(v, dtype=np.float16),
    "masked": lambda v: np.ma.MaskedArray(
        np.array([v[0] if x is None else x for x in v], dtype=np.float16), [x is None for x in v]
    ),
    "pandas": lambda v: pd.Series(np.array(v, dtype=np.float16)),
    "object": lambda v: np.array([None if x is None else np.float16(x) for x in v], dtype=object),
}


@pytest.mark.parametrize("one", SHORT_IDS)
@pytest.mark.parametrize("other", SHORT_IDS)
def test_half_precision_ids_are_the_same_however_they_are_held(one: str, other: str) -> None:
    ids = [0.1 + i / 4 for i in range(PEOPLE) for _ in range(ROWS)]
    turn = np.arange(len(ids)) % ROWS
    plain = {"who": SHORT_IDS[one](ids), "turn": turn, "flag": turn % 2}
    turn = np.append(turn, 0)
    more = {"who": SHORT_IDS[other]([*ids, None]), "turn": turn, "flag": turn % 2}
    unit = Unit("who", nulls="one")
    check(answers(plain, FEW, unit), answers(more, FEW, unit), FEW)


LONG_IDS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "object": lambda v: np.array(v, dtype=object),
    "masked": lambda v: np.ma.MaskedArray([x or 0 for x in v], [x is None for x in v]),
    "pandas, nullable": lambda v: pd.Series(v, dtype="Int64"),
    "pandas, Arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.int64())),
    "pandas, category": lambda v: pd.Series(
        pd.Categorical(v, categories=[x for x in v[::ROWS] if x is not None])
    ),
    "Arrow": pa.array,
}


@pytest.mark.parametrize("held", LONG_IDS)
def test_ids_of_many_digits_are_told_apart_beside_a_missing_one(held: str) -> None:
    ids = [2**53 + i for i in range(PEOPLE) for _ in range(ROWS)]
    turn, unit = np.arange(len(ids) + 1) % ROWS, Unit("who", nulls="one")
    before, after = (
        answers({"who": LONG_IDS[held](who), "turn": turn[:n], "flag": turn[:n] % 2}, FEW, unit)
        for who, n in ((ids, len(ids)), ([*ids, None], len(ids) + 1))
    )
    check(before, after, FEW)
    assert (int(before[0][0]), int(after[0][0])) == (PEOPLE, PEOPLE + 1)


@pytest.mark.parametrize("odd", ["red", "2020-02-30", "", None], ids=str)
@pytest.mark.parametrize("unit", [Unit("who"), Unit("who", "when:week", nulls="one")], ids=str)
def test_date_times_of_pandas_below_which_one_text_was_put(odd: Any, unit: Unit) -> None:
    days = [DAYS[i % 30] for i in range(PEOPLE)]
    frame = pd.DataFrame({"who": range(PEOPLE), "when": days, "turn": 0})
    assert frame["when"].dtype.kind == "M"
    more = pd.concat([frame, pd.DataFrame({"who": [-1], "when": [odd], "turn": [0]})])
    assert more["when"].dtype == object or odd is None
    dated = Schema("t", tuple(c for c in SCHEMA.columns if c.name in {"month", "day", "turn"}))
    check(answers(frame, dated, unit), answers(more, dated, unit), dated)


def test_counts_that_an_odd_cell_moves_for_everybody_are_seen() -> None:
    """What the flaw did, done by hand: all cells are read as missing once one of them is."""
    plain = {"who": np.arange(60), "flag": [True, False] * 30, "turn": np.zeros(60)}
    more = {"who": np.arange(61), "flag": [None] * 61, "turn": np.zeros(61)}
    with pytest.raises(AuditError, match="one person moves a Measure by more than its sensitivity"):
        check(answers(plain, FEW, Unit("who")), answers(more, FEW, Unit("who")), FEW)
