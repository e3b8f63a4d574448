"""Recipes: a contest's files in, its submission out."""

from understudy.contests.parameters import ContestRun, read_parameters
from understudy.contests.recipe import Recipe, recipe_names
from understudy.contests.run import run_recipe, together

__all__ = ["ContestRun", "Recipe", "read_parameters", "recipe_names", "run_recipe", "together"]
