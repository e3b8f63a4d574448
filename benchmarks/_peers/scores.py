"""How far a synthetic table is from the real one, and yardsticks made of the real one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from _peers.job import read

from understudy.evaluate import Coded, pairs, resample, triples

if TYPE_CHECKING:
    from collections.abc import Callable

TRIPLES = 200


class Errors(NamedTuple):
    """Mean total variation over all pairs of columns, and over some triples."""

    pairs: float
    triples: float


def errors(real: Coded, synthetic: Coded) -> Errors:
    """Hold a synthetic table against the real one."""
    of_triples = triples(real, synthetic, count=TRIPLES, seed=0)
    return Errors(
        pairs=float(np.mean(list(pairs(real, synthetic).values()))),
        triples=float(np.mean(list(of_triples.values()))),
    )


def score(real: str, synthetic: str) -> Errors:
    """Hold a file of synthetic codes against a file of real ones."""
    return errors(_coded(real), _coded(synthetic))


def yardstick(table: str, name: str) -> Errors:
    """Hold a table made of a file's rows against these rows."""
    real = _coded(table)
    return errors(real, YARDSTICKS[name](real, np.random.default_rng(0)))


def _independent(real: Coded, rng: np.random.Generator) -> Coded:
    """Shuffle every column by itself."""
    shuffled = {name: rng.permutation(codes) for name, codes in real.codes.items()}
    return Coded(codes=shuffled, sizes=real.sizes, people=None)


YARDSTICKS: dict[str, Callable[[Coded, np.random.Generator], Coded]] = {
    "resample of the real rows": resample,
    "independent columns, no noise": _independent,
}


def _coded(path: str) -> Coded:
    codes, sizes = read(path)
    return Coded(codes=codes, sizes=sizes, people=None)
