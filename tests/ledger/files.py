"""Ledger files: written, read raw, and refused."""

from __future__ import annotations

import resource
import sqlite3
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from understudy.budget import Budget, Currency, ResolvedUnit, noise_charge
from understudy.errors import LedgerDamagedError
from understudy.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator


BUDGET = Budget(epsilon=1.0, delta=1e-6)


def write_ledger(path: Path) -> None:
    """Write a ledger with an entry of every kind: eight in all."""
    with closing(Ledger.create(path, budget=BUDGET)) as ledger:
        ledger.bind(name="trips", unit=ResolvedUnit.of("taxi"))
        run = ledger.begin(Budget(epsilon=0.5, delta=1e-6), {"mechanism": {"name": "none"}})
        for ordinal in range(2):
            charge = noise_charge(50.0, Currency.GDP, bound=Fraction(1))
            run.reserve(ordinal, f"plan {ordinal}", "number of people", charge)
            run.store(ordinal, f"plan {ordinal}", bytes(range(8 * ordinal, 8 * ordinal + 8)))
        run.close()


@contextmanager
def raw(path: Path, *, hands_off: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the file behind the ledger's back, with the triggers and indexes gone."""
    with closing(sqlite3.connect(path, timeout=0.05, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        if not hands_off:
            connection.executescript(
                "DROP TRIGGER no_update; DROP TRIGGER no_delete;"
                "DROP INDEX one_answer; DROP INDEX one_close;"
            )
        yield connection


def refused(path: Path, how: str | None = None) -> None:
    with pytest.raises(LedgerDamagedError, match=how):
        Ledger(path)


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """Let the system refuse to write files beyond a size, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
