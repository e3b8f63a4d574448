"""The charts of our pages, each a table and a Vega-Lite specification of how it is drawn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from understudy.pages.page import Chart
from understudy.pages.page import field_of as _field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.pages.page import Table

WIDE = 620
BAR = 13
"""The height of a bar, in pixels."""
TILE = 34
COUNT = ",.0f"
ORDER: dict[str, Any] = {"sort": None}
"""In the order of the table."""


def lines(title: str, about: str, data: Table, *, x: str, y: str, by: str) -> Chart:
    """Draw a line for every kind, both axes from 0 to 1."""
    unit = {"scale": {"domain": [0, 1]}, "axis": {"format": ".0%"}}
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "width": 420,
            "height": 300,
            "mark": {"type": "line", "strokeWidth": 2.5},
            "encoding": {
                "x": {"field": _field(x), "type": "quantitative", "title": x, **unit},
                "y": {"field": _field(y), "type": "quantitative", "title": y, **unit},
                "color": {"field": _field(by), "type": "nominal", "title": None, **ORDER},
                "strokeDash": {"field": _field(by), "type": "nominal", "title": None, **ORDER},
            },
        },
    )


def shares(title: str, about: str, data: Table, *, label: str, share: str) -> Chart:
    """Draw a bar for every part of a whole."""
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "width": WIDE - 200,
            "height": {"step": BAR + 7},
            "mark": {"type": "bar", "color": "$synthetic"},
            "encoding": {
                "y": {"field": _field(label), "type": "nominal", "title": None, **ORDER},
                "x": {
                    "field": _field(share),
                    "type": "quantitative",
                    "title": share,
                    "axis": {"format": ".0%"},
                },
                "tooltip": [
                    {"field": _field(label), "type": "nominal", "title": label},
                    {"field": _field(share), "type": "quantitative", "format": ".1%"},
                ],
            },
        },
    )


def bars(title: str, about: str, data: Table, *, label: str, count: str) -> Chart:
    """Draw a bar for every count."""
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "width": WIDE,
            "height": 220,
            "mark": {"type": "bar", "color": "$synthetic"},
            "encoding": {
                "x": {
                    "field": _field(label),
                    "type": "nominal",
                    "title": label,
                    "axis": {"labelAngle": -40, "labelOverlap": True},
                    **ORDER,
                },
                "y": {"field": _field(count), "type": "quantitative", "title": count},
                "tooltip": _tooltip({label: None, count: COUNT}),
            },
        },
    )


def measured(title: str, about: str, data: Table, *, label: str) -> Chart:
    """Draw the measurements, with error bars, beside the synthetic counts.

    The table has the columns ``measured``, ``low``, ``high`` and ``synthetic``.
    """
    y = {"field": _field(label), "type": "nominal", "title": None, **ORDER}
    figures = dict.fromkeys(("measured", "low", "high", "synthetic"), COUNT)
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "width": WIDE - 150,
            "height": {"step": BAR + 9},
            "encoding": {"y": y, "tooltip": _tooltip({label: None, **figures})},
            "layer": [
                {
                    "mark": {"type": "bar", "height": BAR, "opacity": 0.75},
                    "encoding": {
                        "x": {"field": "synthetic", "type": "quantitative", "title": "rows"},
                        "color": {"datum": "synthetic rows", "type": "nominal"},
                    },
                },
                {
                    "mark": {"type": "rule", "strokeWidth": 2, "color": "$noisy"},
                    "encoding": {"x": _number("low"), "x2": {"field": "high"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 45},
                    "encoding": {
                        "x": {"field": "measured", "type": "quantitative"},
                        "color": {
                            "datum": "measured, with 95 % interval",
                            "type": "nominal",
                            "scale": {"range": ["$synthetic", "$noisy"]},
                            "legend": {"orient": "top", "title": None},
                        },
                    },
                },
            ],
        },
    )


def pair(title: str, about: str, data: Table, *, columns: tuple[str, str]) -> Chart:
    """Draw two tables of counts side by side, the measured and the synthetic ones.

    The table has both columns, ``kind`` and ``count``.
    """
    down, across = columns
    sizes = [len(set(data[name])) for name in columns]
    step = [max(9, min(26, 330 // size)) for size in sizes]
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "facet": {"column": {"field": "kind", "type": "nominal", "title": None, **ORDER}},
            "spec": {
                "width": {"step": step[1]},
                "height": {"step": step[0]},
                "mark": {"type": "rect"},
                "encoding": {
                    "x": {"field": _field(across), "type": "nominal", "title": across, **ORDER},
                    "y": {"field": _field(down), "type": "nominal", "title": down, **ORDER},
                    "color": {
                        "field": "count",
                        "type": "quantitative",
                        "title": "rows",
                        "scale": {"scheme": "blues", "domainMin": 0},
                    },
                    "tooltip": _tooltip({down: None, across: None, "count": COUNT}),
                },
            },
        },
    )


def tiles(title: str, about: str, data: Table, *, place: str, time: str | None) -> Chart:
    """Draw a tile for every place, coloured by its count; with a time, a slider selects it.

    The table has ``across`` and ``down``, the tile's position, the place, ``rows``, and with a
    time its number, ``step``, and the time.
    """
    position: dict[str, Any] = {"type": "ordinal", "axis": None}
    spec: dict[str, Any] = {
        "width": (max(data["across"]) + 1) * TILE,
        "height": (max(data["down"]) + 1) * TILE,
        "encoding": {
            "x": {"field": "across", **position},
            "y": {"field": "down", **position},
            "tooltip": _tooltip({place: None, "rows": COUNT} | ({time: None} if time else {})),
        },
        "layer": _tile(place, max(data["rows"]) or 1),
    }
    if time is not None:
        last = max(data["step"])
        bind = {"input": "range", "min": 0, "max": last, "step": 1, "name": f"{time} "}
        spec["params"] = [{"name": "step", "value": 0, "bind": bind}]
        spec["transform"] = [{"filter": "datum.step == step"}]
        names = dict(zip(data["step"], data[time], strict=True))
        listed = json.dumps([f"{time}: {names[i]}" for i in range(last + 1)])
        spec["title"] = {"text": {"expr": f"{listed}[step]"}, "anchor": "start"}
    return Chart(title=title, about=about, data=data, spec=spec)


def _tile(place: str, most: int) -> list[dict[str, Any]]:
    """Draw a tile, darker for a larger count, with its name on it."""
    blues = {"scheme": "blues", "domain": [0, most]}
    return [
        {
            "mark": {"type": "rect", "cornerRadius": 3, "stroke": "$soft", "strokeWidth": 0.5},
            "encoding": {"color": {**_number("rows"), "scale": blues}},
        },
        {
            "mark": {"type": "text", "fontSize": 9, "limit": TILE - 2},
            "encoding": {
                "text": {"field": _field(place)},
                "color": {
                    "condition": {"test": f"datum.rows > {0.55 * most}", "value": "white"},
                    "value": "#1c2430",
                },
            },
        },
    ]


def _number(name: str) -> dict[str, str]:
    return {"field": name, "type": "quantitative"}


def _tooltip(columns: Mapping[str, str | None]) -> list[dict[str, Any]]:
    return [
        {"field": _field(name), "type": "nominal", "title": name}
        if form is None
        else {"field": _field(name), "type": "quantitative", "format": form, "title": name}
        for name, form in columns.items()
    ]
