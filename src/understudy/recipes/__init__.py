"""Recipes: a contest's files in, its submission out."""

from understudy.recipes.parameters import ContestRun, read_parameters
from understudy.recipes.recipe import Recipe, recipe_names
from understudy.recipes.run import run_recipe, together

__all__ = ["ContestRun", "Recipe", "read_parameters", "recipe_names", "run_recipe", "together"]
