"""Ours beside every peer: MST, AIM and AdaGrid by rows, and people with many rows."""

from __future__ import annotations

import itertools
import os
import tempfile
from multiprocessing import TimeoutError as Late
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from _figures import apart, show
from _peers import environments, ours
from _peers.environments import PINS, FailedError
from _peers.job import Job, Took, write
from _peers.results import MEASURES, OURS, YARDSTICK, Cell, Run, keep, markdown
from _peers.scores import TRIPLES, YARDSTICKS, Errors, score, yardstick
from _tables import Table, adult, fire, flights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_REPEATS", "3"))
PEER_REPEATS = int(os.environ.get("UNDERSTUDY_BENCH_PEER_REPEATS", "1"))
MINUTES = float(os.environ.get("UNDERSTUDY_BENCH_LIMIT", "20"))
"""The most that one run may take."""
ONLY = os.environ.get("UNDERSTUDY_BENCH_ONLY", "").replace("ours", OURS)
MAKERS = tuple(ONLY.split(",")) if ONLY else (OURS, *PINS)
OUT = Path(__file__).resolve().parent.parent / "bench-out"
EPSILON, DELTA = 1.0, 1e-9

TABLES: dict[str, Callable[[], Table]] = {"adult": adult, "flights": flights, "fire": fire}
ASKED: dict[tuple[str, str], tuple[str, ...]] = {
    ("adult", "MST"): (OURS, "mbi", "dpmm", "smartnoise"),
    ("adult", "AIM"): (OURS, "mbi", "dpmm", "smartnoise"),
    ("adult", "AdaGrid"): (OURS,),
    ("adult", "Auto"): (OURS,),
    ("flights", "MST"): (OURS, "mbi", "dpmm"),
    ("flights", "AIM"): (OURS,),
    ("flights", "Auto"): (OURS,),
    ("fire", "MST"): (OURS, "dpmm"),
    ("fire", "Auto"): (OURS,),
}
"""Who is asked for which mechanism on which table."""


def save(name: str, path: str) -> None:
    """Write a table's codes to a file."""
    table = TABLES[name]()
    write(path, table.codes, table.sizes)


def limited(call: Callable[..., T], *given: object) -> T:
    """Run a call of ours in a process of its own, and end it when it takes too long."""
    with get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(call, given).get(60 * MINUTES)
        except Late:
            raise FailedError(environments.late(MINUTES)) from None
        except Exception as error:  # noqa: BLE001  the other cells are still to be measured
            said = environments.last_line(f"{type(error).__name__}: {error}")
            raise FailedError(f"failed: {said}") from None


def yardsticks(folder: Path) -> Iterator[Cell]:
    """Write every table, and hold what is made of its own rows against it.

    Nothing of a table is ever held by this process: those that it starts begin at its peak
    memory.
    """
    for table in TABLES:
        path = str(folder / f"{table}.npz")
        apart(save, table, path)
        for name in YARDSTICKS:
            run = Run(**apart(yardstick, path, name)._asdict())
            yield Cell(table=table, mechanism=name, maker=YARDSTICK, runs=(run,))


def row_level(folder: Path, maker: str) -> Iterator[Cell]:
    """Run a maker's mechanisms on tables whose every row is a person."""
    problem = "" if maker == OURS else environments.install(maker)
    for (table, mechanism), makers in ASKED.items():
        if maker in makers and problem:
            yield Cell(table=table, mechanism=mechanism, maker=maker, runs=(), said=problem)
        elif maker in makers:
            yield _by_rows(folder, table, mechanism, maker)


def _by_rows(folder: Path, table: str, mechanism: str, maker: str) -> Cell:
    def once(seed: int) -> tuple[Took, Errors]:
        job = Job(
            mechanism=mechanism.lower(),
            table=str(folder / f"{table}.npz"),
            epsilon=EPSILON,
            delta=DELTA,
            seed=seed,
            out=str(folder / "out.npz"),
        )
        took = limited(ours.run, job) if maker == OURS else environments.run(maker, job, MINUTES)
        return took, apart(score, job.table, job.out)

    return _measured(table, mechanism, maker, once)


def person_level() -> Iterator[Cell]:
    """Run ours on people with many rows: no peer holds a person to a bound."""
    for mechanism, name in itertools.product(("AdaGrid", "Auto"), ours.PEOPLE):
        for epsilon in (1.0, 10.0):
            yield _by_people(mechanism, name, epsilon)


def _by_people(mechanism: str, name: str, epsilon: float) -> Cell:
    def once(seed: int) -> tuple[Took, Errors]:
        del seed
        return limited(ours.people, mechanism, name, epsilon)

    return _measured(name, f"{mechanism}, ε = {epsilon:g}", OURS, once)


def _measured(
    table: str, mechanism: str, maker: str, once: Callable[[int], tuple[Took, Errors]]
) -> Cell:
    """Run a cell as often as asked; the first failure is its last run."""
    runs: list[Run] = []
    said = ""
    for seed in range(REPEATS if maker == OURS else PEER_REPEATS):
        try:
            took, found = once(seed)
        except FailedError as error:
            said = str(error)
            break
        runs.append(Run(**vars(took), **found._asdict()))
    return Cell(table=table, mechanism=mechanism, maker=maker, runs=tuple(runs), said=said)


def cells() -> Iterator[Cell]:
    """Run everything, one after the other, ours first."""
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        yield from yardsticks(folder)
        if OURS in MAKERS:
            yield from row_level(folder, OURS)
            yield from person_level()
        for peer in PINS:
            if peer in MAKERS:
                yield from row_level(folder, peer)


def told(cell: Cell) -> Cell:
    """Say at once what a cell came to."""
    shown = [f"{name} {cell.shown(name)}" for name in MEASURES if cell.shown(name)]
    print(f"{cell.where}: {', '.join([*shown, cell.said])}".rstrip(", "), flush=True)
    return cell


def head() -> str:
    """Say how all of it was measured."""
    pins = ", ".join(pin for peer in PINS if peer in MAKERS for pin in PINS[peer])
    return (
        "# Understudy beside its peers\n\n"
        f"One run of `make bench-peers` on {os.cpu_count()} cores. By rows: ε = {EPSILON:g}, "
        f"δ = {DELTA:g}, a row a person; people with many rows: δ = {ours.PEOPLE_DELTA:g}. "
        f"{REPEATS} runs of ours, {PEER_REPEATS} of a peer's; a run of more than {MINUTES:g} "
        "minutes is ended. Errors are mean total variation over all pairs of columns and over "
        f"{TRIPLES} triples, or all if fewer, ± their spread; less is better. "
        f"Peers: {pins or 'none'}.\n\n"
    )


def main() -> None:
    from _peers.picture import draw  # noqa: PLC0415  no process of a cell must hold it

    found = [told(cell) for cell in cells()]
    OUT.mkdir(exist_ok=True)
    text = head() + markdown(found)
    (OUT / "peers.md").write_text(text, encoding="utf-8")
    draw(found, OUT / "peers.png")
    print(text)
    keep(found)
    show()


if __name__ == "__main__":
    main()
