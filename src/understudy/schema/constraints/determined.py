"""Determined codes: what a listed relation of values says of codes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from understudy.schema.columns import Column
    from understudy.schema.constraints.constraint import Determines
    from understudy.schema.encoding.reading import Codes, Scalar

    Ints = NDArray[np.int64]


def image_of(constraint: Determines, by: Column, column: Column) -> Ints:
    """Return the determined code of each code; listed values that are not declared do not count."""
    codes = _codes(replace(by, outside="drop"), by.labels(), [one for one, _ in constraint.pairs])
    images = _codes(column, column.labels(), [other for _, other in constraint.pairs])
    codes, images = codes[codes >= 0], images[codes >= 0]
    if (images < 0).any():
        raise SchemaError(f"constraint {constraint.label!r} lists values that the schema drops")
    image = np.full(by.size, -1, dtype=np.int64)
    for code, one in zip(codes.tolist(), images.tolist(), strict=True):
        if image[code] not in {-1, one}:
            raise SchemaError(
                f"constraint {constraint.label!r} determines {by.labels()[code]!r} twice",
                got=f"{column.labels()[image[code]]} and {column.labels()[one]}",
                hint="values of one code, such as those of a bin, must determine the same",
            )
        image[code] = one
    unknown = [by.labels()[code] for code in np.flatnonzero(image < 0) if code < by.values_count]
    rest = column.if_missing
    if unknown and rest < 0:
        raise SchemaError(
            f"constraint {constraint.label!r} does not say what follows from every value",
            got=f"nothing for {', '.join(unknown[:5])}",
            hint=f"list these, or allow {column.name!r} to be missing",
        )
    image[image < 0] = max(rest, 0)
    return image


def _codes(column: Column, labels: Sequence[str], values: Sequence[Scalar]) -> Codes:
    """Return the codes of values; (missing) and (other) may be meant by their labels."""
    codes = column.encode(np.array([*values, None], dtype=object))[:-1]
    for place, value in enumerate(values):
        if value in labels[column.values_count :]:
            codes[place] = labels.index(str(value))
    return codes
