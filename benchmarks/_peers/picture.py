"""The picture: error of pairs against time to fit, a panel a table, a point a cell."""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("agg")

from _peers.results import OURS, TITLES, YARDSTICK, Cell
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

COLOURS = {OURS: "#c1272d", "mbi": "#0f5b8d", "dpmm": "#2e7d32", "smartnoise": "#6a4c93"}
MARKERS = {"MST": "o", "AIM": "s", "AdaGrid": "^", "Auto": "D"}
GREY = "#666666"
WIDTH = 60
"""How many letters fit below a panel."""
PLACES = tuple(
    (round(reach * math.cos(turn), 1), round(reach * math.sin(turn), 1))
    for reach in (9, 16, 26, 40)
    for turn in (math.pi * i / 8 for i in range(16))
)
"""Where a label may stand, in points from what it names: near first, to the right first."""

YARDSTICK_PLACES = ((4.0, 7.0), (4.0, -7.0))
"""The same for the name of a yardstick, at the left end of its line."""


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Draw every table that has points, and write the picture."""
    tables = [t for t in TITLES if any(c.table == t and c.maker == YARDSTICK for c in cells)]
    figure, panels = plt.subplots(
        1, len(tables), figsize=(5.2 * len(tables), 5), squeeze=False, layout="constrained"
    )
    for panel, table in zip(panels[0], tables, strict=True):
        _panel(panel, TITLES[table], [cell for cell in cells if cell.table == table])
    panels[0][0].set_ylabel("mean error of pairs (total variation), less is better")
    figure.canvas.draw()
    for panel, table in zip(panels[0], tables, strict=True):
        _name(panel, [cell for cell in cells if cell.table == table and cell.runs])
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(panel: Axes, title: str, cells: list[Cell]) -> None:
    """Draw the points and yardsticks of a table, and say what has no point."""
    panel.set_title(title)
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter(NullFormatter())
    for cell in cells:
        if cell.maker == YARDSTICK:
            panel.axhline(cell.mean("pairs"), color=GREY, linestyle=":", linewidth=1)
        elif cell.runs:
            panel.plot(
                cell.mean("fit"),
                cell.mean("pairs"),
                MARKERS[cell.mechanism],
                color=COLOURS[cell.maker],
                markersize=8,
            )
    missing = [fill(f"{cell.label}: {cell.said}", WIDTH) for cell in cells if not cell.runs]
    panel.set_xlabel("\n".join(["seconds to fit, less is better", *missing]))
    panel.margins(x=0.25, y=0.12)
    panel.set_ylim(bottom=0)
    panel.spines[["top", "right"]].set_visible(False)


def _name(panel: Axes, cells: list[Cell]) -> None:
    """Put a name to every point and yardstick, where it covers nothing."""
    taken = [_covered(panel, cell) for cell in cells]
    for cell in cells:
        for place in YARDSTICK_PLACES if cell.maker == YARDSTICK else PLACES:
            text = _label(panel, cell, place)
            box = text.get_window_extent()
            if _free(panel, box, taken):
                break
            text.remove()
        else:
            # There is room nowhere: the nearest place it is.
            box = _label(panel, cell, PLACES[0]).get_window_extent()
        taken.append(box)


def _covered(panel: Axes, cell: Cell) -> Bbox:
    """Give what a cell's point covers, or a yardstick's line."""
    x, y = panel.transData.transform(_point(panel, cell))
    if cell.maker == YARDSTICK:
        return Bbox.from_bounds(x, y - 1, panel.get_window_extent().width, 2)
    return Bbox.from_bounds(x - 8, y - 8, 16, 16)


def _label(panel: Axes, cell: Cell, place: tuple[float, float]) -> Annotation:
    return panel.annotate(
        cell.label,
        _point(panel, cell),
        place,
        textcoords="offset points",
        ha="left" if place[0] > 0 else "right",
        va="center",
        color=COLOURS.get(cell.maker, GREY),
        fontsize=9,
    )


def _free(panel: Axes, box: Bbox, taken: list[Bbox]) -> bool:
    """Say whether a label stands within its panel, and covers nothing."""
    frame = panel.get_window_extent()
    inside = frame.contains(*box.min) and frame.contains(*box.max)
    return inside and not box.count_overlaps(taken)


def _point(panel: Axes, cell: Cell) -> tuple[float, float]:
    """Give where a cell's point is; a yardstick's is where its line begins."""
    if cell.maker == YARDSTICK:
        return panel.get_xlim()[0], cell.mean("pairs")
    return cell.mean("fit"), cell.mean("pairs")
