"""The ledger command: what was spent, on what, and what is left."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from understudy.budget import Budget, epsilon_of, failure_of
from understudy.cli.verify import read_manifests, verify
from understudy.errors import LedgerMismatchError, UsageError
from understudy.ledger import Ledger, describe_left
from understudy.release.guarantee import delta_words

if TYPE_CHECKING:
    import argparse

    from understudy.ledger import RunState, State


def run(options: argparse.Namespace) -> None:
    """Show a ledger, create one, close a run in it, or verify manifests against it."""
    path = Path(options.file)
    if options.verify is not None:
        _verify(path, options)
        return
    if options.create:
        if options.epsilon is None or options.delta is None:
            raise UsageError(
                "--create needs the table's total budget", allowed="--epsilon E --delta D"
            )
        budget = Budget(
            epsilon=options.epsilon, delta=options.delta, failure=options.failure or 0.0
        )
        held = Ledger.create(path, budget=budget)
    else:
        held = Ledger(path)
    try:
        if options.abandon is not None:
            if options.abandon not in held.state().runs:
                raise LedgerMismatchError(
                    f"the ledger {path} has no run {options.abandon}",
                    allowed=", ".join(map(str, held.state().runs)) or "none",
                )
            held.reopen(options.abandon).close()
        state = held.state()
    finally:
        held.close()
    if options.json:
        print(json.dumps(_ledger_facts(state)))
    else:
        _show_ledger(path, state)


def _verify(path: Path, options: argparse.Namespace) -> None:
    """Print which manifests belong to this ledger; then raise if one does not."""
    if options.create or options.abandon is not None:
        raise UsageError("--verify cannot be combined with --create or --abandon")
    manifests = read_manifests(options.verify)
    with closing(Ledger(path)) as held:
        facts, lines, error = verify(held, manifests)
    print(json.dumps(facts) if options.json else "\n".join(lines))
    if error is not None:
        raise error


def _epsilon(state: State, grains: int) -> float:
    return epsilon_of(max(0, grains), state.currency, state.budget.gaussian_delta)


def _ledger_facts(state: State) -> dict[str, Any]:
    return {
        "table": state.name,
        "unit": None if state.unit is None else str(state.unit),
        "total": state.budget.to_dict(),
        "currency": state.currency,
        "left_epsilon": _epsilon(state, state.left),
        "left_failure": failure_of(state.failure_left),
        "head": state.head,
        "runs": [
            {
                "run": run.number,
                "mechanism": run.request["mechanism"]["name"],
                "budget": run.budget.to_dict(),
                "spent_epsilon": _epsilon(state, run.spent),
                "spent_failure": failure_of(run.failure),
                "state": _standing(run),
                "questions": [
                    {
                        "asked": r.what,
                        "answered": r.ordinal in run.answers,
                        "charge": r.charge.to_dict(),
                    }
                    for r in run.reservations
                ],
            }
            for run in state.runs.values()
        ],
    }


def _standing(run: RunState) -> str:
    return "closed" if run.closed else "open"


def _show_ledger(path: Path, state: State) -> None:
    console = Console()
    # Captured first: on a broken pipe the console would exit by itself.
    with console.capture() as shown_text:
        _draw_ledger(console, path, state)
    print(shown_text.get(), end="")


def _draw_ledger(console: Console, path: Path, state: State) -> None:
    whose = "not yet bound to a table" if state.name is None else f"{state.name}, unit {state.unit}"
    console.print(f"[bold]{escape(str(path))}[/]: {escape(whose)}", highlight=False)
    budget = state.budget
    console.print(
        f"total epsilon {budget.epsilon:g} at delta "
        f"{delta_words(budget.delta, budget.failure)} ({state.currency}); "
        f"[bold]{describe_left(state)} left[/]",
        highlight=False,
    )
    table = Table("run", "mechanism", "query", "answered", "share of total", box=None)
    if budget.failure:
        table.add_column("failure probability")
    for run in state.runs.values():
        share = f"{100 * run.held / state.total:.2f} %"
        table.add_row(
            str(run.number),
            run.request["mechanism"]["name"],
            f"({_standing(run)})",
            "",
            share,
            *_failure(state, run.held_failure),
        )
        for r in run.reservations:
            answered = "yes" if r.ordinal in run.answers else "no"
            part = f"{100 * r.grains / state.total:.2f} %"
            table.add_row("", "", escape(r.what), answered, part, *_failure(state, r.failure))
    if state.runs:
        console.print(table)
    console.print(
        "Several runs compose: their squared mu (or epsilon, if pure) add up, and so do their "
        "failure probabilities.",
        style="dim",
    )


def _failure(state: State, grains: int) -> list[str]:
    """Return the cell of a failure probability, where the ledger has a share for it."""
    return [f"{failure_of(grains):.3g}"] if state.budget.failure else []
