"""Gains: which pairs to measure, given noisy distances of all of them, and the room they need.

**Distances.**  What is asked of m pairs at once has the noise of a sum of m prices.  Distances that
differ by little more than that are shrunk towards their mean (James and Stein, as Lindley has it):
so the largest of many is not taken at its word.

**Room.**  A model has a limit, and pairs that close a cycle need room.  What fits is chosen
greedily, as for a knapsack, in two orders: by gain, and by gain for the square root of the room.
The first is best where a few pairs matter, the second where many do: the one that gains most in all
is taken.  As pairs are chosen, others mostly need more room, so only the first in line is looked at
again.

All of this follows from noisy answers and costs nothing.
"""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import price_grains, scale_upper, split
from understudy.graph import model_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.budget import Capped, Currency
    from understudy.door import Candidate, Clique, Door, MergedDoor
    from understudy.schema import Domain

    Floats = NDArray[np.float64]
    Gains = Mapping[Clique, float]


MODEL_LIMITS = {2_000_000: 0.0, 8_000_000: 0.05, 24_000_000: 0.05}
"""The default limits of a model's bytes, and the share of the error that each has to remove."""
GUMBEL = 2 * math.pi / math.sqrt(6)
"""The deviation of the noise that the exponential mechanism adds to a score, for epsilon 1."""
ORDERS = (0.0, 0.5)
"""The powers of a pair's room that its gain is divided by."""
CLEAR = 0.95
"""A look's share of the price is enough if this much of the differences of distances is kept."""


def distances_noise(
    count: int, price: float, bounding: Capped, currency: Currency
) -> tuple[float, float]:
    """Return the noise scale of so many distances at a price, and its standard deviation."""
    scale = scale_upper(price, currency, bound=count * Fraction(bounding.cap) ** currency.power)
    return scale, currency.deviation(scale)


def noisy_distances(
    door: Door | MergedDoor,
    asked: Sequence[Candidate],
    *,
    bounding: Capped,
    grains: int,
    looks: int,
) -> tuple[Gains, int]:
    """Measure how far a model is from each candidate; return that, shrunk, and the grains left.

    The price is one of so many looks' share.  If that is too little to tell distances apart, all
    that is left is spent, and there is no further look.
    """
    found, precision = np.zeros(len(asked)), 0.0
    while True:
        price = split(grains, door.currency, [1.0] * looks)[0]
        grains = 0 if looks == 1 else grains - price_grains(price, door.currency)
        scale, off = distances_noise(len(asked), price, bounding, door.currency)
        values = door.distances(asked, scale=scale, bounding=bounding)
        found, precision = found + values / off**2, precision + 1 / off**2
        away, kept = shrunk(found / precision, precision**-0.5)
        if not grains or kept > CLEAR:
            return {c.clique: float(d) for c, d in zip(asked, away, strict=True)}, grains
        looks = 1


def shrunk(noisy: Floats, deviation: float) -> tuple[Floats, float]:
    """Shrink numbers of equal noise towards their mean; return the share of differences kept too.

    >>> values, kept = shrunk(np.array([0.0, 10.0, 20.0, 30.0, 40.0]), 10.0)
    >>> values.tolist(), kept
    ([4.0, 12.0, 20.0, 28.0, 36.0], 0.8)
    """
    mean, noise = noisy.mean(), max(0, len(noisy) - 3) * deviation**2
    away = noisy - mean
    kept = max(0.0, 1 - noise / max(float(away @ away), 1e-300))
    return mean + kept * away, kept


def as_likely(scores: Sequence[float], step: float) -> float:
    """Return the score that is chosen as often as any of those, by noise of such a step; or 0.

    It is the score to stop with, where pairs have these if nothing is to be gained: with less, the
    noise of the choice alone would always choose one of many.

    >>> round(as_likely([0.0] * 8, 10.0), 2), as_likely([-1e9, -1e9], 10.0)
    (20.79, 0.0)
    """
    largest = max(scores)
    among = math.fsum(math.exp((score - largest) / step) for score in scores)
    return max(0.0, largest + step * math.log(among))


