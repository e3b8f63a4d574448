"""The registry of mechanisms: exports, command line, audit, contract tests and docs all read it.

A mechanism is imported when it is looked up, so that ``--help`` is quick.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from understudy.synth.mechanism import Mechanism


class Registry(MutableMapping[str, "type[Mechanism]"]):
    """Mechanisms by name, each a class or the location of one: ``module:class``."""

    def __init__(self, places: dict[str, str]) -> None:
        """Start with the locations of classes, which are imported later."""
        self._held: dict[str, str | type[Mechanism]] = dict(places)

    @property
    def homes(self) -> dict[str, str]:
        """The module of every class that is given by its location."""
        places = [held.split(":") for held in self._held.values() if isinstance(held, str)]
        return {name: module for module, name in places}

    def __getitem__(self, name: str) -> type[Mechanism]:
        """Return a mechanism, importing it if necessary."""
        held = self._held[name]
        if not isinstance(held, str):
            return held
        module, _, class_name = held.partition(":")
        found: type[Mechanism] = getattr(import_module(module), class_name)
        return found

    def __setitem__(self, name: str, mechanism: type[Mechanism]) -> None:
        """Register a mechanism."""
        self._held[name] = mechanism

    def __delitem__(self, name: str) -> None:
        """Remove a mechanism."""
        del self._held[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._held)

    def __len__(self) -> int:
        """Count the mechanisms."""
        return len(self._held)


MECHANISMS = Registry(
    {
        "independent": "understudy.synth.independent:Independent",
        "adagrid": "understudy.synth.adagrid:AdaGrid",
        "usercounts": "understudy.synth.usercounts:UserCounts",
        "archetypes": "understudy.synth.archetypes:Archetypes",
        "tworound": "understudy.synth.tworound:TwoRound",
        "mst": "understudy.synth.mst:MST",
        "aim": "understudy.synth.aim:AIM",
        "pairs": "understudy.synth.pairs:Pairs",
        "lives": "understudy.synth.lives:Lives",
        "auto": "understudy.synth.auto:Auto",
        "bestof": "understudy.synth.bestof:BestOf",
    }
)
NEEDS_PUBLIC = frozenset({"archetypes"})
"""The mechanisms that require a public table."""
