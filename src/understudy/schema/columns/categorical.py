"""Categorical columns: a value from a declared list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns.column import Column, Outside, check_outside
from understudy.schema.encoding import reading

if TYPE_CHECKING:
    from understudy.schema.encoding.cell import Cell
    from understudy.schema.encoding.reading import Array, Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Categorical(Column):
    """A value from a declared list.

    >>> colour = Categorical(name="colour", values=("red", "blue"))
    >>> colour.encode(np.array(["blue", "green", None], dtype=object)).tolist()
    [1, 3, 2]
    """

    kind: ClassVar[str] = "categorical"
    codes_are_values: ClassVar[bool] = True
    outside: Outside = "other"
    values: tuple[reading.Scalar, ...]
    other: reading.Scalar | None = None
    """What *other* is written as in the output; a declared value shares its code."""
    missing_value: reading.Scalar | None = None
    """A declared value that already means missing, such as -1; nulls get its code."""
    groups: tuple[str, ...] = ()
    """The group of each value, as the state of a city; an empty string for none.  Public
    knowledge: where a table is all of one group, the group tells which values it can have."""
    keys: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise on lists that are empty, ambiguous or contradict the rules."""
        check_outside(self.name, self.outside, ("other", "drop"))
        keys = [reading.text(v) for v in self.values]
        if not keys or None in keys:
            raise SchemaError(
                f"column {self.name!r} has no values, or an invalid one",
                allowed="at least one value, and no NaN",
            )
        object.__setattr__(self, "keys", tuple(keys))
        if len(set(self.keys)) < len(self.keys):
            raise SchemaError(
                f"column {self.name!r} has duplicate values",
                hint="1, '1' and 1.0 are the same value",
            )
        if self.groups and len(self.groups) != len(self.values):
            raise SchemaError(
                f"column {self.name!r}: groups must have one entry per value",
                got=f"{len(self.groups)} for {len(self.values)} values",
            )
        if self.missing_value is not None and reading.text(self.missing_value) not in keys:
            raise SchemaError(
                f"column {self.name!r}: missing_value is not in values", got=self.missing_value
            )

    @property
    def spellings(self) -> dict[str, int]:
        """The code of every spelling of a declared value; true is also True, TRUE and 1.

        >>> Categorical(name="x", values=("False", "True")).encode(np.array([1.0, 0.0])).tolist()
        [1, 0]
        """
        codes = {key: code for code, key in enumerate(self.keys)}
        for key in self.keys:
            for spelled, number in ((reading.TRUE, "1"), (reading.FALSE, "0")):
                for other in (*spelled, number) if key in spelled else ():
                    codes.setdefault(other, codes[key])
        return codes

    @property
    def values_count(self) -> int:
        """The number of codes of declared values."""
        return len(self.values)

    @property
    def ordered_count(self) -> int:
        """Return 0: a list has no order."""
        return 0

    @property
    def disk_type(self) -> str:
        """The type that all declared values share, or text."""
        types = {type(v) for v in (*self.values, self.other) if v is not None}
        for each, name in ((bool, "BOOLEAN"), (int, "BIGINT")):
            if types == {each}:
                return name
        return "DOUBLE" if types <= {int, float} else "VARCHAR"

    @property
    def _shared_other(self) -> int | None:
        key = reading.text(self.other)
        return self.keys.index(key) if key in self.keys and self.outside == "other" else None

    @property
    def missing_code(self) -> int | None:
        """The code of a missing value: its own, or that of the declared value."""
        if self.missing_value is not None:
            return self.keys.index(reading.text(self.missing_value) or "")
        return len(self.values) if self.missing else None

    @property
    def other_code(self) -> int | None:
        """The code of an undeclared value: its own, or that of the declared value."""
        if self.outside != "other":
            return None
        if self._shared_other is not None:
            return self._shared_other
        return len(self.values) + int(self.missing and self.missing_value is None)

    @property
    def size(self) -> int:
        """The number of codes."""
        own_missing = self.missing and self.missing_value is None
        own_other = self.outside == "other" and self._shared_other is None
        return len(self.values) + int(own_missing) + int(own_other)

    def encode(self, values: Array) -> Codes:
        """Look every value up; undeclared values follow the rule ``outside``."""
        texts = reading.texts(values)
        codes = self.spellings
        nulls = {None, *self.null_keys} - set(codes)
        table = {text: codes.get(text) for text in set(texts.tolist())}
        table = {
            text: (self.if_missing if text in nulls else self.if_invalid) if code is None else code
            for text, code in table.items()
        }
        return np.fromiter((table[t] for t in texts.tolist()), np.int32, len(texts))

    def encode_sql(self, cell: Cell) -> str:
        """Find every text's place in the list of all spellings."""
        spellings = self.spellings
        nulls = [text for text in self.null_keys if text not in spellings]
        place, absent = map(cell.take, cell.place(list(spellings), nulls))
        # The first spellings are the values themselves.
        again = list(spellings.values())[len(self.values) :]
        found = place
        if again:
            other = " ".join(f"WHEN {len(self.values) + i} THEN {c}" for i, c in enumerate(again))
            found = f"CASE {place} {other} ELSE {place} END"
        return (
            f"CASE WHEN {place} IS NOT NULL THEN {found} "
            f"WHEN {absent} THEN {self.if_missing} ELSE {self.if_invalid} END"
        )

    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Return the declared values, None for missing."""
        del rng
        shown: list[reading.Scalar | None] = list(self.values)
        if self.missing and self.missing_value is None:
            shown.append(None)
        if self.outside == "other" and self._shared_other is None:
            shown.append(self.other if self.other is not None else self._other_label())
        return reading.narrow(shown, codes)

    def _other_label(self) -> str | None:
        # A list of numbers keeps its type: an undeclared value is written as missing.
        return "(other)" if all(isinstance(v, str) for v in self.values) else None

    def labels(self) -> list[str]:
        """Return readable labels of all codes; a declared value may stand for missing or other."""
        tail = ["(missing)"] if self.missing and self.missing_value is None else []
        if self.outside == "other" and self._shared_other is None:
            tail.append("(other)")
        return [*self.value_labels(), *tail]

    def value_labels(self) -> list[str]:
        """Return the declared values as text."""
        return list(self.keys)
