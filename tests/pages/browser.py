"""Pages in a real browser: Debian's Chromium, without a screen and without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium")
needs_browser = pytest.mark.skipif(
    DRIVER is None or BROWSER is None,
    reason="no Chromium: 'scripts/system chromedriver chromium chromium-driver' installs it on "
    "Debian",
)
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,1600",
)


@dataclass
class Opened:
    """A page that was opened and has drawn its charts."""

    driver: Any

    def find(self, selector: str) -> list[Any]:
        """Find elements."""
        return list(self.driver.find_elements("css selector", selector))

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """Give all that the browser's console has said."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def loaded(self) -> list[str]:
        """Name all that the page has loaded beside itself."""
        return list(self.run("return performance.getEntriesByType('resource').map(e => e.name)"))


@contextmanager
def browser(*switches: str) -> Iterator[Any]:
    """Start a browser, and end it."""
    options = Options()
    options.binary_location = str(BROWSER)
    for switch in (*_SWITCHES, *switches):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        yield driver
    finally:
        driver.quit()


def opened(driver: Any, page: Path) -> Opened:
    """Open a file, and wait until its charts are drawn."""
    driver.get(page.resolve().as_uri())
    WebDriverWait(driver, 60).until(
        lambda d: d.execute_script("return document.documentElement.dataset.ready === 'true'")
    )
    return Opened(driver)
