# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes the pictures of this folder, and that of make chain, from reports in out.

Needs Chromium, as `make docs` has it, and the reports: `perhop run docs/report/crossing.yaml` and `make chain`.
"""

from __future__ import annotations

import base64
import io
import itertools
import sys
import time
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))

import look  # noqa: E402

COLOURS = 64
# From the head of the page to below what is shown over time, where the page is wide.
HEIGHTS_PX = {1600: 1900, 768: 2000, 400: 2400}
# Until the script has drawn the air.
DRAWN_S = 3


def main() -> None:
    folder = ROOT / "out/report-pictures"
    folder.mkdir(parents=True, exist_ok=True)
    browser = look.Browser(folder)
    try:
        crossing = ROOT / "out/runs/crossing/report.html"
        for width, scheme in itertools.product(look.WIDTHS, look.SCHEMES):
            picture = take(
                browser, crossing, width, scheme, f"({{x: 0, y: 0, width: {width}, height: {HEIGHTS_PX[width]}}})"
            )
            save(picture, ROOT / f"docs/report/crossing-{width}-{scheme}.png")
        save(take(browser, crossing, 1250, "light", box("section:has(.air)")), ROOT / "docs/report/air.png")
        save(
            take(browser, crossing, 1250, "light", box("section:has(svg[aria-label^=Map])")),
            ROOT / "docs/report/map.png",
        )
        chain = take(
            browser, ROOT / "out/chain/report.html", 1250, "light", "({x: 0, y: 0, width: 1250, height: 1750})"
        )
        save(chain, ROOT / "sim/experiments/chain/result.png")
    finally:
        browser.close()


def box(selector: str) -> str:
    """JavaScript for the box of an element on the page."""
    return (
        f"(({{x, y, width, height}}) => ({{x, y: y + scrollY, width, height}}))"
        f"(document.querySelector('{selector}').getBoundingClientRect())"
    )


def take(browser: look.Browser, page: Path, width: int, scheme: str, clip: str) -> Image.Image:
    context = browser.ask("Target.createBrowserContext")["browserContextId"]
    target = browser.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
    session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    browser.ask("Page.enable", session)
    browser.ask(
        "Emulation.setDeviceMetricsOverride", session, width=width, height=1000, deviceScaleFactor=1, mobile=False
    )
    browser.ask("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.ask("Page.navigate", session, url=page.as_uri())
    browser.wait("Page.loadEventFired", session)
    time.sleep(DRAWN_S)
    asked = browser.ask("Runtime.evaluate", session, expression=clip, returnByValue=True)["result"]["value"]
    png = browser.ask(
        "Page.captureScreenshot", session, format="png", captureBeyondViewport=True, clip={**asked, "scale": 1}
    )
    browser.ask("Target.disposeBrowserContext", browserContextId=context)
    return Image.open(io.BytesIO(base64.b64decode(png["data"])))


def save(picture: Image.Image, file: Path) -> None:
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
