"""What the field's reference implementation, Private-PGM (`mbi` 2.0), says of some questions.

A process of its own, since JAX, which it is made of, makes any process unfit to fork: it
reads a list of questions as JSON, and writes the answers.  `test_mbi.py` asks.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from importlib import import_module
from typing import Any


def product(matrix: Any, factor: Any) -> Any:
    return matrix @ factor.datavector()


def flat(factor: Any, clique: list[str]) -> list[float]:
    """Give one of their tables with its columns in the order asked."""
    values: list[float] = factor.transpose(tuple(clique)).datavector().tolist()
    return values


class Judge:
    """The questions that can be asked."""

    def __init__(self, domain: dict[str, int]) -> None:
        """Load it, with numbers of double precision."""
        jax = import_module("jax")
        jax.config.update("jax_enable_x64", True)
        self.array: Any = jax.numpy.asarray
        self.mbi: Any = import_module("mbi")
        self.domain = self.mbi.Domain.fromdict(domain)

    def marginals(
        self, potentials: list[Any], total: float, inside: list[Any], far: list[Any]
    ) -> list[list[float]]:
        """Give marginals of potentials, of cliques that they hold and of others."""
        held, oracles = self._vector(potentials), self.mbi.marginal_oracles
        found = oracles.message_passing_shafer_shenoy(held, total)
        return [flat(found.project(tuple(c)), c) for c in inside] + [
            flat(oracles.variable_elimination(held, tuple(c), total), c) for c in far
        ]

    def loss(self, measurements: list[Any], tables: list[Any]) -> float:
        """Give the loss of marginals, one for each clique that was measured."""
        measured = map(self._linear, measurements)
        found = self.mbi.marginal_loss.from_linear_measurements(list(measured), self.domain)
        return float(found(self._vector(tables)))

    def fit(
        self, measurements: list[Any], total: float, iterations: int, asked: list[Any]
    ) -> list[list[float]]:
        """Fit measurements by mirror descent, and give marginals of the model."""
        measured = list(map(self._linear, measurements))
        model = self.mbi.estimation.MirrorDescent().estimate(
            self.domain, measured, known_total=total, iters=iterations
        )
        return [flat(model.project(tuple(c)), c) for c in asked]

    def _vector(self, tables: list[Any]) -> Any:
        """Lay cliques and their flat tables out as they have them."""
        factors = {}
        for clique, values in tables:
            part = self.domain.project(tuple(clique))
            factors[tuple(clique)] = self.mbi.Factor(part, self.array(values).reshape(part.shape))
        return self.mbi.CliqueVector(self.domain, tuple(factors), factors)

    def _linear(self, measurement: list[Any]) -> Any:
        """Give a measurement as they have it; without a matrix it is of every cell."""
        clique, values, scale, matrix = measurement
        query = {} if matrix is None else {"query": partial(product, self.array(matrix))}
        return self.mbi.LinearMeasurement(self.array(values), tuple(clique), stddev=scale, **query)


def main() -> None:
    """Answer what is asked."""
    asked = json.load(sys.stdin)
    judge = Judge(asked["domain"])
    answers = [getattr(judge, name)(**given) for name, given in asked["questions"]]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
