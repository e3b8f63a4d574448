"""Running a recipe: one run per epsilon, composed on one ledger, into one submission."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.budget import Budget, Weights, bounding_to_dict, epsilon_of
from understudy.contests.recipe import Recipe
from understudy.contests.submission import Submission, manifest_path, write_manifest
from understudy.engine import check_apart
from understudy.engine.sources import Database, lasting
from understudy.errors import BudgetError, BudgetExhaustedError, UsageError
from understudy.ledger import Ledger, describe_left
from understudy.public import PublicTable
from understudy.release import check_target, new_file
from understudy.session import Session
from understudy.synth import mechanism_to_dict
from understudy.synth.usercounts import UserCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from understudy.budget import Bounding
    from understudy.contests.parameters import ContestRun
    from understudy.ledger import RunState
    from understudy.public import Progress
    from understudy.release import Release
    from understudy.synth import Mechanism


Noise = Literal["laplace", "gaussian"]


@dataclass(frozen=True, slots=True)
class Step:
    """One run of a recipe: its budget, session and mechanism."""

    asked: ContestRun
    session: Session
    mechanism: Mechanism

    def is_begun(self, run: RunState) -> bool:
        """Return whether a run of the ledger is this one; one closed without a query is not."""
        if run.budget != self.asked.budget or (run.closed and not run.reservations):
            return False
        own = {
            "mechanism": mechanism_to_dict(self.mechanism),
            "bounding": bounding_to_dict(self.session.bounding),
            "schema": self.session.schema.to_dict(),
        }
        # Compared as JSON, as the ledger stores them.
        return json.dumps(own) == json.dumps({key: run.request.get(key) for key in own})

    def made(self, number: int | None, note: dict[str, str], progress: Progress) -> Release:
        """Run it, or continue the run of this number."""

        def told(stage: str, done: float) -> None:
            progress(f"epsilon {self.asked.budget.epsilon:g}: {stage}", done)

        if number is None:
            return self.session.run(self.mechanism, progress=told, note=note)
        return self.session.resume(number, progress=told)


def together(budgets: Sequence[Budget]) -> Budget:
    """Return the least budget at their δ that covers several runs composed, to within an ulp or so.

    >>> one, ten = Budget(epsilon=1, delta=2.5e-5), Budget(epsilon=10, delta=2.5e-5)
    >>> round(together([one, ten]).epsilon, 3)
    10.117
    """
    currencies = {budget.currency for budget in budgets}
    if len(currencies) > 1:
        raise BudgetError("runs with delta 0 and with delta above 0 cannot share a ledger")
    if len(budgets) == 1:
        return budgets[0]
    grains = sum(budget.grains for budget in budgets)
    delta = min(budget.delta for budget in budgets)
    epsilon, step = epsilon_of(grains, currencies.pop(), delta), 2.0**-50
    while Budget(epsilon=epsilon, delta=delta).grains < grains:
        epsilon, step = epsilon * (1 + step), 2 * step
    return Budget(epsilon=epsilon, delta=delta)


def with_noise(
    noise: Noise | None,
    runs: Sequence[ContestRun],
    mechanisms: Sequence[Mechanism],
    public: PublicTable | None,
) -> list[ContestRun]:
    """Choose one noise for all runs, which share a ledger: as given, or the smaller error."""
    pure = [replace(run, budget=Budget(epsilon=run.budget.epsilon, delta=0.0)) for run in runs]
    if noise is None and public is not None:
        first = mechanisms[0]
        if isinstance(first, UserCounts) and not first.published:
            errors = first.errors(public, [run.budget for run in (*pure, *runs)])
            without, delta = sum(errors[: len(runs)]), sum(errors[len(runs) :])
            noise = "laplace" if without <= delta else "gaussian"
    return list(runs) if noise == "gaussian" else pure


def recipe_steps(
    name: str,
    *,
    private: object,
    parameters: str | Path,
    public: object = None,
    ledger: str | Path,
    lists: str | Path | None = None,
    groups: Mapping[str, str | Path] | None = None,
    budget: Budget | None = None,
    published: bool = False,
    bounding: Bounding | None = None,
    noise: Noise | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Progress = lambda _stage, _done: None,
) -> list[Step]:
    """Return the runs of a recipe, which have not begun; see `run_recipe`."""
    recipe = Recipe.named(name)
    if published and not (bounding is None or isinstance(bounding, Weights)):
        raise UsageError(
            "published recipes use weights for contribution bounding", got=bounding.kind
        )
    check_apart(private, public)
    schema, runs = recipe.read(parameters, lists=lists, groups=groups, budget=budget)
    seen = None
    if public is not None:
        progress("reading the public table", 0)
        seen = PublicTable.read(public, schema=recipe.public_schema(schema), unit=recipe.person)
    facts: dict[str, Any] = {"schema": schema, "public": seen is not None, "published": published}
    mechanisms = [recipe.mechanism_for(r, **facts, settings=settings) for r in runs]
    if noise or recipe.noise == "chosen":
        runs = with_noise(noise, runs, mechanisms, seen)
    total = together([run.budget for run in runs])
    sessions = [
        Session(
            private=private,
            public=seen,
            schema=schema,
            unit=recipe.person,
            bounding=bounding or recipe.bounding_at(run.budget.epsilon),
            budget=run.budget,
            ledger=Path(ledger),
            total=total,
        )
        for run in runs
    ]
    return [Step(*step) for step in zip(runs, sessions, mechanisms, strict=True)]


def run_recipe(
    name: str,
    *,
    private: object,
    parameters: str | Path,
    public: object = None,
    ledger: str | Path,
    out: str | Path,
    lists: str | Path | None = None,
    groups: Mapping[str, str | Path] | None = None,
    budget: Budget | None = None,
    published: bool = False,
    bounding: Bounding | None = None,
    noise: Noise | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Progress = lambda _stage, _done: None,
) -> dict[str, Any]:
    """Run a recipe, write its submission and a manifest beside it, and return the manifest.

    The ledger is created with the composition of all runs as its total.  If it exists
    already, runs of the same recipe in it are continued, and the others must fit what is
    left.  ``published`` calibrates as in the document; ``bounding`` replaces the document's.
    ``noise`` overrides what a recipe would choose; Laplace noise needs no delta.  ``settings``
    replace some of the recipe's.  ``lists``, ``groups`` and ``budget`` are as in `Recipe.read`.
    """
    recipe, target = Recipe.named(name), Path(out)
    asked: dict[str, Any] = {"lists": lists, "groups": groups, "budget": budget}
    files = _files(recipe, target, recipe.read(parameters, **asked)[1])
    for file in (*files, manifest_path(target)):
        check_target(file)
    steps = recipe_steps(
        name,
        private=private,
        parameters=parameters,
        public=public,
        ledger=ledger,
        **asked,
        published=published,
        bounding=bounding,
        noise=noise,
        settings=settings,
        progress=progress,
    )
    runs, total = [step.asked for step in steps], together([s.asked.budget for s in steps])
    manifests = _submitted(recipe, steps, files, _note(name, private, public), progress)
    told = f"Whoever sees the rows of all runs sees every one of them: {len(runs)} run(s) composed."
    facts = {"recipe": name, "published": published, "together": {**total.to_dict(), "words": told}}
    return write_manifest(target, files, manifests, facts)


def _files(recipe: Recipe, target: Path, runs: Sequence[ContestRun]) -> list[Path]:
    """Return the submission's files: one with a column of epsilons, or one per epsilon."""
    if "epsilon" in recipe.output or len(runs) == 1:
        return [target]
    return [target.with_stem(f"{target.stem}-{run.budget.epsilon:g}") for run in runs]


