"""The charts of an evaluation: tables and runs compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.pages.charts import BAR, COUNT, ORDER, WIDE, _tooltip
from understudy.pages.page import Chart, field_of, records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from understudy.pages.page import Table

FIGURE = ",.4~r"
"""Four digits, and never an exponent."""
BEST, BEATEN = "not beaten by another run", "beaten by another run"
COLOURS = ("$synthetic", "#9a5fb5", "#c08a1e", "#2f9e94", "#cf5b8a", "#7a9a3a")
STANDINGS = {BEST: "circle", BEATEN: "cross"}
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")


def run_colours(runs: Iterable[str]) -> dict[str, str]:
    """Return a colour for every run, the same in all charts."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(runs)}


def dots(
    title: str, about: str, data: Table, *, label: str, value: str, colours: Mapping[str, str]
) -> Chart:
    """Draw a dot for every label and kind; the table has a column for every colour's kind."""
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(colours))]
    # Kinds may have any name: as values, not fields, they need no escaping in a specification.
    drawn: Table = {
        "label": [name for name in data[label] for _ in colours],
        "which": [kind for _ in data[label] for kind in colours],
        "value": [data[kind][i] for i in range(len(data[label])) for kind in colours],
    }
    axis = {"grid": True, "labelLimit": 280}
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "data": {"values": records(drawn)},
            "width": WIDE - 100,
            "height": {"step": BAR + 7},
            "mark": {"type": "point", "filled": True, "size": 75, "opacity": 0.85},
            "encoding": {
                "y": {"field": "label", "type": "nominal", "title": None, "axis": axis, **ORDER},
                "x": {"field": "value", "type": "quantitative", "title": value},
                "color": _kinds("which", colours, list(colours.values())),
                "shape": _kinds("which", colours, shapes),
                "tooltip": [
                    {"field": "label", "type": "nominal", "title": label},
                    {"field": "which", "type": "nominal", "title": "of"},
                    {"field": "value", "type": "quantitative", "title": value, "format": ".3f"},
                ],
            },
        },
    )


def _kinds(name: str, kinds: Iterable[str], shown: list[str]) -> dict[str, Any]:
    """Encode kinds by colours or shapes."""
    return {
        "field": name,
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(kinds), "range": shown},
        "legend": {"orient": "top", "columns": 4, "labelLimit": 260},
    }


def beside(title: str, about: str, data: Table, *, of: str, colours: Mapping[str, str]) -> Chart:
    """Draw bars side by side, a group for every value.

    The table has ``value``, ``table``, which is one of these colours, ``share``, and a count of
    what the shares are of, such as ``rows``.
    """
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "width": WIDE - 100,
            "height": {"step": 9 * len(colours) + 9, "for": "position"},
            "mark": {"type": "bar"},
            "encoding": {
                "y": {
                    "field": "value",
                    "type": "nominal",
                    "title": None,
                    "scale": {"paddingInner": 0.25},
                    **ORDER,
                },
                "yOffset": {"field": "table", "type": "nominal", "sort": list(colours)},
                "x": {
                    "field": "share",
                    "type": "quantitative",
                    "title": f"share of the table's {of}",
                    "axis": {"format": ".1~%"},
                },
                "color": _kinds("table", colours, list(colours.values())),
                "tooltip": _tooltip({"value": None, "table": None, of: COUNT, "share": ".2%"}),
            },
        },
    )


def boxes(title: str, about: str, data: Table, *, colours: Mapping[str, str]) -> Chart:
    """Draw from which quantile to which the numbers of each table lie, and their mean.

    The table has ``table``, which is one of these colours, ``mean``, ``5 %``, ``25 %``, ``50 %``,
    ``75 %`` and ``95 %``.
    """
    axis = {"labelLimit": 280}
    told = dict.fromkeys((name for name in data if name != "table"), FIGURE)
    ink = {"color": {"value": "$ink"}}
    across = {"type": "quantitative", "title": title, "scale": {"zero": False, "padding": 12}}
    marks: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"type": "rule", "strokeWidth": 2}, _from_to("5 %", "95 %")),
        ({"type": "bar", "height": BAR, "opacity": 0.75}, _from_to("25 %", "75 %")),
        ({"type": "tick", "thickness": 3, "size": BAR + 8}, {"x": {"field": "50 %"}} | ink),
        (
            {"type": "point", "shape": "diamond", "filled": True, "size": 60},
            {"x": {"field": "mean"}} | ink,
        ),
    ]
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "width": WIDE - 100,
            "height": {"step": 2 * BAR + 9},
            "encoding": {
                "y": {"field": "table", "type": "nominal", "title": None, "axis": axis, **ORDER},
                "color": _kinds("table", colours, list(colours.values())) | {"legend": None},
                "tooltip": _tooltip({"table": None, **told}),
            },
            "layer": [
                {"mark": mark, "encoding": how | {"x": how["x"] | across}} for mark, how in marks
            ],
        },
    )


def _from_to(first: str, last: str) -> dict[str, Any]:
    return {"x": {"field": first}, "x2": {"field": last}}


def frontier(
    title: str, about: str, data: Table, *, y: str, zero: bool, colours: Mapping[str, str]
) -> Chart:
    """Draw a point for every run, by its epsilon, with a shape for its standing.

    The table has ``run``, which is one of these colours, ``epsilon``, y and ``standing``.
    """
    least, most = min(data["epsilon"]), max(data["epsilon"])
    across = {"type": "log", "nice": False} if most > 5 * least else {"zero": False}
    right = {"orient": "right", "columns": 1}
    run = _kinds("run", colours, list(colours.values()))
    standing = _kinds("standing", STANDINGS, list(STANDINGS.values()))
    tips = {"run": None, "standing": None, "epsilon": FIGURE, y: FIGURE}
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "width": WIDE - 160,
            "height": 300,
            "mark": {"type": "point", "filled": True, "size": 140, "opacity": 0.9},
            "encoding": {
                "x": {
                    "field": "epsilon",
                    "type": "quantitative",
                    "title": "epsilon: lower is stronger privacy",
                    "scale": across | {"padding": 20},
                },
                "y": {
                    "field": field_of(y),
                    "type": "quantitative",
                    "title": y,
                    "scale": {"zero": True} if zero else {"zero": False, "padding": 12},
                },
                "color": run | {"legend": run["legend"] | right},
                "shape": standing
                | {"legend": standing["legend"] | right | {"symbolFillColor": "$ink"}},
                "tooltip": _tooltip(tips),
            },
        },
    )
