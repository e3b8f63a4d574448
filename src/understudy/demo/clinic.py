"""A simulator of a made-up clinic: patients with what is their own, and their visits in order.

Nothing here is drawn from real data, and the truth is known: `chain` is how patients go from one
department to the next, which depends on whether they smoke.  The seed and the year fix the patients
and their visits; those of different years are different people.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from understudy.engine import DuckDB

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Table = dict[str, NDArray[Any]]

SEXES: Final = ("F", "M")
DECADES: Final = ("1930s", "1940s", "1950s", "1960s", "1970s", "1980s", "1990s", "2000s")
INSURERS: Final = ("state", "employer", "private", "none")
SMOKERS: Final = ("no", "yes")
DEPARTMENTS: Final = ("general", "heart", "lungs", "eyes", "teeth", "skin")
DIAGNOSES: Final = tuple(
    f"{name[0].upper()}{number:02}"
    for name, count in zip(DEPARTMENTS, (7, 7, 7, 7, 6, 6), strict=True)
    for number in range(1, count + 1)
)
"""Forty codes; the first letter is the department's."""
COSTS: Final = (1, 2, 3, 4, 5)

DECADE_SHARES: Final = np.array([0.06, 0.11, 0.16, 0.17, 0.15, 0.14, 0.12, 0.09])
# One row for each decade of birth.
INSURER_SHARES: Final = np.array(
    [
        [0.85, 0.02, 0.12, 0.01],
        [0.80, 0.05, 0.13, 0.02],
        [0.60, 0.22, 0.14, 0.04],
        [0.35, 0.45, 0.14, 0.06],
        [0.25, 0.55, 0.12, 0.08],
        [0.25, 0.52, 0.11, 0.12],
        [0.30, 0.42, 0.10, 0.18],
        [0.45, 0.25, 0.10, 0.20],
    ]
)
# The chance to smoke, by sex and decade of birth.
SMOKING: Final = np.array(
    [
        [0.08, 0.12, 0.18, 0.20, 0.22, 0.20, 0.16, 0.10],
        [0.20, 0.26, 0.30, 0.32, 0.30, 0.27, 0.22, 0.14],
    ]
)
# How many visits a patient has who has any, on average, by decade of birth.
MEAN_VISITS: Final = np.array([9.0, 8.0, 7.0, 5.5, 4.5, 4.0, 3.5, 3.0])
MOST_VISITS: Final = 60
SEASON: Final = np.array([1.3, 1.25, 1.1, 1.0, 0.9, 0.85, 0.75, 0.7, 0.95, 1.05, 1.15, 1.2])
# Where patients go first, and where they go when they leave a department: one row for each of
# those who do not smoke, and those who do.
PULL: Final = np.array([[0.40, 0.12, 0.06, 0.14, 0.18, 0.10], [0.32, 0.20, 0.22, 0.08, 0.12, 0.06]])
# The chance to stay, by the same and by department.
STAY: Final = np.array([[0.35, 0.60, 0.55, 0.45, 0.50, 0.40], [0.30, 0.65, 0.75, 0.35, 0.40, 0.35]])
SAME_AGAIN: Final = 0.6
"""The chance of the diagnosis before, of a visit to the same department."""
# The mean cost class, from 0, by department.
DEARNESS: Final = np.array([0.6, 2.6, 2.2, 1.2, 1.6, 0.9])
ID_BASE, ID_SPAN = 100_000, 900_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Clinic:
    """A simulated clinic: nobody in it was ever a real patient."""

    patients: int = 5000
    absent: float = 0.08
    """The share of patients without a visit."""
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise on sizes that the ids could not hold."""
        limits = {"patients": (1, ID_SPAN), "absent": (0, 1), "seed": (0, 2**63 - 1)}
        for name, (low, high) in limits.items():
            if not low <= getattr(self, name) <= high:
                message = f"{name} must lie in {low}..{high}, not {getattr(self, name)}"
                raise ValueError(message)

    def year(self, year: int) -> tuple[Table, Table]:
        """Return the patients of one year, and their visits, patient by patient and in order."""
        rng = np.random.default_rng([self.seed, year])
        count = self.patients
        sex = rng.integers(0, 2, count)
        born = _drawn(rng, np.broadcast_to(DECADE_SHARES, (count, len(DECADES))))
        insurer = _drawn(rng, INSURER_SHARES[born])
        smoker = (rng.random(count) < SMOKING[sex, born]).astype(np.int64)
        ids = ID_BASE + rng.choice(ID_SPAN, count, replace=False)
        visits = np.minimum(rng.geometric(1 / MEAN_VISITS[born]), MOST_VISITS)
        visits[rng.random(count) < self.absent] = 0
        patients: Table = {
            "patient_id": ids,
            "sex": np.array(SEXES, dtype=object)[sex],
            "born": np.array(DECADES, dtype=object)[born],
            "insurer": np.array(INSURERS, dtype=object)[insurer],
            "smoker": np.array(SMOKERS, dtype=object)[smoker],
        }
        who = np.repeat(np.arange(count), visits)
        return patients, {"patient_id": ids[who], **_visits(rng, who, smoker, insurer)}

    def flat(self, year: int) -> Table:
        """Return the visits of one year, each with its patient's columns.

        Patients without a visit are not in it.
        """
        patients, visits = self.year(year)
        order = np.argsort(patients["patient_id"])
        found = np.searchsorted(patients["patient_id"], visits["patient_id"], sorter=order)
        return {n: c[order[found]] for n, c in patients.items()} | visits

    def save(self, folder: str | Path, year: int) -> tuple[Path, Path]:
        """Write patients.csv and visits.csv of one year to a folder."""
        paths = Path(folder) / "patients.csv", Path(folder) / "visits.csv"
        with closing(DuckDB()) as engine:
            for path, table in zip(paths, self.year(year), strict=True):
                engine.write(table, path, types={})
        return paths


def chain(smoker: str) -> Floats:
    """Return the chance of each department of the next visit, one row for each of this visit.

    >>> chain("yes").sum(axis=1).round(9).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    kind = SMOKERS.index(smoker)
    leave = np.tile(PULL[kind], (len(DEPARTMENTS), 1))
    np.fill_diagonal(leave, 0)
    leave /= leave.sum(axis=1, keepdims=True)
    stay = STAY[kind][:, None]
    moved: Floats = (1 - stay) * leave + stay * np.eye(len(DEPARTMENTS))
    return moved