def _note(name: str, private: object, public: object) -> dict[str, str]:
    """Return what is needed to resume a run, from whatever folder."""
    named = {"private": private, "public": public}
    kept = {k: lasting(v) for k, v in named.items() if isinstance(v, (str, Path, Database))}
    return {"recipe": name, **kept}


def _submitted(
    recipe: Recipe, steps: list[Step], files: list[Path], note: dict[str, str], progress: Progress
) -> list[dict[str, Any]]:
    """Make all runs and write their rows; only one run's are in memory at a time."""
    numbers = _begun(steps[0].session.ledger, steps)
    asked = list(zip(steps, numbers, strict=True))
    apart = [[one] for one in asked] if len(files) > 1 else [asked]
    manifests: list[dict[str, Any]] = []
    order = recipe.output or [c.name for c in steps[0].session.schema.released_columns]
    # Files appear when all are made: the same command then continues an interrupted recipe.
    with ExitStack() as whole:
        for file, these in zip(files, apart, strict=True):
            partial = whole.enter_context(new_file(file))
            submission = Submission(partial, order, counts=recipe.counts, null=recipe.null)
            for step, number in these:
                _add(submission, step, number, note, progress)
            manifests += submission.manifests
    return manifests


def _add(
    submission: Submission, step: Step, number: int | None, note: dict[str, str], progress: Progress
) -> None:
    """Make a run, or continue it, and add its rows to a submission."""
    release = step.made(number, note, progress)
    with closing(Ledger(step.session.ledger)) as ledger:
        run = ledger.reopen(release.manifest["ledger"]["run"]).state()
    # The run's own seed, so that the same rows are chosen if it is resumed.
    rng = np.random.default_rng([int(run.request["sampling_seed"]), 1])
    progress("writing the submission", 0)
    submission.add(release, epsilon=run.budget.epsilon, most=step.asked.most_rows, rng=rng)


def _begun(path: Path, steps: list[Step]) -> list[int | None]:
    """Find the runs that are in the ledger already; raise if the others do not fit."""
    if not os.path.exists(path):  # noqa: PTH110  no name makes it fail
        return [None] * len(steps)
    with closing(Ledger(path)) as ledger:
        state = ledger.state()
    numbers = [next((n for n, run in state.runs.items() if s.is_begun(run)), None) for s in steps]
    new = [s.asked.budget for s, n in zip(steps, numbers, strict=True) if n is None]
    same = all(budget.currency == state.currency for budget in new)
    if same and sum(budget.grains for budget in new) > state.left:
        raise BudgetExhaustedError(
            "the ledger has less left than the recipe's runs need",
            got=" and ".join(f"epsilon {b.epsilon:g} at delta {b.delta:g}" for b in new),
            allowed=describe_left(state),
            hint="repeat the command that created this ledger to continue its runs; "
            "for another recipe, first create a ledger with a larger total",
        )
    return numbers
