"""Which marginals to measure: chosen from public rows, or from the private table under DP."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from understudy.budget import price_grains, selection_epsilon_lower, split
from understudy.door import Candidate
from understudy.errors import QuestionError
from understudy.graph import check_clique, model_bytes, outer_cliques

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.budget import Capped
    from understudy.door import Clique, Door, MergedDoor
    from understudy.public import PublicTable
    from understudy.schema import Domain

GIVEN_LIMIT = 400_000_000
"""The maximum size in bytes of a model whose cliques are given by the user."""
CHOSEN_LIMIT = 8_000_000
"""The maximum size in bytes of a model whose cliques are chosen."""
TRIES = 20_000
"""How many further pairs of a public table are tried, times its columns: all of them up to 34."""


def check_cliques(
    cliques: Sequence[Clique], domain: Domain, *, most_cells: int, limit: int
) -> None:
    """Raise on cliques of unknown columns, of too many cells, or of too large a model."""
    check_names(cliques, domain)
    for clique in cliques:
        size = domain.cells(clique)
        if size > most_cells:
            raise QuestionError(
                f"the clique {' × '.join(clique)} is too large",
                got=f"{size:,} cells",
                allowed=f"at most {most_cells:,}",
                hint="drop a column of it, declare fewer bins, or raise most_cells",
            )
    needed = model_bytes(domain, cliques)
    if needed > limit:
        worst = max(outer_cliques(domain, cliques), key=domain.cells)
        dropped, left = _to_drop(domain, cliques)
        raise QuestionError(
            "the cliques make too large a model together, with a table over "
            + " × ".join(domain.clique(worst)),
            got=f"{needed / 1e6:,.0f} MB",
            allowed=f"{limit / 1e6:,.0f} MB",
            hint=f"drop {' × '.join(dropped)}, which leaves {left / 1e6:,.0f} MB, "
            "or raise model_limit",
        )


def check_names(cliques: Sequence[Clique], domain: Mapping[str, int]) -> None:
    """Raise on cliques with unknown columns, or with one twice."""
    for clique in cliques:
        unknown = [name for name in clique if name not in domain]
        if unknown or not clique:
            raise QuestionError(
                "a clique names columns that the schema does not model",
                got=", ".join(unknown) or "no column",
                allowed=", ".join(domain),
            )
        check_clique(clique)


def _to_drop(domain: Domain, cliques: Sequence[Clique]) -> tuple[Clique, int]:
    """Return the clique without which the model is smallest, and the model's size then."""
    left = {
        clique: model_bytes(domain, [c for c in cliques if c != clique])
        for clique in dict.fromkeys(cliques)
    }
    best = min(left, key=lambda clique: left[clique])
    return best, left[best]


def information(public: PublicTable, clique: Clique) -> float:
    """Estimate the total correlation of columns, in nats.

    The bias of a small sample, half a nat per row for each free cell, is subtracted.
    """
    counts = public.marginal(clique)
    held = counts[counts > 0].astype(np.float64)
    joint = -float(held @ np.log(held / len(public))) / len(public)
    apart, free = 0.0, len(held) - 1
    for name in clique:
        own = public.marginal((name,))
        own = own[own > 0]
        apart -= float(own @ np.log(own / len(public))) / len(public)
        free -= len(own) - 1
    return apart - joint - free / (2 * len(public))


