"""The keeper of a schema's constraints: from codes that may break them to values that do not.

Codes are mended, columns that follow from others are filled in, and numbers within bins are drawn
so that they are in order; sums are computed last.  `broken` says which rows of a table break what.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import SchemaError
from understudy.schema.columns import Released, Timestamp
from understudy.schema.constraints.constraint import Determines, Order, Sum, UniquePerPerson
from understudy.schema.constraints.determined import image_of
from understudy.schema.constraints.mending import completed, mended
from understudy.schema.constraints.ordering import Ordering, numbers_of
from understudy.schema.constraints.relations import Relation, ordered
from understudy.schema.constraints.solving import Solver, components, conflict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from understudy.schema.columns import Column, Declaration
    from understudy.schema.constraints.conditions import Condition, Mask
    from understudy.schema.constraints.constraint import Constraint, Find, Meant
    from understudy.schema.encoding.reading import Array, Codes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

DIGITS = 6
"""The decimals of a sum: what is beyond is the parts' rounding."""


class Keeper:
    """A schema's constraints, put together."""

    def __init__(self, columns: Sequence[Declaration], constraints: Sequence[Constraint]) -> None:
        """Check every constraint, and that all of them can hold together."""
        self.constraints = tuple(constraints)
        self._released = {c.name: c for c in columns if isinstance(c, Released)}
        self._columns = {part.name: part for c in columns for part in c.modelled}
        self.computed: dict[str, Constraint] = {}
        self.computed = self._computed()
        """The columns that follow from others, by the constraint that says so, in order."""
        self._images = self._determined()
        self.declared = [r for c in constraints for r in c.relations(self._meant(c), self._find(c))]
        """What the constraints say of codes."""
        self._above = self._successors()
        self._check()
        moments = {n: c for n, c in self._released.items() if isinstance(c, Timestamp)}
        self._ordering = Ordering(self._above, self._columns, moments)
        everything = [*self.declared, *self._implied()]
        self.solvers = [Solver.of(held) for held in components(everything)]

    @property
    def relations(self) -> list[Relation]:
        """What is true of the codes of synthetic rows: what is declared, and what follows."""
        return [relation for solver in self.solvers for relation in solver.relations]

    @property
    def determinations(self) -> list[Relation]:
        """What determined columns follow from, as relations of codes."""
        return [
            Relation(
                self.computed[name].label,
                (by, name),
                (np.arange(len(image)), np.arange(self._columns[name].size)),
                image[:, None] == np.arange(self._columns[name].size)[None, :],
            )
            for name, (by, image) in self._images.items()
        ]

    @property
    def pending(self) -> list[Determines]:
        """What determines what by values that are still to be asked."""
        return [c for c in self.constraints if isinstance(c, Determines) and c.pending]

    def check_asked(self) -> None:
        """Raise if what is to be asked of the private table was not."""
        if self.pending:
            raise SchemaError(
                "a constraint's values are still to be asked of the private table",
                got=", ".join(repr(c.label) for c in self.pending),
                hint="schema = us.ask_determined(…); 'understudy synth' asks by itself",
            )

    # What is checked when a schema is made.

    def _computed(self) -> dict[str, Constraint]:
        """Return the computed columns, each after those that it follows from."""
        found: dict[str, Constraint] = {}
        waiting: dict[str, Constraint] = {}
        for constraint in self.constraints:
            self._check_names(constraint)
            if constraint.computed is None:
                continue
            if constraint.computed in waiting:
                raise SchemaError(
                    f"column {constraint.computed!r} follows from others by two constraints",
                    got=f"{waiting[constraint.computed].label!r} and {constraint.label!r}",
                )
            waiting[constraint.computed] = constraint
        while waiting:
            ready = [n for n, c in waiting.items() if not (set(c.columns) - {n}) & set(waiting)]
            if not ready:
                raise SchemaError(
                    "columns follow from each other in a circle",
                    got=", ".join(repr(c.label) for c in waiting.values()),
                )
            found |= {name: waiting.pop(name) for name in ready}
        return found

    def _check_names(self, constraint: Constraint) -> None:
        known = {*self._columns, *self._released}
        if constraint.computed is not None:
            known = set(self._released)
        unknown = [name for name in constraint.columns if name not in known]
        if unknown:
            raise SchemaError(
                f"constraint {constraint.label!r} names unknown columns",
                got=", ".join(map(repr, unknown)),
                allowed=", ".join(sorted(known)),
            )
        if isinstance(constraint, UniquePerPerson):
            self._find(constraint)(constraint.column)
        if isinstance(constraint, Order):
            self._check_order(constraint)
        self._check_owner(constraint)
        if not isinstance(constraint, Sum):
            return
        for name in constraint.columns:
            column = self._columns.get(name)
            if column is None or column.bounds() is None or column.kind == "categorical":
                kind = self._released[name].kind
                raise SchemaError(
                    f"constraint {constraint.label!r}: a sum is of numbers",
                    got=f"{name!r}, a {kind} column",
                )

    def _check_order(self, constraint: Order) -> None:
        """Raise where moments are compared with numbers."""
        moments = [isinstance(self._released.get(n), Timestamp) for n in constraint.order]
        if any(moments) and not all(moments):
            raise SchemaError(
                f"constraint {constraint.label!r} orders moments and numbers together",
                got=", ".join(constraint.order),
                hint="name parts of moments, such as their months, or moments alone",
            )

    def _check_owner(self, constraint: Constraint) -> None:
        """Raise where a person's own column would follow from those of their rows."""
        name = constraint.computed
        if name is None or self._released[name].of != "person":
            return
        others = [n for n in constraint.columns if self._released[n].of != "person"]
        if others:
            raise SchemaError(
                f"constraint {constraint.label!r}: {name!r} is a person's own column",
                got=f"{', '.join(others)}, of rows",
                hint="what is a person's own follows from what is their own",
            )

    def _determined(self) -> dict[str, tuple[str, Ints]]:
        """Return for each determined column by which one, and its code for each of that one's."""
        found = {}
        for name, constraint in self.computed.items():
            if isinstance(constraint, Determines):
                parts = [self._columns.get(n) for n in (constraint.by, name)]
                if None in parts:
                    raise SchemaError(
                        f"constraint {constraint.label!r}: moments determine nothing",
                        hint="name a column that is modelled as one",
                    )
                by, column = (part for part in parts if part is not None)
                found[name] = constraint.by, image_of(constraint, by, column)
        return found

    def _find(self, constraint: Constraint) -> Find:
        def find(name: str) -> Column:
            if name in self.computed:
                raise SchemaError(
                    f"constraint {constraint.label!r} is about {name!r}, which is computed",
                    got=repr(self.computed[name].label),
                    hint="say it of the columns that it follows from",
                )
            if isinstance(constraint, Order) and isinstance(self._released.get(name), Timestamp):
                return self._timed(name)
            if name not in self._columns:
                parts = ", ".join(part.name for part in self._released[name].modelled)
                raise SchemaError(
                    f"constraint {constraint.label!r}: {name!r} is modelled as several columns",
                    hint=f"name one of them: {parts}",
                )
            return self._columns[name]

        return find

    def _meant(self, constraint: Constraint) -> Meant:
        def meant(condition: Condition) -> tuple[str, Mask]:
            name = condition.column
            if name in self._images:
                return self.source(name, condition.codes(self._columns[name]))
            return name, condition.codes(self._find(constraint)(name))

        return meant

    def source(self, name: str, mask: Mask) -> tuple[str, Mask]:
        """Return the modelled column that a determined one goes by, and which codes are meant."""
        while name in self._images:
            name, image = self._images[name]
            mask = mask[image]
        return name, mask

    def _successors(self) -> dict[str, set[str]]:
        """Return for each ordered column all that are above it."""
        above: dict[str, set[str]] = {}
        for constraint in self.constraints:
            if isinstance(constraint, Order):
                for low, high in combinations(constraint.order, 2):
                    above.setdefault(low, set()).add(high)
                    above.setdefault(high, set())
        for _ in above:
            for higher in above.values():
                higher |= {further for name in higher for further in above[name]}
        circle = sorted(name for name, higher in above.items() if name in higher)
        if circle:
            raise SchemaError("columns are ordered in a circle", got=", ".join(circle))
        return above

    def _timed(self, name: str) -> Column:
        """Return the modelled column that orders a column: itself, or the month of a moment."""
        whole = self._released.get(name)
        return whole.modelled[0] if isinstance(whole, Timestamp) else self._columns[name]

    def _implied(self) -> list[Relation]:
        """Return the orders that follow from several: a ≤ b and b ≤ c leave a ≤ c."""
        said = {r.scope for r in self.declared}
        return [
            ordered(self._timed(low), self._timed(high), name="order", moves=False)
            for low, higher in self._above.items()
            for high in sorted(higher)
            if (self._timed(low).name, self._timed(high).name) not in said
        ]

    def _check(self) -> None:
        labels = [c.label for c in self.constraints]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise SchemaError("constraints of the same name", got=", ".join(twice))
        found = conflict([*self.declared, *self._implied()])
        if found:
            raise SchemaError(
                "no row can obey these constraints together", got=", ".join(map(repr, found))
            )

    # What is done to rows.

    def kept(
        self, codes: Mapping[str, Codes], rng: np.random.Generator, fixed: Collection[str] = ()
    ) -> dict[str, Codes]:
        """Return rows whose codes are allowed, determined ones too; fixed columns stay."""
        out = dict(codes)
        for solver in self.solvers:
            if all(name in out for name in solver.columns):
                out = mended(solver, out, rng, fixed)
        return self.filled(out)

    def obeyed(self, codes: Mapping[str, Codes]) -> Mask:
        """Return which rows of codes are allowed."""
        found = np.ones(len(next(iter(codes.values()))), dtype=bool)
        for relation in self.relations:
            found &= ~relation.broken(codes)
        return found

    def own(self, codes: Mapping[str, Codes], rng: np.random.Generator) -> dict[str, Codes]:
        """Return people's own codes, changed where none of their rows could obey."""
        out = dict(codes)
        for solver in self.solvers:
            out = completed(solver, out, rng)
        return self.filled(out)

    def filled(self, codes: dict[str, Codes]) -> dict[str, Codes]:
        """Return the codes with those of determined columns."""
        for name in self.computed:
            if name in self._images and self._images[name][0] in codes:
                by, image = self._images[name]
                codes[name] = image[codes[by]].astype(np.int32)
        return codes

    def is_sum(self, name: str) -> bool:
        """Whether a column is computed from the values of others, not from their codes."""
        return isinstance(self.computed.get(name), Sum)

    def finish(
        self,
        values: dict[str, Array],
        codes: Mapping[str, Codes],
        rng: np.random.Generator,
        fixed: Collection[str] = (),
    ) -> None:
        """Put numbers in order within their bins, and compute sums, in place."""
        self._ordering.put(values, codes, rng, fixed)
        for name, constraint in self.computed.items():
            if isinstance(constraint, Sum) and all(part in values for part in constraint.parts):
                values[name] = self._summed(constraint, values)

    def _summed(self, constraint: Sum, values: Mapping[str, Array]) -> Array:
        parts = np.stack([numbers_of(values[part]) for part in constraint.parts])
        column = self._columns[constraint.total]
        total: Floats = np.round(np.nansum(parts, axis=0), DIGITS)
        absent = np.isnan(parts).all(axis=0) & column.missing
        if column.disk_type != "BIGINT":
            total[absent] = np.nan
            return total
        whole = np.floor(total + 0.5).astype(np.int64)
        if not absent.any():
            return whole
        nullable: Array = whole.astype(object)
        nullable[absent] = None
        return nullable

    def broken(self, codes: Mapping[str, Codes], values: Mapping[str, Array]) -> dict[str, Mask]:
        """Return which rows break each constraint, by its label.

        ``codes`` are those of all columns, computed ones too.
        """
        found: dict[str, Mask] = {}
        for constraint in self.constraints:
            rows = np.zeros(len(next(iter(codes.values()))), dtype=bool)
            for relation in self.declared:
                if relation.name == constraint.label and not isinstance(constraint, Order):
                    rows |= relation.broken(codes)
            if isinstance(constraint, Order):
                rows |= self._ordering.broken(constraint.order, values)
            elif isinstance(constraint, Sum):
                parts = np.stack([numbers_of(values[part]) for part in constraint.parts])
                off = np.abs(numbers_of(values[constraint.total]) - np.nansum(parts, axis=0))
                rows |= off > constraint.tolerance
            elif isinstance(constraint, Determines) and not constraint.pending:
                by, image = self._images[constraint.column]
                rows |= codes[constraint.column] != image[codes[by]]
            found[constraint.label] = rows
        return found
