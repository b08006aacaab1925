# SPDX-License-Identifier: GPL-2.0-or-later
"""Stages the project's pages for MkDocs: the same paths, with links that lead to pages and Markdown as MkDocs reads it.

The pages are READMEs beside what they tell of, written for who reads the tree. A site has pages alone, so a folder
becomes its README or a list of its files, and a source file that some page links becomes a page that shows it. A link
that leads nowhere is left as it is: MkDocs, in its strict mode, refuses it.
"""

import posixpath
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import diagrams

LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^)\s]+)\)")
# Where a link leads; its text may be code, and so not before it in the same stretch of prose.
TARGET = re.compile(r"(?<=\])\((?P<target>[^)\s]+)\)")
FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+|~~~+) *(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=fence)[ ]*$", re.M | re.S
)
CODE = re.compile(
    rf"(?P<block>{FENCE.pattern})|(?P<inline>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))", re.M | re.S
)
MATH = re.compile(r"(?<![\\\w$])\$(?P<tex>[^\s$](?:[^$\n]*[^\s$])?)\$(?!\w)")
SHOWN = (".md", ".svg", ".png")
LANGUAGES = {
    ".py": "python", ".sv": "systemverilog", ".cpp": "cpp", ".hpp": "cpp", ".cc": "cpp", ".c": "c", ".h": "c",
    ".yaml": "yaml", ".yml": "yaml", ".grc": "yaml", ".json": "json", ".sh": "bash", ".lua": "lua", ".xdc": "tcl",
    ".tcl": "tcl", ".service": "ini",
}  # fmt: skip


