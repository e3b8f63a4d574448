"""Draw the docs' pictures from the pages of the demo: ``python docs/pictures/draw.py [FOLDER]``.

FOLDER is what `understudy demo FOLDER` left; without it the demo is run first.  Chromium and its
driver are needed (`scripts/system chromedriver chromium chromium-driver` installs them on Debian).
"""  # noqa: INP001

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.pages.browser import BROWSER, DRIVER, Opened, browser, opened  # noqa: E402

from understudy.cli.main import main as understudy  # noqa: E402

NO_TABLES = "document.querySelectorAll('figure details').forEach((e) => e.remove())"
HERE = Path(__file__).parent
LARGEST = 200_000
"""The most bytes a picture may have."""

FOUR_FIGURES = """
const shown = [...document.querySelectorAll('figure')].filter((f) => !f.closest('[hidden]'));
const wanted = ['People by kind', 'pickup_area by pickup_time_month', 'Rows per person', 'company'];
const figures = wanted.map((t) => shown.find((f) => f.querySelector('h4').textContent === t));
const grid = document.createElement('div');
grid.style = 'display: grid; grid-template-columns: 1fr 1.2fr; gap: 1rem';
figures.forEach((f) => { f.style.margin = 0; grid.append(f); });
document.getElementById('content').replaceChildren(grid);
document.querySelectorAll('nav, figure details').forEach((e) => e.remove());
document.body.style = 'max-width: none';
document.body.insertAdjacentHTML('beforeend', '<p id="end"></p>');
"""
"""Keep the heading of a release's report and four of its figures, two by two."""


def main(folder: Path) -> None:
    """Draw all pictures from the pages in a demo's folder."""
    with browser("--hide-scrollbars", "--force-color-profile=srgb") as driver:
        page = opened(driver, folder / "private-2020-release" / "report.html")
        page.run(NO_TABLES)
        save(page, "promise.png", width=880, first="h3", last="figure + *")
        page.at(760)  # Charts are drawn for the room they get in the picture.
        page = opened(driver, folder / "private-2020-release" / "report.html")
        page.run(FOUR_FIGURES)
        save(page, "report.png", width=1320, first="html", last="#end")
        page = opened(driver, folder / "custodian-only.html")
        page.run(NO_TABLES)
        save(page, "custodian.png", width=880, first="#s1", last="#s3")


def save(page: Opened, name: str, *, width: int, first: str, last: str) -> None:
    """Write a page as a picture, from one element to another; refuse one that is too large."""
    command = page.driver.execute_cdp_cmd
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    command("Emulation.setDeviceMetricsOverride", size)
    top, bottom = page.run(
        "return [...arguments].map((s) => document.querySelector(s).getBoundingClientRect().top)",
        first,
        last,
    )
    clip = {"x": 0, "y": max(0, top - 20), "width": width, "height": bottom - top, "scale": 1}
    how = {"format": "png", "clip": clip, "captureBeyondViewport": True}
    picture = base64.b64decode(command("Page.captureScreenshot", how)["data"])
    if len(picture) > LARGEST:
        raise SystemExit(f"{name} has {len(picture):,} bytes, more than {LARGEST:,}")
    (HERE / name).write_bytes(picture)
    sys.stdout.write(f"{name}: {len(picture):,} bytes\n")


if __name__ == "__main__":
    if DRIVER is None or BROWSER is None:
        raise SystemExit("Chromium and its driver are needed: see scripts/system")
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            made = Path(place) / "demo-out"
            understudy(["demo", str(made)])
            main(made)
