"""Tables of people without a public one beside them: panels, surveys, calls, and simulated crowds.

Each is what a custodian has: one private table, a schema from its documentation, and a unit.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _people import chicago, planes
from _tables import ORDERED, Table, adult, fire, flights

from understudy.budget import Unit
from understudy.schema import Categorical, Id, Integer, Numeric, Schema, Timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

Numbers = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A private table and how it is declared."""

    name: str
    data: Any
    schema: Schema
    unit: Unit


def nlswork() -> Panel:
    """Give young women's working lives: 28,534 rows of 4,711 women, 20 columns."""
    flags = ("msp", "nev_mar", "collgrad", "not_smsa", "c_city", "south", "union")
    whole = {
        "year": (68, 88),
        "birth_yr": (41, 54),
        "age": (14, 46),
        "race": (1, 3),
        **dict.fromkeys(flags, (0, 1)),
        "grade": (0, 18),
        "ind_code": (1, 12),
        "occ_code": (1, 13),
    }
    cut = {
        "wks_ue": (0, 1, 5, 10, 15, 20, 30, 40, 52, 80),
        "ttl_exp": (*range(21), 25, 30),
        "tenure": (0, 0.5, *range(1, 11), 15, 20, 30),
        "hours": (0, 10, 20, 30, 35, 40, 41, 45, 50, 60, 80, 170),
        "wks_work": (0, 10, 20, 30, 40, 50, 52, 53, 60, 70, 80, 90, 100, 105),
        "ln_wage": (0, 0.5, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3, 4, 6),
    }
    return _panel("nlswork", whole, cut)


def cdnow() -> Panel:
    """Give purchases at a record shop: 69,659 of 23,570 customers, 4 columns."""
    cut = {
        "cds": (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 100),
        "value": (0, 5, 10, 12, 14, 16, 18, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1500),
    }
    return _panel("cdnow", {"month": (0, 17), "weekday": (0, 6)}, cut)


def _panel(name: str, whole: dict[str, tuple[int, int]], cut: dict[str, Any]) -> Panel:
    columns = [Integer(name=n, min=low, max=high) for n, (low, high) in whole.items()]
    edges: dict[str, Numbers] = {n: tuple(map(float, at)) for n, at in cut.items()}
    numeric = [Numeric(name=n, edges=at) for n, at in edges.items()]
    folder = Path(os.environ["UNDERSTUDY_DATA"]) / "panels"
    return Panel(
        name=name,
        data=folder / f"{name}.csv.gz",
        schema=Schema(name, (Id(name="person"), *columns, *numeric)),
        unit=Unit("person"),
    )


def _case(make: Callable[[], Any], name: str) -> Panel:
    case = make()
    return Panel(name=name, data=case.private, schema=case.schema, unit=case.unit)


def rows_of(table: Table, *, name: str | None = None) -> Panel:
    """Give a table of codes whose rows are a person each."""
    columns = [
        Integer(name=n, min=0, max=size - 1, missing=False)
        if n in ORDERED
        else Categorical(name=n, values=tuple(range(size)), missing=False)
        for n, size in table.sizes.items()
    ]
    return Panel(
        name=name or table.name,
        data=dict(table.codes),
        schema=Schema(table.name, tuple(columns)),
        unit=Unit.each_row(),
    )


def adult_part() -> Panel:
    """Give every 37th row of Adult, 1,321 people, and seven of its columns."""
    whole = adult()
    names = ("age", "workclass", "education-num", "race", "sex", "hours-per-week", "income>50K")
    part = Table(
        name="adult part",
        sizes={n: whole.sizes[n] for n in names},
        codes={n: whole.codes[n][::37] for n in names},
    )
    return rows_of(part)


ACS_CUTS: dict[str, Numbers] = {
    "AGEP": (*map(float, range(0, 95, 5)), 96.0),
    "DENSITY": (0.0, 50.0, 150.0, 500.0, 1500.0, 2500.0, 4000.0, 7500.0, 20_000.0, 60_000.0),
    "PINCP": (-1e4, 0.0, 1.0, *map(float, range(5_000, 100_000, 5_000)), 1.5e5, 3e5, 2e6),
    "POVPIP": (*map(float, range(0, 500, 50)), 501.0, 502.0),
    "PWGTP": (*map(float, range(0, 300, 25)), 2100.0),
    "WGTP": (0.0, 1.0, *map(float, range(25, 300, 25)), 1700.0),
}


def acs() -> Panel:
    """Give NIST's excerpts of the American Community Survey: 27,253 people, 24 columns."""
    folder = Path(os.environ["UNDERSTUDY_DATA"]) / "acs-2019"
    declared = json.loads((folder / "national2019.json").read_text())["schema"]
    columns = [
        Numeric(name=n, edges=ACS_CUTS[n])
        if n in ACS_CUTS
        else Categorical(name=n, values=tuple(map(str, told["values"])))
        for n, told in declared.items()
    ]
    return Panel(
        name="acs",
        data=folder / "national2019.csv",
        schema=Schema("acs", tuple(columns)),
        unit=Unit.each_row(),
    )


