"""The composition root, tiny: opens vault and ledger, hands a door to a mechanism."""

from understudy.session.contest import run_recipe, together
from understudy.session.recipe import Recipe, read_parameters, recipe_names
from understudy.session.session import Session, open_session, reopen_session

__all__ = [
    "Recipe",
    "Session",
    "open_session",
    "read_parameters",
    "recipe_names",
    "reopen_session",
    "run_recipe",
    "together",
]
