"""Independent: every column's own marginal, and nothing of how columns hang together.

The plainest mechanism, and the yardstick of the others.  It asks for the number of people,
the number of rows and all one-way marginals, in that order.

Privacy: three door calls whose prices are shares of the run's budget, composed by the
ledger; everything after them is post-processing.

The config, the plan, the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from understudy.budget import scale_upper, split
from understudy.door import Query
from understudy.errors import BudgetError
from understudy.graph import Domain, Model, junction_tree
from understudy.public import Synthesis
from understudy.synth.rounding import deal, simplex

if TYPE_CHECKING:
    import numpy as np

    from understudy.door import Door
    from understudy.public import Progress

MOST_ROWS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Independent:
    """All one-way marginals."""

    name: ClassVar[str] = "independent"

    people_share: float = 0.02
    """The share of the budget for the number of people."""
    rows_share: float = 0.02
    """The share of the budget for the number of rows."""

    def __post_init__(self) -> None:
        """Refuse shares that leave nothing for the marginals."""
        shares = (self.people_share, self.rows_share)
        if not all(0 < s < 1 for s in shares) or sum(shares) >= 1:
            raise BudgetError("shares must be positive and sum to less than 1", got=shares)

    def run(self, door: Door, *, rng: np.random.Generator, progress: Progress) -> Synthesis:
        """Ask, fit each marginal, and draw rows."""
        cap, currency = door.bounding.cap, door.currency
        power = 2 if currency == "gdp" else 1
        shares = [self.people_share, self.rows_share, 1 - self.people_share - self.rows_share]
        people_price, rows_price, price = split(door.grains, currency, shares)
        columns = list(door.schema.domain)

        progress("counting people and rows", 0)
        people = door.units(scale=scale_upper(people_price, currency, bound=Fraction(1)))
        rows_scale = scale_upper(rows_price, currency, bound=Fraction(cap) ** power)
        rows = max(0, round(door.total(cap=cap, scale=rows_scale)))
        if rows > MOST_ROWS:
            raise BudgetError(
                "noise asks for more rows than can be made",
                got=f"{rows:.3g} rows, with noise of {rows_scale:.3g}",
                allowed=f"at most {MOST_ROWS:,}",
                hint="lower the cap on a person's rows, or raise epsilon or rows_share",
            )

        progress("measuring marginals", 0)
        bound = len(columns) * Fraction(cap) ** power
        scale = scale_upper(price, currency, bound=bound)
        queries = [Query(clique=(name,), scale=scale) for name in columns]
        measurements = door.measure(queries, price=price)

        progress("drawing rows", 0)
        tree = junction_tree(Domain(door.schema.domain), [m.clique for m in measurements])
        tables = {m.clique: simplex(m.values, total=rows) for m in measurements}
        codes = Model(tree, tables).sample(rows, rng)
        given = (
            None if door.unit.is_row else deal(rows, people=max(1, round(people)), cap=cap, rng=rng)
        )
        return Synthesis(
            codes=codes, people=given, measurements=measurements, notes=self._notes(cap)
        )

    def _notes(self, cap: int) -> tuple[str, ...]:
        return (
            "Columns are independent of each other in the synthetic rows; only their one-way "
            "counts follow the private table.",
            f"Counts are of bounded rows, at most {cap} a person: standard errors tell of the "
            "noise only, not of what the bound left out.",
        )
