"""The check command: a run is validated and priced, and nothing is spent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.cli import arguments
from understudy.cli.output import tell
from understudy.cli.progress import shown
from understudy.cli.runfile import with_runfile
from understudy.cli.synth import opened
from understudy.rehearsal import Crowd, rehearse

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> None:
    """Validate a run and price it, without spending anything."""
    with_runfile(options)
    arguments.check_run(options)
    if options.recipe is not None:
        _check_recipe(options)
        return
    mechanism = arguments.chosen(options)
    chooser = arguments.chooser(options, mechanism)
    with shown(quiet=options.json or options.quiet) as progress:
        session = replace(
            opened(options, chooser, progress, rehearsing=True), public=options.public
        )
        crowd = Crowd.of(options.people_count, options.rows_per_person)
        found = rehearse(session, mechanism, crowd, progress)
    tell(options, found.facts, list(found.lines))


def _check_recipe(options: argparse.Namespace) -> None:
    """Validate and rehearse every run of a recipe."""
    # Contests are imported only for a recipe.
    from understudy.contests import Recipe, recipe_steps  # noqa: PLC0415

    recipe, runs, lines = Recipe.named(options.recipe), [], []
    with shown(quiet=options.json or options.quiet) as progress:
        crowd = Crowd.of(options.people_count, options.rows_per_person)
        for step in recipe_steps(recipe.name, **arguments.of_recipe(options), progress=progress):
            # A rehearsal reads public rows as if they were private.
            schema = recipe.public_schema(step.session.schema)
            session = replace(step.session, public=options.public, schema=schema)
            found = rehearse(session, step.mechanism, crowd, progress)
            runs.append({"budget": step.asked.budget.to_dict(), **found.facts})
            lines += [f"{recipe.name} at epsilon {step.asked.budget.epsilon:g}", *found.lines]
    tell(options, {"recipe": recipe.name, "runs": runs}, lines)
