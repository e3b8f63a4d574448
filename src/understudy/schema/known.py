"""Known totals: counts that everyone knows, such as people by county and sex, which rows follow.

They are declared with a run, and are public knowledge: exact, and at no cost.  A combination of
values that is not listed has no rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from understudy.errors import MissingFileError, SchemaError, nearest
from understudy.schema.constraints.conditions import code_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from understudy.schema.encoding.reading import Scalar
    from understudy.schema.schema import Schema

    Ints = NDArray[np.int64]

Counted = Literal["rows", "people"]
COUNTED = ("rows", "people")
COUNT = "count"
"""The column of a file that has the counts."""
MOST = 2 * 10**9
"""The largest total: a product of two of them is still a 64-bit number."""
_KEYS = ("columns", "counts", "counts_from", "of", "scaled", "name")


@dataclass(frozen=True, slots=True)
class Known:
    """How many rows, or people, have each combination of some columns' values.

    >>> Known(("county", "sex"), {("Cook", "F"): 120, ("Cook", "M"): 110}, of="people").label
    'people by county, sex'
    >>> Known("month", {1: 31, 2: 28}).total
    59
    """

    columns: tuple[str, ...] | str
    counts: tuple[tuple[tuple[Scalar, ...], int], ...] | Mapping[Any, int]
    """The values of the columns, and how many have them; a single column's value as it is."""
    of: Counted = "rows"
    """What is counted.  Of people, the columns are their own."""
    scaled: bool = False
    """Whether only the shares are known, as where the counts are those of a larger table.  The
    release then has as many rows as it would have had; otherwise, as many as are counted."""
    name: str = ""

    def __post_init__(self) -> None:
        """Turn a mapping into pairs, and raise on columns or counts that cannot be."""
        columns = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        object.__setattr__(self, "columns", columns)
        given = self.counts.items() if isinstance(self.counts, Mapping) else self.counts
        pairs = tuple(
            (tuple(map(_scalar, values if isinstance(values, (tuple, list)) else (values,))), count)
            for values, count in given
        )
        object.__setattr__(self, "counts", pairs)
        names = [name for name in columns if isinstance(name, str)]
        if not columns or len(set(names)) < len(columns):
            raise SchemaError(
                "known totals need names of columns, each once", got=", ".join(map(repr, columns))
            )
        if self.of not in COUNTED or not isinstance(self.scaled, bool):
            raise SchemaError(
                f"known totals {self.label!r}: invalid of or scaled",
                got=f"of = {self.of!r}, scaled = {self.scaled!r}",
                allowed='of = "rows" or "people", scaled = true or false',
            )
        self._check_counts()

    def _check_counts(self) -> None:
        for values, count in self.cells:
            whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
            if len(values) != len(self.columns) or not whole or count < 0:
                raise SchemaError(
                    f"known totals {self.label!r}: a value of each column, and a count",
                    got=", ".join(map(repr, (*values, count))),
                    allowed="whole numbers of at least 0 as counts",
                )
        if not 0 < self.total <= MOST:
            raise SchemaError(
                f"known totals {self.label!r} must add up to a number of {self.of}",
                got=self.total,
                allowed=f"1 to {MOST}",
            )

    @property
    def clique(self) -> tuple[str, ...]:
        """The columns' names."""
        return cast("tuple[str, ...]", self.columns)

    @property
    def cells(self) -> tuple[tuple[tuple[Scalar, ...], int], ...]:
        """The columns' values, and how many have them."""
        return cast("tuple[tuple[tuple[Scalar, ...], int], ...]", self.counts)

    @property
    def total(self) -> int:
        """What the counts add up to."""
        return sum(int(count) for _, count in self.cells)

    @property
    def label(self) -> str:
        """The name, or else what is counted."""
        return self.name or f"{self.of} by {', '.join(map(str, self.columns))}"

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        columns: Sequence[str] = (),
        of: Counted = "rows",
        scaled: bool = False,
        name: str = "",
    ) -> Known:
        """Read a CSV file: a column for each of the columns, and ``count``.

        ``columns`` chooses some of the file's; counts are added up over the others.
        """
        header, rows = _table(Path(path))
        named = tuple(columns) or tuple(column for column in header if column != COUNT)
        absent = [each for each in (*named, COUNT) if each not in header]
        if absent:
            raise SchemaError(
                f"the first line of {Path(path).name} lacks a column",
                got=", ".join(header) or "no line",
                allowed=f"columns of the table, and {COUNT!r}",
                hint=f"name the column {absent[0]!r} there",
            )
        places = [header.index(each) for each in (*named, COUNT)]
        counts = []
        for row in rows:
            *values, count = (row[at].strip() if at < len(row) else "" for at in places)
            if not count.isdecimal():
                raise SchemaError(
                    f"{Path(path).name}: a count must be a whole number of at least 0",
                    got=repr(count),
                )
            counts.append((tuple(values), int(count)))
        return cls(named, tuple(counts), of=of, scaled=scaled, name=name)

    @classmethod
    def from_plain(cls, data: object, folder: Path | None = None) -> Known:
        """Read them from plain data, as parsed from a run file in a folder."""
        if isinstance(data, Known):
            return data
        unknown = sorted(set(data) - set(_KEYS)) if isinstance(data, Mapping) else []
        if (
            not isinstance(data, Mapping)
            or unknown
            or ("counts" in data) == ("counts_from" in data)
        ):
            raise SchemaError(
                "known totals have counts, or name a file of them",
                got=", ".join(unknown or (data if isinstance(data, Mapping) else ()))
                or type(data).__name__,
                allowed=", ".join(_KEYS),
                hint=nearest(unknown[0], _KEYS) if unknown else None,
            )
        columns = data.get("columns", ())
        named = [columns] if isinstance(columns, str) else columns
        rest = {key: data[key] for key in ("of", "scaled", "name") if key in data}
        if not isinstance(named, (list, tuple)) or not isinstance(rest.get("name", ""), str):
            raise SchemaError("known totals: columns and name must be text", got=repr(columns))
        if "counts_from" in data:
            file = Path(str(data["counts_from"]))
            return cls.read(file if folder is None else folder / file, columns=named, **rest)
        return cls(tuple(named), _pairs(data["counts"]), **rest)

    def to_plain(self) -> dict[str, Any]:
        """Write them as plain data, without default values."""
        return {
            "columns": list(self.clique),
            "counts": [[*values, int(count)] for values, count in self.cells],
            **({} if self.of == "rows" else {"of": self.of}),
            **({"scaled": True} if self.scaled else {}),
            **({"name": self.name} if self.name else {}),
        }

    def coded(self, schema: Schema) -> tuple[Ints, Ints]:
        """Return the codes of cells, one line a cell, and their counts, those above 0.

        Values of one code, as of a bin, are added up.
        """
        free = schema.unconstrained
        unknown = [name for name in self.clique if name not in free.domain]
        if unknown:
            raise SchemaError(
                f"known totals {self.label!r} name a column that has no codes",
                got=repr(unknown[0]),
                allowed=", ".join(free.domain),
                hint=nearest(unknown[0], free.domain),
            )
        codes = [
            {value: code_of(free[name], value) for value in {values[i] for values, _ in self.cells}}
            for i, name in enumerate(self.clique)
        ]
        found: dict[tuple[int, ...], int] = {}
        for values, count in self.cells:
            cell = tuple(code[value] for code, value in zip(codes, values, strict=True))
            found[cell] = found.get(cell, 0) + int(count)
        above = sorted(cell for cell, count in found.items() if count)
        return np.array(above, dtype=np.int64), np.array([found[cell] for cell in above])


