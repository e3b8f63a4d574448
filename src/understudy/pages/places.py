"""Maps without a map: a tile for every place, and a slider where the table has a time."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import UsageError
from understudy.pages import charts
from understudy.pages.outlines import read_outlines

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from understudy.pages.counts import Counted
    from understudy.pages.page import Chart, Table
    from understudy.release import Release
    from understudy.schema import Schema

PLACE = re.compile(
    r"(^|_)(area|areas|zone|tract|neighbou?rhood|puma|state|city|county|district|region|ward|"
    r"borough|precinct|origin|dest|destination|place|location|airport|community|msa|country|zip)"
    r"($|_)"
)
TIME = re.compile(r"(^|_)(hour|month|shift|day|weekday|year|quarter|week|date|time)($|_)")
FEWEST, MOST_PLACES, MOST_TIMES = 4, 400, 400


def maps(schema: Schema, also: Collection[str] = ()) -> list[tuple[str, str] | tuple[str]]:
    """Return the columns whose names are of places, each with every column of a time.

    ``also`` are columns that are known to be of places.
    """
    domain = schema.domain
    places = [
        n
        for n in domain
        if n in also or (PLACE.search(n.lower()) and FEWEST < domain[n] <= MOST_PLACES)
    ]
    dated = {c.name for c in schema.modelled if c.date_part is not None}
    times = [
        name
        for name, size in domain.items()
        if (name in dated or TIME.search(name.lower())) and FEWEST < size <= MOST_TIMES
    ]
    timed: list[tuple[str, str] | tuple[str]] = [(p, t) for p in places for t in times if p != t]
    return timed or [(place,) for place in places]


def place_charts(
    release: Release, counted: Counted, outlines: Mapping[str, str | Path] | None = None
) -> list[Chart]:
    """Draw every map of the synthetic rows: tiles, and outlines of columns that have them."""
    drawn, known, schema = [], {}, release.schema.unconstrained
    for name, path in (outlines or {}).items():
        if name not in schema.domain:
            raise UsageError(
                "outlines are of a column that is not modelled",
                got=name,
                allowed=", ".join(schema.domain),
            )
        known[name] = read_outlines(path, release.readable(name))
    for place, *time in maps(schema, known):
        chart, when = _tiles(release, counted, place, *time), time[0] if time else None
        if place in known:
            drawn.append(charts.outlined(chart, known[place], place=place, time=when))
        drawn.append(chart)
    return drawn


def _tiles(release: Release, counted: Counted, place: str, time: str | None = None) -> Chart:
    labels = list(release.readable(place).values())
    wide = math.ceil(math.sqrt(1.6 * len(labels)))
    rows = counted.marginals[(place,)][:, None]
    steps: list[str | None] = [None]
    if time is not None:
        rows, steps = counted.marginals[place, time], list(release.readable(time).values())
    size, moments = rows.shape
    which = np.tile(np.arange(size), moments)
    data: Table = {
        place: [labels[i] for i in which],
        "rows": rows.T.reshape(-1).tolist(),
        "across": (which % wide).tolist(),
        "down": (which // wide).tolist(),
    }
    if time is not None:
        data["step"] = np.repeat(np.arange(moments), size).tolist()
        data[time] = [steps[i] for i in data["step"]]
    return charts.tiles(
        place if time is None else f"{place} by {time}",
        f"Synthetic rows by {place}, one tile each; a tile without colour has no rows"
        + (f". The slider selects {time}, from {steps[0]} to {steps[-1]}." if time else "."),
        data,
        place=place,
        time=time,
    )
