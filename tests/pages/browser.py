"""Pages in a real browser: Debian's Chromium, without a screen and without a network."""

from __future__ import annotations

import base64
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader
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


BEYOND = """
const found = [], width = document.documentElement.clientWidth;
const right = (e) => e.getBoundingClientRect().right;
const seen = (e) => e.getBoundingClientRect().width > 0;
for (const table of document.querySelectorAll("table")) {
  const box = table.closest(".wide");
  const scrolls = getComputedStyle(box).overflowX === "auto" && right(box) <= width;
  if (seen(table) && !scrolls && right(table) > width + 1) found.push(table.caption.textContent);
}
for (const svg of document.querySelectorAll(".chart svg")) {
  if (!seen(svg)) continue;
  if (right(svg) > width + 1) found.push(svg.closest("figure").querySelector("h4").textContent);
  for (const text of svg.querySelectorAll("text"))
    if (seen(text) && right(text) > right(svg) + 2) found.push(text.textContent);
}
return found;
"""
"""What is cut off at the right: tables that do not scroll, charts, and words of charts."""


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

    def at(self, width: int, *, media: str = "", scheme: str = "") -> None:
        """Give the page a width, and draw it as on a screen or on paper, by day or by night."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        told = {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", told)

    def plain(self) -> None:
        """Give the page the browser's own width, and a console in which nothing was said."""
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        self.complaints()

    def printed(self) -> str:
        """Print it, and give the words on paper."""
        paper = PdfReader(io.BytesIO(base64.b64decode(self.driver.print_page())))
        return " ".join(" ".join(sheet.extract_text() for sheet in paper.pages).split())

    def beyond(self) -> list[str]:
        """Name what is cut off."""
        return list(self.run(BEYOND))

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
