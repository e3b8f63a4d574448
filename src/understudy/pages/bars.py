"""Bars for counts and shares: upright ones, or lying ones where their labels are long."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from understudy.pages.charts import BAR, COUNT, LINE, ORDER, WIDE, _tooltip
from understudy.pages.page import Chart, field_of, records

if TYPE_CHECKING:
    from understudy.pages.page import Table

LONG = 16
"""Labels with more characters than this are not written under bars."""
CHARACTERS, MOST_LINES = 34, 2
"""The characters of a line of a label, and the most lines: so many have room on a phone."""


def shares(title: str, about: str, data: Table, *, label: str, share: str) -> Chart:
    """Draw a lying bar for every part of a whole."""
    return _lying(title, about, data, label=label, value=share, form=".1%", axis=".0%")


def bars(title: str, about: str, data: Table, *, label: str, count: str) -> Chart:
    """Draw a bar for every count."""
    if max(map(len, data[label]), default=0) > LONG:
        return _lying(title, about, data, label=label, value=count, form=COUNT, axis=None)
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
                    "field": field_of(label),
                    "type": "nominal",
                    "title": label,
                    "axis": {"labelAngle": -40, "labelOverlap": True},
                    **ORDER,
                },
                "y": {"field": field_of(count), "type": "quantitative", "title": count},
                "tooltip": _tooltip({label: None, count: COUNT}),
            },
        },
    )


def _lying(
    title: str, about: str, data: Table, *, label: str, value: str, form: str, axis: str | None
) -> Chart:
    """Draw lying bars, whose labels may have several lines."""
    names = distinct([broken(name) for name in data[label]])
    lines = max((name.count("\n") for name in names), default=0) + 1
    # A short label stands in the middle of the room that the longest one takes.
    names = ["\n" * ((lines - 1 - name.count("\n")) // 2) + name for name in names]
    written = {
        "labelExpr": "split(datum.label, '\\n')",
        "labelLineHeight": LINE,
        "labelOffset": -(lines - 1) * LINE / 2,
    }
    across: dict[str, Any] = {"field": field_of(value), "type": "quantitative", "title": value}
    return Chart(
        title=title,
        about=about,
        data=data,
        spec={
            "data": {"values": records(data | {"~label": names})},
            "width": WIDE,
            "height": {"step": max(BAR + 7, lines * LINE + 6)},
            "mark": {"type": "bar", "color": "$synthetic", "height": BAR},
            "encoding": {
                "y": {
                    "field": field_of("~label"),
                    "type": "nominal",
                    "title": None,
                    "axis": written,
                    **ORDER,
                },
                "x": across | ({} if axis is None else {"axis": {"format": axis}}),
                "tooltip": _tooltip({label: None, value: form}),
            },
        },
    )


def broken(label: str) -> str:
    r"""Break a long label into lines.

    >>> broken("3. people by most common pickup_time_month")
    '3. people by most common\npickup_time_month'
    """
    return "\n".join(wrap(label, CHARACTERS, max_lines=MOST_LINES, placeholder=" …")) or label


def distinct(labels: list[str]) -> list[str]:
    """Tell labels apart that were cut to the same: each would share a bar with another.

    >>> distinct(["a …", "b", "a …"])
    ['a …', 'b', 'a … (2)']
    """
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(f"{label} ({seen[label]})" if seen[label] > 1 else label)
    return found
