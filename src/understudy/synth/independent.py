"""Independent: every column's own marginal, and nothing of how columns hang together.

The plainest mechanism, and the yardstick of the others.  It asks for the number of people,
the number of rows and all one-way marginals, in that order.  Where no cap is given, it asks
how many rows people have, and takes a cap from that.

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
from understudy.graph import Domain, Model, junction_tree
from understudy.public import Synthesis
from understudy.synth.giving import EACH_ITS_OWN, drawn, evenly
from understudy.synth.levels import typical_size
from understudy.synth.rounding import check_rows, simplex
from understudy.synth.settings import check_shares
from understudy.synth.sizes import Classes, Noisy, deviation

if TYPE_CHECKING:
    from understudy.door import Door
    from understudy.public import Progress, PublicTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Independent:
    """Every column by itself: all one-way marginals, and nothing of how columns hang together.

    The plainest mechanism, the quickest, and the yardstick of the others; also what is left where
    there are too few people for pairs of columns to be told from noise.

    >>> Independent(rows_share=0.05).people_share
    0.02
    """

    name: ClassVar[str] = "independent"

    people_share: float = 0.02
    """The share of the budget for the number of people."""
    rows_share: float = 0.02
    """The share of the budget for the number of rows."""

    def __post_init__(self) -> None:
        """Refuse shares that leave nothing for the marginals."""
        check_shares(self.people_share, self.rows_share)

    def run(
        self,
        door: Door,
        *,
        public: PublicTable | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Synthesis:
        """Ask, fit each marginal, and draw rows."""
        del public
        currency = door.currency
        power = 2 if currency == "gdp" else 1
        shares = [self.people_share, self.rows_share, 1 - self.people_share - self.rows_share]
        people_price, rows_price, price = split(door.grains, currency, shares)
        columns = list(door.schema.domain)

        progress("counting people and rows", 0)
        classes, cap, people = None, 1, 0.0
        if not isinstance(door.bounding, Norm):
            cap = door.bounding.cap
            people = door.units(scale=scale_upper(people_price, currency, bound=Fraction(1)))
        elif not door.unit.is_row:
            classes = Classes.ask(door, price=people_price)
            cap = classes.cap(rows_price)
        rows_scale = scale_upper(rows_price, currency, bound=Fraction(cap) ** power)
        total = door.total(cap=cap, scale=rows_scale)
        sizes = None
        if classes is not None:
            sizes = classes.sizes(Noisy(total, deviation(rows_scale, currency)), cap=cap)
            total, cells = sizes.rows, np.array([*door.schema.domain.values()], dtype=np.float64)
            cap = typical_size(sizes, np.ones(len(columns)), cells, price=price)
        rows = check_rows(total)

        progress("measuring marginals", 0)
        bound = len(columns) * Fraction(cap) ** power
        scale = scale_upper(price, currency, bound=bound)
        queries = [Query(clique=(name,), scale=scale) for name in columns]
        measurements = door.measure(queries, price=price)

        progress("drawing rows", 0)
        tree = junction_tree(Domain(door.schema.domain), [m.clique for m in measurements])
        tables = {m.clique: simplex(m.values, total=rows) for m in measurements}
        model = Model(tree, tables)
        given = EACH_ITS_OWN
        if sizes is not None:
            given = sizes.given(rows)
        elif not door.unit.is_row:
            given = evenly(rows, people=max(1, round(people)), cap=cap)
        return Synthesis(
            batches=drawn(model.urn(rows, rng), rows, given, rng=rng),
            measurements=measurements,
            notes=self._notes(cap),
            model=model,
        )

    def _notes(self, cap: int) -> tuple[str, ...]:
        return (
            "Columns are independent of each other in the synthetic rows; only their one-way "
            "counts follow the private table.",
            f"Counts are of bounded rows, at most {cap} a person: standard errors tell of the "
            "noise only, not of what the bound left out.",
        )
