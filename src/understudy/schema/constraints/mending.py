"""Mending: rows that break a relation are given other codes, the likeliest that do not.

Of a row that breaks one, the codes of one column are changed, if that is enough: which column, and
to what, is drawn as often as the rows that break nothing have the outcome.  Where no one column is
enough, the nearest allowed combination is searched for.  Models hold relations as zeros, so that
few of their rows need it; it is for those that have no model, or a coarser one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from understudy.schema.constraints.solving import Solver
    from understudy.schema.encoding.reading import Codes

    Ints = NDArray[np.int64]
    Row = dict[str, int]
    """A kind for each column."""

HARDLY = 1e-6
"""The weight of an outcome that no row has, beside the number of rows that have another."""


def mended(
    solver: Solver,
    codes: Mapping[str, Codes],
    rng: np.random.Generator,
    fixed: Collection[str] = (),
) -> dict[str, Codes]:
    """Return the rows with other codes where they break a relation; fixed columns stay.

    For what is fixed there must be allowed codes of the other columns (`completed`).
    """
    kinds = {name: solver.kinds[name][codes[name]] for name in solver.columns}
    broken = ~solver.allowed(kinds)
    if not broken.any():
        return dict(codes)
    rows = np.flatnonzero(broken)
    seen = _Seen(solver, {name: kind[~broken] for name, kind in kinds.items()})
    free = [name for name in solver.columns if name not in fixed]
    there = np.stack([kinds[name][rows] for name in solver.columns], axis=1)
    combinations, which = np.unique(there, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for number, combination in enumerate(combinations.tolist()):
        now = dict(zip(solver.columns, combination, strict=True))
        outcomes = seen.near(now, free)
        mine = rows[which == number]
        if outcomes is None:
            found = solver.nearest({n: now[n] for n in fixed if n in now}, now)
            assert found is not None  # noqa: S101  what is fixed was completed before
            for name in free:
                kinds[name][mine] = found[name]
        else:
            names, goals, weights = outcomes
            drawn = rng.choice(len(goals), size=len(mine), p=weights / weights.sum())
            for place, name in enumerate(free):
                changed = names[drawn] == place
                kinds[name][mine[changed]] = goals[drawn[changed]]
    out = dict(codes)
    for name in free:
        changed = rows[kinds[name][rows] != solver.kinds[name][codes[name][rows]]]
        if len(changed):
            new = codes[name].copy()
            usual = np.bincount(codes[name][~broken], minlength=len(solver.kinds[name]))
            new[changed] = _codes(solver.kinds[name], usual, kinds[name][changed], rng)
            out[name] = new
    return out


def completed(
    solver: Solver,
    codes: Mapping[str, Codes],
    rng: np.random.Generator,
    fixed: Collection[str] = (),
) -> dict[str, Codes]:
    """Return people's own codes, changed where no codes of their rows would be allowed.

    Fixed columns stay; there must be allowed codes for them.
    """
    own = [name for name in solver.columns if name in codes]
    if not own:
        return dict(codes)
    kinds = np.stack([solver.kinds[name][codes[name]] for name in own], axis=1)
    combinations, which = np.unique(kinds, axis=0, return_inverse=True)
    out = dict(codes)
    for number, combination in enumerate(combinations.tolist()):
        now = dict(zip(own, combination, strict=True))
        if solver.nearest(now, {}) is not None:
            continue
        found = solver.nearest({name: now[name] for name in fixed if name in now}, now)
        assert found is not None  # noqa: S101  a schema whose constraints conflict is refused
        mine = np.flatnonzero(which.reshape(-1) == number)
        for name in own:
            if found[name] != now[name]:
                new = out[name].copy()
                usual = np.bincount(codes[name], minlength=len(solver.kinds[name]))
                wanted = np.full(len(mine), found[name])
                new[mine] = _codes(solver.kinds[name], usual, wanted, rng)
                out[name] = new
    return out


class _Seen:
    """How many rows have each combination of kinds."""

    def __init__(self, solver: Solver, kinds: Mapping[str, Ints]) -> None:
        """Count the rows; a combination goes by a hash, which only weighs outcomes."""
        self._solver = solver
        factors = np.random.default_rng(0).integers(1, 2**62, size=len(solver.columns)) | 1
        self._factors = dict(zip(solver.columns, factors, strict=True))
        self._keys, self._counts = np.unique(self._hashed(kinds), return_counts=True)

    def _hashed(self, kinds: Mapping[str, Ints]) -> Ints:
        with np.errstate(over="ignore"):
            parts = [kinds[name] * factor for name, factor in self._factors.items()]
            found: Ints = np.sum(parts, axis=0)
        return found

    def near(self, now: Row, free: list[str]) -> tuple[Ints, Ints, NDArray[np.float64]] | None:
        """Return the allowed combinations that differ in one free column, and their weights.

        Each is the place of the column and its new kind.  None if there are none.
        """
        counts = self._solver.counts
        places = np.repeat(np.arange(len(free)), [counts[name] for name in free])
        goals = np.concatenate([np.arange(counts[name]) for name in free] or [places])
        kinds = {name: np.full(len(places), kind) for name, kind in now.items()}
        for place, name in enumerate(free):
            kinds[name][places == place] = goals[places == place]
        allowed = np.flatnonzero(self._solver.allowed(kinds)) if len(places) else places
        if not len(allowed):
            return None
        keys = self._hashed({name: kind[allowed] for name, kind in kinds.items()})
        if not len(self._keys):
            return places[allowed], goals[allowed], np.ones(len(allowed))
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        weights = np.where(self._keys[at] == keys, self._counts[at], 0) + HARDLY
        return places[allowed], goals[allowed], weights


def _codes(kinds: Ints, usual: Ints, wanted: Ints, rng: np.random.Generator) -> Codes:
    """Draw a code of each wanted kind, as often as rows have it."""
    order = np.argsort(kinds, kind="stable")
    starts = np.searchsorted(kinds[order], np.arange(kinds.max() + 2))
    ends = np.cumsum(usual[order] + HARDLY)
    edges = np.append(0.0, ends)[starts]
    at = edges[wanted] + rng.random(len(wanted)) * np.diff(edges)[wanted]
    # Rounding must not reach the codes of another kind.
    place = np.clip(np.searchsorted(ends, at), starts[wanted], starts[wanted + 1] - 1)
    found: Codes = order[place].astype(np.int32)
    return found
