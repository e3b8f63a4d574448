"""A statistic: what is asked of the rows of each group, a count unless it is something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from understudy.errors import UsageError
from understudy.release.summaries import divided, quantiles, shares, summed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.release.cells import Cells
    from understudy.release.code_values import CodeValues
    from understudy.release.summaries import Counts, Floats, Summary

Kind = Literal["count", "share", "mean", "total", "ratio", "quantile"]
_FORMS: dict[Kind, str] = {
    "mean": 'a column: mean="fare"',
    "total": 'a column: total="fare"',
    "ratio": 'two columns: ratio=("tips", "fare")',
    "quantile": 'a column and a level between 0 and 1: quantile=("fare", 0.5)',
}
PAIR = 2


@dataclass(frozen=True, slots=True)
class Statistic:
    """What is estimated of each group, and of which columns of numbers.

    >>> Statistic.of(quantile=("fare", 0.5)).words
    '0.5-quantile of fare'
    """

    kind: Kind = "count"
    values: tuple[str, ...] = ()
    """The columns of numbers."""
    level: float = 0.5
    """The share of rows that are at most a quantile."""

    @classmethod
    def of(cls, *, share: bool = False, **asked: object) -> Statistic:
        """Read what is asked for; raise unless it is one statistic at most, in its own form."""
        given = [name for name in _FORMS if asked.get(name) is not None]
        every = ["share"] * bool(share) + list(given)
        if len(every) > 1:
            raise UsageError(
                "estimate computes one statistic at a time",
                got=" and ".join(every),
                allowed=", ".join(("share", *_FORMS)),
                hint="call estimate once for each",
            )
        if not given:
            return cls("share" if share else "count")
        kind, value = given[0], asked[given[0]]
        values, level = _values(kind, value)
        if not values:
            raise UsageError(f"{kind} has another form", got=repr(value), allowed=_FORMS[kind])
        return cls(kind, values, level)

    @property
    def words(self) -> str:
        """What is estimated, in words; nothing for a count."""
        if self.kind in {"count", "share"}:
            return "shares of rows" if self.kind == "share" else ""
        if self.kind == "ratio":
            return f"ratio of {self.values[0]} to {self.values[1]}"
        name = f"{self.level:g}-quantile" if self.kind == "quantile" else self.kind
        return f"{name} of {self.values[0]}"

    def summary(self, counts: Counts, cells: Cells, numbers: Sequence[CodeValues]) -> Summary:
        """Compute the statistic of every group."""
        if self.kind == "count":
            return summed(counts, np.ones(1))
        if self.kind == "share":
            return shares(counts)
        parts = [(cells.domain.parts[c.name], cells.used[c.name]) for c in numbers]
        if self.kind == "quantile":
            return quantiles(counts, self.level, numbers[0], *parts[0])
        means, known = _grid([c.merged(*part) for c, part in zip(numbers, parts, strict=True)])
        if self.kind == "total":
            return summed(counts, means[0] * known)
        return divided(counts, means[0] * known, (known * means[1]) if means[1:] else known)

    def notes(self, cells: Cells, numbers: Sequence[CodeValues]) -> Iterator[str]:
        """Say what is approximated."""
        for each in numbers:
            part = cells.domain.parts[each.name]
            if not each.has_numbers.all():
                yield f"Rows without a number in {each.name} are left out."
            if each.binned and self.kind == "quantile":
                yield (
                    f"Numbers are taken to be spread evenly within each bin of {each.name}; that "
                    "approximation is not part of the error."
                )
            elif each.binned:
                yield (
                    f"The mean of each bin of {each.name} is that of the synthetic rows; that "
                    "approximation is not part of the error."
                )
            if np.bincount(part)[cells.used[each.name]].max(initial=1) > 1:
                yield (
                    f"Values of {each.name} that were measured together are taken to be as "
                    "frequent as in the synthetic rows."
                )


def _values(kind: Kind, value: object) -> tuple[tuple[str, ...], float]:
    """Return the columns and the level that are asked for; no columns where the form is wrong."""
    if kind in {"mean", "total"}:
        return ((value,), 0.5) if isinstance(value, str) else ((), 0.5)
    pair = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if len(pair) != PAIR or not isinstance(pair[0], str):
        return (), 0.5
    if kind == "ratio":
        return ((pair[0], pair[1]), 0.5) if isinstance(pair[1], str) else ((), 0.5)
    number = isinstance(pair[1], (int, float)) and 0 < pair[1] < 1
    return ((pair[0],), float(pair[1])) if number else ((), 0.5)


def _grid(columns: Sequence[tuple[Floats, Floats]]) -> tuple[list[Floats], Floats]:
    """Return the means of one or two columns in every cell, and the share of rows with both."""
    axes = np.meshgrid(*(means for means, _ in columns), indexing="ij")
    known = np.meshgrid(*(share for _, share in columns), indexing="ij")
    return [axis.reshape(-1) for axis in axes], np.prod(known, axis=0).reshape(-1)
