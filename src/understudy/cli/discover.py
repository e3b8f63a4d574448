"""The discover command: a schema and a run file from a private table, paid for by its ledger."""

from __future__ import annotations

from contextlib import closing
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from understudy.budget import Budget, epsilon_of, failure_of
from understudy.cli import arguments
from understudy.cli.firstrun import RUNFILE, SCHEMA, relative_to
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.errors import UsageError
from understudy.ledger import Ledger, describe_left
from understudy.opening import I_KNOW, dangers, refuse
from understudy.release import check_target, new_file
from understudy.schema import Schema
from understudy.schema.importers.files import toml_value, write_toml
from understudy.session import discovered

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from understudy.ledger import State
    from understudy.synth.discovery import Discovered

TEMPLATE = "discovered.toml"
FAILURE = 0.5
"""The part of delta for failure probabilities, unless another one is given."""
_NEEDED = ("unit", "epsilon", "delta", "ledger")


def run(options: argparse.Namespace) -> None:
    """Discover a schema, write it and a run file, and say what it cost."""
    folder, ledger = Path(options.out), Path(options.ledger or "")
    missing = [name for name in _NEEDED if getattr(options, name) is None]
    if missing:
        raise UsageError(
            "the following arguments are required: " + ", ".join(f"--{n}" for n in missing),
            hint="understudy discover --help",
        )
    for name in (RUNFILE, SCHEMA):
        check_target(folder / name)
    budget = _budget(options, options.epsilon)
    refuse(budget, people=None, i_know=options.i_know, how=I_KNOW)
    total = None if options.total is None else _budget(options, options.total)
    with shown(quiet=options.json or options.quiet) as progress:
        found = discovered(
            private=arguments.private(options),
            unit=arguments.unit(options.unit, options.null_ids),
            budget=budget,
            ledger=ledger,
            name=options.name or Path(str(options.private)).name.split(".")[0],
            schema=None if options.schema is None else Schema.read(options.schema),
            total=total,
            delimiter=options.delimiter,
            encoding=options.encoding,
            progress=progress,
        )
    with closing(Ledger(ledger)) as held:
        state = held.state()
    for name, text in ((SCHEMA, commented(found)), (RUNFILE, _runfile(options, found, state))):
        with new_file(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
    _tell(options, folder, found, state, warnings=tuple(dangers(budget, people=None)))


def _budget(options: argparse.Namespace, epsilon: float) -> Budget:
    """Return a budget with its share of delta for failure probabilities."""
    failure = FAILURE * options.delta if options.failure is None else options.failure
    return Budget(epsilon=epsilon, delta=options.delta, failure=failure)


def commented(found: Discovered) -> str:
    """Return the schema as TOML, with a reason and a cost above every column that was asked about.

    Reasons hold noisy numbers, never a value; values are quoted as every text of a schema is.
    """
    told = {finding.column.name: finding for finding in found.findings}
    plain = found.schema.to_dict()
    columns = plain.pop("columns")
    order = [f"# {_plain(found.why_order)}."] if found.why_order else []
    head = [
        f"# The columns of {_plain(found.schema.name)}, drafted by 'understudy discover'.",
        f"# What is said of a column was asked for with noise, in run {found.run} of the ledger.",
        "# Check every column: rename, merge or leave out what should not be released.",
        "",
        *order,
        write_toml({**plain, "columns": {}}).rstrip("\n"),
        "",
    ]
    for name, column in columns.items():
        if name in told:
            share = f"{100 * told[name].share:.2g} % of the run's budget, run {found.run}"
            head += [f"# {_plain(told[name].reason)}.", f"# Cost: {share}."]
        else:
            head.append("# Declared beforehand, or the unit's: not asked about.")
        head.append(_table(name, column))
    return "\n".join(head) + "\n"


def _table(name: str, column: dict[str, Any]) -> str:
    """Write one column's table of a schema file."""
    return write_toml({"name": "", "columns": {name: column}}).split("\n\n", 1)[1].lstrip("\n")


def _plain(text: str) -> str:
    """Write a text for a comment or a terminal: in one line, and nothing that cannot be seen."""
    seen = toml_value(text)[1:-1]
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in seen)


def _runfile(options: argparse.Namespace, found: Discovered, state: State) -> str:
    """Return the run file's text: the rest of the ledger's budget, for one run."""
    folder, name = Path(options.out), found.schema.name
    row = options.unit == "each-row"
    rest = state.budget.gaussian_delta
    epsilon = _below(epsilon_of(max(0, state.left), state.currency, rest), rest, state.left)
    private = toml_value(relative_to(str(options.private), folder))
    if options.people is not None:
        people = toml_value(relative_to(str(options.people), folder))
        private = f"{{ people = {people}, rows = {private} }}"
    written = {
        "schema": SCHEMA,
        "unit": options.unit,
        "null_ids": options.null_ids or "drop",
        "bounding": "weights:1" if row else "norm",
        "ledger": relative_to(str(options.ledger), folder),
        "out": f"{name}-release",
    }
    why = "Every row is a different person." if row else "It needs no cap."
    template = (files("understudy.cli") / TEMPLATE).read_text(encoding="utf-8")
    return Template(template).substitute(
        {key: toml_value(text) for key, text in written.items()},
        private=private,
        run=found.run,
        why=why,
        epsilon=f"{epsilon:g}",
        delta=f"{rest:g}",
    )


def _below(epsilon: float, delta: float, left: int) -> float:
    """Round an epsilon down to few digits, until a run of it fits into what is left."""
    near = float(f"{epsilon:.3g}")
    while near > 0 and Budget(epsilon=near, delta=delta).grains > left:
        near = float(f"{near * 0.99:.3g}")
    return near


def _tell(
    options: argparse.Namespace,
    folder: Path,
    found: Discovered,
    state: State,
    warnings: Sequence[str] = (),
) -> None:
    """Print what was found, what it cost, and what is left."""
    run, modelled = state.runs[found.run], len(found.schema.modelled)
    lines = [
        f"{folder / SCHEMA}: {modelled} modelled column{'s' * (modelled != 1)}; read it, and "
        "correct what is wrong",
        *(
            f"  {_plain(finding.column.name)}: {finding.column.kind}, {_plain(finding.reason)}"
            for finding in found.findings
        ),
        f"{folder / RUNFILE}: a run on what is left",
        f"  run {found.run}  {100 * run.spent / state.total:.2g} % of the ledger's total, and "
        f"failure probability {failure_of(run.failure):.3g}",
        f"  ledger  {options.ledger}, {describe_left(state)} left",
        *(f"  warning  {warning}" for warning in warnings),
        f"Next: understudy check {folder / RUNFILE}"
        if modelled
        else f"Next: declare the columns to model in {folder / SCHEMA}; nothing was found to model",
    ]
    facts = {
        "schema": str(folder / SCHEMA),
        "run_file": str(folder / RUNFILE),
        "run": found.run,
        "columns": [
            {
                "column": finding.column.name,
                "kind": finding.column.kind,
                "reason": finding.reason,
                "share": finding.share,
            }
            for finding in found.findings
        ],
        "ledger": {"file": str(options.ledger), "left": describe_left(state)},
        "warnings": list(warnings),
    }
    tell(options, facts, lines)
