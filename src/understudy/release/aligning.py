"""Aligning: what an analysis gave on each replicate, matched by its labels where it has any.

pandas sorts by frequency, by first appearance or by label, so that the same place means another
category in another replicate.  A pandas Series or data frame is known by its axes; pandas itself is
not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import UsageError
from understudy.release.display import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """What each replicate gave, all in the order of the first one's labels."""

    arrays: Sequence[Any]
    axes: Sequence[Any] = ()
    """The first one's labels, as pandas has them: of a Series one index, of a data frame two."""
    moved: bool = False
    """Whether another replicate had them in another order."""

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """The labels along each axis."""
        return tuple(tuple(axis) for axis in self.axes)

    def like(self, what: str, given: Iterable[Any]) -> Sequence[Any]:
        """Return what belongs to these, in their order."""
        every = _listed(given)
        if any(_axes(each) for each in every):
            return [_ordered(what, each, self.axes) for each in every]
        if self.moved:
            raise UsageError(
                f"{what} need labels where the estimates' labels are in different orders",
                hint=f"give {what} as the same kind of pandas object as the estimates",
            )
        return every


def aligned(what: str, given: Iterable[Any]) -> Aligned:
    """Match what each replicate gave by its labels; raise where these are not the same.

    Without labels it is left as it is.
    """
    every = _listed(given)
    if not any(_axes(each) for each in every):
        return Aligned(every)
    axes = _axes(every[0])
    moved = any(not _same(_axes(each), axes) for each in every)
    return Aligned([_ordered(what, each, axes) for each in every], axes, moved)


def _listed(given: Iterable[Any]) -> list[Any]:
    try:
        return list(given)
    except TypeError:
        # Too few to be combined, which is then said.
        return []


def _axes(given: object) -> Sequence[Any]:
    """Return the axes of a pandas object, none of anything else."""
    return list(getattr(given, "axes", ())) if hasattr(given, "reindex") else []


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(a.equals(b) for a, b in zip(one, other, strict=True))


def _ordered(what: str, given: Any, axes: Sequence[Any]) -> Any:  # noqa: ANN401  a pandas object, or an array
    """Return the values in the order of the axes; raise unless they have the same labels."""
    own = _axes(given)
    if not own or len(own) != len(axes):
        raise UsageError(
            f"{what} must all have labels of the same kind, or none",
            hint="give what the same analysis gave on every table of release.replicates()",
        )
    values = given.to_numpy()
    for place, (here, wanted) in enumerate(zip(own, axes, strict=True)):
        if not here.equals(wanted):
            values = np.take(values, _places(what, here, wanted), axis=place)
    return values


def _places(what: str, here: Any, wanted: Any) -> Any:  # noqa: ANN401  indexes of pandas
    """Return where each wanted label is."""
    if not (here.is_unique and wanted.is_unique):
        raise UsageError(
            f"labels of {what} must be distinct, since they are matched by label",
            got=named(
                [repr(label) for index in (here, wanted) for label in index[index.duplicated()]]
            ),
        )
    lacking = [*wanted.difference(here, sort=False), *here.difference(wanted, sort=False)]
    if lacking:
        raise UsageError(
            f"{what} of some replicates lack labels that others have",
            got=named([repr(label) for label in lacking]),
            hint="give every one the same labels, such as by .reindex(labels, fill_value=0)",
        )
    return here.get_indexer(wanted)
