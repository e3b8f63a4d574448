"""MST and AIM on mbi, which ships no mechanism: written here from their papers.

MST after "Winning the NIST Contest" (arXiv 2108.04978), AIM after "AIM: An Adaptive and
Iterative Mechanism" (arXiv 2201.12677), both in zero-concentrated differential privacy, a row
added or removed.  The number of rows is not taken for public: mbi estimates it from answers.
"""

from __future__ import annotations

import itertools
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from _peers.job import Job, Took, answer, asked, read, timed
from numpy.typing import NDArray

# What mbi itself asks for; JAX reads it when it is first imported.
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"

import jax
from mbi import Dataset, Domain, LinearMeasurement, estimation, junction_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Clique = tuple[str, ...]
Counts = NDArray[np.float64]
Made = tuple[Any, dict[str, NDArray[np.int64]]]
"""A model, and of each column whose codes were merged, the new code of each."""

THRESHOLD = 3.0
"""MST merges a column's codes whose counts are below so many times their noise."""
MST_ITERATIONS = 5000
AIM_ITERATIONS = 1000
"""Of each round."""
ORDERS = (2,)
"""AIM's workload: all pairs, which the other peers have by default.

With all triples too, models of Adult take a minute to be projected in every round, and five
minutes in the first.
"""
MODEL_MEGABYTES = 80
ROUNDS_A_COLUMN = 16
MEASURED = 0.9
"""The share of an AIM round's budget that goes to its answer; the choice has the rest."""
BIAS = math.sqrt(2 / math.pi)
"""The mean of a standard normal number's size."""


def concentrated(epsilon: float, delta: float) -> float:
    """Give the largest ρ whose zCDP implies (ε, δ), rounded down.

    By Canonne, Kamath and Steinke (arXiv 2004.00010, proposition 12), whose bound holds for
    every order α > 1: a grid of them is honest, and a fine one loses next to nothing.
    """
    above = np.geomspace(1e-3, 1e6, 100_000)
    order = 1 + above
    least, most = 0.0, epsilon + 1
    for _ in range(100):
        rho = (least + most) / 2
        log = above * (order * rho - epsilon) + order * np.log1p(-1 / order) - np.log(above)
        least, most = (rho, most) if log.min() <= math.log(delta) else (least, rho)
    return least


class Asking:
    """What a mechanism asks of the private rows, with noise."""

    def __init__(self, rows: Any, seed: int) -> None:
        """Begin with all rows and all codes."""
        self.rows, self.rng = rows, np.random.default_rng(seed)

    def count(self, clique: Clique) -> Counts:
        """Count a marginal exactly."""
        return np.asarray(self.rows.project(clique).datavector())

    def measure(self, clique: Clique, scale: float) -> Any:
        """Count a marginal with Gaussian noise."""
        true = self.count(clique)
        return LinearMeasurement(true + self.rng.normal(0, scale, true.size), clique, scale)

    def choose(self, scores: Mapping[Clique, float], epsilon: float, most: float = 1) -> Clique:
        """Choose by the exponential mechanism, whose scores may move either way by `most`."""
        cliques, values = list(scores), np.array(list(scores.values()))
        odds = np.exp(0.5 * epsilon / most * (values - values.max()))
        return cliques[self.rng.choice(len(cliques), p=odds / odds.sum())]


def fitted(
    domain: Any, measured: list[Any], iterations: int, *, total: Any = None, warm: Any = None
) -> Any:
    """Fit a model to the answers, by mbi's recommended method."""
    return estimation.MirrorDescent().estimate(
        domain, measured, known_total=total, iters=iterations, warm_start=warm
    )


def mst(asking: Asking, rho: float) -> Made:
    """Run MST: a third of ρ for columns, for the choice of a tree, and for its pairs."""
    names = asking.rows.domain.attributes
    scale = math.sqrt(len(names) / (2 * rho / 3))
    columns = [asking.measure((name,), scale) for name in names]
    total = estimation.minimum_variance_unbiased_total(columns)
    merged = {m.clique[0]: _merged(m, scale) for m in columns}
    columns = [m.compress(merged, asking.rows.domain) for m in columns]
    asking.rows = asking.rows.compress(merged)
    alone = fitted(asking.rows.domain, columns, AIM_ITERATIONS, total=total)
    tree = spanning_tree(asking, alone, rho / 3)
    scale = math.sqrt(len(tree) / (2 * rho / 3))
    pairs = [asking.measure(pair, scale) for pair in tree]
    return fitted(asking.rows.domain, columns + pairs, MST_ITERATIONS, total=total), merged


def _merged(measured: Any, scale: float) -> NDArray[np.int64]:
    """Give each code its new one: rare codes share the last."""
    kept = measured.noisy_measurement >= THRESHOLD * scale
    return np.where(kept, np.cumsum(kept) - 1, kept.sum())


