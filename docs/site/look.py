# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens pages of the built site in a headless Chromium, from the disk, in several widths and both colours.

A page must say nothing on the console, ask for nothing but files, and not be wider than the window; the search must
find something.
Pictures of all pages are kept for whoever looks at them.
"""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

WIDTHS = (1600, 768, 400)
SCHEMES = ("light", "dark")
HEIGHT = 1000
WAIT_S = 180
# Asks the search of the page, and tells how many pages it found; 0 until it has.
SEARCH = """
(() => {
  const field = document.querySelector('.md-search__input');
  const open = document.querySelector('#__search');
  if (!open.checked) open.click();
  if (!field.value) field.value = 'window limit';
  field.focus();
  field.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true, key: 't'}));
  return document.querySelectorAll('.md-search-result__item').length;
})()
"""


class Browser:
    """Chromium, spoken to over a pipe (Chrome DevTools Protocol)."""

    def __init__(self, folder: Path) -> None:
        reads, self._write = os.pipe()
        self._read, writes = os.pipe()
        profile = folder / "profile"
        shutil.rmtree(profile, ignore_errors=True)
        words = [
            "chromium",
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ]
        words += ["--hide-scrollbars", f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        # The pipe is on 3 and 4.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{reads} 4>&{writes}', "bash", *words],
            pass_fds=(reads, writes), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(reads)
        os.close(writes)
        self._numbers = itertools.count(1)
        self._waiting = b""
        self.events: list[dict] = []

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def ask(self, method: str, session: str | None = None, **parameters: object) -> dict:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._until(lambda told: told.get("id") == number)

    def wait(self, method: str, session: str) -> dict:
        known = [event for event in self.events if event.get("method") == method and event.get("sessionId") == session]
        return (
            known[0]
            if known
            else self._until(lambda told: told.get("method") == method and told.get("sessionId") == session)
        )

    def _until(self, wanted) -> dict:
        end_s = time.monotonic() + WAIT_S
        while time.monotonic() < end_s:
            while b"\0" in self._waiting:
                told, _, self._waiting = self._waiting.partition(b"\0")
                message = json.loads(told)
                if "method" in message:
                    self.events.append(message)
                if wanted(message):
                    if "error" in message:
                        raise RuntimeError(message["error"])
                    return message.get("result", message)
            if select.select([self._read], [], [], 1)[0]:
                chunk = os.read(self._read, 1 << 20)
                if not chunk:
                    raise RuntimeError("Chromium has ended")
                self._waiting += chunk
        raise TimeoutError(f"Chromium did not answer for {WAIT_S} s")


def problems_of(events: list[dict], session: str, where: str) -> list[str]:
    """What the console said, and what was asked for that is no file."""
    found = []
    for event in events:
        if event.get("sessionId") != session:
            continue
        parameters = event.get("params", {})
        if event["method"] == "Runtime.consoleAPICalled":
            words = " ".join(
                str(argument.get("value", argument.get("description", ""))) for argument in parameters["args"]
            )
            found.append(f"{where}: the console says {parameters['type']}: {words}")
        elif event["method"] == "Runtime.exceptionThrown":
            found.append(f"{where}: {parameters['exceptionDetails'].get('text')}")
        elif event["method"] == "Log.entryAdded":
            found.append(
                f"{where}: the console says {parameters['entry']['text']} {parameters['entry'].get('url', '')}"
            )
        elif event["method"] == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                found.append(f"{where}: asks for {url}")
    return found


def visit(browser: Browser, page: Path, width: int, scheme: str, picture: Path, search: bool) -> list[str]:
    where = f"{page.name} at {width} px, {scheme}"
    # A window of its own, which remembers no choice of colours.
    context = browser.ask("Target.createBrowserContext")["browserContextId"]
    target = browser.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
    session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.ask(f"{domain}.enable", session)
    browser.ask(
        "Emulation.setDeviceMetricsOverride", session, width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False
    )
    browser.ask("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.ask("Page.navigate", session, url=page.as_uri())
    browser.wait("Page.loadEventFired", session)

    def evaluate(text: str) -> int:
        return browser.ask("Runtime.evaluate", session, expression=text, returnByValue=True)["result"].get("value")

    wide = evaluate("document.documentElement.scrollWidth - window.innerWidth")
    found = [f"{where}: {wide} px wider than the window"] if wide > 0 else []
    picture.write_bytes(base64.b64decode(browser.ask("Page.captureScreenshot", session, format="png")["data"]))
    if search:
        end_s = time.monotonic() + WAIT_S
        while not (results := evaluate(SEARCH)) and time.monotonic() < end_s:
            time.sleep(0.5)
        found += [] if results else [f"{where}: the search finds nothing"]
    found += problems_of(browser.events, session, where)
    browser.ask("Target.disposeBrowserContext", browserContextId=context)
    return found


def look(site: Path, pages: list[str], folder: Path) -> tuple[int, list[str]]:
    """How many views were looked at, and what is wrong with them."""
    folder.mkdir(parents=True, exist_ok=True)
    browser = Browser(folder)
    views, found = 0, []
    try:
        for name, width, scheme in itertools.product(pages, WIDTHS, SCHEMES):
            picture = folder / f"{name.removesuffix('.html').replace('/', '-')}-{width}-{scheme}.png"
            found += visit(browser, site / name, width, scheme, picture, search=views == 0)
            views += 1
    except (RuntimeError, TimeoutError) as error:
        found.append(f"the look at the site ended after {views} views: {error}")
    finally:
        browser.close()
    return views, found
