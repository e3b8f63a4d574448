"""What a release says of the totals that it was told, and how far its rows are from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.schema.known import Known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from understudy.release.contents import Contents
    from understudy.schema import Array


def known_facts(known: Sequence[Known]) -> list[dict[str, Any]]:
    """Return each known total's name, what it says, and what was given."""
    return [
        {"name": each.label, "says": _sentence(each), "given": each.to_plain()} for each in known
    ]


def known_of(manifest: Mapping[str, Any]) -> tuple[Known, ...]:
    """Return the known totals that a manifest tells of."""
    return tuple(Known.from_plain(each["given"]) for each in manifest.get("known", ()))


def known_kept(release: Contents) -> list[dict[str, Any]]:
    """Return the manifest's account of known totals, with how far the released rows are off."""
    said = release.manifest.get("known", ())
    return [
        {**each, "largest_difference": _difference(release, known)}
        for each, known in zip(said, known_of(release.manifest), strict=True)
    ]


def _sentence(known: Known) -> str:
    columns = " and ".join(", ".join(known.clique).rsplit(", ", 1))
    rest = "of which the shares are known" if known.scaled else f"{known.total:,} in all"
    return f"{known.of} by {columns}, {len(known.cells)} counts, {rest}."


def _difference(release: Contents, known: Known) -> float:
    """Return how many rows or people the count that is most off is off by.

    Of shares, it is off by less than 2 where what is known cannot be shared out evenly.
    """
    cells, counts = known.coded(release.schema)
    wanted = dict(zip(map(tuple, cells.tolist()), counts.tolist(), strict=True))
    found: dict[tuple[int, ...], int] = {}
    for batch in _tables(release, known):
        columns = [release.schema.released().unconstrained[name] for name in known.clique]
        codes = np.stack([c.encode(np.asarray(batch[c.table_column])) for c in columns], axis=1)
        for cell, count in zip(*np.unique(codes, axis=0, return_counts=True), strict=True):
            found[tuple(cell.tolist())] = found.get(tuple(cell.tolist()), 0) + int(count)
    size = sum(found.values()) / known.total if known.scaled else 1.0
    return float(max(abs(found.get(c, 0) - size * wanted.get(c, 0)) for c in {*found, *wanted}))


def _tables(release: Contents, known: Known) -> Iterator[Mapping[str, Array]]:
    if known.of == "people" and release.ids:
        return iter([release.people_columns])
    return iter(release.decoded)
