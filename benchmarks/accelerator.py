"""The taxi model on an accelerator: the same engine, its arrays CuPy's; needs CuPy and a GPU."""

from __future__ import annotations

import time
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from _figures import figure, show
from _problems import Problem, taxi

from understudy.graph import (
    Domain,
    beliefs,
    certificate,
    descent,
    junction_tree,
    kernels,
    objective,
    tables,
)
from understudy.graph.descent import Descent

ROOM = (beliefs, certificate, descent, kernels, objective, tables)


def to_device() -> None:
    """Put CuPy in NumPy's place, and in that of the linear algebra library."""
    import cupy  # noqa: PLC0415  only where there is one

    class Arrays(ModuleType):
        """CuPy, with what it lacks from NumPy."""

        errstate = np.errstate

        def __getattr__(self, name: str) -> Any:
            return getattr(cupy, name)

    in_order = objective._in_order  # noqa: SLF001
    written_anew = {
        "least": folded("min"),
        "largest": folded("max"),
        "ratio": lambda above, below: cupy.where(below > 0, above / below, 0.0),
        "_in_order": lambda domain, m: cupy.asarray(in_order(domain, m)),
        "_difference": lambda a, b: cupy.where(cupy.isfinite(b), a - b, 0.0),
    }
    for module in ROOM:
        if hasattr(module, "np"):
            setattr(module, "np", Arrays("np"))  # noqa: B010
        for name, kernel in written_anew.items():
            if hasattr(module, name):
                setattr(module, name, kernel)
    onto = cupy.ElementwiseKernel("float64 x, float64 a", "float64 y", "y += a * x", "onto")
    library = SimpleNamespace(
        dscal=lambda factor, vector: cupy.multiply(vector, factor, out=vector),
        daxpy=lambda vector, target, a: onto(vector, a, target),
    )
    setattr(kernels, "blas", library)  # noqa: B010
    kernels._ones.cache_clear()  # noqa: SLF001


def folded(fold: str) -> Any:
    def found(table: Any, clique: Any, keep: Any) -> Any:
        axes = tuple(i for i, name in enumerate(clique) if name not in keep)
        return getattr(table, fold)(axis=axes)

    return found


def measure(problem: Problem, where: str, wait: Any) -> None:
    """Time a gradient, and a fit to within 0.1 % of the least loss."""
    tree = junction_tree(Domain(problem.sizes), [m.clique for m in problem.measurements])
    loss = objective.objective(tree, problem.measurements)
    potentials, residual = tree.tables(), loss.tables()

    def gradient() -> None:
        beliefs.propagate(tree, potentials, total=problem.total, out=residual)
        loss.leave(residual)
        loss.slope(residual)
        wait()

    gradient()
    took = []
    for _ in range(30):
        begun = time.perf_counter()
        gradient()
        took.append(time.perf_counter() - begun)
    figure(f"taxi {where}: one gradient, ms", 1000 * min(took))
    begun = time.perf_counter()
    fit = Descent.begin(loss, tree.tables(), total=problem.total)
    fit.run(tolerance=1e-3, most=1000)
    figure("  to within 0.1 % of the least loss, seconds", time.perf_counter() - begun)
    figure("  the loss then", fit.value)
    figure("  iterations", fit.iterations)


def main() -> None:
    problem = taxi()
    measure(problem, "in NumPy on the same machine", lambda: None)
    to_device()
    import cupy  # noqa: PLC0415  only where there is one

    measure(problem, "in CuPy", cupy.cuda.Device().synchronize)
    show()


if __name__ == "__main__":
    main()
