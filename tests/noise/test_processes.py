"""Draws of several processes are independent: forked ones, fresh ones, and the parent's.

The last tests show that copies would be seen: a forked child that shares a generator's state,
and processes that start from one seed.
"""

from __future__ import annotations

import math
import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.audit import FixedEntropy
from understudy.noise import SYSTEM, Entropy, draw

SCALE = 1e9
SIZE = 20_000
CHILDREN = 3
FRESH = """
import random
import sys
from understudy.noise import SYSTEM, draw
for entropy in (SYSTEM, random.Random(1).randbytes):
    sys.stdout.buffer.write(draw("gaussian", 1e9, 20_000, entropy=entropy).tobytes())
"""
Draws = NDArray[np.int64]


def related(draws: list[Draws]) -> bool:
    """Whether any two share many values, or move together.

    Of 20,000 draws at a scale of 10⁹ two streams share about 0.1 by chance; correlations of
    independent ones have a standard error of 1/√20,000, and are beyond 5.5 of them less than
    once in ten million times.
    """
    for one, other in combinations(draws, 2):
        if len(np.intersect1d(one, other)) > 20:
            return True
        if abs(np.corrcoef(one, other)[0, 1]) > 5.5 / math.sqrt(SIZE):
            return True
    return False


def forked(entropy: Entropy) -> list[Draws]:
    """Draw in forked children, all started before the parent draws, and in the parent."""
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in range(CHILDREN)]

    def child(send: Callable[[bytes], None]) -> None:
        send(draw("gaussian", SCALE, SIZE, entropy=entropy).tobytes())

    children = [context.Process(target=child, args=(w.send_bytes,)) for _, w in pipes]
    for process in children:
        process.start()
    own = draw("gaussian", SCALE, SIZE, entropy=entropy)
    theirs = [np.frombuffer(r.recv_bytes(), dtype=np.int64) for r, _ in pipes]
    for process in children:
        process.join(timeout=600)
    return [own, *theirs]


@pytest.fixture(scope="module")
def fresh() -> list[tuple[Draws, Draws]]:
    """Draw in two processes of their own, started together: from the system, and from a seed."""
    started = [
        subprocess.Popen([sys.executable, "-c", FRESH], stdout=subprocess.PIPE) for _ in range(2)
    ]
    drawn = [np.frombuffer(p.communicate(timeout=600)[0], dtype=np.int64) for p in started]
    return [(each[:SIZE], each[SIZE:]) for each in drawn]


def test_forked_children_and_their_parent_draw_independently() -> None:
    draws = forked(SYSTEM)
    assert [len(d) for d in draws] == [SIZE] * (CHILDREN + 1)
    assert not related(draws)


def test_processes_of_their_own_draw_independently(fresh: list[tuple[Draws, Draws]]) -> None:
    draws = [system for system, _ in fresh]
    assert [len(d) for d in draws] == [SIZE] * 2
    assert not related([*draws, draw("gaussian", SCALE, SIZE)])


def test_a_forked_copy_that_shares_state_is_seen() -> None:
    """The test can fail: a generator with a state of its own is copied by a fork."""
    entropy = FixedEntropy(9)
    draw("gaussian", SCALE, 10, entropy=entropy)
    assert related(forked(entropy))


def test_processes_with_one_seed_are_seen(fresh: list[tuple[Draws, Draws]]) -> None:
    assert related([seeded for _, seeded in fresh])


def test_streams_that_only_move_together_are_seen() -> None:
    """No value is shared here, but a tenth of one stream's noise is the other's."""
    one, other = (draw("gaussian", SCALE, SIZE, entropy=FixedEntropy(i)) for i in (1, 2))
    assert not related([one, other])
    assert related([one, (0.1 * one + 0.9 * other).astype(np.int64)])
