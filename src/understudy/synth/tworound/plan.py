"""The plan of TwoRound: what round 2 measures and the model's maximum size, known beforehand.

Sizes are those of the worst case: whatever a private marginal is, a column cannot keep more codes
(`Rule.most_codes`), and the model uses the plan's own elimination order.  So a plan that fits
cannot fail to fit after half of the budget is spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from understudy.door import Measurement
from understudy.errors import QuestionError
from understudy.graph import Domain, best_order, outer_cliques
from understudy.synth.measure.support import find_support, merged_public
from understudy.synth.select.cliques import (
    CHOSEN_LIMIT,
    GIVEN_LIMIT,
    check_cliques,
    check_names,
    tree_and_triples,
    with_targets,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from understudy.door import Clique
    from understudy.public import PublicTable
    from understudy.schema import Schema
    from understudy.synth.tworound.settings import TwoRoundSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsPlan:
    """What round 2 measures, fixed before any query."""

    cliques: list[Clique] | None
    """The cliques of round 2; None if they are to be chosen after round 1."""
    size: str
    """The maximum size of the model, in words."""
    begun: tuple[Clique, ...] = ()
    """The targets' pairs, if others are to be chosen."""
    order: tuple[str, ...] | None = None
    """The elimination order that bounds the model's size."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: TwoRoundSettings, schema: Schema, public: PublicTable | None) -> Self:
        """Decide the cliques, and raise if they make the model too large."""
        domain = Domain({c.name: settings.rule(c.name).most_codes(c) for c in schema.modelled})
        limit = settings.model_limit or (GIVEN_LIMIT if settings.cliques else CHOSEN_LIMIT)
        cliques = list(settings.cliques)
        if not cliques and public is None and len(domain) > 1:
            begun = with_targets(settings.targets, domain, settings.most_cells)
            check_cliques(begun, domain, most_cells=settings.most_cells, limit=limit)
            told = f"a tree of pairs to be chosen, and more for a model of {limit / 1e6:,.0f} MB"
            return cls(cliques=None, size=told, begun=tuple(begun))
        if not cliques and public is not None:
            cliques = _chosen(settings, public, domain, limit)
        check_names(cliques, domain)
        _check_asked(settings, cliques)
        twice = [c for c in cliques if sum(set(c) == set(other) for other in cliques) > 1]
        if twice:
            raise QuestionError(
                "a clique is given twice",
                got=" × ".join(twice[0]),
                hint="use weights to give it less noise",
            )
        kept = [c for c in cliques if domain.cells(c) <= settings.most_cells]
        notes = tuple(
            f"{' × '.join(clique)} was not measured: it may have {domain.cells(clique):,} cells, "
            f"more than most_cells ({settings.most_cells:,})."
            for clique in cliques
            if clique not in kept
        )
        check_cliques(kept, domain, most_cells=settings.most_cells, limit=limit)
        order = tuple(best_order(domain, kept))
        return cls(cliques=kept, size=_size(domain, kept), order=order, notes=notes)


def _check_asked(settings: TwoRoundSettings, cliques: Sequence[Clique]) -> None:
    """Raise on weights and groups of cliques that are not measured."""
    asked = {frozenset(clique) for clique in cliques}
    named = [c for c, _ in settings.weights if len(c) > 1] + [c for c, _, _ in settings.coarse]
    stray = [clique for clique in named if frozenset(clique) not in asked]
    if stray:
        raise QuestionError(
            "weights or coarse name a clique that is not measured",
            got=" × ".join(stray[0]),
            allowed="cliques of round 2; for weights also single columns",
        )


def _chosen(
    settings: TwoRoundSettings, public: PublicTable, domain: Domain, limit: int
) -> list[Clique]:
    """Choose cliques from public columns, their codes merged much as private ones will be."""
    supports = []
    for column in public.schema.modelled:
        counts = public.marginal((column.name,)).astype(np.float64)
        measured = Measurement(clique=(column.name,), values=counts, scale=1.0)
        supports.append(find_support(column, measured, settings.rule(column.name), public))
    return tree_and_triples(
        merged_public(public, supports),
        domain,
        begun=with_targets(settings.targets, domain, settings.most_cells),
        most_cells=settings.most_cells,
        limit=limit,
    )


def _size(domain: Domain, cliques: list[Clique]) -> str:
    """Describe the maximum size of the model."""
    outer = outer_cliques(domain, cliques)
    cells = sum(map(domain.cells, outer))
    worst = domain.clique(max(outer, key=domain.cells))
    return (
        f"a model of at most {cells:,} cells in {len(outer)} tables, "
        f"the largest over {' × '.join(worst)}"
    )
