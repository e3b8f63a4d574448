"""Recipes: a contest's files in, its submission out."""

from understudy.contests.parameters import ContestRun, read_parameters
from understudy.contests.recipe import Recipe, recipe_names
from understudy.contests.run import Step, recipe_steps, run_recipe, together

__all__ = [
    "ContestRun",
    "Recipe",
    "Step",
    "read_parameters",
    "recipe_names",
    "recipe_steps",
    "run_recipe",
    "together",
]
