"""Constraints: violations in a million rows, error and time beside the same without them."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _figures import figure, show
from _panels import Panel, acs, rows_of
from _people import chicago, planes
from _tables import Table, adult
from people import pair_error

import understudy as us
from understudy.evaluate import read_private
from understudy.schema import Numeric, Schema
from understudy.schema.constraints import (
    ConstantPerPerson,
    Constraint,
    Determines,
    Implies,
    Never,
    Order,
    Sum,
)

if TYPE_CHECKING:
    from understudy.schema import Array
    from understudy.synth import Mechanism

EPSILON, REPEATS, ROWS = 1.0, 3, 1_000_000
WORSE, SLOWER = 1.02, 1.3
PARTS = ("fare", "tips", "tolls", "extras")
CENTS = (0.0, 0.01, *map(float, range(2, 20, 2)), *map(float, range(20, 100, 10)), 10_000.0)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, what is true of it, and a public table if there is one."""

    panel: Panel
    constraints: tuple[Constraint, ...]
    public: Any = None
    mechanism: Mechanism = us.Auto()  # noqa: RUF009  it is immutable


def taxi(*constraints: Constraint) -> Case:
    """Give a day of Chicago's taxis with all parts of the total, and the month before's."""
    case = chicago()
    folder = Path(os.environ["UNDERSTUDY_DATA"]) / "chicago-taxi"
    tables = []
    for held, month in ((case.private, "04"), (case.public, "03")):
        more = us.public.read_public(folder / f"Taxi_Trips_2022_{month}.parquet")
        tables.append(held | {name: more[name] for name in ("tolls", "extras")})
    money = {name: Numeric(name=name, edges=CENTS) for name in (*PARTS, "trip_total")}
    columns = [money.pop(c.name, c) for c in case.schema.columns]
    schema = Schema("taxi", (*columns, *money.values()))
    panel = Panel(name="taxi", data=tables[0], schema=schema, unit=case.unit)
    return Case(panel=panel, constraints=constraints, public=tables[1])


def survey() -> Case:
    """Give the American Community Survey, with its dictionary's rules of age and household."""
    panel = acs()
    ages = (0.0, 3.0, 5.0, 10.0, 15.0, 16.0, *map(float, range(20, 95, 5)), 96.0)
    columns = tuple(
        Numeric(name="AGEP", edges=ages, missing=False) if c.name == "AGEP" else c
        for c in panel.schema.columns
    )
    quarters = {"HOUSING_TYPE": ["2", "3"]}
    rules = (
        Implies({"AGEP": {"below": 15}}, {"MSP": "N"}, name="children are not asked if married"),
        Never({"AGEP": {"min": 15}, "MSP": "N"}, name="all others are"),
        Implies({"AGEP": {"below": 3}}, {"EDU": "N"}, name="infants have no schooling"),
        Never({"AGEP": {"min": 3}, "EDU": "N"}, name="all others are asked for it"),
        Implies({"AGEP": {"below": 5}}, {"DREM": "N"}, name="no cognitive difficulty before 5"),
        Never({"AGEP": {"min": 5}, "DREM": "N"}, name="asked from 5 on"),
        Implies({"AGEP": {"below": 5}}, {"DPHY": "N"}, name="no walking difficulty before 5"),
        Never({"AGEP": {"min": 5}, "DPHY": "N"}, name="asked from 5 on, too"),
        Implies({"AGEP": {"below": 15}}, {"PINCP_DECILE": "N"}, name="no income before 15"),
        Implies({"AGEP": {"below": 16}}, {"INDP_CAT": "N"}, name="no industry before 16"),
        Implies(quarters, {"OWN_RENT": "0"}, name="group quarters are not rented"),
        Never({"HOUSING_TYPE": "1", "OWN_RENT": "0"}, name="homes are rented or owned"),
        Implies(quarters, {"NOC": "N"}, name="no own children in group quarters"),
        Implies(quarters, {"NPF": "N"}, name="no family in group quarters"),
    )
    schema = Schema("acs", columns)
    return Case(panel=replace(panel, schema=schema), constraints=rules)