def binary(*, people: int = 21_574, columns: int = 16) -> Panel:
    """Give a made-up survey of yes and no: people of six kinds, who answer by their kind."""
    rng = np.random.default_rng(16)
    kinds = rng.choice(6, size=people, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    likely = rng.beta(0.5, 0.9, size=(6, columns))
    codes = {
        f"c{i}": (rng.random(people) < likely[kinds, i]).astype(np.int64) for i in range(columns)
    }
    return rows_of(Table(name="binary", sizes=dict.fromkeys(codes, 2), codes=codes))


def clinic(*, people: int = 20_000) -> Panel:
    """Give a made-up clinic: patients of an age, sex and illness, and their visits."""
    rng = np.random.default_rng(7)
    age = np.clip(rng.gamma(4, 12, people), 0, 99).astype(np.int64)
    sex = rng.integers(0, 2, people)
    illness = (rng.gamma(1.2, 30, people) + age // 3 + 40 * sex).astype(np.int64) % 250
    visits = np.minimum(1 + rng.geometric(1 / (1.5 + age / 15)), 120)
    who = np.repeat(np.arange(people), visits)
    rows = len(who)
    code = np.where(rng.random(rows) < 0.7, illness[who], rng.zipf(1.6, rows) % 250)
    ward = (code // 21 + (rng.random(rows) < 0.2)) % 12
    month = rng.integers(0, 12, rows)
    stay = np.minimum(rng.geometric(1 / (1 + code % 7 + age[who] / 40)) - 1, 30)
    paid = np.digitize(rng.lognormal(3 + 0.1 * stay + 0.05 * ward, 0.8), np.geomspace(5, 5000, 15))
    codes = {
        "patient": who,
        "age": age[who],
        "sex": sex[who],
        "code": code,
        "ward": ward,
        "month": month,
        "stay": stay,
        "paid": paid,
    }
    columns = (
        Id(name="patient"),
        Numeric(name="age", edges=tuple(map(float, range(0, 105, 5))), missing=False),
        Integer(name="sex", min=0, max=1, missing=False),
        Categorical(name="code", values=tuple(range(250)), missing=False),
        Categorical(name="ward", values=tuple(range(12)), missing=False),
        Integer(name="month", min=0, max=11, missing=False),
        Integer(name="stay", min=0, max=30, missing=False),
        Integer(name="paid", min=0, max=15, missing=False),
    )
    return Panel(name="clinic", data=codes, schema=Schema("clinic", columns), unit=Unit("patient"))


def appointments(*, people: int = 4000) -> Panel:
    """Give made-up appointments: patients who come every week, two or four, on a weekday of theirs.

    Some stay away now and then, and some have two on a day.
    """
    rng = np.random.default_rng(11)
    every = rng.choice([7, 14, 28], people, p=[0.2, 0.3, 0.5])
    begins = rng.integers(0, 364 - 56, people)
    begins -= begins % 7 - rng.choice(5, people, p=[0.3, 0.2, 0.2, 0.2, 0.1])
    count = 1 + rng.geometric(0.12, people)
    who = np.repeat(np.arange(people), count)
    nth = np.arange(len(who)) - (np.cumsum(count) - count)[who]
    day = begins[who] + nth * every[who]
    came = (day < 364) & ((rng.random(len(who)) < 0.9) | (nth == 0))
    twice = 1 + (rng.random(int(came.sum())) < 0.1)
    who, day = np.repeat(who[came], twice), np.repeat(day[came], twice)
    codes = {
        "patient": who,
        "plan": np.searchsorted([14, 28], every, side="right")[who],
        "day": day,
        "result": rng.binomial(4, 0.2 + 0.2 * (every[who] == 7)),
    }
    columns = (
        Id(name="patient"),
        Integer(name="plan", min=0, max=2, missing=False),
        Integer(name="day", min=0, max=363, missing=False),
        Integer(name="result", min=0, max=4, missing=False),
    )
    schema = Schema("appointments", columns)
    return Panel(name="appointments", data=codes, schema=schema, unit=Unit("patient"))


def moments(*, people: int = 4000) -> Panel:
    """Give the appointments with a date-time each, and wards that patients stay in for a while."""
    found, rng = appointments(people=people), np.random.default_rng(13)
    codes = dict(found.data)
    day, who = codes.pop("day"), codes["patient"]
    ward = rng.choice(4, len(who), p=[0.4, 0.3, 0.2, 0.1])
    stays = (np.diff(who, prepend=-1) == 0) & (rng.random(len(who)) < 0.75)
    last = np.maximum.accumulate(np.where(stays, 0, np.arange(len(who))))
    codes["ward"] = ward[last]
    hour = rng.integers(8, 13, len(who)) + 4 * (codes["ward"] % 2)
    start = np.datetime64("2024-01-01", "h")
    codes["when"] = (start + 24 * day + hour).astype("datetime64[us]")
    kept = [c for c in found.schema.columns if c.name != "day"]
    columns = (
        *kept,
        Integer(name="ward", min=0, max=3, missing=False),
        Timestamp(name="when", min="2024-01-01", max="2024-12-31", missing=False),
    )
    return Panel(name="moments", data=codes, schema=Schema("moments", columns), unit=found.unit)


def skewed(*, people: int = 2000) -> Panel:
    """Give made-up customers, a few with very many rows, and values that mostly these have."""
    rng = np.random.default_rng(17)
    sizes = np.maximum(1, np.rint(rng.lognormal(1.0, 1.2, people))).astype(np.int64)
    who, large = np.repeat(np.arange(people), sizes), np.log(sizes) / 1.2 - 1 / 1.2
    scores = np.stack([0 * large, 0.2 + 0 * large, 2.5 * large - 2, -2 * large - 1], axis=1)[who]
    most = (large > 1.75)[who] & (rng.random(len(who)) < 0.7)
    codes = {
        "customer": who,
        "product": (scores + rng.gumbel(size=scores.shape)).argmax(axis=1),
        "channel": np.where(most, 3, rng.choice(4, len(who), p=[0.4, 0.3, 0.29, 0.01])),
        "day": rng.integers(0, 7, len(who)),
        "amount": np.clip(np.rint(5 + large[who] + rng.normal(size=len(who))), 0, 11).astype(int),
    }
    most_of = {"product": 3, "channel": 3, "day": 6, "amount": 11}
    columns = tuple(Integer(name=n, min=0, max=m, missing=False) for n, m in most_of.items())
    schema = Schema("skewed", (Id(name="customer"), *columns))
    return Panel(name="skewed", data=codes, schema=schema, unit=Unit("customer"))


def city(*, people: int = 1_000_000) -> Panel:
    """Give a made-up city: a million people and their trips, by area, hour and fare."""
    rng = np.random.default_rng(3)
    home = rng.zipf(1.3, people) % 77
    trips = 1 + rng.poisson(0.8, people) + (rng.random(people) < 0.02) * rng.geometric(0.05, people)
    who = np.repeat(np.arange(people), trips)
    rows = len(who)
    stays = rng.random(rows) < 0.5
    pickup = np.where(stays, home[who], rng.zipf(1.4, rows) % 77)
    dropoff = np.where(rng.random(rows) < 0.3, pickup, (pickup + rng.zipf(1.5, rows)) % 77)
    hour = np.clip(rng.normal(9 + 8 * (pickup % 2), 3, rows), 0, 23).astype(np.int64)
    miles = np.minimum(np.abs(dropoff - pickup) // 3 + rng.geometric(0.4, rows), 30)
    fare = np.minimum(miles + rng.integers(0, 6, rows), 39)
    card = (rng.random(rows) < 0.3 + 0.015 * fare).astype(np.int64)
    codes = {
        "person": who,
        "pickup": pickup,
        "dropoff": dropoff,
        "hour": hour,
        "miles": miles,
        "fare": fare,
        "card": card,
    }
    columns = (
        Id(name="person"),
        Categorical(name="pickup", values=tuple(range(77)), missing=False),
        Categorical(name="dropoff", values=tuple(range(77)), missing=False),
        Integer(name="hour", min=0, max=23, missing=False),
        Integer(name="miles", min=1, max=30, missing=False),
        Integer(name="fare", min=1, max=39, missing=False),
        Integer(name="card", min=0, max=1, missing=False),
    )
    return Panel(name="city", data=codes, schema=Schema("city", columns), unit=Unit("person"))


def wide(*, people: int = 42_535, columns: int = 48) -> Panel:
    """Give a made-up table of many columns of 3 to 11 codes, which hang on six unseen ones."""
    rng = np.random.default_rng(0)
    unseen = rng.integers(0, 6, (people, 6))
    sizes = {f"c{i}": 3 + i % 9 for i in range(columns)}
    codes = {
        name: (unseen[:, i % 6] + rng.integers(0, 3 + i % 5, people)) % size
        for i, (name, size) in enumerate(sizes.items())
    }
    return rows_of(Table(name=f"wide {columns}", sizes=sizes, codes=codes))


PANELS: dict[str, Callable[[], Panel]] = {
    "nlswork": nlswork,
    "cdnow": cdnow,
    "planes": lambda: _case(lambda: planes(weeks=False), "planes"),
    "plane-weeks": lambda: _case(lambda: planes(weeks=True), "plane-weeks"),
    "chicago": lambda: _case(chicago, "chicago"),
    "adult": lambda: rows_of(adult()),
    "adult part": adult_part,
    "acs": acs,
    "fire": lambda: rows_of(fire()),
    "flights": lambda: rows_of(flights()),
    "binary": binary,
    "clinic": clinic,
    "city": city,
    "wide": wide,
}
