"""Whether a release is any good: how much of what was measured stands out from its noise.

It follows from the noisy answers and their standard errors alone, so that it reveals nothing more.
A cell stands out if its noisy count is more than `CLEAR` standard errors above 0.  A column or pair
is mostly signal if most rows are in such cells, and mostly noise if most are not.  Of pure noise a
few cells stand out by chance; what they are expected to have is subtracted.  Bias, such as
that of contribution bounding or of a declaration that most cells do not fit, is not seen here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import UsageError
from understudy.release.display import named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from understudy.release.estimates import Estimate

CLEAR = 2.0
SIGNAL, NOISE = 0.8, 0.5
MOST_PAIRS = 400
"""The most pairs that are looked at."""
MOST_NAMED = 5
BY_CHANCE = math.exp(-(CLEAR**2) / 2) / math.sqrt(2 * math.pi)
"""What a cell without rows has on average, in standard errors, counting it where it stands out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The share of rows in cells that stand out from noise, for each column and measured pair."""

    columns: dict[str, float]
    pairs: dict[tuple[str, str], float]
    unmeasured_columns: tuple[str, ...]
    unmeasured_pairs: int

    def facts(self) -> dict[str, Any]:
        """Return it as plain data."""
        pairs = {" × ".join(pair): share for pair, share in self.pairs.items()}
        return {
            "columns": _sorted_out(self.columns) | {"not measured": list(self.unmeasured_columns)},
            "pairs": _sorted_out(pairs) | {"not measured": self.unmeasured_pairs},
        }

    def sentences(self) -> Iterator[str]:
        """Say it, columns first."""
        yield _said("columns", self.columns, len(self.columns) + len(self.unmeasured_columns))
        if self.unmeasured_columns:
            yield f"Not measured: {named(self.unmeasured_columns, MOST_NAMED)}."
        pairs = {" × ".join(pair): share for pair, share in self.pairs.items()}
        if pairs:
            yield _said("measured pairs of columns", pairs, len(pairs))
        if self.unmeasured_pairs:
            yield (
                f"{self.unmeasured_pairs:,} other pairs were not measured cell by cell: how their "
                "columns go together follows from the model."
            )


def quality(
    estimate: Callable[..., Estimate], columns: list[str], cliques: list[tuple[str, ...]]
) -> Quality:
    """Look at every column, and at the pairs that were measured together."""
    singles = {name: _share(estimate, name) for name in columns}
    place = {name: i for i, name in enumerate(columns)}
    together = {
        tuple(sorted(pair, key=place.__getitem__))
        for clique in cliques
        for pair in combinations([name for name in clique if name in place], 2)
    }
    pairs = {}
    for pair in sorted(together, key=lambda p: [place[name] for name in p])[:MOST_PAIRS]:
        share = _share(estimate, *pair)
        if share is not None:
            pairs[pair[0], pair[1]] = share
    return Quality(
        columns={name: share for name, share in singles.items() if share is not None},
        pairs=pairs,
        unmeasured_columns=tuple(name for name, share in singles.items() if share is None),
        unmeasured_pairs=math.comb(len(columns), 2) - len(pairs),
    )


def _share(estimate: Callable[..., Estimate], *columns: str) -> float | None:
    """Return the share of rows in cells that stand out; None for what was not measured."""
    try:
        found = estimate(*columns)
    except UsageError:
        return None
    return clear_share(found.estimate, found.standard_error)


def clear_share(counts: Any, errors: Any) -> float | None:  # noqa: ANN401  arrays
    """Return the share of all rows in cells that stand out from their noise.

    >>> round(clear_share(np.array([500.0, 500.0]), np.array([10.0, 10.0])), 3)
    0.999
    >>> clear_share(np.array([9.0, -9.0, 3.0]), np.array([10.0, 10.0, 10.0]))
    0.0
    """
    total = float(np.sum(counts))
    if not len(counts) or total <= CLEAR * float(np.sqrt(np.sum(errors**2))):
        return 0.0 if len(counts) else None
    clear = float(np.sum(counts[counts > CLEAR * errors])) - BY_CHANCE * float(np.sum(errors))
    return min(1.0, max(0.0, clear / total))


def _sorted_out(shares: dict[str, float]) -> dict[str, Any]:
    return {
        "mostly signal": [name for name, share in shares.items() if share >= SIGNAL],
        "between": [name for name, share in shares.items() if NOISE <= share < SIGNAL],
        "mostly noise": [name for name, share in shares.items() if share < NOISE],
    }


def _said(what: str, shares: dict[str, float], count: int) -> str:
    kinds = _sorted_out(dict(sorted(shares.items(), key=lambda item: item[1])))
    noise, between, signal = (kinds[k] for k in ("mostly noise", "between", "mostly signal"))
    told = [f"{len(signal):,} mostly signal"]
    if between:
        told.append(f"{len(between):,} between ({named(between, MOST_NAMED)})")
    told.append(
        f"{len(noise):,} mostly noise" + (f" ({named(noise, MOST_NAMED)})" if noise else "")
    )
    return f"Of {count:,} {what}: {', '.join(told)}."
