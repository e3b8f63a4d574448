"""Boundings: contribution bounding, enforced in the vault.

`Weights` and `Sample` give a person's rows a total weight of at most C, so any query whose
cells each touch rows of total squared weight 1 moves by at most C in L2, and in L1 (triangle
inequality).  `Norm` bounds what a person does to one question's whole answer, in units of its
noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.errors import BudgetError

FRACTION_BITS = 16
"""A fractional weight is a whole number of 2⁻¹⁶."""


def _plain_cap(cap: object) -> int:
    """Return a cap as a plain int, whatever type of integer it was; raise on anything else."""
    plain = int(cap) if isinstance(cap, int) and not isinstance(cap, bool) else 0
    if not 0 < plain < 2**31:
        raise BudgetError("cap must be a positive integer", got=repr(cap), allowed="1 to 2^31 - 1")
    return plain


@dataclass(frozen=True, slots=True)
class Weights:
    """Every row of a person with R rows weighs min(1, C/R), rounded down to 2⁻¹⁶.

    A small C means less noise, and more clipping of people with many rows.

    >>> print(Weights(150))
    rows of a person with more than 150 are weighed down to 150 in all
    """

    kind: ClassVar[str] = "weights"
    unit_weight: ClassVar[int] = 2**FRACTION_BITS
    cap: int

    def __post_init__(self) -> None:
        """Raise unless the cap is a positive integer."""
        object.__setattr__(self, "cap", _plain_cap(self.cap))

    def __str__(self) -> str:
        """Describe it in one phrase."""
        return f"rows of a person with more than {self.cap} are weighed down to {self.cap} in all"


@dataclass(frozen=True, slots=True)
class Sample:
    """At most C rows of a person, chosen by the keyed hash; the others do not count.

    >>> print(Sample(20))
    at most 20 rows of a person, chosen by a keyed hash
    """

    kind: ClassVar[str] = "sample"
    unit_weight: ClassVar[int] = 1
    cap: int

    def __post_init__(self) -> None:
        """Raise unless the cap is a positive integer."""
        object.__setattr__(self, "cap", _plain_cap(self.cap))

    def __str__(self) -> str:
        """Describe it in one phrase."""
        return f"at most {self.cap} rows of a person, chosen by a keyed hash"


@dataclass(frozen=True, slots=True)
class Norm:
    """L2 clipping: one weight for all rows of a person bounds their effect on a question's answers.

    The weight is min(1, price / length), rounded down to 2⁻¹⁶, where the length is that of
    all the person adds to the question's answers, each in units of its own noise.  A person
    whose rows fall in many cells is short, and is not weighed down.
    """

    kind: ClassVar[str] = "norm"
    unit_weight: ClassVar[int] = 2**FRACTION_BITS

    def __str__(self) -> str:
        """Describe it in one phrase."""
        return "each question weighs a person's rows down to what its price allows"


Capped = Weights | Sample
"""Boundings with a cap on a person's rows, which bound L1 too."""
Bounding = Capped | Norm

_KINDS: dict[str, type[Capped]] = {"weights": Weights, "sample": Sample}


def bounding_to_dict(bounding: Bounding) -> dict[str, Any]:
    """Write a bounding as plain data."""
    if isinstance(bounding, Norm):
        return {"kind": bounding.kind}
    return {"kind": bounding.kind, "cap": bounding.cap}


def bounding_from_dict(data: dict[str, Any]) -> Bounding:
    """Read a bounding from plain data."""
    if data.get("kind") == Norm.kind:
        return Norm()
    if data.get("kind") not in _KINDS:
        allowed = ", ".join((*_KINDS, Norm.kind))
        raise BudgetError("unknown bounding", got=data.get("kind"), allowed=allowed)
    return _KINDS[data["kind"]](data["cap"])
