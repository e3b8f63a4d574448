"""Histograms of one column in the real table and in synthetic ones, bars side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.pages import contrasts
from understudy.pages.page import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from understudy.pages.page import Chart, Table

MOST_BARS = 24
"""The most values of a column without an order: those with the largest shares."""
MOST_STEPS = 31
"""The most values of a column with an order; of more, neighbours are merged."""


def histogram(
    name: str, counts: Mapping[str, Any], colours: Mapping[str, str], *, of: str = "rows"
) -> Chart:
    """Draw a column's counts, the first of ``colours`` being that of the real ones.

    A column with an order is drawn from its first value with rows to its last, so that what is
    empty between them is seen to be empty.
    """
    counted = np.array([counts["real"], *counts["runs"]], dtype=np.int64)
    shares = counted / np.maximum(counted.sum(axis=1, keepdims=True), 1)
    classes, left = _classes(shares.max(axis=0), counts.get("ordered", 0), len(counted))
    labels = [_label([counts["labels"][i] for i in each]) for each in classes]
    data: Table = {
        "value": [label for label in labels for _ in colours],
        "table": [kind for _ in labels for kind in colours],
        of: [int(table[each].sum()) for each in classes for table in counted],
        "share": [float(table[each].sum()) for each in classes for table in shares],
    }
    return contrasts.beside(
        name,
        f"Shares of the {of} by {name}, in the real table and in synthetic ones, whose "
        f"numbers of {of} may differ.{left}",
        data,
        of=of,
        colours=colours,
    )


def _classes(
    most: NDArray[np.float64], ordered: int, tables: int
) -> tuple[list[NDArray[np.int64]], str]:
    """Choose which codes are drawn, each class as one bar, and say what is left out or merged."""
    there = np.flatnonzero(most)
    inside = there[there < ordered]
    if len(inside):
        span = np.arange(inside[0], inside[-1] + 1)
        size = -(-len(span) // MOST_STEPS)
        merged = f" {size} neighbours each are drawn as one." * (size > 1)
        steps = [span[i : i + size] for i in range(0, len(span), size)]
        return [*steps, *there[there >= ordered][:, None]], merged
    bars = min(len(there), MOST_BARS, max(1, MOST_ROWS // tables))
    shown = np.sort(np.argsort(-most, kind="stable")[:bars])
    left = f" The {bars} values with the largest shares, of {len(there):,}." * (len(there) > bars)
    return list(shown[:, None]), left


def _label(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
