"""One DuckDB for the engines of many tests: to open one takes longer than most tests use it.

Each engine still has a database and a connection of its own.  Engines themselves are tested as
they are (`tests/engine`), and so is all that must not leak (`tests/leaks`).
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar
from unittest.mock import patch

import duckdb

from understudy.engine.duckdb.memory import memory_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECT: Any = duckdb.connect


class Shared:
    """A connection to a database of its own in a DuckDB that is already running."""

    running: ClassVar[duckdb.DuckDBPyConnection | None] = None
    numbers: ClassVar[Iterator[int]] = count()

    def __init__(self, config: dict[str, Any]) -> None:
        if Shared.running is None:
            # The folder to spill to is the first engine's, and goes with it.
            # Most tables are small: several threads take longer to wake than to read them.
            alone = {"temp_directory": "", "threads": 1}
            Shared.running = CONNECT(":memory:", config=config | alone)
        self.name, self.open = f"shared{next(Shared.numbers)}", True
        self.cursor = Shared.running.cursor()
        self.cursor.execute(f"ATTACH ':memory:' AS {self.name}; USE {self.name}")
        # An engine that writes a release sets it for all.
        self.cursor.execute(f"SET preserve_insertion_order = {config['preserve_insertion_order']}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cursor, name)

    def close(self) -> None:
        # As a connection's own: a mechanism may let go before its session does.
        if not self.open:
            return
        self.open = False
        try:
            self.cursor.execute(f"USE memory; DETACH {self.name}")
        except duckdb.FatalException:
            # What breaks its engine breaks that of the others too.
            Shared.running = None
        self.cursor.close()


def connect(*place: str, config: dict[str, Any] | None = None, **named: Any) -> Any:
    """Connect as an engine does; whoever wants other settings has a DuckDB of their own."""
    usual = {memory_limit(), memory_limit(sparing=True)}
    if config is not None and config["memory_limit"] in usual:
        return Shared(config)
    return CONNECT(*place, config=config or {}, **named)


@contextmanager
def connecting(how: Any) -> Iterator[None]:
    """Have DuckDB opened in another way."""
    with patch.object(duckdb, "connect", how):
        yield
