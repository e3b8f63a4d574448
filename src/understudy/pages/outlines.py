"""Outlines of places, from a GeoJSON file, for maps on a page."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import MissingFileError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOST_BYTES = 20_000_000
DIGITS = 5
"""Decimal places of a coordinate: about a metre."""
ALLOWED = "a GeoJSON FeatureCollection of Polygons and MultiPolygons with a property for the place"


def read_outlines(path: str | Path, names: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the outline of each place of a GeoJSON file, by the place's readable name.

    ``names`` has a column's labels and what these are called; the property of the features that
    has most of either tells which place a feature is.
    """
    features = _features(Path(path))
    known = {
        text.casefold(): name
        for pair in names.items()
        for text, name in ((pair[0], pair[1]), (pair[1], pair[1]))
    }
    keys = {key for feature in features for key in feature["properties"] or {}}
    told = {key: [_name(feature, key, known) for feature in features] for key in sorted(keys)}
    best = max(told, key=lambda key: len(set(told[key]) - {None}), default=None)
    found = {} if best is None else dict(zip(told[best], features, strict=True))
    found.pop(None, None)
    if not found:
        raise UsageError(
            f"{Path(path).name} has no outline of a value of the column", allowed=ALLOWED
        )
    middle = _middle([feature["geometry"]["coordinates"] for feature in found.values()])
    return {str(name): _flat(feature["geometry"], middle) for name, feature in found.items()}


def _features(path: Path) -> list[dict[str, Any]]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path.name} is too large", allowed=f"at most {MOST_BYTES:,} bytes")
        read = json.loads(path.read_text(encoding="utf-8-sig"))
        features = [f for f in read["features"] if f["geometry"] is not None]
        sound = all(
            f["geometry"]["type"] in {"Polygon", "MultiPolygon"}
            and isinstance(f["properties"], dict)
            and any(True for _ in _points(f["geometry"]["coordinates"]))
            for f in features
        )
    except OSError:
        raise MissingFileError(f"cannot read the outlines {path}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
        sound, features = False, []
    if not sound or not features:
        raise UsageError(f"{path.name} has no outlines that can be drawn", allowed=ALLOWED)
    return features


def _name(feature: Mapping[str, Any], key: str, known: Mapping[str, str]) -> str | None:
    value = feature["properties"].get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return known.get(str(value).casefold())


def _points(coordinates: Sequence[Any]) -> Iterator[tuple[float, float]]:
    """Yield all points of nested lists of them."""
    if coordinates and isinstance(coordinates[0], (int, float)):
        yield float(coordinates[0]), float(coordinates[1])
        return
    for part in coordinates:
        yield from _points(part)


def _middle(shapes: Sequence[Sequence[Any]]) -> float:
    heights = [y for shape in shapes for _, y in _points(shape)]
    return (min(heights) + max(heights)) / 2


def _flat(geometry: Mapping[str, Any], middle: float) -> dict[str, Any]:
    """Return a geometry on a plane, where a degree of longitude is as wide as at the middle."""
    wide = math.cos(math.radians(middle))

    def moved(part: Sequence[Any]) -> list[Any]:
        if part and isinstance(part[0], (int, float)):
            return [round(part[0] * wide, DIGITS), round(part[1], DIGITS)]
        return [moved(each) for each in part]

    return {"type": geometry["type"], "coordinates": moved(geometry["coordinates"])}