def _visits(rng: np.random.Generator, who: Ints, smoker: Ints, insurer: Ints) -> Table:
    """Draw visits, given the number of each one's patient, in rising order."""
    month = _drawn(rng, np.broadcast_to(SEASON / SEASON.sum(), (len(who), len(SEASON))))
    month = month[np.lexsort((month, who))] + 1
    first = np.flatnonzero(np.diff(who, prepend=-1))
    nth = np.arange(len(who)) - np.repeat(first, np.diff(np.append(first, len(who))))
    chains = np.stack([chain(kind) for kind in SMOKERS])
    department, diagnosis = np.zeros(len(who), np.int64), np.zeros(len(who), np.int64)
    codes = _codes()
    # All first visits, then all second ones: a visit depends on the one before.
    for n in range(int(nth.max(initial=-1)) + 1):
        rows = np.flatnonzero(nth == n)
        habit = smoker[who[rows]]
        shares = PULL[habit] if n == 0 else chains[habit, department[rows - 1]]
        department[rows] = _drawn(rng, shares)
        diagnosis[rows] = _drawn(rng, codes[department[rows]])
        if n:
            again = (department[rows] == department[rows - 1]) & (
                rng.random(len(rows)) < SAME_AGAIN
            )
            diagnosis[rows] = np.where(again, diagnosis[rows - 1], diagnosis[rows])
    private = np.isin(insurer[who], [INSURERS.index("private"), INSURERS.index("none")])
    cost = rng.normal(DEARNESS[department] + 0.5 * private + 0.15 * (diagnosis % 7), 0.8)
    return {
        "month": month,
        "department": np.array(DEPARTMENTS, dtype=object)[department],
        "diagnosis": np.array(DIAGNOSES, dtype=object)[diagnosis],
        "cost": np.array(COSTS)[np.clip(np.rint(cost), 0, len(COSTS) - 1).astype(np.int64)],
    }


def _codes() -> Floats:
    """Return the chance of each diagnosis, one row for each department: a few are common."""
    letters = [name[0].upper() for name in DEPARTMENTS]
    shares = np.zeros((len(DEPARTMENTS), len(DIAGNOSES)))
    for i, code in enumerate(DIAGNOSES):
        shares[letters.index(code[0]), i] = 1 / int(code[1:])
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _drawn(rng: np.random.Generator, shares: Floats) -> Ints:
    """Draw a place in every row of shares."""
    ends = np.cumsum(shares, axis=1)
    drawn: Ints = (rng.random(len(shares))[:, None] * ends[:, -1:] >= ends).sum(axis=1)
    return drawn
