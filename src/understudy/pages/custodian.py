"""The custodian's report: real and synthetic rows, for those who may see the private table.

It takes plain data from `understudy evaluate`, and writes one file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import UsageError
from understudy.pages import contrasts
from understudy.pages.frontiers import add_frontiers, promise_of
from understudy.pages.histograms import histogram
from understudy.pages.matrices import matrices
from understudy.pages.page import Page, figure
from understudy.release import MANIFEST, check_target, new_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from understudy.pages.page import Chart, Table

    Run = Mapping[str, Any]
    Facts = Mapping[str, Any]

BANNER = "Contains private information: do not publish."
OWNER_ONLY = 0o600
MOST_COUNTED = 24
"""The most columns whose counts are drawn."""
REAL, OF_BEST, AT_BEST = "real", "share of the best score", "at best"
_TAKEN = {"which", REAL, OF_BEST, AT_BEST}
"""Names that the tables use already: a run with such a name is shown by its file."""
_GREYS = ("#8a93a0", "#9aa3af", "#abb3bd")


def custodian_report(facts: Facts, path: str | Path) -> Path:
    """Write the custodian's report as one new HTML file that only its owner can read.

    The facts are what was compared (``private``, ``schema``, ``unit``, ``rows``, ``people``), the
    ``runs`` (each with ``name``, ``file``, ``people``, ``manifest`` and ``comparison``), and the
    ``counts`` of every column (``labels``, ``real``, ``runs``, in their order, and how many of the
    labels are ``ordered``, the first ones).  What metrics
    show is in ``metrics``, as `understudy.evaluate.page_facts` returns it: ``frontiers``,
    ``groups`` of figures, and ``sections``.
    """
    target = Path(path)
    check_place(target)
    text = custodian_page(facts).html()
    with new_file(target) as partial:
        # It is written in a folder that only its owner can read, so nobody else ever could.
        partial.touch(OWNER_ONLY)
        partial.write_text(text, encoding="utf-8")
        partial.chmod(OWNER_ONLY)
    return target


def check_place(target: Path) -> None:
    """Raise if a path exists, or lies in a release's folder."""
    for folder in target.resolve().parents:
        if (folder / MANIFEST).is_file():
            raise UsageError(
                "a custodian's report contains private information, and must not lie in a release",
                got=f"{target}, within {folder}, which has a {MANIFEST}",
                allowed="a new file outside every release's folder",
            )
    check_target(target)


def custodian_page(facts: Facts) -> Page:
    """Make the page."""
    runs: dict[str, Run] = _named(facts)
    page = Page(
        title="Custodian's report: real and synthetic rows compared",
        about="Exact figures of a private table, beside those of synthetic ones. No promise covers "
        "this page: it is for those who may see the private table itself, and not part of any "
        "release.",
        banner=BANNER,
    )
    _compared(page, facts, runs)
    add_frontiers(page, facts["metrics"]["frontiers"], runs)
    for group in facts["metrics"]["groups"]:
        _group(page, group, runs)
    before = None
    for section in facts["metrics"]["sections"]:
        if section["title"] != before:
            page.section(section["title"], *section["paragraphs"])
        for part in section["parts"]:
            _PARTS[part["kind"]](page, part, facts, runs)
        before = section["title"]
    return page


def _named(facts: Facts) -> dict[str, Run]:
    """Return runs by distinct names: of their folders, or else their paths."""
    named: dict[str, Run] = {}
    own = _TAKEN | set(_headings(facts["metrics"]))
    for run in facts["runs"]:
        taken = own | set(run["comparison"]["yardsticks"]) | set(named)
        name = run["file"] if run["name"] in taken else run["name"]
        while name in taken:
            name += " (again)"
        named[name] = run
    return named


