"""The custodian's report: real against synthetic, for those who may see the private table.

It is given plain data, by `understudy evaluate`, and writes nothing but the file that is named.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import UsageError
from understudy.pages import contrasts
from understudy.pages.frontiers import SCORES, add_frontiers, promise_of
from understudy.pages.page import MOST_ROWS, Page
from understudy.release import MANIFEST, check_target, new_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from understudy.pages.page import Chart, Table

    Run = Mapping[str, Any]
    Facts = Mapping[str, Any]

BANNER = "Contains private information: do not publish."
OWNER_ONLY = 0o600
WORST_COLUMNS, WORST_PAIRS, WORST_TRIPLES = 6, 15, 5
MOST_BARS = 24
REAL, COMMONEST, TAUGHT = "real", "the commonest value", "taught by real rows"
VARIATION, RIGHT, OF_BEST = "total variation", "share predicted rightly", "share of the best score"
_TAKEN = {"column", "pair", "triple", "figure", "score", "which", REAL, COMMONEST, TAUGHT}
_TAKEN |= {VARIATION, RIGHT, OF_BEST}
"""Names that our tables have already: a run of such a name is called by its file."""
_GREYS = ("#8a93a0", "#9aa3af", "#abb3bd")


def custodian_report(facts: Facts, path: str | Path) -> Path:
    """Write the custodian's report as one new HTML file, which its owner alone may read.

    The facts are what was compared (``private``, ``schema``, ``unit``, ``rows``, ``people``), the
    ``runs`` (each with ``name``, ``file``, ``people``, ``manifest`` and ``comparison``), and the
    ``counts`` of every column (``labels``, ``real``, and ``runs``, in their order).
    """
    target = Path(path)
    check_place(target)
    text = custodian_page(facts).html()
    with new_file(target) as partial:
        # Its folder is the owner's alone until it is there, and so it never was anyone else's.
        partial.touch(OWNER_ONLY)
        partial.write_text(text, encoding="utf-8")
        partial.chmod(OWNER_ONLY)
    return target


def check_place(target: Path) -> None:
    """Refuse a place that is taken, or that goes out with a release."""
    for folder in target.resolve().parents:
        if (folder / MANIFEST).is_file():
            raise UsageError(
                "a custodian's report holds private information, and must not lie in a release",
                got=f"{target}, within {folder}, which has a {MANIFEST}",
                allowed="a new file outside of every release's folder",
            )
    check_target(target)


def custodian_page(facts: Facts) -> Page:
    """Make the page."""
    runs: dict[str, Run] = _named(facts["runs"])
    page = Page(
        title="Custodian's report: real against synthetic",
        about="Exact figures of a private table, beside those of synthetic ones. Nothing here is "
        "protected by any promise: it is for those who may see the private table itself, and no "
        "part of any release.",
        banner=BANNER,
    )
    _compared(page, facts, runs)
    add_frontiers(page, runs)
    _short(page, runs)
    _scores(page, runs)
    _columns(page, facts, runs)
    _pairs(page, runs)
    _taught(page, runs)
    return page


def _named(runs: Iterable[Run]) -> dict[str, Run]:
    """Give each run a name of its own: its folder's, or else its path."""
    named: dict[str, Run] = {}
    for run in runs:
        taken = _TAKEN | set(run["comparison"]["yardsticks"]) | set(named)
        name = run["file"] if run["name"] in taken else run["name"]
        while name in taken:
            name += " (again)"
        named[name] = run
    return named


def _yardsticks(runs: Mapping[str, Run]) -> Mapping[str, Any]:
    """Give the yardsticks, which are the same for all runs."""
    found: Mapping[str, Any] = next(iter(runs.values()))["comparison"]["yardsticks"]
    return found


def _distances(runs: Mapping[str, Run]) -> dict[str, Any]:
    """Give all that lies at a distance from the real table: runs, and then yardsticks."""
    return {n: run["comparison"]["synthetic"] for n, run in runs.items()} | dict(_yardsticks(runs))


def _colours(runs: Iterable[str], greys: Iterable[str] = ()) -> dict[str, str]:
    greyed = {name: _GREYS[i % len(_GREYS)] for i, name in enumerate(greys)}
    return contrasts.run_colours(runs) | greyed


