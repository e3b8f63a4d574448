"""What a bug of the zoo is, and the kinds there are."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = (
    "the domain is read from the data",
    "an exact number is taken as public",
    "the bound on a person is not kept",
    "one person is counted as several",
    "different people are taken for one",
    "one person's arrival moves another's rows",
    "the sensitivity is too small",
    "a selection is charged too little",
    "the noise drawn is not the noise charged",
    "the noise is not exact",
    "the noise can be guessed",
    "costs add up to too little",
    "more is spent than there is",
    "an answer is drawn twice",
    "the books are not kept in order",
    "the ledger can be tampered with",
    "a value decides whether the run fails",
    "a private value or count is seen",
    "more is promised than holds",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A planted defect: ``old`` is in the file exactly once, and ``new`` takes its place."""

    name: str
    """What is wrong, in a sentence for a privacy officer."""
    kind: str
    file: str
    """Below ``src/understudy``."""
    old: str
    new: str
    caught_by: str
    """The test that must fail, as pytest's node id."""