def _headings(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of columns, other than runs, in what metrics show."""
    for group in metrics["groups"]:
        yield group["label"]
    for section in metrics["sections"]:
        for part in section["parts"]:
            yield from (part[key] for key in ("label", "value") if key in part)
            yield from (series["name"] for series in part.get("others", ()))


def _yardsticks(runs: Mapping[str, Run]) -> Mapping[str, Any]:
    """Return the yardsticks, which are the same for all runs."""
    found: Mapping[str, Any] = next(iter(runs.values()))["comparison"]["yardsticks"]
    return found


def _distances(runs: Mapping[str, Run]) -> dict[str, Any]:
    """Return all tables that are compared with the real one: runs, and then yardsticks."""
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
            "privacy unit": facts["unit"],
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
        "real table, drawn from it with replacement: a table as close as that differs no more "
        "than by chance. 10 % and 1 % of the rows say how much real data a synthetic table is "
        "worth.",
        *overall(runs),
    )


def overall(runs: Mapping[str, Run]) -> Iterator[str]:
    """Say of each run in one figure how good it is: the share of the real rows it is worth.

    Two columns together have a mean distance; so has a sample of the real rows, which falls as a
    power of its size.  Between two yardsticks the share is read off that line.
    """
    found = _yardsticks(runs)
    shares = {"1 % of rows": 0.01, "10 % of rows": 0.1, "resample": 1.0}
    marks = [
        (share, _pairs(found[name]))
        for name, share in shares.items()
        if name in found and _pairs(found[name])
    ]
    if len(marks) < len(shares):
        return
    sizes, distances = zip(*reversed(marks), strict=True)
    for name, run in runs.items():
        distance = _pairs(run["comparison"]["synthetic"])
        if not distance:
            continue
        log = np.interp(np.log(distance), np.log(distances), np.log(sizes))
        worth = f"about {figure(100 * np.exp(log), 2)} %"
        if distance >= distances[-1]:
            worth = "less than 1 %"
        elif distance <= distances[0]:
            worth = "all"
        yield (
            f"Overall, {name}: pairs of columns are {distance:.3f} from the real ones on average, "
            f"as those of a sample of {worth} of the real rows would be."
        )


def _pairs(table: Mapping[str, Any]) -> float:
    """Return a table's mean distance of pairs, 0 where there are none."""
    return float(table["summary"].get("pairs, mean") or 0)


_PROMISED = ("mechanism", "epsilon", "delta")


def _group(page: Page, group: Mapping[str, Any], runs: Mapping[str, Run]) -> None:
    """Show the figures of a group that every table has, and a chart if all have a best value."""
    found = {kind: each["summary"] for kind, each in _distances(runs).items()}
    figures = [f for f in group["figures"] if all(f["name"] in each for each in found.values())]
    if not figures:
        return
    page.section(group["title"], group["about"])
    names: Table = {group["label"]: [figure["title"] for figure in figures]}
    best = [figure["best"] for figure in figures]
    values = {kind: [each[f["name"]] for f in figures] for kind, each in found.items()}
    if None in best:
        page.table(names | values, caption=group["caption"])
        return
    page.table(names | {AT_BEST: best} | values, caption=group["caption"])
    shares = {k: [v / b for v, b in zip(each, best, strict=True)] for k, each in values.items()}
    page.chart(
        contrasts.dots(
            group["chart"],
            f"Each {group['label']} as a share of its best value.",
            names | shares,
            label=group["label"],
            value=OF_BEST,
            colours=_colours(runs, _yardsticks(runs)),
        )
    )


def _columns(part: Mapping[str, Any], runs: Mapping[str, Run]) -> Table:
    """Return the labels, the runs and the other series of a part as columns of a table."""
    table: Table = {part["label"]: list(part["labels"])}
    table |= dict(zip(runs, map(list, part["runs"]), strict=True))
    return table | {series["name"]: list(series["values"]) for series in part["others"]}


def _dots(page: Page, part: Mapping[str, Any], _facts: Facts, runs: Mapping[str, Run]) -> None:
    colours = _colours(runs)
    greys = iter(_GREYS * len(part["others"]))
    for series in part["others"]:
        colours[series["name"]] = "$noisy" if series["is_real"] else next(greys)
    page.chart(
        contrasts.dots(
            part["title"],
            part["about"],
            _columns(part, runs),
            label=part["label"],
            value=part["value"],
            colours=colours,
        )
    )


def _listing(page: Page, part: Mapping[str, Any], _facts: Facts, runs: Mapping[str, Run]) -> None:
    page.table(_columns(part, runs), caption=part["caption"])


def _histograms(page: Page, part: Mapping[str, Any], facts: Facts, runs: Mapping[str, Run]) -> None:
    counted = [name for name in part["columns"] if name in facts["counts"]][:MOST_COUNTED]
    page.heading(part["title"])
    colours = {REAL: "$noisy"} | _colours(runs)
    page.choice("Column", [histogram(n, facts["counts"][n], colours) for n in counted])


def _classes(page: Page, part: Mapping[str, Any], _facts: Facts, runs: Mapping[str, Run]) -> None:
    counts = {**part, "ordered": len(part["labels"])}
    colours = {REAL: "$noisy"} | _colours(runs)
    page.chart(histogram(part["title"], counts, colours, of=part["of"]))


def _boxes(page: Page, part: Mapping[str, Any], _facts: Facts, runs: Mapping[str, Run]) -> None:
    page.heading(part["title"])
    page.choice("Column", [_box(each, runs) for each in part["boxes"]])


def _box(each: Mapping[str, Any], runs: Mapping[str, Run]) -> Chart:
    real, greys = each["others"][REAL], {k: v for k, v in each["others"].items() if k != REAL}
    sides = {REAL: real, **dict(zip(runs, each["runs"], strict=True)), **greys}
    table: Table = {"table": list(sides)}
    table |= {name: [side[name] for side in sides.values()] for name in real}
    return contrasts.boxes(
        each["name"],
        f"Half of the numbers of {each['name']} lie within the bar, 90 % within the line; the "
        "stroke is the median, the diamond the mean.",
        table,
        colours={REAL: "$noisy"} | _colours(runs, greys),
    )


def _matrices(page: Page, part: Mapping[str, Any], _facts: Facts, runs: Mapping[str, Run]) -> None:
    drawn = []
    for name, values in zip(runs, part["runs"], strict=True):
        table: Table = {
            "column": [a for a, _ in part["pairs"]],
            "and": [b for _, b in part["pairs"]],
            "real": list(part["real"]),
            "synthetic": list(values),
            "difference": [b - a for a, b in zip(part["real"], values, strict=True)],
        }
        about = (
            f"{part['title']} of every pair of columns in the real table and in {name}, and the "
            "difference: orange is too strong, blue too weak. The table has the worst first."
        )
        drawn.append(matrices(f"{part['title']}: {name}", about, table, columns=part["columns"]))
    page.choice("Run", drawn)


_PARTS = {
    "dots": _dots,
    "listing": _listing,
    "histograms": _histograms,
    "bars": _classes,
    "boxes": _boxes,
    "matrices": _matrices,
}
"""The functions that draw the parts of a metric's section, by kind."""
