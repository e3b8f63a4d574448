"""How far a release is from the private table: noisy distances, as they were told and paid for.

A distance is the total variation of two marginals, half the sum of the differences of their
shares: 0 is the same, 1 has nothing in common.  These are answers of the door, charged on the
ledger, so that anyone may see them.  What a release says of itself, from its own measurements and
free of charge, is its `quality`; that is another matter.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from understudy.errors import MalformedFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACCURACY = "accuracy.json"
"""The file beside a release's manifest."""
MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """A noisy distance with a 95 % interval, of one marginal or of several on average."""

    columns: tuple[str, ...] = ()
    """The marginal's columns; none for an average."""
    distance: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, within: float, columns: tuple[str, ...] = ()) -> Distance:
        """Return a distance with what is on either side of it, cut to what distances can be."""
        ends = [min(1.0, max(0.0, at)) for at in (value, value - within, value + within)]
        return cls(columns=columns, distance=ends[0], low=ends[1], high=ends[2])

    @property
    def within(self) -> float:
        """Half the interval; the longer half, where it is cut at 0 or 1."""
        return max(self.distance - self.low, self.high - self.distance)

    def __str__(self) -> str:
        """Write it with its interval.

        >>> print(Distance.of(0.0512, 0.0131, ("a", "b")))
        a × b (0.051 ± 0.013)
        """
        told = f"{self.distance:.2g} ± {self.within:.2g}"
        return f"{' × '.join(self.columns)} ({told})" if self.columns else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Noisy distances of a release's marginals from the private table's.

    `sentences` says them, and `save` writes them beside the release.  Intervals hold 95 % of the
    noise each; those of `worst` hold for all marginals at once.  People with more than ``cap``
    rows count for ``cap`` rows, and intervals are wider by the share of rows that this leaves out
    among the synthetic people.
    """

    mean_column: Distance
    """The mean over all columns."""
    mean_pair: Distance | None
    """The mean over all pairs; None where there is a single column."""
    columns: tuple[Distance, ...]
    pairs: tuple[Distance, ...]
    worst: tuple[Distance, ...]
    """The pairs, or columns, whose noisy distance is largest."""
    rows: float
    """The noisy number of rows, at most ``cap`` for each person."""
    cap: int
    clipped: float
    """The share of the synthetic rows above the cap."""
    left_out: tuple[tuple[str, ...], ...] = ()
    """Pairs with too many cells to be asked about."""
    release: dict[str, Any] = field(default_factory=dict)
    """The run and the head of the ledger that the release's manifest has."""
    guarantee: dict[str, Any] = field(default_factory=dict)
    """What the distances promise, alone and together with the release."""

    def sentences(self) -> Iterator[str]:
        """Say it, pairs first."""
        mean = self.mean_pair or self.mean_column
        what = "Columns" if self.mean_pair is None else "Pairs of columns"
        asked = len(self.columns if self.mean_pair is None else self.pairs)
        yield (
            f"{what} are wrong by {mean} on average; the worst of the {asked:,} asked are "
            f"{', '.join(map(str, self.worst))}."
        )
        if self.mean_pair is not None:
            yield f"Columns alone are wrong by {self.mean_column} on average."
        if self.cap > 1:
            yield (
                f"A person counts for at most {self.cap:,} rows in this, enough for synthetic "
                "people; where a few real ones have many more, tables are further off than is said."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Accuracy:
        """Read it from plain data."""
        told = dict(data)
        for name in ("columns", "pairs", "worst"):
            told[name] = tuple(_distance(each) for each in data[name])
        mean = data["mean_pair"]
        told["mean_pair"] = None if mean is None else _distance(mean)
        told["mean_column"] = _distance(data["mean_column"])
        told["left_out"] = tuple(tuple(columns) for columns in data["left_out"])
        return cls(**told)

    @classmethod
    def read(cls, folder: Path, manifest: dict[str, Any]) -> Accuracy | None:
        """Read what stands beside a release, None if nothing; raise if it is another release's."""
        path = folder / ACCURACY
        if not path.is_file():
            return None
        try:
            found = cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise MalformedFileError(f"{path} is not what 'understudy quality' writes") from None
        if found.release != identity(manifest):
            raise MalformedFileError(
                f"{path} belongs to another release",
                hint="remove it, or copy the whole release's folder again",
            )
        return found


def identity(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what tells a release from all others: its run, and the ledger's head after it."""
    ledger = manifest.get("ledger", {})
    return {name: ledger.get(name) for name in ("run", "head")}


def _distance(data: dict[str, Any]) -> Distance:
    return Distance(**{**data, "columns": tuple(data["columns"])})
