"""A plugin for pytest: Hypothesis stops at the first counterexample, and looks at no clock."""

from __future__ import annotations

from hypothesis import Phase, settings


def pytest_configure() -> None:
    """Say so before tests are imported, whose own settings begin from these."""
    settings.register_profile(
        "zoo",
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
    )
    settings.load_profile("zoo")
