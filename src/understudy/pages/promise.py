"""What a release promises, as the first section of its report."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.pages import charts
from understudy.release.guarantee import delta_words, rounded_up

if TYPE_CHECKING:
    from understudy.pages.page import Chart, Page, Table


def add_promise(page: Page, promise: dict[str, Any]) -> None:
    """Add the manifest's guarantee in words and figures, and bounds on attacks."""
    page.section("The promise", promise["words"])
    page.facts(
        {
            "who is protected": f"every {promise['unit']}, with all of its rows",
            "epsilon": promise["epsilon"],
            "delta": delta_words(promise["delta"], promise.get("failure", 0.0)),
            **({"mu": rounded_up(promise["mu"], 6)} if "mu" in promise else {}),
            "accounting": promise["accounting"],
            "contribution bounding": promise["bounding"],
        }
    )
    if "whole_person" in promise:
        _whole_person(page, promise)
    _attacker(page, promise)
    page.chart(_trade_off(promise))
    if "curve" in promise:
        page.table(
            {
                "delta": [f"{point['delta']:.0e}" for point in promise["curve"]],
                "epsilon": [f"{point['epsilon']:.4g}" for point in promise["curve"]],
            },
            caption="The same promise at other deltas: all of these hold simultaneously.",
        )


def _whole_person(page: Page, promise: dict[str, Any]) -> None:
    """Add the promise to a person with several units."""
    page.heading("What a whole person is promised")
    page.text(promise["whole_person_words"])
    points = promise["whole_person"]
    table: Table = {"units of one person": [point["parts"] for point in points]}
    epsilons = [rounded_up(point["epsilon"], 4) for point in points]
    if promise.get("failure"):
        table["epsilon"] = epsilons
        table["at delta"] = [rounded_up(point["delta"], 4) for point in points]
    else:
        if "mu" in promise:
            table["mu"] = [rounded_up(point["mu"], 4) for point in points]
        table[f"epsilon at delta {promise['delta']:g}"] = epsilons
    page.table(table, caption="The promise to a person with several units")


def _attacker(page: Page, promise: dict[str, Any]) -> None:
    """Add bounds on what any attack gains over guessing."""
    rates = [point["false_positive_rate"] for point in promise["attacker"]]
    found = [point["true_positive_rate"] for point in promise["attacker"]]
    page.heading("What an attacker gains")
    page.text(
        "Bounds on every membership attack, that is, every attempt to tell who was in the table, "
        "however much the attacker knows about everyone else and however it uses the release."
    )
    tried = [f"members found, if {100 * rate:g} % of non-members are accused" for rate in rates]
    table: Table = {
        "attack": [*tried, "correct guesses, if half of the candidates are in the table"],
        "by guessing": [*(f"{100 * rate:g} %" for rate in rates), "50 %"],
        "with the release, at most": [
            f"{rounded_up(100 * share)} %" for share in (*found, promise["best_accuracy"])
        ],
    }
    page.table(table, caption="The best that any attack can do")
    if "probabilistic_delta" in promise:
        page.text(
            "For Gaussian noise with this mu, the privacy loss exceeds epsilon with probability "
            f"{rounded_up(promise['probabilistic_delta'])}. Delta is smaller: it bounds what is "
            "added to the probability of a set of outcomes, not how often the loss is larger."
        )


def _trade_off(promise: dict[str, Any]) -> Chart:
    """Chart what epsilon means: how well anyone can tell who is in the table."""
    wrong = np.concatenate(([0.0], np.geomspace(1e-4, 1, 80)))
    if "mu" in promise:
        normal, mu = NormalDist(), promise["mu"]
        found = [0.0, *(normal.cdf(normal.inv_cdf(a) + mu) for a in wrong[1:-1]), 1.0]
    else:
        odds = math.exp(min(promise["epsilon"], 700))
        found = [min(odds * a, 1 - (1 - a) / odds) for a in wrong]
    told = {name: rounded_up(100 * rate) for name, rate in promise["attacker"][-1].items()}
    kinds = ["at most, under this promise", "by guessing"]
    data: Table = {
        "wrongly accused": [*wrong, 0.0, 1.0],
        "rightly found": [*found, 0.0, 1.0],
        "kind": [kinds[0]] * len(wrong) + [kinds[1]] * 2,
    }
    return charts.lines(
        "What epsilon means here",
        "Someone who knows everything about everyone else tries to tell who is in the table. Of "
        f"100 who are not, they accuse {told['false_positive_rate']}; of 100 who are, they then "
        f"find at most {told['true_positive_rate']}. The nearer the curve is to guessing, the "
        "stronger the promise.",
        data,
        x="wrongly accused",
        y="rightly found",
        by="kind",
    )