def tracked(root: Path) -> list[str]:
    """The files that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(name for name in listed if name and (root / name).is_file())


def outside_code(
    text: str, change: Callable[[str], str], fenced: Callable[[re.Match], str] = lambda found: found[0]
) -> str:
    """Changes what is no code; `fenced` may replace a whole fenced block."""
    parts, at = [], 0
    for found in CODE.finditer(text):
        parts += [change(text[at : found.start()]), fenced(found) if found["block"] else found[0]]
        at = found.end()
    return "".join([*parts, change(text[at:])])


def shown_math(found: re.Match, display: str = "inline") -> str:
    # It comes with .venv-docs; whoever stages pages without formulas needs none of it.
    from latex2mathml.converter import convert

    return convert(found if isinstance(found, str) else found["tex"], display=display)


def apart(text: str) -> str:
    """Lists and tables begin a block of their own, as GitHub has it; Python-Markdown wants an empty line before."""
    lines: list[str] = []
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        starts = re.match(r"(?:[-*+]|\d+\.) ", line) and not re.match(r"(?:[-*+]|\d+\.) |\s", before)
        table = line.startswith("|") and not before.startswith("|")
        if (starts or table) and before.strip():
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


@dataclass
class Staged:
    """What became of the tree."""

    pages: list[str] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)


class Stager:
    """Writes the pages of `root` below `out`."""

    def __init__(self, root: Path, out: Path, extra: Iterable[str] = ()) -> None:
        self.root, self.out = root, out
        self.files = tracked(root)
        self.folders = {parent.as_posix() for name in self.files for parent in Path(name).parents}
        self.staged = Staged()
        # Pages that are generated: a committed page may link them.
        self.extra = set(extra)

    def stage(self) -> Staged:
        for name in self.files:
            if name.endswith(".md"):
                self.write(name, self.page((self.root / name).read_text(), name))
                self.staged.pages.append(name)
            elif name.endswith(SHOWN):
                self.copy(name)
        for name in sorted(self.staged.folders):
            self.write(f"{name}/index.md", self.listing(name))
        for name in sorted(self.staged.sources):
            self.write(f"{name}.md", self.source(name))
        return self.staged

    def write(self, name: str, text: str) -> None:
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # An unchanged page keeps its time.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    def copy(self, name: str) -> None:
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((self.root / name).read_bytes())

    def page(self, text: str, name: str) -> str:
        """A page as MkDocs shall read it."""

        def prose(part: str) -> str:
            part = TARGET.sub(lambda found: f"({self.target(found['target'], name)})", part)
            return MATH.sub(shown_math, part)

        def block(found: re.Match) -> str:
            if found["language"].strip() == "math":
                return f'<div class="formula">{shown_math(found["body"].strip(), "block")}</div>'
            if found["language"].strip() == "mermaid":
                return diagrams.as_svg(found["body"])
            return found[0]

        return outside_code(apart(text) if "```" not in text else outside_fences(text, apart), prose, block)

    def target(self, link: str, page: str) -> str:
        """Where a link of a page leads on the site."""
        path, mark, heading = link.partition("#")
        if not path or re.match(r"[a-z][a-z+.-]*:", path):
            return link
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        found = self.staged_name(whole)
        if found is None:
            return link
        return posixpath.relpath(found, posixpath.dirname(page) or ".") + mark + heading

    def staged_name(self, path: str) -> str | None:
        """The page or picture that stands for a file or a folder; None where there is neither."""
        if path in self.extra:
            return path
        if path in self.folders:
            for index in ("README.md", "index.md"):
                name = posixpath.normpath(posixpath.join(path, index))
                if name in self.files:
                    return name
            self.staged.folders.add(path)
            return f"{path}/index.md"
        if path not in self.files:
            return None
        if path.endswith(SHOWN):
            return path
        if path.endswith(".ipynb"):
            return path.removesuffix(".ipynb") + ".md"
        self.staged.sources.add(path)
        return f"{path}.md"

    def listing(self, folder: str) -> str:
        inside = [name for name in self.files if posixpath.dirname(name) == folder]
        below = sorted({name[len(folder) + 1 :].split("/")[0] for name in self.files if name.startswith(f"{folder}/")})
        items = []
        for name in below:
            path = f"{folder}/{name}"
            if path in inside and not path.endswith((".svg", ".png")):
                shown = posixpath.relpath(self.staged_name(path), folder)
                items.append(f"- [`{name}`]({shown})")
            else:
                items.append(f"- `{name}`" + ("/" if path in self.folders else ""))
        return (
            f"---\nsearch:\n  exclude: true\n---\n\n# {folder}\n\nThe files of this folder:\n\n"
            + "\n".join(items)
            + "\n"
        )

    def source(self, name: str) -> str:
        text = (self.root / name).read_text()
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"^`+", text, re.M)), default=0))
        language = LANGUAGES.get(Path(name).suffix, "text")
        head = f"---\nsearch:\n  exclude: true\n---\n\n# {name}\n\nA file of the project, as it is today.\n\n"
        return f"{head}{fence}{language}\n{text.rstrip()}\n{fence}\n"


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    parts, at = [], 0
    for found in FENCE.finditer(text):
        parts += [change(text[at : found.start()]), found[0]]
        at = found.end()
    return "".join([*parts, change(text[at:])])


# ---- Navigation: what docs/index.md says, in its order --------------------------------------------------------------


def cells_and_links(line: str) -> list[tuple[str, str]]:
    """(title, target) of each link in a line of the index; in a table the first cell is what the reader wants."""
    links = [(found["text"].strip("[]"), found["target"]) for found in LINK.finditer(line)]
    row = re.match(r"\| (?P<want>.+?) \| .*\|$", line)
    if row and len(links) == 1:
        return [(row["want"], links[0][1])]
    return links


def as_title(text: str) -> str:
    plain = re.sub(r"[`*]", "", text)
    return plain[0].upper() + plain[1:] if plain.split()[0].rstrip(":,").isalpha() else plain


def navigation(index: str, pages: Iterable[str], folder: str = "docs") -> list:
    """Sections of the index, with the pages they lead to, each page once. A link to a heading is no page."""
    known, taken, nav = set(pages), set(), []
    section: list | None = None
    for line in index.splitlines():
        if heading := re.match(r"(##+) (.*)", line):
            title, section = heading[2].split(":")[0], []
            holder = nav if heading[1] == "##" else nav[-1][next(iter(nav[-1]))]
            holder.append({title: section})
        elif section is not None:
            for title, target in cells_and_links(line):
                name = posixpath.normpath(posixpath.join(folder, target))
                if name in known and name not in taken:
                    taken.add(name)
                    section.append({as_title(title): name})
    return nav
