"""Everything that can be reached from an error, and what must not be among it.

An error keeps the frames that it went through, and the errors in whose handling it was raised;
debuggers, notebooks and error trackers show the variables of all of them.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
    TracebackType,
)
from typing import Any

import numpy as np

import understudy

SOURCE = str(Path(understudy.__file__).parent)
LEAST = 10_000
"""Smaller numbers are found everywhere, and prove nothing."""
LEAVES = (str, bytes, bytearray, int, float, complex, np.ndarray, np.generic, type(None))
LEFT_ALONE = (type, ModuleType, CodeType, BuiltinFunctionType)


def frames_of(error: BaseException) -> list[FrameType]:
    """Give an error's frames from the first of Understudy's on; those above are the caller's."""
    frames: list[FrameType] = []
    trace = error.__traceback__
    while trace is not None:
        if frames or trace.tb_frame.f_code.co_filename.startswith(SOURCE):
            frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames


def _inside(thing: Any) -> Iterable[object]:
    """Give what one thing holds."""
    match thing:
        case BaseException():
            notes = getattr(thing, "__notes__", ())
            behind = [thing.__context__, thing.__cause__]
            return [*thing.args, *notes, *behind, *vars(thing).values(), *frames_of(thing)]
        case FrameType():
            return list(thing.f_locals.values())
        case TracebackType():
            return [thing.tb_frame, thing.tb_next]
        case GeneratorType():
            return [thing.gi_frame]
        case FunctionType():
            return [*(thing.__closure__ or ()), *(thing.__defaults__ or ())]
        case _:
            return gc.get_referents(thing)


def _is_tests(thing: object) -> bool:
    """Say whether something is a test's own: that may know what is looked for."""
    home = thing.__module__ if isinstance(thing, FunctionType) else type(thing).__module__
    return str(home).startswith("tests.")


def reachable(start: object) -> Iterator[object]:
    """Give everything that can be reached from something, each thing once."""
    seen: dict[int, object] = {}
    todo = [start]
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, LEFT_ALONE) or _is_tests(thing):
            continue
        seen[id(thing)] = thing
        yield thing
        if not isinstance(thing, LEAVES) or (
            isinstance(thing, np.ndarray) and thing.dtype.kind == "O"
        ):
            todo.extend(_inside(thing))
        elif isinstance(thing, np.ndarray) and thing.base is not None:
            todo.append(thing.base)


@dataclass
class Secrets:
    """Whole numbers that must not be seen, in any form."""

    numbers: set[int] = field(default_factory=set)

    def add(self, values: Any) -> None:
        """Keep the numbers of an array that are large enough to be told apart from others."""
        self.numbers |= {int(v) for v in np.asarray(values).ravel() if abs(int(v)) >= LEAST}

    def shown_by(self, thing: object) -> bool:
        """Say whether a leaf holds one of them: as itself, in steps, as bytes or as a text."""
        if not self.numbers:
            return False
        if isinstance(thing, (bytes, bytearray)):
            return any(n.to_bytes(8, "little", signed=True) in thing for n in self.numbers)
        if isinstance(thing, str):
            # Alone: a hash has digits too.
            return not self.numbers.isdisjoint(map(int, re.findall(r"(?<!\w)-?\d+(?!\w)", thing)))
        if isinstance(thing, (int, float, np.generic, np.ndarray)) and not isinstance(thing, bool):
            held = np.asarray(thing)
            if held.dtype.kind not in "iuf":
                return False
            steps = np.array(sorted(self.numbers), dtype=np.float64)
            units = np.concatenate([steps / 2.0**k for k in range(40)])
            large = units[np.abs(units) >= LEAST]
            return bool(np.isin(held.astype(np.float64), large).any())
        return False

    def found(self, error: BaseException) -> list[object]:
        """Give all that can be reached from an error and shows one of them."""
        return [thing for thing in reachable(error) if self.shown_by(thing)]
