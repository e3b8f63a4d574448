"""What an engine does: it keeps tables where they live, and runs the SQL it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.schema import Array
    from understudy.schema.encoding.dialect import Dialect, Kind

Columns = dict[str, "Array"]
OfPeople = Callable[[Columns], Columns]
"""What is worked out from the rows of whole people: arrays from arrays."""


class Engine(Protocol):
    """A place where tables are kept and counted, for as long as it is open.

    No exception of what runs inside ever leaves an engine, nor hangs in the chain of one that
    does: it may quote a cell.  ``reading_input`` says that a failure is the input's.
    """

    @property
    def dialect(self) -> Dialect:
        """The functions that have names of their own here."""

    def attach(
        self, data: object, *, name: str, delimiter: str, quote_mark: str
    ) -> dict[str, Kind]:
        """Make a table known by a name, and give its columns' kinds."""

    def declare(self, name: str, texts: Sequence[str]) -> None:
        """Make a list of texts known by a name."""

    def load(self, name: str, columns: Mapping[str, Array]) -> None:
        """Make a small public table from arrays, in the place of any of that name."""

    def table(self, name: str, sql: str, *, reading_input: bool = False) -> None:
        """Work out a query once, and keep its rows by a name, in the place of any of that name."""

    def view(self, name: str, sql: str, *, reading_input: bool = False) -> None:
        """Know a query by a name, in the place of any of that name."""

    def drop(self, name: str) -> None:
        """Forget a table."""

    def weigh(
        self, name: str, work: OfPeople, *, columns: Sequence[str], at_once: int, by_row: bool
    ) -> None:
        """Weigh people by their rows, and keep the weights as a table (person, w).

        ``work`` is given some columns of ``rows``, and ``person``: whole people, those of each
        together, of about ``at_once`` rows in all.  It gives ``person`` and ``w``.  With
        ``by_row`` each row is a person: ``work`` is given the columns alone, and gives back those
        of the rows that have a weight, with ``w`` beside them.
        """

    def fetch(self, sql: str) -> Columns:
        """Run a query and give its columns; a NULL is NaN, NaT or None."""

    def close(self) -> None:
        """Forget everything; a second time does nothing."""
