# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks at every link, picture and anchor of a built site by its HTML, so at what MkDocs does not know of, too."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Of each tag, what it fetches or leads to.
REFERENCES = {"a": "href", "img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
# Whoever reads the site offline must get all of it; only a link that one clicks may lead away.
MAY_LEAVE = {"a", "canonical"}


class Page(HTMLParser):
    """Ids and references of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.references: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if target := values.get(REFERENCES.get(tag, "")):
            self.references.append((values.get("rel", tag) if tag == "link" else tag, target))


def broken(site: Path) -> list[str]:
    """Each broken reference as page: target."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for tag, target in page.references:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if tag not in MAY_LEAVE and parts.scheme not in ("data", "mailto"):
                    found.append(f"{path.relative_to(site)}: {target} is fetched from elsewhere")
                continue
            # Material's page of errors knows no folder; nobody gets to it from a file.
            if path.name == "404.html":
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.is_file():
                found.append(f"{path.relative_to(site)}: {target}")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].ids:
                found.append(f"{path.relative_to(site)}: {target} has no such heading")
    for path in sorted(site.rglob("*.css")):
        for target in re.findall(r"url\(\s*['\"]?(https?:[^'\")]+)", path.read_text()):
            found.append(f"{path.relative_to(site)}: {target} is fetched from elsewhere")
    return found
