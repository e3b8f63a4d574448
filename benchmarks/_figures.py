"""Figures of a benchmark: kept while it runs, then a table for people and a JSON line each."""

from __future__ import annotations

import json
import time
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
FIGURES: list[dict[str, Any]] = []


def figure(work: str, measured: float, bar: str | None = None, *, meets: bool = True) -> None:
    """Keep a figure."""
    FIGURES.append({"work": work, "measured": measured, "bar": bar, "meets": meets})


def show() -> None:
    """Print all figures kept."""
    for f in FIGURES:
        bar = "" if f["bar"] is None else f"{f['bar']:>12}  {'yes' if f['meets'] else 'NO'}"
        print(f"{f['work']:<66} {f['measured']:>14,.3f} {bar}")
    for f in FIGURES:
        print(json.dumps(f))


def timed(call: Callable[[], object]) -> float:
    """Give the seconds a call takes."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def apart(call: Callable[..., T], *given: object) -> T:
    """Run a call in a process of its own, so that its memory and its compilers are its own."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(call, given)
