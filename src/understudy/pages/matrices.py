"""Matrices of columns by columns: real, synthetic, and their difference, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.pages.charts import _tooltip
from understudy.pages.page import Chart, records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.pages.page import Table

SIDE, LARGEST_CELL, SMALLEST_CELL = 270, 34, 9
"""The width of a matrix, and the largest and the smallest width of a cell, in pixels."""
LABEL = 130
FAINTEST = 0.1
"""A difference of this size has the full colour, unless a larger one is there."""
FIGURE = ".2f"


def matrices(title: str, about: str, data: Table, *, columns: Sequence[str]) -> Chart:
    """Draw three matrices: two on one scale from 0 to 1, and the difference on its own.

    The table has ``column``, ``and``, ``real``, ``synthetic`` and ``difference``, a row for each
    pair.  Where there is no room beside each other they stand below each other.
    """
    mirrored: Table = {
        "down": [*data["column"], *data["and"]],
        "across": [*data["and"], *data["column"]],
        **{kind: 2 * data[kind] for kind in ("real", "synthetic", "difference")},
    }
    side = len(columns) * max(SMALLEST_CELL, min(LARGEST_CELL, SIDE // len(columns)))
    most = max([FAINTEST, *map(abs, data["difference"])])
    one = {"scheme": "blues", "domain": [0, 1]}
    # In the middle of its scale a difference is no colour, and red and green are not used.
    other = {"scheme": "blueorange", "domain": [-most, most]}
    views = [
        _matrix("real", columns, side, one, labels=True),
        _matrix("synthetic", columns, side, one, labels=False),
        _matrix("difference", columns, side, other, labels=False),
    ]
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "data": {"values": records(mirrored)},
            "usermeta": {"across": len(columns)},
            "hconcat": views,
            "spacing": 16,
            "resolve": {"scale": {"color": "independent"}},
        },
    )


def _matrix(
    kind: str, columns: Sequence[str], side: int, scale: dict[str, Any], *, labels: bool
) -> dict[str, Any]:
    axis: dict[str, Any] = {"type": "nominal", "title": None, "sort": list(columns)}
    legend = {"orient": "bottom", "title": None, "gradientLength": min(side, 180), "format": FIGURE}
    return {
        "title": kind,
        "width": side,
        "height": side,
        "mark": {"type": "rect"},
        "encoding": {
            "x": {"field": "across", "axis": {"labelAngle": -90, "labelLimit": LABEL}, **axis},
            "y": {
                "field": "down",
                "axis": {"labels": labels, "ticks": labels, "labelLimit": LABEL},
                **axis,
            },
            "color": {"field": kind, "type": "quantitative", "scale": scale, "legend": legend},
            "tooltip": _tooltip(
                {"down": None, "across": None}
                | dict.fromkeys(("real", "synthetic", "difference"), FIGURE)
            ),
        },
    }
