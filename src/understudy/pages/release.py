"""The release report: what was promised, what was measured, and how the rows compare with it.

It is made from a release alone, so that whoever may see the release may see it, and anyone can
make it again.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.door import Rows
from understudy.errors import UsageError
from understudy.pages import charts
from understudy.pages.accuracy import add_accuracy
from understudy.pages.bars import bars, shares
from understudy.pages.counts import Counted
from understudy.pages.declared import add_declared
from understudy.pages.kinds import ARCHETYPES, add_kinds
from understudy.pages.lives import add_lives
from understudy.pages.page import Page, figure
from understudy.pages.places import maps, place_charts
from understudy.pages.promise import add_promise
from understudy.release import Release, new_file
from understudy.release.cells import unseen_notes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from understudy.door import Measurement
    from understudy.pages.page import Chart, Table
    from understudy.release import Estimate
    from understudy.schema import Array

MOST_PAIRS = 24
"""The most pairs of columns that are shown."""
MOST_BARS, MOST_STEPS = 30, 60
"""The most values of a column that are shown; the latter where they have an order."""
MOST_CELLS = 1600


def report(
    release: Release | str | Path,
    path: str | Path,
    *,
    outlines: Mapping[str, str | Path] | None = None,
) -> Path:
    """Write a release's report as one HTML file, and return its path.

    The release is in memory, or the folder of a saved one.  Nothing is overwritten.  ``outlines``
    are GeoJSON files of the places of some columns, which are then drawn as maps.

        us.report(release, "out/report.html")
    """
    made = release if isinstance(release, Release) else Release.read(release)
    target = Path(path)
    text = release_page(made, outlines).html()
    with new_file(target) as partial:
        partial.write_text(text, encoding="utf-8")
    return target


def release_page(release: Release, outlines: Mapping[str, str | Path] | None = None) -> Page:
    """Make the page of a release."""
    manifest = release.manifest
    made = f"{manifest['rows']:,} synthetic rows"
    if release.two_tables:
        made = f"{manifest['people']:,} synthetic people and {made}"
    page = Page(
        title=f"Release report: {manifest['table']}",
        about=f"{made} that stand in for a private table. "
        "Made from the release alone: this page reveals nothing that the release does not.",
    )
    _quality(page, release)
    if release.accuracy is not None:
        add_accuracy(page, release.accuracy)
    if "coarser" in manifest["mechanism"]:
        page.text(manifest["mechanism"]["coarser"])
    add_promise(page, manifest["guarantee"])
    add_declared(page, release)
    _questions(page, manifest)
    _measurements(page, release)
    counted = Counted.of(release, _cliques(release, outlines or ()))
    _columns(page, release, counted)
    _pairs(page, release, counted)
    found = place_charts(release, counted, outlines)
    if found:
        page.section(
            "Places",
            "Every tile is a place, in the order of the schema; darker means more synthetic "
            "rows. Where the table has a time, the slider selects it.",
        )
        page.choice("Which places", found)
    if ARCHETYPES in release.documents:
        add_kinds(page, release.documents[ARCHETYPES])
    _people(page, release)
    _rest(page, manifest)
    return page


def _quality(page: Page, release: Release) -> None:
    """Say first whether the release is any good."""
    page.section("Is it any good?", " ".join(release.quality.sentences()))
    page.text(
        "Mostly signal: at least 80 % of the rows are in cells whose noisy count stands out from "
        "its noise; mostly noise: less than 50 %. What is mostly noise says little, however smooth "
        "its synthetic rows look. Bias, as of contribution bounding, is not seen here."
    )


def _questions(page: Page, manifest: dict[str, Any]) -> None:
    charges, ledger, mechanism = manifest["charges"], manifest["ledger"], manifest["mechanism"]
    page.section(
        "What was asked, and what it cost",
        f"Queries of the mechanism {mechanism['name']} to the private table: {len(charges)}. "
        "Everything else on this page follows from their noisy answers and from public data.",
    )
    if "why" in mechanism:
        page.text(f"It chose {mechanism['chosen']['name']}. {mechanism['why']}")
    if charges:
        page.chart(
            shares(
                "Shares of the run's budget",
                "How much of the budget each query took. Shares add up to 100 % or less.",
                {
                    "query": [f"{i + 1}. {c['asked']}" for i, c in enumerate(charges)],
                    "share": [c["share"] for c in charges],
                    "epsilon on its own": [c["epsilon_alone"] for c in charges],
                },
                label="query",
                share="share",
            )
        )
    total = ledger.get("total", {})
    page.facts(
        {
            "run in the ledger": ledger["run"],
            "the table's total": ", ".join(f"{k} {v:g}" for k, v in total.items()) or "unknown",
            "ledger's head": ledger["head"],
        }
    )


def _measurements(page: Page, release: Release) -> None:
    """List every measurement, with its standard error."""
    measured = release.measurements
    error = math.sqrt(2) if release.manifest["guarantee"]["delta"] == 0 else 1.0
    page.table(
        {
            "columns": [" × ".join(m.clique) or "all" for m in measured],
            "counted": [m.counted for m in measured],
            "numbers": [len(m.values) for m in measured],
            "standard error of each": [m.scale * error for m in measured],
        },
        caption=f"All {len(measured)} measurements, with their noise",
        folded=True,
    )


def _cliques(release: Release, places: Collection[str]) -> list[tuple[str, ...]]:
    """Return the cliques to count in the rows: all columns, and pairs that were measured."""
    schema = release.schema.unconstrained
    names = list(schema.domain)
    together = {
        pair
        for measured in release.measurements
        if measured.counted == "rows"
        for pair in combinations(sorted(measured.clique, key=names.index), 2)
    }
    small = [p for p in together if schema.domain.cells(p) <= 10**6]
    small.sort(key=lambda pair: [names.index(name) for name in pair])
    return list(dict.fromkeys([*((name,) for name in names), *small, *maps(schema, places)]))


def _estimate(release: Release, columns: tuple[str, ...]) -> Estimate | None:
    """Estimate a marginal of rows, if it was measured."""
    try:
        found = release.estimate(*columns)
    except UsageError:
        return None
    return found if found.counted == "rows" else None


def _columns(page: Page, release: Release, counted: Counted) -> None:
    page.section(
        "Column by column",
        "Dots are the noisy measurements; the lines through them are 95 % intervals, computed from "
        "the known noise. Blue bars are the synthetic rows. A blue bar that ends far from its dot "
        "shows where the model does not fit the measurement.",
    )
    drawn, unmeasured = [], []
    for name in release.schema.unconstrained.domain:
        found = _estimate(release, (name,))
        if found is None:
            unmeasured.append(name)
            continue
        table = counted.beside(found)
        # What is empty among ordered values is to be seen as empty.
        most = MOST_STEPS if release.schema.unconstrained[name].ordered_count else MOST_BARS
        order = np.argsort(-np.asarray(table["synthetic"]), kind="stable")[:most]
        left = f" Shown are the {most} most frequent of {len(found):,} values."
        left *= len(found) > most
        kept = {k: [v[i] for i in sorted(order)] for k, v in table.items()}
        error = float(np.median(found.standard_error))
        drawn.append(
            charts.measured(
                name,
                f"Rows by {name}, measured and synthetic. A count's standard error is about "
                f"{figure(error, 3)} rows.{left}",
                kept,
                label=name,
            )
        )
    page.choice("Column", drawn)
    if unmeasured:
        page.text(
            f"Not measured on their own: {', '.join(unmeasured)}. Their values in the rows follow "
            "from measurements of other columns, or of people."
        )


def _pairs(page: Page, release: Release, counted: Counted) -> None:
    found = []
    for pair in counted.pairs:
        estimate = _estimate(release, pair)
        if estimate is not None and 0 < len(estimate) <= MOST_CELLS:
            found.append((pair, estimate, counted.beside(estimate)))
    if not found:
        return
    page.section(
        "Pair by pair",
        "Measured and synthetic counts of two columns together. A cell agrees if its synthetic "
        "count lies in the 95 % interval of the measurement. That says how well the rows follow "
        "the measurements, not how far these are from the truth: where noise is large, or "
        "contribution bounding had much effect, both may be wrong together.",
    )
    agree: Table = {
        "pair": [" × ".join(pair) for pair, _, _ in found],
        "cells": [len(estimate) for _, estimate, _ in found],
        "standard error of a cell": [float(np.median(e.standard_error)) for _, e, _ in found],
        "cells that agree": [f"{100 * _agreeing(table):.0f} %" for *_, table in found],
    }
    page.table(agree, caption="How well the synthetic rows agree with the measurements")
    drawn = []
    for pair, estimate, table in found[:MOST_PAIRS]:
        data: Table = {name: [*table[name], *table[name]] for name in pair}
        data["kind"] = ["measured"] * len(estimate) + ["synthetic"] * len(estimate)
        data["count"] = [*np.maximum(estimate.estimate, 0), *table["synthetic"]]
        drawn.append(
            charts.pair(
                " × ".join(pair),
                f"Rows by {pair[0]} and {pair[1]}: measured, negative noise shown as 0, and "
                "synthetic.",
                data,
                columns=pair,
            )
        )
    page.choice("Pair", drawn)


def _agreeing(table: Table) -> float:
    low, high, there = (np.asarray(table[k], float) for k in ("low", "high", "synthetic"))
    return float(np.mean((there >= low) & (there <= high)))


def _people(page: Page, release: Release) -> None:
    asked = [m for m in release.measurements if m.counted != "rows"]
    # Kinds of people have a section of their own.
    asked = [] if ARCHETYPES in release.documents else asked
    if not release.ids and not asked:
        return
    page.section("People")
    if release.ids:
        ids = np.concatenate([batch[release.ids[0]] for batch in release.decoded])
        page.chart(_rows_each(release, ids))
        add_lives(page, release, ids)
    if "crowd" in release.manifest["mechanism"]:
        with_rows = "people with rows" if release.two_tables else "people"
        _crowd(page, release.manifest["mechanism"]["crowd"], with_rows)
    for measured in asked[:4]:
        order = np.argsort(-measured.values, kind="stable")[:MOST_BARS]
        names = _cells(release, measured)
        page.chart(
            bars(
                f"Counted: {measured.counted}",
                f"Noisy counts of {measured.counted}, by {' × '.join(measured.clique)}; the "
                f"{len(order)} largest of {len(measured.values):,}. Each has a standard error of "
                f"about {figure(measured.scale, 3)} people.",
                {
                    "which": [names[i] for i in order],
                    "people": [float(measured.values[i]) for i in order],
                },
                label="which",
                count="people",
            )
        )


def _crowd(page: Page, crowd: dict[str, Any], counted: str) -> None:
    """Show the noisy number of people, by their number of rows."""
    told = {counted: (crowd["people"], crowd["people_standard_error"])}
    if "rows" in crowd:
        told["rows"] = crowd["rows"], crowd["rows_standard_error"]
    off = 1.96 * crowd["class_standard_error"]
    page.text(
        "; ".join(
            f"the private table has about {value:,.0f} {what} (95 % interval: "
            f"{max(0, value - 1.96 * error):,.0f} to {value + 1.96 * error:,.0f})"
            for what, (value, error) in told.items()
        ).capitalize()
        + ".",
        *unseen_notes({"crowd": crowd}),
    )
    page.table(
        {
            "rows per person": [
                f"{c['from']:,}" if c["from"] == c["to"] else f"{c['from']:,} to {c['to']:,}"
                for c in crowd["classes"]
            ],
            "people, noisy": [round(c["people"]) for c in crowd["classes"]],
            "95 % interval, from": [round(max(0, c["people"] - off)) for c in crowd["classes"]],
            "to": [round(max(0, c["people"] + off)) for c in crowd["classes"]],
        },
        caption="Noisy numbers of people of the private table, by their number of rows",
        folded=True,
    )


def _cells(release: Release, measured: Measurement) -> list[str]:
    """Return a label for each number; of a sum, its first cell and how many more there are."""
    if measured.rows is None:
        return list(release.cells(measured))
    starts = measured.rows.starts
    first = Rows(np.arange(len(starts)), measured.rows.cells[starts[:-1]])
    more = np.diff(starts) - 1
    named = release.cells(replace(measured, rows=first, weights=None))
    return [f"{name} and {n} more" if n else name for name, n in zip(named, more, strict=True)]


def _rows_each(release: Release, ids: Array) -> Chart:
    """Chart how many rows synthetic people have, given whose each row is."""
    _, sizes = np.unique(ids, return_counts=True)
    edges = np.unique(np.geomspace(1, max(sizes.max(initial=1) + 1, 2), 24).astype(np.int64))
    counts, _ = np.histogram(sizes, bins=edges)
    names = [f"{a:,}" if b - a == 1 else f"{a:,} to {b - 1:,}" for a, b in pairwise(edges)]
    none = release.manifest["people"] - len(sizes) if release.two_tables else 0
    return bars(
        "Rows per person",
        f"{len(sizes):,} synthetic people have {len(release):,} rows, "
        f"{len(release) / max(len(sizes), 1):.1f} on average."
        + (f" {none:,} more have none." if none else ""),
        {"rows": names, "people": counts.tolist()},
        label="rows",
        count="people",
    )


def _rest(page: Page, manifest: dict[str, Any]) -> None:
    page.section("Notes")
    page.text(*(manifest["notes"] or ["None."]))
    page.section("The release itself")
    files = manifest.get("files", {})
    if files:
        page.table(
            {
                "file": list(files),
                "bytes": [f["bytes"] for f in files.values()],
                "SHA-256": [f["sha256"] for f in files.values()],
            },
            caption="Its files",
        )
    page.facts({f"version of {name}": v for name, v in manifest["versions"].items()})
