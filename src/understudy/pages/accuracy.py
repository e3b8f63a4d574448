"""How far a release is from the private table, in its report, where somebody paid to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.pages.page import Page
    from understudy.public import Accuracy


def add_accuracy(page: Page, told: Accuracy) -> None:
    """Add the noisy distances: the means and the worst in words, all of them as a table."""
    alone, together = told.guarantee, told.guarantee["with_the_release"]
    page.section("How far is it from the private table?", " ".join(told.sentences()))
    page.text(
        "A distance is a total variation: the share of rows that would have to move for the "
        "synthetic counts to be the private ones. 0 is the same, 1 has nothing in common. These "
        "are noisy answers of the private table with 95 % intervals; those of the worst hold for "
        "all marginals at once. They were paid for: epsilon "
        f"{alone['epsilon']:.4g} at delta {alone['delta']:g}, in run {alone['run']} of the ledger. "
        f"Together with the release that is epsilon {together['epsilon']:.4g} at delta "
        f"{together['delta']:g}."
    )
    listed = [*told.pairs, *told.columns]
    page.table(
        {
            "columns": [" × ".join(each.columns) for each in listed],
            "distance": [each.distance for each in listed],
            "95 % interval, from": [each.low for each in listed],
            "to": [each.high for each in listed],
        },
        caption=f"All {len(listed)} distances that were asked",
        folded=True,
    )
    if told.left_out:
        names = ", ".join(" × ".join(pair) for pair in told.left_out)
        page.text(f"Not asked, for their many cells: {names}.")
