"""Independent: every column's one-way marginal, and no correlations.

The plainest mechanism, and the baseline of the others.  It measures the number of people,
the number of rows and all one-way marginals, in that order.  Where no cap is given, it measures
how many rows people have, and derives a cap from that.

Privacy: three door calls whose prices are shares of the run's budget, composed by the
ledger; everything after them is post-processing.

The config, the plan, the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from understudy.budget import Norm, scale_upper, split
from understudy.door import Query
from understudy.graph import Model, junction_tree
from understudy.public import Synthesis
from understudy.synth.generate.assignment import EACH_ITS_OWN, dealt, drawn, evenly
from understudy.synth.generate.rounding import check_rows, simplex
from understudy.synth.measure.noise_levels import typical_size
from understudy.synth.measure.population import meet
from understudy.synth.settings import check_shares

if TYPE_CHECKING:
    from understudy.door import Door
    from understudy.public import Progress, PublicTable
    from understudy.synth.generate.assignment import Given


@dataclass(frozen=True, slots=True, kw_only=True)
class Independent:
    """Every column by itself: all one-way marginals, and no correlations.

    The plainest mechanism, the quickest, and the baseline of the others; also the one to use where
    there are too few people for pairs of columns to stand out of the noise.

    >>> Independent(rows_share=0.05).people_share
    0.02
    """

    name: ClassVar[str] = "independent"

    people_share: float = 0.02
    """The share of the budget for the number of people."""
    rows_share: float = 0.02
    """The share of the budget for the number of rows."""

    def __post_init__(self) -> None:
        """Raise on shares that leave nothing for the marginals."""
        check_shares(self, "people_share", "rows_share")

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Measure, fit each marginal, and draw rows."""
        del public
        currency = door.currency
        shares = [self.people_share, self.rows_share, 1 - self.people_share - self.rows_share]
        people_price, rows_price, price = split(door.grains, currency, shares)
        columns = list(door.schema.domain)

        progress("counting people and rows", 0)
        rows, cap, given = self._crowd(door, people_price, rows_price, price=price)

        progress("measuring marginals", 0)
        bound = len(columns) * Fraction(cap) ** currency.power
        scale = scale_upper(price, currency, bound=bound)
        queries = [Query(clique=(name,), scale=scale) for name in columns]
        measurements = door.measure(queries, price=price)

        progress("drawing rows", 0)
        tree = junction_tree(door.schema.domain, [m.clique for m in measurements])
        # Of people who are weighted down only a part of their rows is counted.
        counted = float(np.mean([m.values.sum() for m in measurements]))
        whole = rows / counted if counted > 0 else 1.0
        tables = {m.clique: simplex(whole * m.values, total=rows) for m in measurements}
        model = Model(tree, tables)
        return Synthesis(
            batches=drawn(model.urn(rows, rng), rows, given, rng=rng),
            measurements=measurements,
            notes=self._notes(cap),
            model=model,
        )

    def _crowd(
        self, door: Door, people_price: float, rows_price: float, *, price: float
    ) -> tuple[int, int, Given]:
        """Measure rows and people; return the number of rows, the cap, and the assignment."""
        if isinstance(door.bounding, Norm):
            crowd = meet(
                door,
                None,
                rows_price=rows_price,
                people_price=None if door.unit.is_row else people_price,
            )
            rows = check_rows(crowd.rows or 0.0)
            if crowd.sizes is None:
                return rows, 1, EACH_ITS_OWN
            cells = np.array([*door.schema.domain.values()], dtype=np.float64)
            cap = int(typical_size(crowd.sizes, np.ones(len(cells)), cells, price=price))
            return rows, cap, dealt(crowd.sizes.each(rows))
        currency, cap = door.currency, door.bounding.cap
        people = door.units(scale=scale_upper(people_price, currency, bound=Fraction(1)))
        bound = Fraction(cap) ** currency.power
        rows = check_rows(door.total(cap=cap, scale=scale_upper(rows_price, currency, bound=bound)))
        if door.unit.is_row:
            return rows, cap, EACH_ITS_OWN
        return rows, cap, evenly(rows, people=max(1, round(people)), cap=cap)

    def _notes(self, cap: int) -> tuple[str, ...]:
        return (
            "Columns are independent of each other in the synthetic rows; only their one-way "
            "counts follow the private table.",
            f"Contributions are bounded, at most {cap} rows a person: standard errors cover the "
            "added noise, not the bias of contribution bounding.",
        )