def spanning_tree(asking: Asking, alone: Any, rho: float) -> list[Clique]:
    """Choose pairs one by one: those that independent columns miss by most, without a ring."""
    names = alone.domain.attributes
    share = {n: np.asarray(alone.project(n).datavector()) / float(alone.total) for n in names}
    missed: dict[Clique, float] = {
        (a, b): float(np.abs(asking.count((a, b)) - alone.total * _outer(share[a], share[b])).sum())
        for a, b in itertools.combinations(names, 2)
    }
    epsilon = math.sqrt(8 * rho / (len(names) - 1))
    piece, tree = {name: {name} for name in names}, list[Clique]()
    while len(tree) < len(names) - 1:
        apart = {p: score for p, score in missed.items() if piece[p[0]] is not piece[p[1]]}
        a, b = asking.choose(apart, epsilon)
        tree.append((a, b))
        joined = piece[a] | piece[b]
        piece |= dict.fromkeys(joined, joined)
    return tree


def _outer(first: Counts, second: Counts) -> Counts:
    return np.outer(first, second).ravel()


def weights(names: Sequence[str]) -> dict[Clique, float]:
    """Weigh every candidate by the columns it shares with the workload's marginals."""
    workload = [c for order in ORDERS for c in itertools.combinations(names, order)]
    closed = [
        c for order in range(1, max(ORDERS) + 1) for c in itertools.combinations(names, order)
    ]
    return {c: float(sum(len({*c} & {*asked}) for asked in workload)) for c in closed}


def aim(asking: Asking, rho: float) -> Made:
    """Run AIM: columns first, then round by round the marginal that the model misses by most."""
    domain = asking.rows.domain
    weight, rounds = weights(domain.attributes), ROUNDS_A_COLUMN * len(domain)
    answers = {clique: asking.count(clique) for clique in weight}
    scale, epsilon = _round(rho / rounds)
    measured = [asking.measure((name,), scale) for name in domain]
    spent, last = len(measured) / (2 * scale**2), False
    model = fitted(domain, measured, AIM_ITERATIONS)
    while not last:
        if rho - spent <= 2 * _price(scale, epsilon):
            scale, epsilon = _round(rho - spent)
            last = True
        spent += _price(scale, epsilon)
        open_now = [c for c in weight if _fits(model, c, MODEL_MEGABYTES * spent / rho)]
        now = projected(model, open_now)
        missed = {
            c: weight[c] * (np.abs(answers[c] - now[c]).sum() - BIAS * scale * now[c].size)
            for c in open_now
        }
        chosen = asking.choose(missed, epsilon, max(weight[c] for c in open_now))
        measured.append(asking.measure(chosen, scale))
        model = fitted(domain, measured, AIM_ITERATIONS, warm=model)
        moved = np.abs(projected(model, [chosen])[chosen] - now[chosen]).sum()
        if moved <= BIAS * scale * now[chosen].size:
            scale, epsilon = scale / 2, epsilon * 2
    return model, {}


def _round(rho: float) -> tuple[float, float]:
    """Give the noise of an answer and the ε of a choice that cost ρ together."""
    return math.sqrt(1 / (2 * MEASURED * rho)), math.sqrt(8 * (1 - MEASURED) * rho)


def _price(scale: float, epsilon: float) -> float:
    return 1 / (2 * scale**2) + epsilon**2 / 8


def _fits(model: Any, clique: Clique, megabytes: float) -> bool:
    """Say whether a model with this clique is small enough, or has it already."""
    if any({*clique} <= {*held} for held in model.cliques):
        return True
    cliques = [*model.cliques, clique]
    return bool(junction_tree.hypothetical_model_size(model.domain, cliques) <= megabytes)


def projected(model: Any, cliques: list[Clique]) -> dict[Clique, Counts]:
    """Give many marginals of a model.

    Each is computed once and never again, so that compiling it would cost more than it gains.
    """
    with jax.disable_jit():
        return {clique: np.asarray(model.project(clique).datavector()) for clique in cliques}


MECHANISMS = {"mst": mst, "aim": aim}


def run(job: Job) -> Took:
    """Fit a mechanism; mbi draws rows from NumPy's global generator."""
    codes, sizes = read(job.table)
    np.random.seed(job.seed)  # noqa: NPY002  this is what it draws from

    def fit() -> Made:
        asking = Asking(Dataset(codes, Domain.fromdict(sizes)), job.seed)
        return MECHANISMS[job.mechanism](asking, concentrated(job.epsilon, job.delta))

    def sample(made: Made) -> Mapping[str, NDArray[Any]]:
        model, merged = made
        drawn: Mapping[str, NDArray[Any]] = model.synthetic_data().decompress(merged).to_dict()
        return drawn

    return timed(fit, sample, job)


if __name__ == "__main__":
    answer(run(asked()))
