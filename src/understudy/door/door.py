"""The door: the one way to private data, and all that a mechanism ever holds of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from understudy.budget import Bounding, Budget, Capped, Currency, ResolvedUnit
    from understudy.door.discovery import Found, Reading, Search
    from understudy.door.questions import Candidate, Merge, Query
    from understudy.door.views import View
    from understudy.graph import Clique, Measurement
    from understudy.schema import Schema


class Door(Protocol):
    """The queries.  Each call charges, counts, adds noise and journals, in one place.

    Nothing that affects privacy has a default.
    """

    @property
    def schema(self) -> Schema:
        """The declared columns."""

    @property
    def unit(self) -> ResolvedUnit:
        """Who is protected."""

    @property
    def two_tables(self) -> bool:
        """Whether people have a table of their own, so that some may have no rows."""

    @property
    def bounding(self) -> Bounding:
        """The contribution bounding of `measure`."""

    @property
    def budget(self) -> Budget:
        """The run's whole budget."""

    @property
    def currency(self) -> Currency:
        """Gaussian noise in ``gdp``, Laplace noise in ``pure``."""

    @property
    def grains(self) -> int:
        """What the run may still spend, in grains; a replayed question counts as charged."""

    def measure(
        self,
        queries: Sequence[Query],
        *,
        price: float,
        merged: tuple[Merge, ...] = (),
        view: View | None = None,
    ) -> tuple[Measurement, ...]:
        """Measure noisy linear queries over weighted row marginals, for at most a price.

        Cells are those of the compressed domain, with merged codes; `MergedDoor` passes these, and
        `ViewDoor` the view.  In a view of people each person counts once, without bounding.
        """

    def unit_mode(
        self, clique: Clique, *, scale: float, labels: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Count the people who have each label as their most common one."""

    def unit_counts(
        self,
        clique: Clique,
        *,
        cells: NDArray[np.int64],
        times: tuple[int, ...],
        most: int,
        scale: float,
        upwards: bool = False,
    ) -> NDArray[np.float64]:
        """Count the people who were in a cell exactly t times: an array cells × times.

        With ``upwards``, t stands for t and more, up to the next of ``times``.
        """

    def select(
        self,
        candidates: Sequence[Candidate],
        *,
        epsilon: float,
        bounding: Capped,
        merged: tuple[Merge, ...] = (),
        view: View | None = None,
    ) -> int:
        """Select the candidate that the model gets most wrong."""

    def distances(
        self,
        candidates: Sequence[Candidate],
        *,
        scale: float,
        bounding: Capped,
        merged: tuple[Merge, ...] = (),
        view: View | None = None,
    ) -> NDArray[np.float64]:
        """Measure how far each candidate is from the model, less its penalty, in rows."""

    def total(self, *, cap: int, scale: float) -> float:
        """Count the rows, at most ``cap`` per person."""

    def units(self, *, scale: float) -> float:
        """Count the people who have rows."""

    def discover(self, searches: Sequence[Search]) -> tuple[Found, ...]:
        """Tell which values of columns of text many people have, with noisy weights.

        Each column is declared as text; what a search costs is its noise and a failure probability,
        for which the run must have a share.
        """

    def spread(
        self, column: str, *, reading: Reading, edges: Sequence[float], most: int, scale: float
    ) -> NDArray[np.float64]:
        """Weigh people by the cells between edges in which they have numbers or moments.

        The column is declared as text.  Cell 0 is below the first edge, the last one above it all.
        """

    def kinds(self, columns: Sequence[str], *, scale: float) -> NDArray[np.float64]:
        """Count the people all of whose values are of a kind: an array columns × kinds.

        Columns are declared as text; the kinds are `KINDS_OF_VALUE`.
        """

    def close(self) -> None:
        """End the queries: the private table is released before the answers are processed."""