def worthwhile(gains: Callable[[int], Gains], most: int) -> Gains:
    """Return the pairs that gain, where as many are measured.

    The more pairs are measured, the noisier each is, and the fewer gain.  ``gains`` returns what
    pairs gain where a number of them is measured; the largest number is found of which all gain.

    >>> worthwhile(lambda count: {("a", "b"): 5 - count, ("a", "c"): 3 - count}, 2)
    {('a', 'b'): 3, ('a', 'c'): 1}
    >>> worthwhile(lambda count: {("a", "b"): 5 - 3 * count, ("a", "c"): 3 - 3 * count}, 2)
    {('a', 'b'): 2}
    """

    def positive(count: int) -> Gains:
        return {pair: gain for pair, gain in gains(count).items() if gain > 0}

    low, high = 0, most
    while low < high:
        count = (low + high + 1) // 2
        if len(positive(count)) >= count:
            low = count
        else:
            high = count - 1
    return positive(low) if low else {}


def roomy(gains: Gains, begun: Sequence[Clique], domain: Domain, *, limit: int) -> list[Clique]:
    """Choose pairs that gain most in all, beside those ``begun``, in a model up to a limit.

    Those come first whose gain is largest, or largest for the square root of the room that they
    need, whichever order gains most in the end.

    >>> from understudy.schema import Domain
    >>> sizes = Domain({"a": 2, "b": 3, "c": 50})
    >>> gains = {("a", "b"): 5.0, ("a", "c"): 9.0, ("b", "c"): 10.0}
    >>> roomy(gains, [], sizes, limit=1300)
    [('b', 'c'), ('a', 'b')]
    """
    held = model_bytes(domain, begun)
    needed = {pair: model_bytes(domain, [*begun, pair]) - held for pair in gains}
    plans = [_packed(gains, needed, begun, domain, limit=limit, power=power) for power in ORDERS]
    return max(plans, key=lambda plan: math.fsum(gains[pair] for pair in plan))


def roomiest(
    gains: Gains,
    begun: Sequence[Clique],
    domain: Domain,
    *,
    limits: Mapping[int, float],
    left: Callable[[Sequence[Clique]], float],
) -> tuple[list[Clique], int]:
    """Choose pairs in a model up to the largest of some limits that is worth its time.

    A limit is, if it removes a share of the error ``left`` by what a smaller one has room for; one
    that the pairs ``begun`` exceed is none.  Return the limit too.
    """
    held = model_bytes(domain, begun)
    found, *larger = [limit for limit in limits if limit >= held] or [max(limits)]
    new = roomy(gains, begun, domain, limit=found)
    for limit in larger:
        gained = math.fsum(gains[pair] for pair in new)
        least = gained + limits[limit] * left(new)
        if math.fsum(gains.values()) <= least:
            break
        more = roomy(gains, begun, domain, limit=limit)
        if math.fsum(gains[pair] for pair in more) > least:
            found, new = limit, more
    return new, found


def _packed(
    gains: Gains,
    needed: Mapping[Clique, int],
    begun: Sequence[Clique],
    domain: Domain,
    *,
    limit: int,
    power: float,
) -> list[Clique]:
    """Choose pairs by their gain for a power of the room they need, as long as there is room."""
    chosen, held = list(begun), model_bytes(domain, begun)
    queue = [(-gain / max(1, needed[pair]) ** power, pair) for pair, gain in gains.items()]
    heapq.heapify(queue)
    while queue:
        _, pair = heapq.heappop(queue)
        room = model_bytes(domain, [*chosen, pair]) - held
        if held + room > limit:
            continue
        worth = gains[pair] / max(1, room) ** power
        if queue and -worth > queue[0][0]:
            heapq.heappush(queue, (-worth, pair))
            continue
        chosen.append(pair)
        held += room
    return chosen[len(begun) :]
