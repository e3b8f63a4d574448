"""Archetypes described: what they are called, what they do, and how many people are of each.

What an archetype does follows from public rows; how many private people are of it, from noisy
counts.  So whoever reads it sees where the private table has drifted from the public one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.public import Shapes
    from understudy.schema import Schema
    from understudy.synth.archetypes.resampling import ArchetypeCounts

    Floats = NDArray[np.float64]

MOST_WORDS = 3
"""The most columns in a name."""
TELLING = 0.1
"""A column is in a name if its total variation from all rows is at least this."""
SMALL = 5e-4
"""Shares below this are left out."""


def described(
    shapes: Shapes,
    schema: Schema,
    asked: ArchetypeCounts,
    *,
    deviations: Sequence[float],
    attribute: tuple[str, NDArray[np.int64]] | None,
) -> dict[str, Any]:
    """Describe the archetypes and the noisy counts of people, as plain data.

    ``deviations`` are those of the counts' noise; ``attribute`` is a column, with the number of
    public people who have each of its values.
    """
    columns = shares_by_column(shapes)
    names = kind_names(shapes, schema, columns)
    each = shapes.rows / np.maximum(shapes.people, 1)
    found: dict[str, Any] = {
        "features": list(shapes.features),
        "standard_error": deviations[0],
        "archetypes": [
            {
                "name": names[kind],
                "people": round(float(asked.kinds[kind]), 2),
                "public_people": int(shapes.people[kind]),
                "rows_each": round(float(each[kind]), 2),
                "rows_each_by": {
                    column: _listed(schema, column, columns[column][kind], float(each[kind]))
                    for column in shapes.features
                },
                "shares_by": {
                    column: _listed(schema, column, shapes.others[column][kind], 1.0)
                    for column in shapes.others
                },
            }
            for kind in range(shapes.count)
        ],
    }
    if attribute is not None and asked.values is not None:
        column, public = attribute
        labels = schema[column].readable()
        found["attribute"] = {
            "column": column,
            "standard_error": deviations[1],
            "values": [
                {"name": name, "people": round(float(noisy), 2), "public_people": int(known)}
                for name, noisy, known in zip(labels, asked.values, public, strict=True)
            ],
        }
    return found


def shares_by_column(shapes: Shapes) -> dict[str, Floats]:
    """Return the share of each code in an archetype's rows: archetypes × codes, by column."""
    joint = shapes.joint.reshape(shapes.count, *shapes.sizes)
    axes = range(1, joint.ndim)
    features = {
        name: np.asarray(joint.sum(axis=tuple(a for a in axes if a != axis)))
        for axis, name in zip(axes, shapes.features, strict=True)
    }
    return features | shapes.others


def kind_names(shapes: Shapes, schema: Schema, columns: dict[str, Floats]) -> list[str]:
    """Name every archetype by the values that set it apart from all rows."""
    weights = shapes.rows / max(int(shapes.rows.sum()), 1)
    labels = [label for name in columns for label in schema[name].readable()]
    common = {label for label in labels if labels.count(label) > 1}
    names: list[str] = []
    for kind in range(shapes.count):
        apart = {n: shares[kind] - weights @ shares for n, shares in columns.items()}
        far = {n: float(np.abs(more).sum() / 2) for n, more in apart.items()}
        chosen = sorted((n for n in far if far[n] >= TELLING), key=lambda n: -far[n])[:MOST_WORDS]
        words = [
            _word(schema, n, columns[n][kind], apart[n], common) for n in columns if n in chosen
        ]
        name = ", ".join(words) or "like everyone"
        name = name if shapes.people[kind] else "nobody in the public table"
        names.append(name if name not in names else f"{name} ({kind + 1})")
    return names


def _word(schema: Schema, name: str, shares: Floats, apart: Floats, common: set[str]) -> str:
    """Say what sets a column's shares apart: a value, or the middle half of an ordered column."""
    column = schema[name]
    labels = column.readable()
    if column.ordered_count > 2 and shares[: column.ordered_count].sum() > 0:
        rising = np.cumsum(shares[: column.ordered_count])
        low, high = (int(np.searchsorted(rising, q * rising[-1])) for q in (0.25, 0.75))
        bounds = column.bounds()
        if bounds is not None:
            first, last = bounds[0][low], bounds[1][high]
            return f"{name} {first:g}" + (f" to {last:g}" if last > first else "")
        return f"{name} {labels[low]}" + (f" to {labels[high]}" if high > low else "")
    label = labels[int(np.argmax(apart))]
    alone = label not in common and not label.lstrip("-").isdigit()
    return label if alone else f"{name} {label}"


def _listed(schema: Schema, name: str, shares: Floats, each: float) -> dict[str, float]:
    """Return what an average person has of every value that is not rare, the largest first."""
    labels = schema[name].readable()
    order = [i for i in np.argsort(-shares, kind="stable") if shares[i] >= SMALL]
    return {labels[i]: float(f"{shares[i] * each:.4g}") for i in order}
