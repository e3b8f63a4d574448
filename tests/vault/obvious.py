"""The slow obvious version of every count: plain Python over one person at a time."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from understudy.budget import Capped, Weights
from understudy.door import Distances, Measure, Merge, Question, Select, Total, UnitCounts, UnitMode
from understudy.graph import Clique

Row = tuple[int, ...]
People = Mapping[str, Sequence[Row]]
Merged = tuple[Merge, ...]


@dataclass(frozen=True)
class Obvious:
    """People with their encoded rows, the columns' sizes in order, and the key."""

    people: People
    domain: Mapping[str, int]
    key: str

    def hashed(self, person: str, what: str) -> str:
        return hashlib.md5(  # noqa: S324  the order of a choice, not a secret
            f"{self.key}:{len(person)}:{person}:{what}".encode()
        ).hexdigest()

    def seen(self, merged: Merged) -> dict[str, list[int]]:
        """What every code of every column is seen as."""
        own = {name: list(range(size)) for name, size in self.domain.items()}
        return own | {merge.column: merge.codes.tolist() for merge in merged}

    def cell(self, row: Row, clique: Clique, merged: Merged = ()) -> int:
        number, names, seen = 0, list(self.domain), self.seen(merged)
        for name in clique:
            number = number * len(set(seen[name])) + seen[name][row[names.index(name)]]
        return number

    def size(self, clique: Clique, merged: Merged = ()) -> int:
        seen = self.seen(merged)
        return math.prod(len(set(seen[n])) for n in clique)

    def weighted(self, person: str, bounding: Capped) -> list[tuple[Row, int]]:
        """A person's rows with their whole-number weights."""
        rows, cap = self.people[person], bounding.cap
        if isinstance(bounding, Weights):
            weight = min(2**16, 2**16 * cap // len(rows))
            return [(row, weight) for row in rows]
        if len(rows) <= cap:
            return [(row, 1) for row in rows]
        again: Counter[Row] = Counter()
        keyed = []
        for row in rows:
            again[row] += 1
            written = ",".join(map(str, (*row, again[row])))
            keyed.append((self.hashed(person, written), row))
        return [(row, 1) for _, row in sorted(keyed)[:cap]]

    def marginal(self, clique: Clique, bounding: Capped, merged: Merged = ()) -> NDArray[np.int64]:
        """Weighted rows by cell; which rows weigh what is settled before codes are merged."""
        counts = np.zeros(self.size(clique, merged), dtype=np.int64)
        for person in self.people:
            for row, weight in self.weighted(person, bounding):
                counts[self.cell(row, clique, merged)] += weight
        return counts

    def exact(self, question: Question) -> NDArray[np.int64]:
        match question:
            case Measure():
                parts = []
                for query in question.queries:
                    counts = self.marginal(query.clique, capped(question), question.merged)
                    if query.rows is not None:
                        starts = query.rows.starts
                        sets = [query.rows.cells[a:b] for a, b in pairwise(starts)]
                        counts = np.array([counts[s].sum() for s in sets])
                    parts.append(counts)
                return np.concatenate(parts)
            case Total():
                return np.array([sum(min(len(r), question.cap) for r in self.people.values())])
            case UnitMode():
                return self._modes(question)
            case UnitCounts():
                return self._times(question)
            case Select() | Distances():
                return self._distances(question)
            case _:
                return np.array([len(self.people)])

    def _modes(self, question: UnitMode) -> NDArray[np.int64]:
        labels = question.labels
        size = self.size(question.clique) if labels is None else int(labels.max()) + 1
        counts = np.zeros(size, dtype=np.int64)
        for person, rows in self.people.items():
            cells = [self.cell(row, question.clique) for row in rows]
            tally = Counter(c if labels is None else int(labels[c]) for c in cells)
            tally = Counter({label: n for label, n in tally.items() if label >= 0})
            if tally:
                best = min(tally, key=lambda m: (-tally[m], self.hashed(person, str(m))))
                counts[best] += 1
        return counts

    def _times(self, question: UnitCounts) -> NDArray[np.int64]:
        counts = np.zeros((len(question.cells), len(question.times)), dtype=np.int64)
        place = {int(c): i for i, c in enumerate(question.cells)}
        for person, rows in self.people.items():
            tally = Counter(self.cell(row, question.clique) for row in rows)
            asked = sorted(
                (c for c in tally if c in place), key=lambda c: self.hashed(person, str(c))
            )
            for c in asked[: question.most]:
                reached = [t for t in question.times if t <= tally[c]]
                if reached and (question.upwards or tally[c] in reached):
                    counts[place[c], question.times.index(max(reached))] += 1
        return counts.reshape(-1)

    def _distances(self, question: Select | Distances) -> NDArray[np.int64]:
        out = []
        for candidate in question.candidates:
            unit = question.bounding.unit_weight
            counts = self.marginal(candidate.clique, capped(question), question.merged)
            counts *= 2**16 // unit
            expected = [round(float(e) * 2**16) for e in candidate.expected]
            distance = sum(abs(int(a) - b) for a, b in zip(counts, expected, strict=True))
            out.append(distance - round(candidate.penalty * 2**16))
        return np.array(out)


def capped(question: Measure | Select | Distances) -> Capped:
    """The bounding of a question, which is no `Norm` here."""
    assert isinstance(question.bounding, Capped)
    return question.bounding