def _compared(page: Page, facts: Facts, runs: Mapping[str, Run]) -> None:
    page.section("What is compared")
    page.facts(
        {
            "private table": facts["private"],
            "schema": facts["schema"],
            "who is a person": facts["unit"],
            "real rows": facts["rows"],
            "real people": facts["people"],
        }
    )
    page.text(next(iter(runs.values()))["comparison"]["choosing"])
    promises = [promise_of(run) for run in runs.values()]
    page.table(
        {
            "run": list(runs),
            "rows": [run["comparison"]["synthetic"]["rows"] for run in runs.values()],
            "people": [
                "not told" if run["people"] is None else run["people"] for run in runs.values()
            ],
            **{k: [p.get(k, "not told") for p in promises] for k in _PROMISED},
            "file": [run["file"] for run in runs.values()],
        },
        caption="The synthetic tables. Mechanism, epsilon and delta are those of their manifests.",
    )
    page.text(
        "Yardsticks are made of real rows and protect nobody. A resample has as many rows as the "
        "real table, drawn from it with replacement: what is as close as that cannot be told from "
        "chance. 10 % and 1 % of the rows say how much real data a synthetic table is worth."
    )


_PROMISED = ("mechanism", "epsilon", "delta")


def _short(page: Page, runs: Mapping[str, Run]) -> None:
    page.section(
        "In short",
        "Total variation is the largest difference between two tables' shares of rows, over all "
        "sets of cells: 0 is the same, 1 is nothing in common.",
    )
    each = _distances(runs)
    names = [n for n in next(iter(each.values()))["summary"] if n.endswith((", mean", ", largest"))]
    names = [n for n in names if n.split(",")[0] in {"columns", "pairs", "triples"}]
    table: Table = {"figure": names}
    table |= {kind: [found["summary"][name] for name in names] for kind, found in each.items()}
    page.table(table, caption="Total variation from the real table")


def _scores(page: Page, runs: Mapping[str, Run]) -> None:
    each = _distances(runs)
    asked = [
        (contest, key, name, best)
        for contest, (_, figures) in SCORES.items()
        if all(found[contest] for found in each.values())
        for key, (name, best) in figures.items()
    ]
    if not asked:
        return
    page.section(
        "Contests' scores", "The measures of NIST's contests: the higher, the closer to real."
    )
    table: Table = {"score": [name for *_, name, _ in asked], "at best": [b for *_, b in asked]}
    table |= {
        kind: [found[contest][key] for contest, key, *_ in asked] for kind, found in each.items()
    }
    page.table(table, caption="Scores, and those of the yardsticks")
    shares: Table = {"score": table["score"]}
    shares |= {
        kind: [value / best for value, best in zip(table[kind], table["at best"], strict=True)]
        for kind in each
    }
    page.chart(
        contrasts.dots(
            "Scores",
            "Each score as a share of what it is at best.",
            shares,
            label="score",
            value=OF_BEST,
            colours=_colours(runs, _yardsticks(runs)),
        )
    )


def _columns(page: Page, facts: Facts, runs: Mapping[str, Run]) -> None:
    each = _distances(runs)
    worst = _worst({n: run["comparison"]["synthetic"]["columns"] for n, run in runs.items()})
    page.section("Column by column", _order(runs))
    data: Table = {"column": worst[:MOST_ROWS]}
    data |= {kind: [found["columns"][n] for n in data["column"]] for kind, found in each.items()}
    page.chart(
        contrasts.dots(
            "Distance of every column",
            "Total variation of each column from the real one: the farther left, the closer."
            + f" The {MOST_ROWS} worst of {len(worst)}." * (len(worst) > MOST_ROWS),
            data,
            label="column",
            value=VARIATION,
            colours=_colours(runs, _yardsticks(runs)),
        )
    )
    counted = [name for name in worst if name in facts["counts"]][:WORST_COLUMNS]
    page.heading("Real and synthetic rows")
    page.choice("Column", [_bars(n, facts["counts"][n], list(runs)) for n in counted])


def _order(runs: Mapping[str, Run]) -> str:
    return "The worst first." if len(runs) == 1 else "The worst first, by the mean of all runs."


def _worst(found: Mapping[str, Mapping[Any, float]]) -> list[Any]:
    """Order what was measured of all runs by its mean, the largest first."""
    first, *_ = found.values()
    return sorted(first, key=lambda name: -fmean(each[name] for each in found.values()))


