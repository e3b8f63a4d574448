"""Categorical columns: a value from a declared list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns import prefixes as lengths
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
    >>> code = Categorical(name="code", values=("E11.9", "E11", "E"), prefixes=(3, 1))
    >>> code.encode(np.array(["E11.9", "E11.8", "E78.0", "I10"], dtype=object)).tolist()
    [0, 1, 2, 4]
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
    names: tuple[str, ...] = ()
    """What each value is called in reports, as an area's name beside its code."""
    prefixes: tuple[int, ...] = ()
    """Lengths of prefixes, the longest first: a value that is not listed is read as its longest
    listed prefix of one of these lengths, before the rule ``outside`` applies."""
    keys: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise on lists that are empty, ambiguous or contradict the rules."""
        check_outside(self.name, self.outside, ("other", "drop"))
        object.__setattr__(self, "prefixes", lengths.checked(self.name, self.prefixes))
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
        for told in ("groups", "names"):
            listed = getattr(self, told)
            if listed and len(listed) != len(self.values):
                raise SchemaError(
                    f"column {self.name!r}: {told} must have one entry per value",
                    got=f"{len(listed)} for {len(self.values)} values",
                )
        if self.missing_value is not None and reading.text(self.missing_value) not in keys:
            raise SchemaError(
                f"column {self.name!r}: missing_value is not in values", got=self.missing_value
            )

    @property
    def spellings(self) -> dict[str, int]:
        """The code of every spelling of a declared value; true is also True, TRUE and 1.

        What *other* is written as is other again, whatever its prefixes are.

        >>> Categorical(name="x", values=("False", "True")).encode(np.array([1.0, 0.0])).tolist()
        [1, 0]
        """
        codes = {key: code for code, key in enumerate(self.keys)}
        for key in self.keys:
            for spelled, number in ((reading.TRUE, "1"), (reading.FALSE, "0")):
                for other in (*spelled, number) if key in spelled else ():
                    codes.setdefault(other, codes[key])
        written = reading.text(self._written_other) if self.prefixes else None
        if self.outside == "other" and written not in {None, *self.null_keys}:
            codes.setdefault(str(written), self.if_invalid)
        return codes

    @property
    def values_count(self) -> int:
        """The number of codes of declared values."""
        return len(self.values)

    @property
    def ordered_count(self) -> int:
        """Return 0: a list has no order."""
        return 0

    def bounds(self) -> tuple[Array, Array] | None:
        """Return every value twice, if all of them are numbers."""
        if self.disk_type not in {"BIGINT", "DOUBLE"}:
            return None
        found = self.with_nan(np.array(self.values, dtype=np.float64))
        if self.missing_code is not None:
            found[self.missing_code] = np.nan
        return found, found

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
        codes, own = self.spellings, {key: code for code, key in enumerate(self.keys)}
        nulls = set(self.null_keys)

        def code(text: str | None) -> int:
            if text in codes:
                return codes[text]
            if text is None or text in nulls:
                return self.if_missing
            shortened = (own.get(reading.prefix(text, length)) for length in self.prefixes)
            return next((found for found in shortened if found is not None), self.if_invalid)

        table = {text: code(text) for text in set(texts.tolist())}
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
        listed = "".join(
            f"WHEN {prefix} < {len(self.values)} THEN {prefix} "
            for prefix in (cell.take(cell.prefix_place(length)) for length in self.prefixes)
        )
        return (
            f"CASE WHEN {place} IS NOT NULL THEN {found} "
            f"WHEN {absent} THEN {self.if_missing} {listed}ELSE {self.if_invalid} END"
        )

    def decode(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Return the declared values, None for missing."""
        del rng
        shown: list[reading.Scalar | None] = list(self.values)
        if self.missing and self.missing_value is None:
            shown.append(None)
        if self.outside == "other" and self._shared_other is None:
            shown.append(self._written_other)
        return reading.narrow(shown, codes)

    @property
    def written(self) -> list[str]:
        """The texts that the output may have, each once."""
        texts = [*map(str, self.values)]
        other = self._written_other if self.outside == "other" else None
        return texts if other is None or str(other) in texts else [*texts, str(other)]

    @property
    def _written_other(self) -> reading.Scalar | None:
        if self.other is not None or not all(isinstance(v, str) for v in self.values):
            # A list of numbers keeps its type: an undeclared value is written as missing.
            return self.other
        return "(other)"

    def labels(self) -> list[str]:
        """Return readable labels of all codes; a declared value may stand for missing or other."""
        tail = ["(missing)"] if self.missing and self.missing_value is None else []
        if self.outside == "other" and self._shared_other is None:
            tail.append("(other)")
        return [*self.value_labels(), *tail]

    def value_labels(self) -> list[str]:
        """Return the declared values as text."""
        return list(self.keys)

    def readable(self) -> list[str]:
        """Return names where there are any, with the value beside a name that several have.

        >>> Categorical(name="x", values=(1, 2, 3), names=("A", "B", "A"), missing=False).readable()
        ['A (1)', 'B', 'A (3)', '(other)']
        """
        twice = {name for name in self.names if self.names.count(name) > 1}
        known = zip(self.names, self.keys[: len(self.names)], strict=True)
        named = [f"{name} ({key})" if name in twice else name for name, key in known]
        return [*named, *self.labels()[len(named) :]]
