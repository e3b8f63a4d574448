"""The metric of constraints: the share of real and of synthetic rows that break each of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.evaluate.metric import Lines, Metric
from understudy.evaluate.sections import Listing, Section, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.evaluate.metric import Tables
    from understudy.evaluate.sections import Results
    from understudy.evaluate.table import Coded


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The shares of rows that break a constraint."""

    constraint: str
    real: float
    synthetic: float


def _compute(tables: Tables) -> list[Broken] | None:
    """Return None where the schema has no constraints."""
    real, synthetic = _shares(tables.real), _shares(tables.synthetic)
    return [
        Broken(constraint=name, real=share, synthetic=synthetic[name])
        for name, share in real.items()
    ] or None


def _shares(table: Coded) -> dict[str, float]:
    return {name: float(np.mean(rows)) if len(rows) else 0.0 for name, rows in table.broken.items()}


def _plain(found: list[Broken]) -> list[dict[str, Any]]:
    return [asdict(each) for each in found]


def _lines(found: Sequence[list[Broken]]) -> Lines:
    (made,) = found
    return Lines(
        title="The share of rows that break each constraint",
        head=("synthetic", "real"),
        rows={each.constraint: [each.synthetic, each.real] for each in made},
    )


def _section(found: Results[list[Broken]]) -> Section:
    first = found.runs[0]
    return Section(
        title="Constraints",
        paragraphs=(
            "The share of rows that break each constraint of the schema. Every row of a release "
            "obeys all of them. Real rows that break one are dropped or moved before anything is "
            "counted, and a column that is a sum, or that another determines, is not read.",
        ),
        parts=(
            Listing(
                caption="Shares of rows that break a constraint",
                label="constraint",
                labels=[each.constraint for each in first],
                runs=[[each.synthetic for each in run] for run in found.runs],
                others=[
                    Series(name="real rows", values=[each.real for each in first], is_real=True)
                ],
            ),
        ),
    )


CONSTRAINTS: Metric[list[Broken]] = Metric(
    name="constraints",
    title="share of rows that break constraints",
    about="The share of real and of synthetic rows that break each of the schema's constraints.",
    compute=_compute,
    plain=_plain,
    yardsticks=False,
    lines=_lines,
    section=_section,
)
