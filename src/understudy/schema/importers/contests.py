"""The NIST contests' schema files: parameters.json of three sprints, and match 3's list.

Their domains are promised, so a categorical value outside its list drops the row and no
code is added for it; numbers without bins get a ladder of them over the declared range, or
over the range of their dtype where none is declared.  A recipe may put its own in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns.edges import ladder_edges

if TYPE_CHECKING:
    from collections.abc import Mapping

Plain = dict[str, Any]

FEW = 1024
"""A declared range of at most this many integers gets one code per value."""
BINS = 32
"""The number of bins of a declared range of other numbers."""


def from_parameters(data: Mapping[str, Any], *, name: str) -> Plain:
    """Read a parameters.json of any of the three sprints, or the schema of the ACS excerpts."""
    declared = data["schema"]
    columns: Plain = {}
    for key, value in declared.items():
        try:
            columns |= _declared(key, value)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            raise SchemaError(
                f"parameters.json: column {key!r} is not declared as in the contests' files",
                allowed="values, min and max, a dtype, a list of codes, or periods",
            ) from None
    if "periods" in declared:
        columns["sim_resident"] = {"kind": "id"}
    return {"name": name, "columns": columns}


def from_specification(data: Mapping[str, Any], *, name: str) -> Plain:
    """Read match 3's ``{column: {"type": …, "maxval": …}}``: whole numbers from 0.

    What it calls ``enum`` are codes, which have no order.
    """
    columns: Plain = {}
    for c, v in data.items():
        if not isinstance(v["maxval"], int):
            raise SchemaError(
                f"{name}: maxval of column {c!r} must be an integer", got=repr(v["maxval"])
            )
        one_each = {"kind": "integer", "min": 0, "max": v["maxval"], "missing": False}
        one_each["ordered"] = False
        columns[c] = one_each if v.get("type") == "enum" else _range(0, v["maxval"])
    return {"name": name, "columns": columns}


def _declared(name: str, value: Any) -> Plain:  # noqa: ANN401  as JSON gives it
    if name == "periods":
        return _periods(value)
    if isinstance(value, list):
        listed = _listed([entry["code"] for entry in value])
        names = [str(entry["name"]) for entry in value if "name" in entry]
        return {name: listed | ({"names": names} if len(names) == len(value) else {})}
    return {name: _column(name, value)}


def _periods(periods: list[dict[str, int]]) -> Plain:
    years = sorted({p["year"] for p in periods})
    months = sorted({p["month"] for p in periods})
    return {"year": _listed(years), "month": _listed(months)}


def _listed(values: list[Any]) -> Plain:
    listed: Plain = {"kind": "categorical", "values": values, "outside": "drop", "missing": False}
    if -1 in values:
        listed["missing_value"] = -1
    return listed


def _column(name: str, value: Mapping[str, Any]) -> Plain:
    kind, dtype = value.get("kind"), str(value.get("dtype", ""))
    if kind == "id":
        return {"kind": "id", **{k: value[k] for k in ("min", "max") if k in value}}
    if "values" in value:
        named = {"names": list(map(str, value["names"]))} if "names" in value else {}
        return _listed(list(value["values"])) | named
    if "min" in value and "max" in value:
        null = (
            {"missing": True, "nulls": [str(value["null_value"])]} if value.get("has_null") else {}
        )
        if dtype.startswith("float"):
            ends = {end: float(value[end]) for end in ("min", "max")}
            rule = {"outside": "nearest", "missing": False}
            return {"kind": "numeric", **ends, "bins": BINS, **rule, **null}
        return _range(int(value["min"]), int(value["max"])) | null
    if dtype.startswith("float"):
        # The range of a float dtype means nothing: bins cover that of int32.
        return _range(-(2**31), 2**31 - 1) | {"whole": False}
    if not dtype.startswith(("int", "uint")):
        raise SchemaError(
            f"parameters.json: column {name!r} has no values, no range and no numeric dtype",
            got=dtype or "nothing",
        )
    bounds = np.iinfo(dtype)
    # What exceeds int64 goes to the last bin, whose integers still fit into int64.
    return _range(int(bounds.min), min(int(bounds.max), 2**63 - 1))


def _range(low: int, high: int) -> Plain:
    common = {"outside": "nearest", "missing": False}
    if high - low < FEW:
        return {"kind": "integer", "min": low, "max": high, **common}
    edges = list(ladder_edges(low, high))
    return {"kind": "numeric", "edges": edges, "whole": True, **common}
