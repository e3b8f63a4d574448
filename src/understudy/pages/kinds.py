"""Kinds of people on a page: what they are, how many there are, and how far that has drifted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from understudy.pages.bars import bars
from understudy.pages.page import figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.pages.page import Page, Table

ARCHETYPES = "archetypes"
"""The document of a release that describes kinds of people."""
CERTAIN = 3.0
"""A difference of this many standard errors is more than noise and chance."""
MOST_VALUES = 4


def add_kinds(page: Page, told: dict[str, Any]) -> None:
    """Add the archetypes: what they do, and how many private and public people are of each."""
    kinds = told["archetypes"]
    page.section(
        "Kinds of people",
        "Public people fall into these kinds, called by what sets them apart. How many people of "
        "the private table are of each kind was counted, with noise; what people of a kind do "
        "follows from the public table.",
    )
    page.chart(
        bars(
            "People by kind",
            "Noisy numbers of people of the private table. Each has a standard error of about "
            f"{figure(told['standard_error'], 3)} people.",
            {"kind": [k["name"] for k in kinds], "people": [k["people"] for k in kinds]},
            label="kind",
            count="people",
        )
    )
    features = list(told["features"])
    others = list(kinds[0]["shares_by"])
    page.table(
        {
            "kind": [k["name"] for k in kinds],
            "rows per person": [k["rows_each"] for k in kinds],
            **{f"rows by {n}": [_few(k["rows_each_by"][n], 1) for k in kinds] for n in features},
            **{n: [_few(k["shares_by"][n], 100) for k in kinds] for n in others},
        },
        caption="What an average public person of each kind does: numbers of rows by "
        + ", ".join(features)
        + ", and percentages of other columns; the most frequent values",
        folded=True,
    )
    page.heading("What has changed since the public table")
    _drift(page, "kind", kinds, told["standard_error"])
    if "attribute" in told:
        own = told["attribute"]
        _drift(page, own["column"], own["values"], own["standard_error"])


def drift(counts: Sequence[dict[str, Any]], error: float) -> Table:
    """Compare noisy counts of people with those of as many people of the public table.

    A difference is held against the noise, and against the chance by which both tables have these
    people and not others.
    """
    people = max(sum(each["people"] for each in counts), 1.0)
    public = max(sum(each["public_people"] for each in counts), 1)
    table: Table = {n: [] for n in ("people", "expected", "difference", "errors")}
    for each in counts:
        share = each["public_people"] / public
        # One more person, so that what nobody public is has a chance too.
        chance = people * (each["public_people"] + 1) / public * (1 + people / public)
        differs = each["people"] - people * share
        table["people"].append(each["people"])
        table["expected"].append(people * share)
        table["difference"].append(differs)
        table["errors"].append(differs / math.sqrt(error**2 + chance))
    return table


def _drift(page: Page, what: str, counts: Sequence[dict[str, Any]], error: float) -> None:
    found = drift(counts, error)
    certain = [i for i, z in enumerate(found["errors"]) if abs(z) >= CERTAIN]
    if not certain:
        page.text(f"By {what}, no difference is more than noise and chance would make.")
        return
    certain.sort(key=lambda i: -abs(found["errors"][i]))
    page.text(
        f"By {what}, {len(certain)} of {len(counts)} numbers of people differ from those of the "
        "public table, scaled to as many people, by more than noise and chance would make."
    )
    page.table(
        {
            what: [counts[i]["name"] for i in certain],
            "people, noisy": [round(found["people"][i]) for i in certain],
            "as in the public table": [round(found["expected"][i]) for i in certain],
            "difference": [round(found["difference"][i]) for i in certain],
            "in standard errors": [round(found["errors"][i], 1) for i in certain],
        },
        caption=f"What has changed by {what}, beyond noise and chance",
    )


def _few(values: dict[str, float], times: float) -> str:
    """Return the first few values as text."""
    unit = " %" if times != 1 else ""
    first = list(values.items())[:MOST_VALUES]
    return "; ".join(f"{name} {figure(share * times, 3)}{unit}" for name, share in first)
