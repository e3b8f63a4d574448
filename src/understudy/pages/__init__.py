"""Pages for people: one HTML file that needs no network, from a release or an evaluation."""

from understudy.pages.custodian import check_place, custodian_report
from understudy.pages.page import Page
from understudy.pages.release import report

__all__ = ["Page", "check_place", "custodian_report", "report"]
