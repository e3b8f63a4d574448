"""A schema: the declared columns of a table, and the way from values to codes and back.

No constructor takes private rows.  A schema is written by a person, read from a file, or
drafted from *public* data by `Schema.from_public`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from understudy.errors import MissingColumnError, SchemaError
from understudy.schema.columns import Id, Released, Screened, Text, Timestamp
from understudy.schema.constraints import ConstantPerPerson, Keeper
from understudy.schema.constraints import files as plain_constraints
from understudy.schema.domain import Domain
from understudy.schema.importers.draft import columns_of, draft
from understudy.schema.importers.files import read_schema, write_toml
from understudy.schema.plain import from_plain, to_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from understudy.schema.columns import Column, Declaration
    from understudy.schema.constraints import Constraint
    from understudy.schema.encoding.reading import Array, Codes

ENCODINGS = ("utf-8", "latin-1")
OF = ("row", "person")
PUBLIC = (
    "a schema drafted from a table holds its values and ranges, unprotected: the table must be one "
    "that anyone may see, never the private one or a copy or sample of it"
)
MOST_SHOWN = 8
"""The most columns that a one-line repr names."""


@dataclass(frozen=True)
class Schema:
    """The name of a table, its columns, and the format of its CSV files.

    >>> from understudy.schema import Integer
    >>> schema = Schema("trips", (Integer(name="hour", min=0, max=23, missing=False),))
    >>> schema.domain
    Domain({'hour': 24})
    """

    name: str
    """The table's declared name: with the unit, the identity of its ledger."""
    columns: tuple[Declaration, ...]
    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    """How the bytes of CSV files are read: utf-8, or latin-1."""
    order_by: tuple[str, ...] = ()
    """The columns that order a person's rows, the first one first."""
    constraints: tuple[Constraint, ...] = ()
    """What every row, or every person, obeys."""

    def __post_init__(self) -> None:
        """Raise on a schema without a name or columns, or with duplicate columns."""
        object.__setattr__(self, "columns", self._with_owners())
        if not self.name.strip():
            raise SchemaError("the table has no name", hint='add name = "my-table" to the schema')
        names = [c.name for c in self.columns] + ([] if self.clock is None else [self.clock.name])
        names += [part.name for c in self.columns for part in c.modelled if part is not c]
        folded = [n.lower() for n in names]
        twice = sorted({n for n in names if folded.count(n.lower()) > 1})
        if twice:
            raise SchemaError(
                "columns declared twice",
                got=", ".join(twice),
                hint="names that differ only in case count as the same",
            )
        # Made now, so that constraints that cannot hold are refused before anything is spent.
        assert self.keeper is not None  # noqa: S101
        if not self.modelled and not self.texts:
            raise SchemaError(
                "no column to model",
                allowed="at least one column that is not an id",
                hint='declare those that are "ignored", or for discovery one of kind "text"',
            )
        if self.encoding not in ENCODINGS:
            raise SchemaError(
                "unknown encoding",
                got=repr(self.encoding),
                allowed=" or ".join(ENCODINGS),
                hint="convert the file to UTF-8",
            )
        for mark in (self.delimiter, self.quote):
            if len(mark) != 1 or mark in "\r\n\x00" or self.delimiter == self.quote:
                raise SchemaError(
                    "delimiter and quote must be two different characters",
                    got=f"{self.delimiter!r} and {self.quote!r}",
                )
        self._check_people()

    def _with_owners(self) -> tuple[Declaration, ...]:
        """Return the columns; those that are constant per person are the person's own."""
        constant = {c.column for c in self.constraints if isinstance(c, ConstantPerPerson)}
        return tuple(
            replace(c, of="person") if isinstance(c, Released) and c.name in constant else c
            for c in self.columns
        )

    def _check_people(self) -> None:
        """Raise on columns that are neither a row's nor a person's, or that cannot order rows."""
        owned: tuple[Released | Text, ...] = (*self.released_columns, *self.texts)
        for column in owned:
            if column.of not in OF:
                raise SchemaError(
                    f"column {column.name!r}: unknown owner of its values",
                    got=f"of = {column.of!r}",
                    allowed=", ".join(map(repr, OF)),
                )
        computed = self.keeper.computed
        fit = {
            c.name
            for c in self.released_columns
            if c.of == "row" and _is_ordered(c) and c.name not in computed
        }
        unfit = [name for name in self.order_by if name not in fit]
        if unfit or len(set(self.order_by)) < len(self.order_by):
            raise SchemaError(
                "order_by must name columns of numbers or date-times, each once",
                got=", ".join(map(repr, self.order_by)),
                allowed=", ".join(sorted(fit)) or "no column of this schema",
                hint="a person's own column is the same in all of their rows, and orders nothing",
            )

    def __repr__(self) -> str:
        """Show the table and its columns in one line; only the first ones if there are many."""
        told = [f"{c.name} ({self._told(c)})" for c in self.columns[:MOST_SHOWN]]
        more = len(self.columns) - len(told)
        tail = f" and {more} more" if more else ""
        return f"Schema({self.name!r}, {len(self.columns)} columns: {', '.join(told)}{tail})"

    def _repr_html_(self) -> str:
        """Show all columns in a notebook, with their kinds and numbers of codes."""
        lines = "".join(
            "<tr>"
            + "".join(f"<td>{escape(t)}</td>" for t in (c.name, c.kind, self._told(c)))
            + "</tr>"
            for c in self.columns
        )
        return f"<b>{escape(self.name)}</b><table><tbody>{lines}</tbody></table>"

    @staticmethod
    def _told(column: Declaration) -> str:
        sizes = " × ".join(str(c.size) for c in column.modelled)
        return f"{sizes} codes" if sizes else column.kind

    @cached_property
    def modelled(self) -> tuple[Column, ...]:
        """The columns with codes, in order; a split has two of them, a timestamp three.

        A column that follows from others is not modelled.
        """
        computed = self.keeper.computed
        return tuple(part for c in self.columns if c.name not in computed for part in c.modelled)

    @cached_property
    def unconstrained(self) -> Self:
        """The same columns without constraints: those that follow from others have codes too."""
        return replace(self, constraints=()) if self.constraints else self

    @cached_property
    def without_computed(self) -> Self:
        """The columns that are read, and the constraints on these: for a table without the rest."""
        computed = self.keeper.computed
        return replace(
            self,
            columns=tuple(c for c in self.columns if c.name not in computed),
            constraints=tuple(c for c in self.constraints if not set(c.columns) & set(computed)),
        )

    @cached_property
    def screened(self) -> Self:
        """The columns that are read, each as whether its cells can be read as declared."""
        computed = self.keeper.computed
        read = [c for c in self.released_columns if c.name not in computed]
        columns = [
            Screened(name=c.name, source=c.table_column, of=c.of, column=c.modelled[0])
            for c in read
        ]
        return replace(self, columns=(*self.ids, *columns), order_by=(), constraints=())

    @cached_property
    def keeper(self) -> Keeper:
        """What keeps the constraints."""
        return Keeper(self.columns, self.constraints)

    @property
    def released_columns(self) -> tuple[Released, ...]:
        """The columns of the synthetic rows, in order; a split or a timestamp is one of them."""
        return tuple(c for c in self.columns if isinstance(c, Released))

    @property
    def ids(self) -> tuple[Id, ...]:
        """The columns that identify a person."""
        return tuple(c for c in self.columns if isinstance(c, Id))

    @property
    def texts(self) -> tuple[Text, ...]:
        """The columns whose values are yet to be discovered."""
        return tuple(c for c in self.columns if isinstance(c, Text))

    @property
    def timestamps(self) -> tuple[Timestamp, ...]:
        """The columns of whole date-times, between two declared days."""
        return tuple(c for c in self.columns if isinstance(c, Timestamp))

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The modelled columns whose values are a person's, not a row's."""
        computed = self.keeper.computed
        of_people = [
            c for c in self.released_columns if c.of == "person" and c.name not in computed
        ]
        return tuple(part.name for c in of_people for part in c.modelled)

    @cached_property
    def ordering(self) -> tuple[str, ...]:
        """The columns by whose codes a person's rows are ordered, the first one first."""
        parts = {c.name: [part.name for part in c.modelled] for c in self.columns}
        if self.dated is not None:
            parts[self.dated.name] = self.dated.in_order
        return tuple(part for name in self.order_by for part in parts[name])

    @cached_property
    def dated(self) -> Timestamp | None:
        """The date-time by which a person's rows are ordered first, if its dates have codes."""
        first = [c for c in self.timestamps if c.name in self.order_by[:1] and c.clock is not None]
        return first[0] if first else None

    @cached_property
    def clock(self) -> Column | None:
        """The column of its dates, which is encoded and not modelled."""
        return None if self.dated is None else self.dated.clock

    @property
    def told_by_clock(self) -> tuple[str, ...]:
        """The modelled columns that follow from the clock: its month and its weekday."""
        return () if self.dated is None else self.dated.part_names[:2]

    @cached_property
    def encoded(self) -> tuple[Column, ...]:
        """The columns that tables in an engine have codes of."""
        return self.modelled if self.clock is None else (*self.modelled, self.clock)

    @cached_property
    def domain(self) -> Domain:
        """The number of codes of every modelled column."""
        if not self.modelled:
            raise SchemaError(
                "the schema declares no column that could be modelled",
                got="kind text: " + ", ".join(column.name for column in self.texts),
                allowed="one column or more that is not an id, ignored, or text",
                hint="declare their kinds and values, or discover them with a larger epsilon",
            )
        return Domain({c.name: c.size for c in self.modelled})

    def __getitem__(self, name: str) -> Column:
        """Return a modelled column, or the clock, by its name."""
        for column in self.encoded:
            if column.name == name:
                return column
        raise SchemaError(
            f"no modelled column {name!r}", allowed=", ".join(c.name for c in self.modelled)
        )

    def with_columns(self, *columns: Declaration) -> Self:
        """Replace declarations of the same names, and append new ones."""
        new = {c.name: c for c in columns}
        kept = [new.pop(c.name, c) for c in self.columns]
        return replace(self, columns=(*kept, *new.values()))

    def released(self) -> Self:
        """Describe the table that is released: no sources, and parts of date-times as numbers."""
        columns = (*self.ids, *(c.released() for c in self.released_columns))
        return replace(self, columns=columns, delimiter=",", quote='"', encoding=ENCODINGS[0])

    def encode(self, table: Mapping[str, Array]) -> tuple[dict[str, Codes], Array]:
        """Encode a table in memory: the codes of the rows that are kept, and which those are."""
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
        """Write the schema as plain data, without default values."""
        out: dict[str, Any] = {"name": self.name}
        if (self.delimiter, self.quote, self.encoding) != (",", '"', ENCODINGS[0]):
            out["csv"] = {"delimiter": self.delimiter, "quote": self.quote}
        if self.encoding != ENCODINGS[0]:
            out["csv"]["encoding"] = self.encoding
        if self.order_by:
            out["order_by"] = list(self.order_by)
        out["columns"] = {c.name: to_plain(c) for c in self.columns}
        if self.constraints:
            out["constraints"] = [plain_constraints.to_plain(c) for c in self.constraints]
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a schema from plain data, as parsed from TOML or JSON."""
        unknown = sorted(set(data) - {"name", "csv", "order_by", "columns", "constraints"})
        if unknown or not isinstance(data.get("columns"), dict):
            raise SchemaError(
                "a schema has a name, [columns.…], and perhaps order_by, [csv] and [[constraints]]",
                got=", ".join(unknown) or "no columns",
            )
        csv = data.get("csv", {})
        if not isinstance(csv, dict) or set(csv) - {"delimiter", "quote", "encoding"}:
            raise SchemaError("unknown keys in [csv]", allowed="delimiter, quote, encoding")
        order_by = data.get("order_by", [])
        order_by = [order_by] if isinstance(order_by, str) else order_by
        if not isinstance(order_by, list) or not all(isinstance(n, str) for n in order_by):
            raise SchemaError(
                "order_by must be a column's name, or a list of names",
                got=type(data["order_by"]).__name__,
            )
        columns = tuple(from_plain(n, c) for n, c in data["columns"].items())
        marks = {k: str(v) for k, v in csv.items()}
        said = data.get("constraints", [])
        if not isinstance(said, list):
            raise SchemaError(
                "constraints must be a list", got=type(said).__name__, allowed="[[constraints]]"
            )
        return cls(
            str(data.get("name", "")),
            columns,
            order_by=tuple(order_by),
            constraints=tuple(map(plain_constraints.from_plain, said)),
            **marks,
        )

    @classmethod
    def read(cls, path: str | Path, *, public: Mapping[str, Array] | None = None) -> Self:
        """Read a schema file: TOML, a contest's parameters.json, or a peer's metadata.

        A metadata file without values or ranges needs a ``public`` table to fill them in; see
        `understudy.schema.importers.peers`.
        """
        return cls.from_dict(read_schema(Path(path), public=public))

    @classmethod
    def from_public(
        cls,
        table: Mapping[str, Array] | object,
        *,
        name: str,
        ids: str | Iterable[str] = (),
        days: tuple[str, str] | None = None,
    ) -> Self:
        """Draft a schema from a table that anyone may see: column name → array, or a data frame.

        A data frame may be one of pandas, polars or Arrow.

        The schema then holds what is in this table, which is not protected: drafting from the
        private table itself would reveal its values, at no cost and without a trace.
        ``days`` are the first and the last day of the private table, as where the public one is
        of the year before; without them timestamps are of the public table's years.
        """
        if isinstance(table, (str, Path)):
            raise SchemaError(
                "from_public takes a table, not a path",
                got=str(table),
                hint=f"us.Schema.from_public(us.read_public({str(table)!r}), name=…)",
            )
        _say_what_public_means()
        named = (ids,) if isinstance(ids, str) else tuple(ids)
        return cls(name, draft(columns_of(table), ids=named, days=days))

    def to_toml(self) -> str:
        """Write the schema as a TOML file."""
        return write_toml(self.to_dict())


@cache
def _say_what_public_means() -> None:
    """Say it once."""
    logging.getLogger("understudy").warning("%s", PUBLIC)


def _is_ordered(column: Released) -> bool:
    """Whether the codes of a column, or of all of its parts, are ordered."""
    return all(part.ordered_count > 0 for part in column.modelled)
