"""Problems for the graph engine: rows, and noisy marginals of them."""

from __future__ import annotations

import itertools
import json
import os
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.budget import Budget
from understudy.graph import Clique, Measurement
from understudy.synth.measure.rules import RULES

Table = NDArray[np.float64]

TAXI = {
    "shift": 21,
    "company": 57,
    "pickup": 78,
    "dropoff": 78,
    "payment": 9,
    "fare": 11,
    "tips": 11,
    "total": 11,
    "seconds": 11,
    "miles": 11,
}
OUTER = [
    ("fare", "total"),
    ("total", "seconds"),
    ("dropoff", "fare"),
    ("payment", "total"),
    ("fare", "miles"),
    ("company",),
    ("tips", "total"),
]
TAXI_ROWS = 1_000_000
TAXI_NOISE = 895.0


class Problem:
    """Rows to be counted, and what has been measured of them."""

    def __init__(self, sizes: dict[str, int], rows: dict[str, NDArray[np.int64]]) -> None:
        self.sizes, self.rows = sizes, rows
        self.total = len(next(iter(rows.values())))
        self.measurements: list[Measurement] = []
        self._noise = np.random.default_rng(7)

    def count(self, clique: Clique) -> Table:
        """Give the true marginal, flat."""
        shape = [self.sizes[n] for n in clique]
        codes = np.ravel_multi_index([self.rows[n] for n in clique], shape)
        return np.bincount(codes, minlength=int(np.prod(shape))).astype(np.float64)

    def measure(self, clique: Clique, scale: float) -> None:
        """Add a noisy marginal to what has been measured."""
        true = self.count(clique)
        noisy = true + self._noise.normal(0, scale, true.size)
        self.measurements.append(Measurement(clique=clique, values=noisy, scale=scale))


def taxi() -> Problem:
    """Make up a million rows of the AdaGrid document's shape, and take its 59 marginals."""
    rng, rows = np.random.default_rng(0), TAXI_ROWS
    areas = 1 / np.arange(1, 79) ** 1.3
    pickup = rng.choice(78, rows, p=areas / areas.sum())
    away = np.minimum(rng.geometric(0.2, rows), 40)
    fare = np.minimum(10, away / 6 + rng.exponential(1, rows)).astype(np.int64)
    payment = rng.choice(9, rows, p=[0.5, 0.3, 0.1, 0.05, 0.02, 0.01, 0.01, 0.005, 0.005])
    tips = np.minimum(10, fare * 0.2 + rng.exponential(1, rows)).astype(np.int64)
    tips[payment == 0] = 0
    columns = {
        "shift": rng.integers(0, 21, rows),
        "company": (pickup * 7 + rng.integers(0, 10, rows)) % 57,
        "pickup": pickup,
        "dropoff": (pickup + away * rng.choice([-1, 1], rows)) % 78,
        "payment": payment,
        "fare": fare,
        "tips": tips,
        "total": np.minimum(10, fare + (tips > 1)),
        "seconds": np.clip(fare * 0.8 + rng.normal(0, 1.2, rows), 0, 10).astype(np.int64),
        "miles": np.minimum(10, away / 5 + rng.exponential(0.5, rows)).astype(np.int64),
    }
    problem = Problem(TAXI, columns)
    closed = {
        tuple(n for n in TAXI if n in part)
        for pair in OUTER
        for size in range(1, len(pair) + 3)
        for part in itertools.combinations(("pickup", "shift", *pair), size)
    }
    for clique in sorted(closed):
        problem.measure(clique, TAXI_NOISE)
    return problem


def adult() -> Problem:
    """Read the field's benchmark table; nothing is measured yet."""
    folder = Path(os.environ["UNDERSTUDY_DATA"]) / "adult"
    with zipfile.ZipFile(folder / "adult.zip") as held, held.open("adult.csv") as file:
        names = file.readline().decode().strip().split(",")
        codes = np.loadtxt(file, delimiter=",", dtype=np.int64)
    sizes = json.loads((folder / "adult-domain.json").read_text())
    return Problem({n: sizes[n] for n in names}, dict(zip(names, codes.T, strict=True)))


def adult_tree() -> Problem:
    """Measure Adult's columns and the pairs of its tree, each a third of ε = 1, as MST does."""
    problem, budget, noise = adult(), Budget(epsilon=1, delta=1e-9), RULES["gdp"]
    pairs = _spanning_tree(problem)
    for name in problem.sizes:
        problem.measure((name,), noise(budget, 3 * len(problem.sizes)))
    for pair in pairs:
        problem.measure(pair, noise(budget, 3 * len(pairs)))
    return problem


def _spanning_tree(problem: Problem) -> list[Clique]:
    """Find the tree of pairs with the most mutual information, the one MST looks for."""
    shared = {}
    for pair in itertools.combinations(problem.sizes, 2):
        both = problem.count(pair).reshape([problem.sizes[n] for n in pair]) / problem.total
        free = both.sum(axis=1, keepdims=True) * both.sum(axis=0, keepdims=True)
        held = both > 0
        shared[pair] = float((both[held] * np.log(both[held] / free[held])).sum())
    tree: list[Clique] = []
    piece = {n: {n} for n in problem.sizes}
    for a, b in sorted(shared, key=lambda pair: -shared[pair]):
        if piece[a] is not piece[b]:
            tree.append((a, b))
            piece[a] |= piece[b]
            piece |= dict.fromkeys(piece[b], piece[a])
    return tree
