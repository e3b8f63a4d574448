"""The charts of our pages, each a table and a Vega-Lite specification of how it is drawn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from understudy.pages.page import Chart
from understudy.pages.page import field_of as _field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.pages.page import Table

WIDE = 620
BAR = 13
"""The height of a bar, in pixels."""
TILE = 34
COUNT = ",.0f"
ORDER: dict[str, Any] = {"sort": None}
"""In the order of the table."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
HUES = ("#007fcb", "#cd5502", "#008d3d", "#9f5dca", "#8b7a00", "#ca4c86", "#008889")
"""A colour for each shape, of the same luminance, which is seen by day and by night."""
RAMP = ("#008889", "#0081bf", "#636fe0", "#9f5dca", "#c24e9e", "#d04b60", "#cd5502")
"""The same for what has an order."""
EMPTY = {"test": "datum.rows == 0", "value": "transparent"}
"""The colour of a place without rows."""
SQUARE = 380
"""The width of a heat map in pixels, unless its cells are many."""
LINE = 13
"""The height of a line of words, in pixels."""


def lines(title: str, about: str, data: Table, *, x: str, y: str, by: str) -> Chart:
    """Draw a line for every kind, both axes from 0 to 1."""
    unit = {"scale": {"domain": [0, 1]}, "axis": {"format": ".0%"}}
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "usermeta": {"fixed": True},
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
    step = [max(9, min(32, SQUARE // size)) for size in sizes]
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "usermeta": {"across": sizes[1]},
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
        "usermeta": {"fixed": True},
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
        slider = _slider(data, time)
        spec |= slider | {"usermeta": spec["usermeta"] | slider["usermeta"]}
    return Chart(title=title, about=about, data=data, spec=spec)


def _slider(data: Table, time: str) -> dict[str, Any]:
    """Return what a slider over the time of a table's rows needs."""
    last = max(data["step"])
    bind = {"input": "range", "min": 0, "max": last, "step": 1, "name": f"{time} "}
    names = dict(zip(data["step"], data[time], strict=True))
    listed = json.dumps([f"{time}: {names[i]}" for i in range(last + 1)])
    return {
        # The page writes them beside the slider.
        "usermeta": {"labels": [str(names[i]) for i in range(last + 1)]},
        "params": [{"name": "step", "value": 0, "bind": bind}],
        "transform": [{"filter": "datum.step == step"}],
        "title": {"text": {"expr": f"{listed}[step]"}, "anchor": "start"},
    }


def outlined(chart: Chart, outlines: Mapping[str, Any], *, place: str, time: str | None) -> Chart:
    """Draw the places of a chart of tiles as a map, by their outlines."""
    spec: dict[str, Any] = {"transform": []} | (_slider(chart.data, time) if time else {})
    shapes = [
        {"type": "Feature", "geometry": geometry, "~place": name}
        for name, geometry in outlines.items()
    ]
    source = {"data": {"values": shapes}, "key": "~place"}
    looked = {"lookup": _field(place), "from": source, "as": "~outline"}
    blues = {"scheme": "blues", "domain": [0, max(chart.data["rows"]) or 1]}
    spec |= {
        "width": WIDE - 60,
        "height": 480,
        "projection": {"type": "identity", "reflectY": True},
        "transform": [*spec["transform"], looked, {"filter": "isValid(datum['~outline'])"}],
        "mark": {"type": "geoshape", "stroke": "$soft", "strokeWidth": 0.5},
        "encoding": {
            "shape": {"field": "~outline", "type": "geojson"},
            "color": {"condition": EMPTY, **_number("rows"), "scale": blues},
            "tooltip": _tooltip({place: None, "rows": COUNT} | ({time: None} if time else {})),
        },
    }
    return Chart(
        title=f"{chart.title}, on a map",
        about=f"A map: darker means more rows. {chart.about}",
        data=chart.data,
        spec=spec,
    )


def timelines(
    title: str,
    about: str,
    data: Table,
    *,
    person: str,
    time: str,
    by: str | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Chart:
    """Draw a line for every person and a mark for each of their rows, along a time.

    ``by`` gives marks their shape and colour; ``kinds`` has its values with their colours, in
    order.  A person's name may have several lines.
    """
    most = max(name.count("\n") for name in data[person])
    step = (most + 2) * LINE + 6
    caption = {
        "labelExpr": "split(datum.label, '\\n')",
        "labelLineHeight": LINE,
        "labelOffset": -most * LINE / 2,
        "labelLimit": 260,
    }
    axis = {**caption, "grid": False, "ticks": False}
    y = {"field": _field(person), "type": "nominal", "title": None, "axis": axis, **ORDER}
    place: dict[str, Any] = {"field": "~place", "type": "quantitative"}
    place["scale"] = {"domain": [-3, 3], "range": [0.1 * step, 0.9 * step], "clamp": True}
    look = {"color": {"value": "$synthetic"}} if by is None else _kinds(by, kinds or {})
    row = {
        "transform": _stacked(_field(person), _field(time)),
        "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.85},
        "encoding": {"tooltip": _tooltip(dict.fromkeys(data)), "yOffset": place, **look},
    }
    line = {
        "mark": {"type": "line", "strokeWidth": 1.5, "color": "$soft", "opacity": 0.5},
        "encoding": {"detail": {"field": _field(person)}},
    }
    spec = {
        "width": WIDE - 60,
        "height": {"step": step, "for": "position"},
        "encoding": {"x": _time(time, data[time]), "y": y},
        "layer": [line, row],
    }
    return Chart(title=title, about=about, data=data, spec=spec)


def _time(name: str, values: Sequence[object]) -> dict[str, Any]:
    """Return the axis of a time: of numbers, or of moments, which are texts."""
    x: dict[str, Any] = {"field": _field(name), "title": name, "type": "temporal"}
    kinds = {type(value) for value in values} - {type(None)}
    if str not in kinds:
        x |= {"type": "quantitative", "scale": {"zero": False, "nice": False, "padding": 12}}
    if kinds == {int}:
        x["axis"] = {"format": "d", "tickMinStep": 1}
    return x


def _kinds(by: str, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return the colour and the shape of every kind."""
    look = {"field": _field(by), "type": "nominal", "title": by}
    return {
        channel: {
            **look,
            "scale": {"domain": list(kinds), "range": drawn},
            "legend": {"orient": "top", "columns": 4},
        }
        for channel, drawn in (("color", list(kinds.values())), ("shape", SHAPES[: len(kinds)]))
    }


def _stacked(*fields: str) -> list[dict[str, Any]]:
    """Place rows with the same fields above and below one another, around 0, as ``~place``."""
    return [
        {"window": [{"op": "row_number", "as": "~nth"}], "groupby": list(fields)},
        {"joinaggregate": [{"op": "count", "as": "~count"}], "groupby": list(fields)},
        {"calculate": "datum['~nth'] - (datum['~count'] + 1) / 2", "as": "~place"},
    ]


def _tile(place: str, most: int) -> list[dict[str, Any]]:
    """Draw a tile, darker for a larger count, with its name on it."""
    blues = {"scheme": "blues", "domain": [0, most]}
    return [
        {
            "mark": {"type": "rect", "cornerRadius": 3, "stroke": "$soft", "strokeWidth": 0.5},
            "encoding": {"color": {"condition": EMPTY, **_number("rows"), "scale": blues}},
        },
        {
            "mark": {"type": "text", "fontSize": 9, "limit": TILE - 2},
            "encoding": {
                "text": {"field": _field(place)},
                "color": {
                    "condition": [
                        {"test": f"datum.rows > {0.55 * most}", "value": "white"},
                        {"test": "datum.rows == 0", "value": "$soft"},
                    ],
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
