"""The commands about recipes: list them, and run one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.cli import arguments
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.contests import Recipe, recipe_names, run_recipe
from understudy.ledger import Ledger, describe_left

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> None:
    """List the recipes, a line each."""
    about = {name: Recipe.named(name).about for name in recipe_names()}
    tell(options, {"recipes": about}, [f"{name}  {text}" for name, text in about.items()])


def run_one(options: argparse.Namespace) -> None:
    """Run a recipe, and print what was made and what it cost."""
    ledger, out = Path(options.ledger), Path(options.out)
    bounding = None if options.bounding is None else arguments.bounding(options.bounding)
    with shown(quiet=options.json or options.quiet) as progress:
        manifest = run_recipe(
            options.recipe,
            private=options.private,
            parameters=options.parameters,
            public=options.public,
            ledger=ledger,
            out=out,
            budget=arguments.budget_of_recipe(options),
            **arguments.of_recipe(options),
            published=options.published,
            bounding=bounding,
            noise=options.noise,
            progress=progress,
        )
    with closing(Ledger(ledger)) as held:
        left = describe_left(held.state())
    tell(options, _facts(manifest, out, ledger, left), _lines(manifest, out, ledger, left))


def _facts(manifest: dict[str, Any], out: Path, ledger: Path, left: str) -> dict[str, Any]:
    return {
        "recipe": manifest["recipe"],
        "files": [str(out.with_name(name)) for name in manifest["files"]],
        "runs": [
            {"rows": run["rows_submitted"], "guarantee": run["guarantee"], "notes": run["notes"]}
            for run in manifest["runs"]
        ],
        "together": manifest["together"],
        "ledger": {"file": str(ledger), "left": left},
    }


def _lines(manifest: dict[str, Any], out: Path, ledger: Path, left: str) -> list[str]:
    files = ", ".join(str(out.with_name(name)) for name in manifest["files"])
    lines = [f"{sum(r['rows_submitted'] for r in manifest['runs']):,} synthetic rows in {files}"]
    for run in manifest["runs"]:
        promise = run["guarantee"]
        lines.append(
            f"  run      {run['rows_submitted']:,} rows at epsilon {promise['epsilon']:g}, delta "
            f"{promise['delta']:g}, for every {promise['unit']} with all of its rows"
        )
        lines += [f"  note     {note}" for note in run["notes"]]
    both = manifest["together"]
    lines.append(f"  together epsilon {both['epsilon']:.6g}, delta {both['delta']:g}")
    lines.append(f"  ledger   {ledger}, {left} left")
    return lines
