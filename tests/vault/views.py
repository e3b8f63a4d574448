"""The slow obvious version of a view: each person's rows, worked out by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from tests.vault.obvious import Obvious, People
from tests.vault.worlds import KEY
from understudy.door import Derived, View, viewed_schema
from understudy.door.views import OF_PERSON, OF_ROW
from understudy.schema import Integer, Schema
from understudy.vault import PrivateTable, derivation

COLUMNS = (
    Integer(name="a", min=0, max=2, missing=False),
    Integer(name="b", min=0, max=1, missing=False, of="person"),
    Integer(name="c", min=0, max=3, missing=False),
)
ORDERED = Schema("world", COLUMNS, order_by=("c",))
UNORDERED = Schema("world", COLUMNS)
STARTS = (1, 2, 5, 30)
EVERY = tuple(
    Derived(name=f"{kind} {column}", kind=kind, column=column, starts=STARTS if not column else ())
    for kind in (*OF_PERSON, *OF_ROW)
    for column in ([""] if kind in {"rows", "nth"} else ["a", "c"])
)
OF_PEOPLE = tuple(each for each in EVERY if each.kind in OF_PERSON)
VIEWS = [
    View(derived=EVERY),
    View(derived=OF_PEOPLE, people=True),
    View(),
    View(people=True),
    View(derived=OF_PEOPLE[:2]),
]


def shown(table: PrivateTable, view: View) -> Counter[tuple[int, ...]]:
    """All rows of a view, as the vault counts them."""
    of = derivation.viewed(table, view)
    rows = table.engine.fetch(f"SELECT {', '.join(of.code.values())} FROM {of.rows}")
    return Counter(map(tuple, np.stack([rows[c] for c in of.code.values()], axis=1).tolist()))


def slowly_shown(people: People, schema: Schema, view: View) -> Counter[tuple[int, ...]]:
    seen = viewed(Obvious(people, schema.domain, KEY), schema, view)
    return Counter(row for rows in seen.people.values() for row in rows)


def viewed(
    world: Obvious, schema: Schema, view: View, own_of: Mapping[str, dict[str, int]] | None = None
) -> Obvious:
    """The same people as a view shows them; what is their own may be known from elsewhere."""
    names, shown = list(schema.domain), viewed_schema(schema, view).domain
    order = [names.index(n) for n in schema.ordering]
    people = {}
    for person, rows in world.people.items():
        hashed = world.hashed(person, "order")
        number, shift = (
            1 + int(digits[::-1], 16) % (2**31 - 2) for digits in (hashed[:8], hashed[8:16])
        )
        keys = {row: pow(number * mixed(row) + shift, 3, 2**31 - 1) for row in rows}
        held = sorted(rows, key=lambda row: ([row[i] for i in order], keys[row], row))
        codes = {name: [row[i] for row in held] for i, name in enumerate(names)}
        own = (own_of or {}).get(person) or {n: mode(world, person, codes[n]) for n in schema.own}
        made = []
        once = int(bool(held) or view.everyone)
        columns = {each.name: codes.get(each.column, [0] * len(held)) for each in view.derived}
        of_person = {
            each.name: _derived(each, world, person, columns[each.name], 0)
            for each in view.derived
            if each.kind in OF_PERSON
        }
        for place in range(once if view.people else len(held)):
            told = {name: codes[name][place] for name in names if held} | own | of_person
            for each in view.derived:
                if each.kind in OF_ROW:
                    told[each.name] = _derived(each, world, person, columns[each.name], place)
            made.append(tuple(told[n] for n in shown))
        people[person] = made
    return Obvious(people, shown, world.key)


def mixed(row: Sequence[int]) -> int:
    return sum(code * pow(48271, i, 2**31 - 1) for i, code in enumerate(row, 1)) % (2**31 - 1)


def mode(world: Obvious, person: str, codes: Sequence[int]) -> int:
    tally = Counter(codes)
    return min(tally, key=lambda c: (-tally[c], world.hashed(person, str(c))))


def _derived(each: Derived, world: Obvious, person: str, codes: Sequence[int], place: int) -> int:
    """Work out one code from the codes of a person's rows in order."""
    match each.kind:
        case "rows":
            return max(0, sum(start <= len(codes) for start in each.starts) - 1)
        case "nth":
            return sum(start <= place + 1 for start in each.starts) - 1
        case "mode" | "first" | "last":
            none, place = [world.domain[each.column]], 0 if each.kind == "first" else -1
            return (
                mode(world, person, codes)
                if each.kind == "mode" and codes
                else (codes or none)[place]
            )
        case "previous":
            return codes[place - 1] if place else world.domain[each.column]
        case "gap":
            return abs(codes[place] - codes[place - 1]) if place else world.domain[each.column]
    return _apart(each, codes, world.domain)


def _apart(each: Derived, codes: Sequence[int], domain: Mapping[str, int]) -> int:
    """Work out the class of how far apart rows are."""
    pairs = list(combinations(codes, 2))
    if each.kind == "spread":
        apart = sum(abs(a - b) for a, b in pairs)
        share = apart / max(1, len(pairs)) / (domain[each.column] - 1)
        return 16 if not pairs else (apart > 0) + sum(share > 2 ** (-k / 2) for k in range(1, 15))
    agreeing = sum(a == b for a, b in pairs)
    if not pairs or agreeing in {0, len(pairs)}:
        return 12 if not pairs else 11 if agreeing else 0
    return 1 + 10 * agreeing // len(pairs)
