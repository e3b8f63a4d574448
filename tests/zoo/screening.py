"""Bugs of screening: what its first question costs."""

from __future__ import annotations

from tests.zoo.bug import Bug

TESTS = "tests/session/test_screening.py"

SCREENING = (
    Bug(
        name="the door after screening has the whole budget again",
        kind="more is spent than there is",
        file="vault/door.py",
        old="after._left if after",
        new="state.cap if after",
        caught_by=f"{TESTS}::test_every_mechanism_spends_what_screening_left[mst]",
    ),
)