def census() -> Case:
    """Give Adult with the names of its levels of education, which determine their numbers."""
    table = adult()
    levels = table.sizes["education-num"]
    panel = rows_of(
        Table(
            name="adult",
            sizes=table.sizes | {"education": levels},
            codes=table.codes | {"education": table.codes["education-num"]},
        )
    )
    named = {level: level for level in range(levels)}
    rule = Determines("education", "education-num", named, name="education has a number")
    return Case(panel=panel, constraints=(rule,))


def aeroplanes() -> Case:
    """Give flights from New York: a plane is of one carrier."""
    case = planes(weeks=False)
    schema = Schema(case.schema.name, case.schema.columns)
    panel = Panel(name="planes", data=case.private, schema=schema, unit=case.unit)
    # By the same mechanism with the constraint and without: `Auto` would choose `Lives` with it.
    return Case(panel=panel, constraints=(ConstantPerPerson("carrier"),), mechanism=us.Pairs())


CASES = {
    "taxi, sum": lambda: taxi(Sum("trip_total", PARTS, name="what is paid")),
    "taxi, order": lambda: taxi(Order("fare", "trip_total", name="no total below its fare")),
    "acs": survey,
    "adult": census,
    "planes": aeroplanes,
}


def release_of(case: Case, schema: Schema) -> tuple[us.Release, float]:
    """Run once; give the release and the processor seconds."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        release = us.open(
            private=case.panel.data,
            public=case.public,
            schema=schema,
            unit=case.panel.unit,
            bounding=us.Weights(1) if case.panel.unit.is_row else us.Norm(),
            budget=us.Budget(epsilon=EPSILON, delta=1e-6),
            ledger=Path(folder) / "bench.ledger",
        ).run(case.mechanism)
        release.columns  # noqa: B018  decoded once, for the clock
        return release, time.process_time() - begun


def broken(schema: Schema, rows: dict[str, Array]) -> int:
    """Count the rows that break a constraint, and the people whose own columns vary."""
    free = schema.unconstrained.released()
    codes = {c.name: c.encode(np.asarray(rows[c.name])) for c in free.modelled}
    found = sum(int(mask.sum()) for mask in schema.keeper.broken(codes, rows).values())
    for name in schema.own if schema.ids else ():
        people = rows[schema.ids[0].name]
        pairs = np.unique(np.stack([people, codes[name]]), axis=1)
        found += pairs.shape[1] - len(np.unique(people))
    return found


def compared(name: str) -> None:
    """Print a case's figures."""
    case = CASES[name]()
    free = case.panel.schema
    said = replace(free, constraints=case.constraints)
    real = read_private(case.panel.data, schema=free, unit=case.panel.unit)
    errors: dict[bool, list[float]] = {True: [], False: []}
    seconds: dict[bool, list[float]] = {True: [], False: []}
    violations = without = 0
    for turn in range(REPEATS):
        for kept, schema in ((True, said), (False, free)):
            release, took = release_of(case, schema)
            codes, _ = free.released().encode(release.columns)
            errors[kept].append(pair_error(real.codes, codes, free.domain))
            seconds[kept].append(took)
            if kept:
                violations += broken(said, release.columns)
                if turn == 0:
                    violations += broken(said, release.sample_columns(ROWS, seed=turn))
            else:
                without += broken(said, release.columns)
    ratio = float(np.mean(errors[True]) / np.mean(errors[False]))
    slower = float(np.median(seconds[True]) / np.median(seconds[False]))
    figure(f"{name}: broken without constraints, in {REPEATS} releases", without)
    figure(f"{name}: broken, and in a million rows", violations, "0", meets=violations == 0)
    figure(f"{name}: error of pairs without", float(np.mean(errors[False])))
    figure(f"{name}: error of pairs, to that without", ratio, f"≤ {WORSE}", meets=ratio <= WORSE)
    figure(f"{name}: time, to that without", slower, f"≤ {SLOWER}", meets=slower <= SLOWER)


if __name__ == "__main__":
    for each in sys.argv[1:] or CASES:
        compared(each)
    show()
