"""Understudy: synthetic tables that stand in for private ones, under differential privacy.

The thing protected is a person, a taxi, a plane, with all of their rows; the program
enforces it.  In three nouns: a session, a mechanism, a release.

    import understudy as us

    session = us.open(
        private="trips.parquet", schema="trips.toml", unit=us.Unit("taxi_id"),
        bounding=us.Weights(150), budget=us.Budget(epsilon=1.0, delta=1e-9),
        ledger="trips.ledger",
    )
    release = session.run(us.Independent())
    release.save("out")
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if sys.platform == "win32":
    raise ImportError(
        "Understudy does not run on Windows: it locks files and folders as Linux and macOS do. "
        "Hint: the Windows Subsystem for Linux (WSL) or a container runs it"
    )

from understudy.synth.registry import MECHANISMS

if TYPE_CHECKING:
    from understudy.asking import ask_determined
    from understudy.budget import Budget, Norm, Sample, Unit, Weights
    from understudy.distances import accuracy, save_accuracy
    from understudy.engine import Database, SparkTable
    from understudy.ledger import Ledger
    from understudy.marginals import from_marginals
    from understudy.opening import discover
    from understudy.pages import report
    from understudy.public import Accuracy, PublicTable, read_public
    from understudy.rehearsal import open  # noqa: A004
    from understudy.release import Combined, Estimate, Release, combine
    from understudy.schema import Schema
    from understudy.schema.constraints import (
        ConstantPerPerson,
        Determines,
        Implies,
        Never,
        Order,
        Sum,
        UniquePerPerson,
    )
    from understudy.schema.known import Known
    from understudy.session import Session
    from understudy.synth.adagrid import AdaGrid
    from understudy.synth.aim import AIM
    from understudy.synth.archetypes import Archetypes
    from understudy.synth.auto import Auto, auto
    from understudy.synth.bestof import BestOf
    from understudy.synth.independent import Independent
    from understudy.synth.lives import Lives
    from understudy.synth.mst import MST
    from understudy.synth.pairs import Pairs
    from understudy.synth.tworound import TwoRound
    from understudy.synth.usercounts import UserCounts
    from understudy.synthesizer import Synthesizer

__version__ = version("understudy")

__all__ = [
    "AIM",
    "MST",
    "Accuracy",
    "AdaGrid",
    "Archetypes",
    "Auto",
    "BestOf",
    "Budget",
    "Combined",
    "ConstantPerPerson",
    "Database",
    "Determines",
    "Estimate",
    "Implies",
    "Independent",
    "Known",
    "Ledger",
    "Lives",
    "Never",
    "Norm",
    "Order",
    "Pairs",
    "PublicTable",
    "Release",
    "Sample",
    "Schema",
    "Session",
    "SparkTable",
    "Sum",
    "Synthesizer",
    "TwoRound",
    "UniquePerPerson",
    "Unit",
    "UserCounts",
    "Weights",
    "__version__",
    "accuracy",
    "ask_determined",
    "auto",
    "combine",
    "discover",
    "from_marginals",
    "open",
    "read_public",
    "report",
    "save_accuracy",
]

_HOMES = {
    **{name: (module, name) for name, module in MECHANISMS.homes.items()},
    "Accuracy": ("understudy.public", "Accuracy"),
    "Budget": ("understudy.budget", "Budget"),
    "Combined": ("understudy.release", "Combined"),
    "ConstantPerPerson": ("understudy.schema.constraints", "ConstantPerPerson"),
    "Database": ("understudy.engine", "Database"),
    "Determines": ("understudy.schema.constraints", "Determines"),
    "Estimate": ("understudy.release", "Estimate"),
    "Implies": ("understudy.schema.constraints", "Implies"),
    "Known": ("understudy.schema.known", "Known"),
    "Ledger": ("understudy.ledger", "Ledger"),
    "Never": ("understudy.schema.constraints", "Never"),
    "Norm": ("understudy.budget", "Norm"),
    "Order": ("understudy.schema.constraints", "Order"),
    "PublicTable": ("understudy.public", "PublicTable"),
    "Release": ("understudy.release", "Release"),
    "Sample": ("understudy.budget", "Sample"),
    "Schema": ("understudy.schema", "Schema"),
    "Session": ("understudy.session", "Session"),
    "SparkTable": ("understudy.engine", "SparkTable"),
    "Sum": ("understudy.schema.constraints", "Sum"),
    "Synthesizer": ("understudy.synthesizer", "Synthesizer"),
    "UniquePerPerson": ("understudy.schema.constraints", "UniquePerPerson"),
    "Unit": ("understudy.budget", "Unit"),
    "Weights": ("understudy.budget", "Weights"),
    "accuracy": ("understudy.distances", "accuracy"),
    "ask_determined": ("understudy.asking", "ask_determined"),
    "auto": ("understudy.synth.auto", "auto"),
    "combine": ("understudy.release", "combine"),
    "discover": ("understudy.opening", "discover"),
    "from_marginals": ("understudy.marginals", "from_marginals"),
    "open": ("understudy.rehearsal", "open"),
    "read_public": ("understudy.public", "read_public"),
    "report": ("understudy.pages", "report"),
    "save_accuracy": ("understudy.distances", "save_accuracy"),
}


def __dir__() -> list[str]:
    """List the public names, which are imported on first use."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that help is quick."""
    if name not in _HOMES:
        raise AttributeError(name)
    room, real = _HOMES[name]
    return getattr(import_module(room), real)
