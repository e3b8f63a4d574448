"""Combining: one estimate and its interval, from the same analysis of every replicate."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import UsageError
from understudy.release.aligning import aligned
from understudy.release.display import numbered
from understudy.release.estimates import NORMAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST = 2


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """What replicates say together: 95 % intervals around their mean, or the release's value."""

    estimate: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    replicates: int
    """How many there were."""
    labels: tuple[tuple[Any, ...], ...] = ()
    """The labels of the numbers: those of a pandas Series, or of a data frame's rows and columns;
    none where the estimates had none."""

    def __repr__(self) -> str:
        """Show every number with its label and its interval."""
        each = (self.estimate, self.low, self.high, self.standard_error)
        names = [", ".join(map(str, cell)) for cell in product(*self.labels)]
        lines = []
        for place, (*numbers, error) in enumerate(zip(*map(np.ravel, each), strict=True)):
            estimate, low, high = numbered(np.array(numbers), float(error))
            name = f"{names[place]}: " if self.labels else ""
            lines.append(f"{name}{estimate} (95 % interval {low} to {high})")
        return "\n".join([f"Combined from {self.replicates} replicates", *lines])


def combine(
    estimates: Iterable[Any], variances: Iterable[Any] | None = None, *, released: object = None
) -> Combined:
    """Combine what an analysis gave on each replicate: numbers, or arrays of one shape.

    A pandas Series or data frame is matched by its labels, in whatever order they come.

    The replicates vary as the release would if everything were measured again, so their standard
    deviation is the estimate's standard error.  It says nothing of the people who happen to be in
    the private table; ``variances``, the squared standard errors that the analysis gave itself,
    add that, for statements about the population they were sampled from.

    With what the analysis gave on the ``released`` rows, intervals are around that.  Replicates are
    made from a model of the release as this is from the private table, and what a model flattens
    they flatten once more; so how far their mean is from the release is part of the error.

    >>> combine([1.0, 2.0, 3.0]).estimate
    array(2.)
    >>> combine([1150.0, 1160.0, 1170.0])
    Combined from 3 replicates
    1,160 (95 % interval 1,129 to 1,191)
    >>> combine([1.0, 2.0, 3.0], released=2.5).estimate
    array(2.5)
    """
    given = aligned("estimates", estimates)
    found = _stacked("estimates", given.arrays)
    count = len(found)
    variance = found.var(axis=0, ddof=1)
    if variances is not None:
        own = _stacked("variances", given.like("variances", variances))
        if own.shape != found.shape or (own < 0).any():
            raise UsageError(
                "variances must be non-negative, one for each estimate",
                got=f"shape {own.shape}",
                allowed=f"shape {found.shape}",
            )
        variance = variance + own.mean(axis=0)
    mean = np.asarray(found.mean(axis=0))
    if released is not None:
        (around,) = _stacked("released", given.like("released", [released]), fewest=1)
        if around.shape != mean.shape:
            raise UsageError(
                "released must be what the analysis gave on the release's rows",
                got=f"shape {around.shape}",
                allowed=f"shape {mean.shape}",
            )
        variance = variance + (around - mean) ** 2
        mean = np.asarray(around)
    error = np.asarray(np.sqrt(variance))
    # Student's quantile for as many degrees of freedom, to the first order.
    reach = error * (NORMAL + (NORMAL**3 + NORMAL) / (4 * (count - 1)))
    return Combined(mean, error, mean - reach, mean + reach, count, given.labels)


def _stacked(what: str, given: Iterable[Any], *, fewest: int = FEWEST) -> Floats:
    try:
        found = np.array([np.asarray(each, dtype=np.float64) for each in given])
    except (TypeError, ValueError):
        found = np.zeros(0)
    if len(found) < fewest or not np.isfinite(found).all():
        raise UsageError(
            f"{what} must be two or more finite numbers, or arrays of one shape",
            hint="give what the same analysis gave on every table of release.replicates()",
        )
    return found
