"""The metrics of marginals: total variation of every column, of pairs and of triples."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from understudy.evaluate.metric import Figure, Lines, Metric, Option
from understudy.evaluate.sections import (
    MOST_SHOWN,
    Dots,
    Group,
    Histograms,
    Listing,
    Results,
    Section,
    worst,
)
from understudy.evaluate.variation import Pair, Triple, one_way, pairs, triples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.evaluate.metric import Tables

    Columns = dict[str, float]
    Pairs = dict[Pair, float]
    Triples = dict[Triple, float]

K = TypeVar("K", str, Pair, Triple)

WORST_LINES, WORST_PAIRS, WORST_TRIPLES = 10, 15, 5
VARIATION = "total variation"
SCALE = "Total variation: 0 is the same, 1 is nothing in common."
TOGETHER = "Pairs and triples of columns"
SHORT = Group(
    title="In short",
    about="Total variation is the largest difference between two tables' shares of rows, over all "
    "sets of cells: 0 is the same, 1 is nothing in common.",
    caption="Total variation from the real table",
    label="figure",
)


def _mean(found: dict[K, float]) -> float | None:
    return float(np.mean(list(found.values()))) if found else None


def _largest(found: dict[K, float]) -> float | None:
    return max(found.values()) if found else None


def _joined(sets: Sequence[tuple[str, ...]]) -> list[str]:
    return [" × ".join(columns) for columns in sets]


def _listed(found: dict[K, float]) -> list[dict[str, object]]:
    return [{"columns": list(those), "variation": value} for those, value in found.items()]


def _columns(tables: Tables) -> Columns:
    return one_way(tables.real, tables.synthetic)


def _each_column(found: Sequence[Columns]) -> Lines:
    rows = {name: [each[name] for each in found] for name in found[0]}
    return Lines(title="Each column", rows=rows)


def _column_by_column(found: Results[Columns]) -> Section:
    names = worst(found.runs)
    shown = names[:MOST_SHOWN]
    left = f" The {MOST_SHOWN} worst of {len(names)}." * (len(names) > MOST_SHOWN)
    return Section(
        title="Column by column",
        paragraphs=(found.order,),
        parts=(
            Dots(
                title="Distance of every column",
                about="Total variation of each column from the real one: the farther left, the "
                f"closer.{left}",
                label="column",
                value=VARIATION,
                labels=shown,
                **found.columns(lambda each: [each[name] for name in shown]),
            ),
            Histograms(title="Real and synthetic rows", columns=names),
        ),
    )


COLUMNS: Metric[Columns] = Metric(
    name="columns",
    title="total variation of columns",
    about="The total variation between the real and the synthetic distribution of every column.",
    compute=_columns,
    plain=dict,
    figures=(
        Figure(name="columns, mean", of=_mean, title="columns, mean"),
        Figure(name="columns, largest", of=_largest, title="columns, largest"),
    ),
    scale=SCALE,
    group=SHORT,
    lines=_each_column,
    section=_column_by_column,
)


def _pairs(tables: Tables) -> Pairs:
    return pairs(tables.real, tables.synthetic)


def _worst_lines(found: Sequence[Pairs]) -> Lines | None:
    chosen = worst(found[:1])[:WORST_LINES]
    rows = {" × ".join(pair): [each[pair] for each in found] for pair in chosen}
    return Lines(title="The synthetic table's worst pairs", rows=rows) if rows else None


def _worst_pairs(found: Results[Pairs]) -> Section | None:
    names = worst(found.runs)
    shown = names[:WORST_PAIRS]
    chart = Dots(
        title="The worst pairs",
        about=f"Total variation of {len(shown)} pairs of columns, of {len(names)}: those that are "
        "farthest from the real ones.",
        label="pair",
        value=VARIATION,
        labels=_joined(shown),
        **found.columns(lambda each: [each[pair] for pair in shown]),
    )
    return Section(title=TOGETHER, paragraphs=(found.order,), parts=(chart,)) if names else None


PAIRS: Metric[Pairs] = Metric(
    name="pairs",
    title="total variation of pairs",
    about="The total variation between the real and the synthetic distribution of every pair of "
    "columns.",
    compute=_pairs,
    plain=_listed,
    figures=(
        Figure(
            name="pairs, mean",
            of=_mean,
            title="pairs, mean",
            axis="mean error of pairs",
            lower=True,
        ),
        Figure(name="pairs, largest", of=_largest, title="pairs, largest"),
    ),
    scale=SCALE,
    group=SHORT,
    lines=_worst_lines,
    section=_worst_pairs,
)


def _triples(tables: Tables, *, count: int = 100) -> Triples:
    return triples(tables.real, tables.synthetic, count=count, seed=tables.seed)


def _worst_triples(found: Results[Triples]) -> Section | None:
    names = worst(found.runs)
    if not names:
        return None
    shown = names[:WORST_TRIPLES]
    table = Listing(
        caption=f"Total variation of the worst of {len(names)} triples, and the mean of all",
        label="triple",
        labels=[*_joined(shown), f"mean of {len(names)}"],
        **found.columns(lambda each: [*(each[n] for n in shown), fmean(each.values())]),
    )
    return Section(title=TOGETHER, paragraphs=(found.order,), parts=(table,))


TRIPLES: Metric[Triples] = Metric(
    name="triples",
    title="total variation of triples",
    about="The total variation between the real and the synthetic distribution of triples of "
    "columns: 100 of them, or all if there are fewer.",
    compute=_triples,
    plain=_listed,
    options=(Option(name="count", kind="number", needed=False),),
    figures=(
        Figure(name="triples, mean", of=_mean, title="triples, mean"),
        Figure(name="triples, largest", of=_largest, title="triples, largest"),
    ),
    scale=SCALE,
    group=SHORT,
    section=_worst_triples,
)
