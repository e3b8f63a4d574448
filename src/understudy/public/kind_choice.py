"""How many kinds of people there are: as many as held-out people, and the noise, bear out.

Kinds are found in half of the public people.  The other half is then judged by how likely they are:
a person's kind by the noisy counts, and each of their rows by the kind's shares of *cells*, which
are discrete.  More kinds describe rows better, until each has few of them; and they cost more,
since a person is of one of many, and since every count has noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

TRIED = (2, 5, 10, 20, 40)
"""The numbers of kinds that are tried."""
PRIORS = (30.0, 300.0, 3000.0)
"""How many rows of everyone a kind's own shares are mixed with: the best of these counts."""
NOISY_DRAWS = 100
SPREAD = 0.5
"""The rows that are added to every cell's count."""
FEWEST = 0.5
"""The fewest people of a kind, whatever its noisy count is."""
WORSE = 0.002
"""A number of kinds is as good as the best if its mean log-likelihood is less by no more."""


def best_count(
    cells: Ints, people: Ints, labelled: Callable[[int], Ints], *, deviation: float
) -> int:
    """Return the number of kinds under which held-out people are likeliest.

    ``labelled`` finds a number of kinds in the people of even number, and returns every row's;
    ``deviation`` is that of the noise of a count of people.
    """
    everyone = int(people[-1]) + 1
    if everyone < 2 * min(TRIED):
        return 1
    tried = [k for k in TRIED if 2 * k <= everyone]
    found = {k: likelihood(cells, people, labelled(k), k, deviation=deviation) for k in tried}
    best = max(found.values())
    return next(k for k in tried if found[k] >= best - WORSE)


def likelihood(cells: Ints, people: Ints, labels: Ints, count: int, *, deviation: float) -> float:
    """Return the mean log-likelihood of a held-out person's row; those of odd number are held out.

    A person is of the kind that is most common in their rows.
    """
    _, cells = np.unique(cells, return_inverse=True)
    distinct = int(cells.max()) + 1
    by_kind = np.bincount(people * count + labels, minlength=(int(people[-1]) + 1) * count)
    kinds = by_kind.reshape(-1, count).argmax(axis=1)
    seen = people % 2 == 0
    places = kinds[people[seen]] * distinct + cells[seen]
    table = np.bincount(places, minlength=count * distinct).reshape(count, distinct)
    everyone = (table.sum(axis=0) + SPREAD) / (table.sum() + SPREAD * distinct)
    counts = 2.0 * np.bincount(kinds[::2], minlength=count).astype(np.float64)
    known = _logs(counts, deviation)
    held, own = cells[~seen], kinds[people[~seen]]
    rows = []
    for prior in PRIORS:
        sizes = table.sum(axis=1)[own]
        rows.append(np.log((table[own, held] + prior * everyone[held]) / (sizes + prior)).sum())
    return float((max(rows) + known[kinds[1::2]].sum()) / len(held))


def _logs(counts: Floats, deviation: float) -> Floats:
    """Return the mean logarithm of each kind's share of people, by noisy counts."""
    noise = np.random.default_rng(0).normal(0, deviation, (NOISY_DRAWS, len(counts)))
    noisy = np.maximum(counts + noise, FEWEST)
    logs: Floats = np.log(noisy / noisy.sum(axis=1, keepdims=True)).mean(axis=0)
    return logs
