"""The commands about recipes: list them, and run one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.budget import bounding_to_dict
from understudy.cli import arguments
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.contests import ContestRun, Recipe, recipe_names, run_recipe
from understudy.errors import UsageError
from understudy.ledger import Ledger, describe_left
from understudy.opening import EACH_ROW
from understudy.release import check_target
from understudy.release.files import new_folder
from understudy.schema.importers.files import toml_value
from understudy.synth import mechanism_to_dict

if TYPE_CHECKING:
    import argparse

    from understudy.schema import Schema


def run(options: argparse.Namespace) -> None:
    """List the recipes, a line each; show one, or write it as files to edit."""
    if options.what is not None:
        if options.name is None:
            raise UsageError(
                f"recipes {options.what} needs a recipe's name", allowed=", ".join(recipe_names())
            )
        recipe = Recipe.named(options.name)
        if options.what == "show":
            tell(options, {"recipe": recipe.name, "toml": recipe.text}, recipe.text.splitlines())
        else:
            _export(options, recipe)
        return
    about = {name: Recipe.named(name).about for name in recipe_names()}
    tell(options, {"recipes": about}, [f"{name}  {text}" for name, text in about.items()])


def run_one(options: argparse.Namespace) -> None:
    """Run a recipe, and print what was made and what it cost."""
    ledger, out = Path(options.ledger), Path(options.out)
    asked = arguments.of_recipe(options)
    with shown(quiet=options.json or options.quiet) as progress:
        manifest = run_recipe(options.recipe, **asked, out=out, progress=progress)
    with closing(Ledger(ledger)) as held:
        left = describe_left(held.state())
    tell(options, _facts(manifest, out, ledger, left), _lines(manifest, out, ledger, left))


def _export(options: argparse.Namespace, recipe: Recipe) -> None:
    """Write the recipe's schema, and a run file for each of its budgets."""
    if options.parameters is None or options.out is None:
        raise UsageError("recipes export needs --parameters and --out", hint="give both")
    target = Path(options.out)
    check_target(target)
    schema, runs = recipe.read(options.parameters, **arguments.lists_of_recipe(options))
    with new_folder(target) as folder:
        (folder / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
        for run in runs:
            name = f"run-{run.budget.epsilon:g}.toml"
            (folder / name).write_text(_runfile(recipe, schema, run), encoding="utf-8")
    files = sorted(p.name for p in target.iterdir())
    lines = [
        f"{', '.join(files)} in {target}",
        "  private  set it in each run file, and public if there is a public table",
        f"  next     understudy check {target / files[0]}",
    ]
    tell(options, {"recipe": recipe.name, "folder": str(target), "files": files}, lines)


def _runfile(recipe: Recipe, schema: Schema, run: ContestRun) -> str:
    """Write a run of a recipe as a run file, to be edited."""
    mechanism = recipe.mechanism_for(run, schema=schema, public=False, published=False)
    told = mechanism_to_dict(mechanism)
    held = bounding_to_dict(recipe.bounding_at(run.budget.epsilon))
    cap = f":{held['cap']}" if "cap" in held else ""
    facts = {
        "private": "private.csv",
        "schema": "schema.toml",
        "unit": ",".join(recipe.unit) or EACH_ROW,
        "bounding": f"{held['kind']}{cap}",
        "epsilon": run.budget.epsilon,
        "delta": run.budget.delta,
        "ledger": f"{recipe.table}.ledger",
        "mechanism": told["name"],
        "out": f"out-{run.budget.epsilon:g}",
    }
    settings = {k: v for k, v in told["settings"].items() if v not in (None, [], ())}
    lines = [f"# The recipe {recipe.name} at epsilon {run.budget.epsilon:g}, to edit.", ""]
    lines += [f"{key} = {toml_value(value)}" for key, value in facts.items()]
    lines += ["", "# With a public table, set public above, and these settings too:"]
    lines += [f"# {k} = {toml_value(v)}" for k, v in recipe.settings_with_public.items()]
    lines += ["[settings]", *(f"{k} = {toml_value(v)}" for k, v in settings.items())]
    return "\n".join(lines) + "\n"


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
