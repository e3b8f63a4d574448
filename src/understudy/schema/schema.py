"""A schema: the declared columns of a table, and the way from values to codes and back.

No constructor takes private rows.  A schema is written by a person, read from a file, or
drafted from *public* data by `Schema.from_public`.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields, replace
from datetime import date
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from understudy.errors import MissingColumnError, SchemaError
from understudy.schema.columns import (
    LARGEST,
    NULLS,
    Categorical,
    Compound,
    DateTime,
    Id,
    Ignored,
    Integer,
    Numeric,
    Split,
    Timestamp,
)
from understudy.schema.columns.edges import regular_edges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from understudy.schema.columns import Declaration, Modelled
    from understudy.schema.encoding.reading import Array, Codes

MAX_BINS = 2**16
"""The most bins that a range is cut into; each is a code, and a branch of the encoder."""
MOST_SHOWN = 8
"""The most columns that a schema names where it is shown in a line."""

KINDS: dict[str, type[Declaration]] = {
    kind.kind: kind
    for kind in (Categorical, Integer, Numeric, DateTime, Timestamp, Split, Id, Ignored)
}


@dataclass(frozen=True)
class Schema:
    """The name of a table, its columns, and how its CSV files are written.

    >>> schema = Schema("trips", (Integer(name="hour", min=0, max=23, missing=False),))
    >>> schema.domain
    {'hour': 24}
    """

    name: str
    """The table's declared name: with the unit, the identity of its ledger."""
    columns: tuple[Declaration, ...]
    delimiter: str = ","
    quote: str = '"'

    def __post_init__(self) -> None:
        """Refuse a schema without a name, without columns, or with one twice."""
        if not self.name.strip():
            raise SchemaError("the table has no name", hint='add name = "my-table" to the schema')
        names = [c.name for c in self.columns]
        names += [part.name for c in self.columns if isinstance(c, Compound) for part in c.modelled]
        folded = [n.lower() for n in names]
        twice = sorted({n for n in names if folded.count(n.lower()) > 1})
        if twice:
            raise SchemaError(
                "columns declared twice",
                got=", ".join(twice),
                hint="an engine does not tell capitals from small letters in a name",
            )
        if not self.modelled:
            raise SchemaError("no column to model", allowed="at least one that is no id")
        for mark in (self.delimiter, self.quote):
            if len(mark) != 1 or mark in "\r\n\x00" or self.delimiter == self.quote:
                raise SchemaError(
                    "delimiter and quote must be two different characters",
                    got=f"{self.delimiter!r} and {self.quote!r}",
                )

    def __repr__(self) -> str:
        """Name the table and its columns in a line, the first of them where there are many."""
        told = [f"{c.name} ({self._told(c)})" for c in self.columns[:MOST_SHOWN]]
        more = len(self.columns) - len(told)
        tail = f" and {more} more" if more else ""
        return f"Schema({self.name!r}, {len(self.columns)} columns: {', '.join(told)}{tail})"

    def _repr_html_(self) -> str:
        """Name all columns in a notebook, their kinds and their codes."""
        lines = "".join(
            "<tr>"
            + "".join(f"<td>{escape(t)}</td>" for t in (c.name, c.kind, self._told(c)))
            + "</tr>"
            for c in self.columns
        )
        return f"<b>{escape(self.name)}</b><table><tbody>{lines}</tbody></table>"

    @staticmethod
    def _told(column: Declaration) -> str:
        if isinstance(column, (Id, Ignored)):
            return column.kind
        codes = column.modelled if isinstance(column, Compound) else (column,)
        return " × ".join(str(c.size) for c in codes) + " codes"

    @cached_property
    def modelled(self) -> tuple[Modelled, ...]:
        """The columns that have codes, in order; a split gives two of them, a timestamp three."""
        found: list[Modelled] = []
        for column in self.released_columns:
            found += column.modelled if isinstance(column, Compound) else [column]
        return tuple(found)

    @property
    def released_columns(self) -> tuple[Modelled | Compound, ...]:
        """The columns that synthetic rows have, in order: a split or a timestamp is one again."""
        return tuple(c for c in self.columns if not isinstance(c, (Id, Ignored)))

    @property
    def ids(self) -> tuple[Id, ...]:
        """The columns that hold a person's id."""
        return tuple(c for c in self.columns if isinstance(c, Id))

    @cached_property
    def domain(self) -> dict[str, int]:
        """The number of codes of every modelled column."""
        return {c.name: c.size for c in self.modelled}

    def __getitem__(self, name: str) -> Modelled:
        """Give a modelled column by its name."""
        for column in self.modelled:
            if column.name == name:
                return column
        raise SchemaError(
            f"no column {name!r} with codes", allowed=", ".join(c.name for c in self.modelled)
        )

    def with_columns(self, *columns: Declaration) -> Self:
        """Put other declarations in the place of those of the same name, or at the end."""
        new = {c.name: c for c in columns}
        kept = [new.pop(c.name, c) for c in self.columns]
        return replace(self, columns=(*kept, *new.values()))

    def released(self) -> Self:
        """Describe the table that is released: no sources, and parts of date-times as numbers."""
        columns = map(_released, self.released_columns)
        return replace(self, columns=(*self.ids, *columns), delimiter=",", quote='"')

    def encode(self, table: Mapping[str, Array]) -> tuple[dict[str, Codes], Array]:
        """Encode a table held in memory: the codes of the rows kept, and which were kept."""
        absent = sorted({c.table_column for c in self.modelled} - set(table))
        if absent:
            raise MissingColumnError(
                "the table lacks columns that the schema names",
                got="no " + ", ".join(map(repr, absent)),
            )
        codes = {c.name: c.encode(np.asarray(table[c.table_column])) for c in self.modelled}
        kept = np.logical_and.reduce([code >= 0 for code in codes.values()])
        return {name: code[kept] for name, code in codes.items()}, kept

    def to_dict(self) -> dict[str, Any]:
        """Write the schema as plain data, leaving out what is at its default."""
        out: dict[str, Any] = {"name": self.name}
        if (self.delimiter, self.quote) != (",", '"'):
            out["csv"] = {"delimiter": self.delimiter, "quote": self.quote}
        out["columns"] = {c.name: _column_to_dict(c) for c in self.columns}
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a schema from plain data, as TOML or JSON gives it."""
        unknown = sorted(set(data) - {"name", "csv", "columns"})
        if unknown or not isinstance(data.get("columns"), dict):
            raise SchemaError(
                "a schema has a name, [columns.…] and perhaps [csv]",
                got=", ".join(unknown) or "no columns",
            )
        csv = data.get("csv", {})
        if not isinstance(csv, dict) or set(csv) - {"delimiter", "quote"}:
            raise SchemaError("unknown keys in [csv]", allowed="delimiter, quote")
        columns = tuple(_column_from_dict(n, c) for n, c in data["columns"].items())
        return cls(str(data.get("name", "")), columns, **{k: str(v) for k, v in csv.items()})

    @classmethod
    def read(cls, path: str | Path, *, public: Mapping[str, Array] | None = None) -> Self:
        """Read a schema file: TOML, a contest's parameters.json, or a peer's metadata.

        A metadata file that leaves values or ranges unsaid needs a ``public`` table to
        fill them in; see `understudy.schema.importers.peers`.
        """
        from understudy.schema.importers.files import read_schema  # noqa: PLC0415  files builds on this

        return cls.from_dict(read_schema(Path(path), public=public))

    @classmethod
    def from_public(
        cls,
        table: Mapping[str, Array],
        *,
        name: str,
        ids: tuple[str, ...] = (),
        days: tuple[str, str] | None = None,
    ) -> Self:
        """Draft a schema from a table that anyone may see: column name → array.

        ``days`` are the first and the last day of the private table, as where the public one is
        of the year before; without them timestamps are of the public table's years.
        """
        from understudy.schema.importers.draft import draft  # noqa: PLC0415  draft builds on this

        return cls(name, draft(table, ids=ids, days=days))

    def to_toml(self) -> str:
        """Write the schema as a TOML file."""
        from understudy.schema.importers.files import write_toml  # noqa: PLC0415

        return write_toml(self.to_dict())


def _released(column: Modelled | Compound) -> Declaration:
    if isinstance(column, DateTime):
        return column.as_integer()
    if isinstance(column, Timestamp):
        # What comes out is written in one way only, and what is missing is left empty.
        return replace(column, source="", format=None, nulls=NULLS)
    return replace(column, source="")


def _column_to_dict(column: Declaration) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": column.kind}
    for f in fields(column):
        value = getattr(column, f.name)
        if not f.init or f.name == "name" or value is None:
            continue
        if f.default is MISSING or value != f.default:
            out[f.name] = list(value) if isinstance(value, tuple) else value
    return out


def _column_from_dict(name: str, data: object) -> Declaration:
    named = data.get("kind") if isinstance(data, dict) else None
    kind = KINDS.get(named) if isinstance(named, str) else None
    if not isinstance(data, dict) or kind is None:
        raise SchemaError(
            f"column {name!r} needs a kind",
            got=repr(named) if isinstance(data, dict) else "no table",
            allowed=", ".join(KINDS),
        )
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k != "kind"}
    if kind is Numeric:
        _expand_bins(name, given)
    if kind is Timestamp:
        # TOML has days of its own, which need no quotes.
        given = {k: v.isoformat() if isinstance(v, date) else v for k, v in given.items()}
    known = {f.name: f for f in fields(kind) if f.init and f.name != "name"}
    needed = {n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING}
    if set(given) - set(known) or needed - set(given):
        raise SchemaError(
            f"column {name!r}: keys that a {data['kind']} column does not have, or lacks",
            got=", ".join(sorted(given)) or "none",
            allowed=", ".join(sorted(known)),
            hint="needed: " + ", ".join(sorted(needed)) if needed else None,
        )
    _check_types(name, given, kind)
    made: Declaration = kind(name=name, **given)  # type: ignore[arg-type]  # checked above
    return made


def _expand_bins(name: str, given: dict[str, Any]) -> None:
    """Allow ``min``, ``max`` and a number of ``bins``, or a ``step``, in the place of ``edges``."""
    if "edges" not in given and {"min", "max", "step"} <= set(given):
        _expand_steps(name, given)
    if "edges" not in given and {"min", "max", "bins"} <= set(given):
        low, high, bins = (given.pop(k) for k in ("min", "max", "bins"))
        if not all(isinstance(n, (int, float)) for n in (low, high)) or not isinstance(bins, int):
            raise SchemaError(f"column {name!r}: min, max and bins must be numbers")
        ends = _float(low), _float(high)
        if not 1 <= bins <= MAX_BINS or not ends[0] < ends[1] or not all(map(math.isfinite, ends)):
            raise SchemaError(
                f"column {name!r}: bins must be positive, and min below max",
                got=f"{bins} bins, {ends[0]:g} to {ends[1]:g}",
                allowed=f"at most {MAX_BINS} bins between finite ends",
            )
        given["edges"] = regular_edges(*ends, bins)


def _expand_steps(name: str, given: dict[str, Any]) -> None:
    """Cut a range into steps, up to a ``top`` from which on all is one bin, if one is given."""
    named = {k: given.pop(k, None) for k in ("min", "max", "step", "top")}
    if named["top"] is None:
        named["top"] = named["max"]
    numbers = list(named.values())
    sound = all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers)
    low, high, step, end = map(_float, numbers) if sound else (0.0, 0.0, 0.0, 0.0)
    # As finite as 2^52 is, so that no step is lost in rounding.
    near = max(abs(low), abs(high)) < LARGEST
    if not near or not (low < end <= high and step > 0) or (end - low) / step > MAX_BINS:
        raise SchemaError(
            f"column {name!r}: steps go from min to max, or to a top below it",
            got=", ".join(map(str, numbers)),
            allowed=f"numbers, min < top <= max, a step above 0, at most {MAX_BINS} steps",
        )
    # A step of 0.3 does not meet 2.1 to the last bit, and is not to leave a sliver.
    inner = [low + i * step for i in range(max(1, math.ceil((end - low) / step - 1e-9)))]
    given["edges"] = tuple([*inner, end] if end == high else [*inner, end, high])
    if end < high:
        given["top_coded"] = True


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


_TYPES: dict[str, type | tuple[type, ...]] = {
    "source": str,
    "outside": str,
    "missing": bool,
    "part": str,
    "format": str,
    "whole": bool,
    "min": int,
    "max": int,
    "values": tuple,
    "other": (str, int, float, bool),
    "missing_value": (str, int, float, bool),
    "nulls": tuple,
    "edges": tuple,
    "special": tuple,
    "top_coded": bool,
    "groups": tuple,
    "parts": tuple,
    "step": int,
    "top": int,
    "resolution": str,
}
_ITEMS: dict[str, tuple[type, ...]] = {
    "values": (str, int, float, bool),
    "nulls": (str,),
    "edges": (int, float),
    "special": (int, float),
    "groups": (str,),
    "parts": (str,),
}


def _check_types(name: str, given: dict[str, Any], kind: type[Declaration]) -> None:
    types = _TYPES | ({"min": str, "max": str} if kind is Timestamp else {})
    for key, value in given.items():
        wanted = types.get(key)
        sound = wanted is None or (
            # True is an int to Python, and no end of a range to anyone else.
            isinstance(value, wanted) and not (wanted is int and isinstance(value, bool))
        )
        if sound and key in _ITEMS:
            sound = all(isinstance(item, _ITEMS[key]) for item in value)
        if not sound:
            raise SchemaError(
                f"column {name!r}: {key} has the wrong type", got=type(value).__name__
            )
    if "edges" in given:
        given["edges"] = tuple(map(_float, given["edges"]))
        given["special"] = tuple(map(_float, given.get("special", ())))
