"""Pages: what a table shows of a number."""

from __future__ import annotations

from understudy.pages.page import Page


def test_a_number_is_rounded_once() -> None:
    """3/238 is 0.0126050…, which six digits make 0.012605, whose four may be 0.0126."""
    page = Page("Figures", "A table")
    page.table({"share": [3 / 238, 12_345.6, float("nan")], "name": ["a", "b", "c"]}, caption="All")
    text = page.html()
    for shown in ("0.01261", "12,346", ""):
        assert f">{shown}</td>" in text