def _bars(name: str, counts: Mapping[str, Any], runs: list[str]) -> Chart:
    """Picture a column's values that have most rows, in real rows and in those of every run."""
    rows = {REAL: counts["real"], **dict(zip(runs, counts["runs"], strict=True))}
    counted = {kind: np.asarray(each, dtype=np.int64) for kind, each in rows.items()}
    shares = {kind: each / max(each.sum(), 1) for kind, each in counted.items()}
    most = np.max(list(shares.values()), axis=0)
    there = int(np.count_nonzero(most))
    bars = min(there, MOST_BARS, max(1, MOST_ROWS // len(counted)))
    shown = np.sort(np.argsort(-most, kind="stable")[:bars])
    data: Table = {
        "value": [counts["labels"][i] for i in shown for _ in counted],
        "table": [kind for _ in shown for kind in counted],
        "rows": [int(each[i]) for i in shown for each in counted.values()],
        "share": [float(each[i]) for i in shown for each in shares.values()],
    }
    left = f" The {bars} values with the largest shares, of {there:,}." * (there > bars)
    return contrasts.beside(
        name,
        f"Shares of the rows by {name}, in the real table and in synthetic ones, which may have "
        f"another number of rows.{left}",
        data,
        colours={REAL: "$noisy"} | _colours(runs),
    )


def _listed(found: Sequence[Mapping[str, Any]]) -> dict[tuple[str, ...], float]:
    """Give what was measured of sets of columns, by the columns."""
    return {tuple(each["columns"]): each["variation"] for each in found}


def _joined(sets: Iterable[tuple[str, ...]]) -> list[str]:
    return [" × ".join(columns) for columns in sets]


def _pairs(page: Page, runs: Mapping[str, Run]) -> None:
    each = _distances(runs)
    pairs = {kind: _listed(found["pairs"]) for kind, found in each.items()}
    there = len(pairs[next(iter(runs))])
    if not there:
        return
    page.section("Pairs and triples of columns", _order(runs))
    worst = _worst({name: pairs[name] for name in runs})[:WORST_PAIRS]
    table: Table = {"pair": _joined(worst), **{k: [v[n] for n in worst] for k, v in pairs.items()}}
    page.chart(
        contrasts.dots(
            "The worst pairs",
            f"Total variation of {len(worst)} pairs of columns, of {there}: those that are "
            "farthest from the real ones.",
            table,
            label="pair",
            value=VARIATION,
            colours=_colours(runs, _yardsticks(runs)),
        )
    )
    triples = {kind: _listed(found["triples"]) for kind, found in each.items()}
    looked = len(triples[next(iter(runs))])
    if looked:
        worst = _worst({name: triples[name] for name in runs})[:WORST_TRIPLES]
        page.table(
            {
                "triple": [*_joined(worst), f"mean of {looked}"],
                **{k: [*(v[n] for n in worst), fmean(v.values())] for k, v in triples.items()},
            },
            caption=f"Total variation of the worst of {looked} triples, and the mean of all",
        )


def _taught(page: Page, runs: Mapping[str, Run]) -> None:
    """Show what synthetic rows teach, where it was asked for."""
    found = {name: run["comparison"].get("predictions") for name, run in runs.items()}
    first = found[next(iter(runs))]
    if not first:
        return
    page.section(
        "Taught by synthetic rows, tested on real ones",
        "A classifier learns a column from all others, and is then tried on real rows. "
        f"{first[0]['tested']:,} rows of half of the people are held out for that; the other half "
        "taught the classifier that learnt from real rows. The nearer a run is to what real rows "
        "taught, and the farther from always saying the commonest value, the better.",
        "It is naive Bayes over codes with add-one smoothing: plain, without settings and without "
        "chance. Synthetic rows were made of all people, the held-out ones too; their promise of "
        "privacy is what keeps that from helping.",
    )
    data: Table = {
        "column": [each["target"] for each in first],
        **{name: [each["synthetic"] for each in those or ()] for name, those in found.items()},
        TAUGHT: [each["real"] for each in first],
        COMMONEST: [each["majority"] for each in first],
    }
    page.chart(
        contrasts.dots(
            "Predicted rightly",
            "For each column, the share of held-out real rows whose value is predicted rightly: "
            "the farther right, the better.",
            data,
            label="column",
            value=RIGHT,
            colours=_colours(runs) | {TAUGHT: "$noisy", COMMONEST: _GREYS[0]},
        )
    )
