"""The sections on what was declared of all rows: constraints, and totals that everyone knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.release.constraints import Checked, constraint_facts
from understudy.release.known_facts import known_kept

if TYPE_CHECKING:
    from understudy.pages.page import Page
    from understudy.release import Release


def add_declared(page: Page, release: Release) -> None:
    """Add what rows obey, and what they follow."""
    _constraints(page, release)
    _known(page, release)


def _constraints(page: Page, release: Release) -> None:
    """List what all rows obey, and check that they do."""
    if not release.schema.constraints:
        return
    checked = Checked(release.schema, release.ids)
    for batch in release.decoded:
        checked.add(batch)
    facts, broken = constraint_facts(release.schema), checked.broken()
    kept = not any(broken.values())
    page.section(
        "Constraints",
        "What is declared of all rows. It is public knowledge, and costs no budget. "
        + (
            f"All {len(release):,} rows were checked for this page: every one of them obeys all."
            if kept
            else "Some rows break what was declared, which should not happen: please report it."
        ),
    )
    page.table(
        {
            "constraint": [each["name"] for each in facts],
            "what it says": [each["says"] for each in facts],
            "rows that break it": [broken[each["name"]] for each in facts],
        },
        caption="The constraints, and how many of the synthetic rows break each",
    )


def _known(page: Page, release: Release) -> None:
    """List the counts that were taken as known, and check that rows follow them."""
    facts = known_kept(release)
    if not facts:
        return
    page.section(
        "Known totals",
        "Counts that were taken as public knowledge: they cost no budget, and are exact. The "
        "synthetic rows follow them; the private table was not asked whether they are true.",
    )
    page.table(
        {
            "known": [each["name"] for each in facts],
            "what is known": [each["says"] for each in facts],
            "largest difference": [each["largest_difference"] for each in facts],
        },
        caption="The known totals, and how far the count of the synthetic rows that is most off "
        "is from each; of shares, less than 2 by rounding",
    )