def known_totals(given: object, folder: Path | None = None) -> tuple[Known, ...]:
    """Read several known totals: each as it is, as plain data, or as the path of a file."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise SchemaError(
            "known must be a list", got=type(given).__name__, allowed="us.Known(…), or [[known]]"
        )
    return tuple(
        Known.read(each) if isinstance(each, (str, Path)) else Known.from_plain(each, folder)
        for each in given
    )


def _scalar(value: Any) -> Any:  # noqa: ANN401  whatever a value is
    """Return a value of NumPy's as Python's own, which JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


def _pairs(counts: object) -> tuple[tuple[tuple[Any, ...], Any], ...]:
    """Read counts from a table value → count, or from a list of values with their count."""
    if isinstance(counts, Mapping):
        return tuple(((value,), count) for value, count in counts.items())
    if isinstance(counts, list) and all(isinstance(row, list) and row for row in counts):
        return tuple((tuple(row[:-1]), row[-1]) for row in counts)
    raise SchemaError(
        "known totals need counts",
        got=type(counts).__name__,
        allowed='[["Cook", "F", 120], …], or { Cook = 230 } of one column',
    )


def _table(path: Path) -> tuple[list[str], Iterator[list[str]]]:
    """Read the header and the rows of a CSV file."""
    try:
        lines = csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig")), strict=True)
        rows = [row for row in lines if any(row)]
    except (UnicodeDecodeError, csv.Error):
        raise SchemaError(f"{path.name} is not a CSV file in UTF-8") from None
    except (OSError, ValueError):  # the name itself may be invalid
        raise MissingFileError(f"cannot read the known totals {path}") from None
    return [name.strip() for name in rows[0]] if rows else [], iter(rows[1:])
