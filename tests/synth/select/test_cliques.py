"""Which marginals are asked for: by public rows, or chosen under differential privacy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from tests.audit.effort import tried
from tests.synth.crowds import crowd, door_to, events, schema_of
from tests.vault.obvious import People
from understudy.budget import (
    Budget,
    Capped,
    Currency,
    Sample,
    Weights,
    price_grains,
    selection_epsilon_lower,
    split,
)
from understudy.door import Candidate, Clique
from understudy.errors import QuestionError
from understudy.graph import Domain, model_bytes, outer_cliques
from understudy.public import PublicTable
from understudy.synth.select import cliques
from understudy.synth.select.cliques import (
    check_cliques,
    check_names,
    gaining,
    information,
    public_cliques,
    select_pairs,
    tree_and_triples,
)

SIZES = {"a": 3, "b": 3, "c": 4, "d": 5, "e": 2}
FREE = 10**9


def telling(rows: int = 4000, seed: int = 0) -> PublicTable:
    """b follows a, c follows b, d is alone, e follows d a little."""
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=rows)
    b = np.where(rng.random(rows) < 0.9, a, rng.integers(3, size=rows))
    c = np.where(rng.random(rows) < 0.7, b, rng.integers(4, size=rows))
    d = rng.integers(5, size=rows)
    e = np.where(rng.random(rows) < 0.3, d % 2, rng.integers(2, size=rows))
    codes = {"a": a, "b": b, "c": c, "d": d, "e": e}
    return crowd(np.arange(rows), SIZES, **{n: v.tolist() for n, v in codes.items()})


def is_tree(pairs: list[Clique], names: list[str]) -> bool:
    """Whether pairs join all columns without a circle, by walking from the first."""
    reached = {names[0]}
    for _ in names:
        reached |= {n for p in pairs if reached & set(p) for n in p}
    return reached == set(names) and len(pairs) == len(names) - 1


# Information


@given(st.integers(0, 2**32), st.sampled_from([("a", "b"), ("c", "a", "e"), ("d",)]))
@tried(30)
def test_information_is_the_sum_of_entropies_less_the_joint_one(seed: int, clique: Clique) -> None:
    public = telling(300, seed)
    joint = public.marginal(clique)
    ones = [public.marginal((n,)) for n in clique]
    free = (joint > 0).sum() - 1 - sum((o > 0).sum() - 1 for o in ones)
    slow = sum(entropy(o) for o in ones) - entropy(joint) - free / (2 * 300)
    assert information(public, clique) == pytest.approx(float(slow), abs=1e-12)


def test_two_columns_that_are_one_tell_all_of_each_other() -> None:
    codes = [0, 1, 2, 0, 1, 2]
    public = crowd(range(6), SIZES, a=codes, b=codes, c=codes, d=codes, e=[0] * 6)
    # Three values, three joint cells: ln 3, and two cells fewer than the ones have.
    assert information(public, ("a", "b")) == pytest.approx(math.log(3) + 2 / 12)
    assert information(public, ("a", "e")) == pytest.approx(0)


def test_columns_that_tell_nothing_have_no_information_on_average() -> None:
    found = [information(telling(500, seed), ("a", "d")) for seed in range(60)]
    spread = np.std(found) / math.sqrt(60)
    assert abs(np.mean(found)) < 4 * spread + 1e-4
    # Without the correction it would be far above.
    assert np.mean(found) + 8 / 1000 > 8 * spread


# Cliques from public rows


def test_a_tree_of_the_most_telling_pairs_is_always_among_them() -> None:
    public = telling()
    for limit in (400, 2000, FREE):
        chosen = public_cliques(public, targets=(), most_cells=FREE, limit=limit)
        for pair in (("a", "b"), ("b", "c"), ("d", "e")):
            assert any(set(pair) <= set(c) for c in chosen)
        linked = [p for c in chosen for p in itertools.combinations(c, 2)]
        reached = {"a"}
        for _ in SIZES:
            reached |= {n for p in linked if reached & set(p) for n in p}
        assert reached == set(SIZES)


@pytest.mark.parametrize("limit", [400, 600, 1000, 4000])
def test_the_models_size_is_kept(limit: int) -> None:
    public = telling()
    chosen = public_cliques(public, targets=(), most_cells=FREE, limit=limit)
    assert model_bytes(Domain(SIZES), chosen) <= limit


def test_more_room_is_used_for_more_pairs() -> None:
    public = telling()
    few = public_cliques(public, targets=(), most_cells=FREE, limit=400)
    many = public_cliques(public, targets=(), most_cells=FREE, limit=FREE)
    pairs = [{frozenset(p) for c in f for p in itertools.combinations(c, 2)} for f in (few, many)]
    assert len(pairs[0]) < len(pairs[1]) == 10


def test_of_a_wide_table_only_the_most_telling_further_pairs_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cliques, "TRIES", 2 * len(SIZES))
    chosen = public_cliques(telling(), targets=(), most_cells=FREE, limit=FREE)
    assert len(chosen) == len(SIZES) - 1 + 2


def test_targets_are_in_every_clique_that_has_room_for_them() -> None:
    public = telling()
    for most in (FREE, 60, 45, 20):
        chosen = public_cliques(public, targets=("d", "e"), most_cells=most, limit=FREE)
        for clique in chosen:
            size = math.prod(SIZES[n] for n in clique)
            assert size <= most
            for target in ("d", "e"):
                assert target in clique or size * SIZES[target] > most
    assert all(
        {"d", "e"} <= set(c)
        for c in public_cliques(public, targets=("d", "e"), most_cells=FREE, limit=FREE)
    )


def test_no_clique_is_within_another_and_every_column_is_somewhere() -> None:
    public = telling()
    for most in (FREE, 12, 5):
        chosen = public_cliques(public, targets=("a",), most_cells=most, limit=FREE)
        assert {n for c in chosen for n in c} == set(SIZES)
        assert not any(set(c) < set(o) for c in chosen for o in chosen)


def test_where_no_pair_fits_every_column_stands_alone() -> None:
    chosen = public_cliques(telling(), targets=(), most_cells=5, limit=FREE)
    assert sorted(chosen) == [("a",), ("b",), ("c",), ("d",), ("e",)]


# What is refused


@pytest.mark.parametrize(
    ("cliques", "most", "limit", "text"),
    [
        ([("a", "z")], FREE, FREE, r"does not model .*got z"),
        ([()], FREE, FREE, "got no column"),
        ([("c", "d")], 19, FREE, r"c × d is too large .*20 cells.*at most 19"),
        ([("a", "b"), ("b", "c"), ("a", "c")], FREE, 200, "too large a model together"),
    ],
)
def test_cliques_that_cannot_be_are_refused(
    cliques: list[Clique], most: int, limit: int, text: str
) -> None:
    with pytest.raises(QuestionError, match=text):
        check_cliques(cliques, Domain(SIZES), most_cells=most, limit=limit)


def test_cliques_at_the_limits_are_taken() -> None:
    check_cliques([("c", "d")], Domain(SIZES), most_cells=20, limit=FREE)


@pytest.mark.parametrize(
    ("cliques", "text"),
    [
        (
            [("a",), ("z", "a", "y")],
            "a clique names columns that the schema does not model (got z, y; allowed: a, b)",
        ),
        (
            [()],
            "a clique names columns that the schema does not model (got no column; allowed: a, b)",
        ),
        ([("a", "b"), ("b", "b")], "a clique names a column twice (got b × b)"),
    ],
)
def test_cliques_of_names_that_cannot_be_are_refused(cliques: list[Clique], text: str) -> None:
    with pytest.raises(QuestionError) as caught:
        check_names(cliques, {"a": 3, "b": 2})
    assert str(caught.value) == text
    check_names([("a",), ("b", "a"), ("a",)], {"a": 3, "b": 2})
    check_names([], {"a": 3})


def test_too_large_a_model_names_its_worst_table_and_what_to_drop() -> None:
    """Four columns of 300 in a ring, and a fifth beside: a chord makes two tables of 27 million."""
    sizes = Domain(dict.fromkeys("abcde", 300))
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("d", "e")]
    with pytest.raises(QuestionError) as caught:
        check_cliques(ring, sizes, most_cells=FREE, limit=400_000_000)
    assert str(caught.value) == (
        "the cliques make too large a model together, with a table over a × b × d "
        "(got 433 MB; allowed: 400 MB). Hint: drop a × b, which leaves 3 MB, or raise model_limit"
    )
    check_cliques(ring[1:], sizes, most_cells=FREE, limit=400_000_000)
    check_cliques(ring, sizes, most_cells=FREE, limit=433_000_000)


cliques_of_five = st.lists(
    st.sets(st.sampled_from("abcde"), min_size=1, max_size=3).map(lambda s: tuple(sorted(s))),
    min_size=1,
    max_size=8,
)


@given(cliques_of_five)
@tried(100)
def test_what_is_to_be_dropped_leaves_the_smallest_model_there_is(cliques: list[Clique]) -> None:
    domain = Domain({"a": 90, "b": 150, "c": 110, "d": 70, "e": 200})
    needed = model_bytes(domain, cliques)
    check_cliques(cliques, domain, most_cells=FREE, limit=needed)
    with pytest.raises(QuestionError) as caught:
        check_cliques(cliques, domain, most_cells=FREE, limit=needed - 1)
    left = [model_bytes(domain, [c for c in cliques if c != gone]) for gone in cliques]
    best = cliques[int(np.argmin(left))]
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(
        f"drop {' × '.join(best)}, which leaves {min(left) / 1e6:,.0f} MB"
    )
    worst = max(map(domain.cells, outer_cliques(domain, cliques)))
    named = caught.value.what.partition("a table over ")[2].split(" × ")
    assert domain.cells(named) == worst


# A tree and triples


def exact_table(counts: dict[tuple[int, ...], int], **sizes: int) -> PublicTable:
    """A public table with so many rows of each kind."""
    rows = np.repeat(list(counts), list(counts.values()), axis=0)
    return crowd(range(len(rows)), sizes, **{n: rows[:, i] for i, n in enumerate(sizes)})


def twofold(a: int, b: int, strength: int) -> dict[tuple[int, ...], int]:
    """Rows of two bits, of shares a and b in ten, and a third that is mostly their sum."""
    out: dict[tuple[int, ...], int] = {}
    for x, y, z in itertools.product((0, 1), repeat=3):
        often = (a, 10 - a)[x] * (b, 10 - b)[y]
        out[x, y, z] = often * (strength if z == x ^ y else 1)
    return out


def chain() -> dict[tuple[int, ...], int]:
    """Rows of three bits, each three times in four the one before: the ends meet in the middle."""
    return {
        (x, y, z): (3 if x == y else 1) * (3 if y == z else 1)
        for x, y, z in itertools.product((0, 1), repeat=3)
    }


def chosen_of(
    public: PublicTable,
    *,
    sizes: dict[str, int] | None = None,
    begun: Sequence[Clique] = (),
    most_cells: int = FREE,
    limit: int = FREE,
) -> list[Clique]:
    held = Domain(sizes or public.schema.domain)
    return tree_and_triples(public, held, begun=begun, most_cells=most_cells, limit=limit)


def test_pairs_that_meet_become_a_triple_where_three_tell_more_than_the_pairs() -> None:
    public = exact_table(twofold(7, 8, 9), x=2, y=2, z=2)
    (triple,) = chosen_of(public)
    assert set(triple) == {"x", "y", "z"}
    more = information(public, triple) - sum(
        sorted(information(public, p) for p in itertools.combinations("xyz", 2))[1:]
    )
    assert more > 0.1


def test_a_chain_stays_two_pairs_however_much_each_tells_of_the_next() -> None:
    public = exact_table(chain(), x=2, y=2, z=2)
    assert sorted(chosen_of(public)) == [("x", "y"), ("y", "z")]


def two_triples() -> PublicTable:
    """x, y, z hang together more than u, v, w do, and the two threes not at all."""
    strong, weak = twofold(7, 8, 9), twofold(7, 8, 4)
    both = {(*one, *other): m * n for one, m in strong.items() for other, n in weak.items()}
    divisor = math.gcd(*both.values())
    return exact_table({k: v // divisor for k, v in both.items()}, x=2, y=2, z=2, u=2, v=2, w=2)


def test_of_triples_the_most_telling_comes_first_as_long_as_the_model_has_room() -> None:
    """Private columns of five codes each: a tree of 5 · 25 cells, and 125 for a triple."""
    public, sizes = two_triples(), dict.fromkeys("xyzuvw", 5)
    both = chosen_of(public, sizes=sizes)
    triples = [c for c in both if len(c) == 3]
    assert [set(t) for t in triples] == [{"x", "y", "z"}, {"u", "v", "w"}]
    assert len(both) == 3
    for cells, often in ((275, 2), (274, 1), (200, 1), (199, 0), (125, 0)):
        kept = chosen_of(public, sizes=sizes, limit=8 * cells)
        assert model_bytes(Domain(sizes), kept) <= 8 * cells
        assert [c for c in kept if len(c) == 3] == triples[:often]
        assert len(kept) == 5 - often
        assert {n for c in kept for n in c} == set(sizes)


@given(st.integers(0, 2**32), st.sampled_from([FREE, 60, 24, 12]), st.sampled_from([FREE, 800]))
@tried(25)
def test_what_is_chosen_is_the_best_tree_and_triples_of_its_pairs(
    seed: int, most: int, limit: int
) -> None:
    public = telling(600, seed)
    scores: dict[Clique, float] = {
        p: information(public, p)
        for p in itertools.combinations(SIZES, 2)
        if SIZES[p[0]] * SIZES[p[1]] <= most
    }
    tree: list[Clique] = []
    for pair in sorted(scores, key=lambda p: -scores[p]):
        reached = {pair[0]}
        for _ in SIZES:
            reached |= {n for p in tree if reached & set(p) for n in p}
        if pair[1] not in reached:
            tree.append(pair)
    chosen = chosen_of(public, most_cells=most, limit=limit)
    assert model_bytes(Domain(SIZES), chosen) <= limit
    assert not any(set(c) < set(o) for c in chosen for o in chosen)
    for pair in tree:
        assert any(set(pair) <= set(c) for c in chosen)
    for clique in chosen:
        assert math.prod(SIZES[n] for n in clique) <= most
        inside = [p for p in tree if set(p) <= set(clique)]
        assert len(inside) == len(clique) - 1
        if len(clique) == 3:
            assert information(public, clique) > sum(scores[p] for p in inside)


def test_sizes_are_those_that_private_columns_may_have() -> None:
    """The public d has 5 codes, the private one may have 500."""
    large = SIZES | {"d": 500}
    chosen = chosen_of(telling(), sizes=large, most_cells=600)
    assert all("d" not in c for c in chosen)
    assert {n for c in chosen for n in c} == {"a", "b", "c", "e"}
    # And a public d of many codes is no pair either, whatever is said of the private one.
    wide = crowd(range(9), SIZES | {"d": 500}, **{n: [0, 1, 0] * 3 for n in SIZES})
    assert all("d" not in c for c in chosen_of(wide, sizes=SIZES, most_cells=600))


def test_what_is_begun_comes_first_and_the_tree_beside_it() -> None:
    public = exact_table(chain(), x=2, y=2, z=2)
    assert chosen_of(public, begun=[("x", "z")]) == [("x", "z"), ("x", "y"), ("y", "z")]
    assert chosen_of(public, begun=[("x", "y"), ("x", "z")]) == [("x", "y"), ("x", "z"), ("y", "z")]
    # What is begun is in the triple that it becomes part of.
    triple = exact_table(twofold(7, 8, 9), x=2, y=2, z=2)
    assert [set(c) for c in chosen_of(triple, begun=[("x", "y")])] == [{"x", "y", "z"}]


def test_a_tree_that_does_not_fit_is_refused_with_what_makes_it_too_large() -> None:
    with pytest.raises(QuestionError, match=r"with a table over d × e .*drop d × e"):
        chosen_of(telling(), sizes=SIZES | {"d": 1000, "e": 1000}, limit=1_000_000)


def test_a_column_alone_has_no_pair() -> None:
    assert chosen_of(exact_table({(0,): 3, (1,): 4}, x=2)) == []


# Pairs under differential privacy


WORLD: People = {
    str(i): [(i % 3, i % 2, i % 3 + (i % 7 == 0)) for _ in range(3)] for i in range(60)
}
"""c follows a nearly always; b goes its own way."""
ONES = {"a": np.full(3, 60.0), "b": np.full(2, 90.0), "c": np.array([51.0, 61.0, 60.0, 8.0])}


@pytest.mark.parametrize("delta", [1e-9, 0])
def test_a_rich_choice_is_the_tree_of_the_pairs_that_are_most_wrong(delta: float) -> None:
    budget = Budget(epsilon=1e6, delta=delta)
    with door_to(WORLD, bounding=Sample(3), budget=budget) as door:
        pairs = select_pairs(door, ONES, price=50.0, bounding=Sample(3), most_cells=FREE)
        spent = sum(grains for _, grains in events(door))
        assert 0.99 * price_grains(50.0, door.currency) <= spent
        assert spent <= price_grains(50.0, door.currency)
    assert set(pairs[0]) == {"a", "c"}
    assert is_tree(pairs, ["a", "b", "c"])


def test_any_choice_is_a_tree() -> None:
    for seed in range(5):
        budget = Budget(epsilon=1, delta=1e-9)
        with door_to(WORLD, bounding=Sample(3), budget=budget, seed=seed) as door:
            pairs = select_pairs(door, ONES, price=0.01, bounding=Sample(3), most_cells=FREE)
        assert is_tree(pairs, ["a", "b", "c"])


def test_pairs_that_are_too_large_are_not_chosen() -> None:
    with door_to(WORLD, bounding=Sample(3)) as door:
        pairs = select_pairs(door, ONES, price=10.0, bounding=Sample(3), most_cells=8)
        none = select_pairs(door, ONES, price=10.0, bounding=Sample(3), most_cells=5)
    assert sorted(map(sorted, pairs)) == [["a", "b"], ["b", "c"]]
    assert none == []


class Listening:
    """A door that keeps what it is given to choose from, and chooses the first."""

    def __init__(self, sizes: dict[str, int], *, currency: Currency = Currency.GDP) -> None:
        self.schema = schema_of(**sizes)
        self.currency = currency
        self.heard: list[tuple[list[Candidate], float, Capped]] = []

    def select(self, candidates: Sequence[Candidate], *, epsilon: float, bounding: Capped) -> int:
        self.heard.append((list(candidates), epsilon, bounding))
        return 0

    @property
    def offered(self) -> list[list[Clique]]:
        """The pairs that there were to choose from, each time."""
        return [[c.clique for c in candidates] for candidates, _, _ in self.heard]


FOUR = {"a": 3, "b": 2, "c": 4, "d": 2}
EVEN = {name: np.full(size, 12 / size) for name, size in FOUR.items()}


def chosen_by(door: Listening, **more: Any) -> list[Clique]:
    asked: dict[str, Any] = {"price": 1.0, "bounding": Weights(2), "most_cells": FREE}
    return select_pairs(door, EVEN, **asked | more)  # type: ignore[arg-type]


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
def test_a_tree_goes_on_from_what_is_begun(currency: Currency) -> None:
    door = Listening(FOUR, currency=currency)
    found = chosen_by(door, begun=[("d", "b"), ("b", "a")])
    assert found == [("b", "d"), ("a", "b"), ("a", "c")]
    # One choice, among the pairs that join c to the rest, for all of the price.
    assert door.offered == [[("a", "c"), ("b", "c"), ("c", "d")]]
    ((_, epsilon, bounding),) = door.heard
    (share,) = split(price_grains(1.0, currency), currency, [1.0])
    assert epsilon == selection_epsilon_lower(share, currency)
    assert bounding == Weights(2)


@pytest.mark.parametrize("currency", [Currency.GDP, Currency.PURE])
def test_so_many_more_pairs_come_after_the_tree_each_for_the_same_price(currency: Currency) -> None:
    door = Listening(FOUR, currency=currency)
    found = chosen_by(door, more=2, limit=FREE)
    assert len(found) == len(set(found)) == 5
    assert is_tree(found[:3], list(FOUR))
    assert [len(offered) for offered in door.offered] == [6, 5, 3, 3, 2]
    assert not any(set(offered) & set(found[:i]) for i, offered in enumerate(door.offered))
    (share, *others) = split(price_grains(1.0, currency), currency, [1.0] * 5)
    assert set(others) == {share}
    assert {e for _, e, _ in door.heard} == {selection_epsilon_lower(share, currency)}


def test_more_pairs_that_make_too_large_a_model_are_paid_for_and_left_out() -> None:
    """a × b × c are 24 cells; with d in place of c it is half of that."""
    tree = [("a", "b"), ("a", "c"), ("a", "d")]
    room = model_bytes(Domain(FOUR), [*tree, ("b", "d")])
    assert room < model_bytes(Domain(FOUR), [*tree, ("b", "c")])
    door = Listening(FOUR)
    assert chosen_by(door, begun=tree, more=1, limit=room) == tree
    assert door.offered == [[("b", "c"), ("b", "d"), ("c", "d")]]
    # What was left out is not offered again, and what comes after it may fit.
    door = Listening(FOUR)
    assert chosen_by(door, begun=tree, more=2, limit=room) == [*tree, ("b", "d")]
    assert door.offered[1] == [("b", "d"), ("c", "d")]
    # A tree is there whatever its size.
    door = Listening(FOUR)
    assert is_tree(chosen_by(door, more=3, limit=0), list(FOUR))


@pytest.mark.parametrize("noise", [0.1, 1.5])
def test_a_pair_is_worth_what_asking_for_it_mends(noise: float) -> None:
    """What noise adds is no more than a cell holds, and less where fewer cells hold anything."""
    door = Listening(FOUR)
    chosen_by(door, noise=noise, weights={frozenset(("c", "b")): 2.5})
    for candidates, _, _ in door.heard:
        for c in candidates:
            wanted = np.outer(EVEN[c.clique[0]], EVEN[c.clique[1]]).reshape(-1) / 12
            assert c.expected == pytest.approx(wanted)
            lost = np.minimum(noise, wanted).sum()
            own = 2.5 if set(c.clique) == {"b", "c"} else 1.0
            for distance in (0.0, 5.0, 24.0):
                mended = distance - lost * (1 - distance / 24)
                assert c.weight * (distance - c.penalty) == pytest.approx(own * mended)
    silent = Listening(FOUR)
    chosen_by(silent)
    assert {c.penalty for candidates, _, _ in silent.heard for c in candidates} == {0.0}


def test_with_much_noise_a_small_table_is_worth_more_than_a_large_one_that_is_more_wrong() -> None:
    """Of 1,000 rows, 300 are wrong in 100 cells, and 200 in four."""
    large = (("a", "b"), np.full(100, 10.0))
    small = (("a", "c"), np.full(4, 250.0))
    for noise, best in ((0.0, "large"), (0.5, "large"), (2.0, "small"), (8.0, "small")):
        worth = {}
        for name, marginal, distance in (("large", large, 300.0), ("small", small, 200.0)):
            found = gaining(*marginal, noise)
            worth[name] = found.weight * (distance - found.penalty)
        assert max(worth, key=lambda name: worth[name]) == best


def test_a_table_that_is_all_in_a_few_cells_is_worth_asking_whatever_the_noise() -> None:
    """A code for itself under two names: 100 cells of 10,000 hold all rows."""
    found = gaining(("a", "b"), np.full(10_000, 1.0), 50.0)
    assert found.weight * (2 * 10_000 * 0.99 - found.penalty) > 0.95 * 2 * 10_000


@pytest.mark.parametrize("delta", [1e-9, 0])
def test_a_tree_and_more_cost_the_price_and_no_more(delta: float) -> None:
    budget = Budget(epsilon=1e6, delta=delta)
    with door_to(WORLD, bounding=Sample(3), budget=budget) as door:
        found = select_pairs(
            door,
            ONES,
            price=0.3,
            bounding=Sample(3),
            most_cells=FREE,
            begun=[("a", "b")],
            more=1,
            limit=FREE,
        )
        costs = [grains for _, grains in events(door)]
    assert sorted(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    whole = price_grains(0.3, budget.currency)
    assert len(costs) == 2
    assert 0.999 * whole <= sum(costs) <= whole


def test_no_part_of_the_price_is_for_choices_that_there_are_not() -> None:
    """Three columns have three pairs: two for a tree, and one more."""
    budget = Budget(epsilon=1e6, delta=1e-9)
    with door_to(WORLD, bounding=Sample(3), budget=budget) as door:
        select_pairs(door, ONES, price=0.3, bounding=Sample(3), most_cells=FREE, more=3, limit=FREE)
        spent = sum(grains for _, grains in events(door))
    assert spent >= 0.99 * price_grains(0.3, Currency.GDP)


def test_where_all_is_begun_and_no_more_is_asked_for_nothing_is_chosen() -> None:
    door = Listening(FOUR)
    tree = [("a", "b"), ("a", "c"), ("a", "d")]
    assert chosen_by(door, begun=tree, more=0, limit=FREE) == tree