def public_cliques(
    public: PublicTable, *, targets: Sequence[str], most_cells: int, limit: int
) -> list[Clique]:
    """Choose outer cliques by the mutual information of public columns.

    A tree of the most informative pairs comes first.  Then its pairs grow by further columns, and
    other pairs are added, the most informative first, as long as cells and the model's size allow
    and there is time: to try one takes the tree of all columns.  Targets are added to every clique
    that has room for them.
    """
    domain = public.schema.domain
    scores = _scores(public, most_cells)
    chosen = [_grown(pair, targets, domain, most_cells) for pair in _tree(scores)]
    covered = {name for clique in chosen for name in clique}
    chosen += [_grown((n,), targets, domain, most_cells) for n in domain if n not in covered]
    check_cliques(chosen, domain, most_cells=most_cells, limit=limit)
    missing = (pair for pair in scores if not any(set(pair) <= set(c) for c in chosen))
    for pair in itertools.islice(missing, TRIES // len(domain)):
        for grown in (_grown(pair, targets, domain, most_cells), pair):
            if model_bytes(domain, [*chosen, grown]) <= limit:
                chosen.append(grown)
                break
    return [c for c in chosen if not any(set(c) < set(o) for o in chosen)]


def tree_and_triples(
    public: PublicTable, domain: Domain, *, begun: Sequence[Clique], most_cells: int, limit: int
) -> list[Clique]:
    """Choose pairs and triples by the mutual information of public columns.

    A tree of the most informative pairs comes first, beside what is ``begun``.  Then two of its
    pairs that share a column become a triple where the three are more informative than the pairs,
    the most informative first, as long as cells and the model's size allow.  ``domain`` is the one
    that the private columns may have.
    """
    scores = {
        pair: value
        for pair, value in _scores(public, most_cells).items()
        if domain.cells(pair) <= most_cells
    }
    tree = _tree(scores)
    chosen = [*begun, *(pair for pair in tree if pair not in begun)]
    check_cliques(chosen, domain, most_cells=most_cells, limit=limit)
    gains: dict[Clique, float] = {}
    for one, other in itertools.combinations(tree, 2):
        triple = tuple(dict.fromkeys((*one, *other)))
        if len(triple) == 3 and domain.cells(triple) <= most_cells:
            gains[triple] = information(public, triple) - scores[one] - scores[other]
    for triple in sorted((t for t in gains if gains[t] > 0), key=lambda t: -gains[t]):
        if model_bytes(domain, [*chosen, triple]) <= limit:
            chosen.append(triple)
    return [c for c in chosen if not any(set(c) < set(o) for o in chosen)]


def with_targets(targets: Sequence[str], domain: Domain, most_cells: int) -> list[Clique]:
    """Pair targets with every other column, in the schema's order.

    >>> from understudy.schema import Domain
    >>> with_targets(["b"], Domain({"a": 2, "b": 2, "c": 2}), 100)
    [('a', 'b'), ('b', 'c')]
    """
    pairs = [pair for pair in itertools.combinations(domain, 2) if set(pair) & set(targets)]
    return [pair for pair in pairs if domain.cells(pair) <= most_cells]


def _grown(clique: Clique, targets: Sequence[str], domain: Domain, most_cells: int) -> Clique:
    grown = clique
    for name in targets:
        if name not in grown and domain.cells((*grown, name)) <= most_cells:
            grown = (name, *grown)
    return grown


def _scores(public: PublicTable, most_cells: int) -> dict[Clique, float]:
    """Return the pairs that are not too large, the most informative first."""
    domain = public.schema.domain
    scores = {
        pair: information(public, pair)
        for pair in itertools.combinations(domain, 2)
        if domain[pair[0]] * domain[pair[1]] <= most_cells
    }
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def _tree(scores: Mapping[Clique, float]) -> list[Clique]:
    """Join columns by the best pairs, without cycles."""
    joined: dict[str, frozenset[str]] = {}
    tree: list[Clique] = []
    for a, b in scores:
        one, other = joined.get(a, frozenset({a})), joined.get(b, frozenset({b}))
        if one != other:
            tree.append((a, b))
            joined |= dict.fromkeys(one | other, one | other)
    return tree


def select_pairs(
    door: Door | MergedDoor,
    ones: Mapping[str, NDArray[np.float64]],
    *,
    price: float,
    bounding: Capped,
    most_cells: int,
    begun: Sequence[Clique] = (),
    more: int = 0,
    limit: int = 0,
    noise: float = 0.0,
    weights: Mapping[frozenset[str], float] | None = None,
) -> list[Clique]:
    """Choose pairs that columns taken as independent get most wrong, under DP.

    A tree of them comes first, from what is ``begun``: each choice is among the pairs that join
    two parts of it so far.  Then come ``more`` others, except those that make the model too large.
    ``noise`` is what measuring adds to a cell; a pair is worth the error that measuring it removes
    (`gaining`), times its weight.
    """
    domain = door.schema.domain
    pairs = [p for p in itertools.combinations(domain, 2) if domain.cells(p) <= most_cells]
    weights = weights or {}
    worth = {
        (a, b): gaining(
            (a, b), _independent(ones[a], ones[b]), noise, weights.get(frozenset((a, b)), 1.0)
        )
        for a, b in pairs
    }
    parts = {name: frozenset({name}) for name in domain}
    chosen = [tuple(sorted(c, key=list(domain).index)) for c in begun]
    for a, b in chosen:
        parts |= dict.fromkeys(parts[a] | parts[b], parts[a] | parts[b])
    free = [p for p in pairs if p not in chosen]
    steps = min(len(set(parts.values())) - 1, len(free))
    choices = min(steps + more, len(free))
    if not choices:
        return chosen
    prices = split(price_grains(price, door.currency), door.currency, [1.0] * choices)
    for step, share in enumerate(prices):
        joins = [p for p in free if parts[p[0]] != parts[p[1]]]
        asked = joins if step < steps else free
        if not asked:
            continue
        epsilon = selection_epsilon_lower(share, door.currency)
        listed = [worth[p] for p in asked]
        a, b = asked[door.select(listed, epsilon=epsilon, bounding=bounding)]
        free.remove((a, b))
        # A pair that closes a cycle may make the model too large, now and ever after.
        if step < steps or model_bytes(domain, [*chosen, (a, b)]) <= limit:
            chosen.append((a, b))
            parts |= dict.fromkeys(parts[a] | parts[b], parts[a] | parts[b])
    return chosen


def gaining(
    clique: Clique,
    expected: NDArray[np.float64],
    noise: float | NDArray[np.float64],
    weight: float = 1.0,
) -> Candidate:
    """Score a marginal by the error that measuring it removes, with ``noise`` in every cell.

    Measuring removes D = ‖x − e‖₁ and adds noise: P = Σ min(noise, e) where x is like e, since a
    cell's error is no more than what it holds.  The further x is from e, the fewer cells hold
    anything: those that do have about a share 1 − D/2N of e's mass, and noise is in these only,
    for a count below 0 is known to be 0.  So the gain is D − P·(1 − D/2N), which is
    w·(D − P/w) with w = 1 + P/2N.
    """
    total = max(float(expected.sum()), 1e-9)
    lost = float(np.minimum(noise, expected).sum())
    more = 1 + lost / (2 * total)
    return Candidate(clique=clique, expected=expected, weight=weight * more, penalty=lost / more)


def _independent(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.outer(a, b / max(float(b.sum()), 1e-9)).reshape(-1)
