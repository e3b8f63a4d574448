"""Bugs of screening: what its first question costs."""

from __future__ import annotations

from tests.zoo.bug import Bug

TESTS = "tests/vault/test_door.py"

SCREENING = (
    Bug(
        name="the door after screening has the whole budget again",
        kind="more is spent than there is",
        file="vault/door.py",
        old="after._left if after",
        new="state.cap if after",
        caught_by=f"{TESTS}::test_a_door_after_another_has_what_that_one_left",
    ),
)
