"""Mending: rows that break a relation are given other codes, with the least change.

Codes that are out of order are first exchanged between rows (`exchanging`).  Of a row that still
breaks a relation, the codes of one column are changed, if that is enough: which column, and to
what, is drawn by what is likely beside the other columns and, in an order, near (`weighing`).
Where no one column is enough, the nearest allowed combination is searched for.  Models hold
relations as zeros, so that few of their rows need it; it is for those that have no model, or a
coarser one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.schema.constraints.exchanging import exchanged
from understudy.schema.constraints.weighing import HARDLY, Weights, drawn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema.constraints.solving import Solver
    from understudy.schema.encoding.reading import Codes

    Ints = NDArray[np.int64]

AT_ONCE = 2_000_000
"""About how many outcomes are weighed at once."""


def mended(
    solver: Solver,
    codes: Mapping[str, Codes],
    rng: np.random.Generator,
    fixed: Collection[str] = (),
) -> dict[str, Codes]:
    """Return the rows with other codes where they break a relation; fixed columns stay.

    Rows that break none stay too, unless they exchange codes with a row that breaks an order.  For
    what is fixed there must be allowed codes of the other columns (`completed`).
    """
    broken = ~solver.obeyed(codes)
    if not broken.any():
        return dict(codes)
    if solver.places:
        codes = exchanged(solver, codes, rng, fixed)
        broken = ~solver.obeyed(codes)
    kinds = {name: solver.kinds[name][codes[name]] for name in solver.columns}
    rows = np.flatnonzero(broken)
    free = [name for name in solver.columns if name not in fixed]
    weights = Weights(solver, {name: kind[~broken] for name, kind in kinds.items()})
    there = {name: kind[rows] for name, kind in kinds.items()}
    for name, kind in _changed(solver, weights, there, free, rng).items():
        kinds[name][rows] = kind
    out = dict(codes)
    for name in free:
        changed = rows[kinds[name][rows] != solver.kinds[name][codes[name][rows]]]
        if len(changed):
            new = codes[name].copy()
            usual = np.bincount(codes[name][~broken], minlength=len(solver.kinds[name]))
            new[changed] = _codes(solver.kinds[name], usual, kinds[name][changed], rng)
            out[name] = new
    return out


def _changed(
    solver: Solver,
    weights: Weights,
    kinds: Mapping[str, Ints],
    free: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, Ints]:
    """Return the kinds of broken rows, with those of free columns changed until they obey."""
    table = np.stack([kinds[name] for name in solver.columns], axis=1)
    combinations, which = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    whose = which.reshape(-1)[order]
    out = {name: kind.copy() for name, kind in kinds.items()}
    places = np.repeat(np.arange(len(free)), [solver.counts[name] for name in free])
    starts = np.cumsum([0, *(solver.counts[name] for name in free)])
    step = max(1, AT_ONCE // max(1, len(places)))
    for first in range(0, len(combinations), step):
        part = combinations[first : first + step]
        now = dict(zip(solver.columns, part.T, strict=True))
        told = weights.outcomes(now, free)
        one = told.max(axis=1) > 0
        for number in np.flatnonzero(~one).tolist():
            row = dict(zip(solver.columns, part[number].tolist(), strict=True))
            found = solver.nearest({n: row[n] for n in row if n not in free}, row)
            assert found is not None  # noqa: S101  what is fixed was completed before
            mine = order[slice(*np.searchsorted(whose, [first + number, first + number + 1]))]
            for name in free:
                out[name][mine] = found[name]
        here = slice(*np.searchsorted(whose, [first, first + len(part)]))
        at = whose[here] - first
        mine, at = order[here][one[at]], (np.cumsum(one) - 1)[at[one[at]]]
        to = drawn(told[one], at, rng)
        for place, name in enumerate(free):
            changed = places[to] == place
            out[name][mine[changed]] = to[changed] - starts[place]
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
