# SPDX-License-Identifier: GPL-2.0-or-later
"""What a newcomer reads first is short, complete and true: README, commands, index, how-to pages, decisions."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

MOST_LINES, MOST_WORDS = 90, 800

# Prints the name of each command of `perhop`, with its group's before it.
LIST_COMMANDS = """
import json
from typer.main import get_command
from perhop.cli import app

def names(group, before=""):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from names(command, f"{before}{name} ")
        else:
            yield before + name

print(json.dumps(sorted(names(get_command(app)))))
"""
# What begins like a path of the project, in a page that tells of it as it is today.
PATH = re.compile(r"`((?:gateware|host|sim|hw|flowgraphs|tests|docs|\.ci)/[\w./-]*\w)/?`")
PLACEHOLDER = re.compile(r"[A-Z]{4,}")


def test_the_readme_is_short(root):
    text = (root / "README.md").read_text()
    assert len(text.splitlines()) <= MOST_LINES
    assert len(text.split()) <= MOST_WORDS


def make_targets(root) -> set[str]:
    """Those that `make help` explains."""
    shown = subprocess.run(["make", "-s", "help"], cwd=root, capture_output=True, text=True, check=True).stdout
    return {f"make {name}" for name in re.findall(r"^\s*make ([a-z-]+)\s+\S", shown, re.MULTILINE)}


def perhop_commands(root) -> set[str]:
    """Those of this checkout, whichever one .venv was made for."""
    done = subprocess.run(
        [sys.executable, "-c", LIST_COMMANDS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(root / "host/python")},
    )
    return {f"perhop {name}" for name in json.loads(done.stdout)}


def test_every_command_stands_in_the_table_of_commands_once(root):
    commands = make_targets(root) | perhop_commands(root)
    assert {"make chain", "perhop run", "perhop live up", "perhop probe"} <= commands
    cells = re.findall(r"^\| `([^`]+)` \|", (root / "docs/commands.md").read_text(), re.MULTILINE)
    # A command's row goes on with its arguments, in capitals or behind a dash.
    rows = [re.match(r"[a-z][a-z-]*(?: [a-z][a-z-]*)*", cell)[0] for cell in cells]
    assert not [row for row, times in Counter(rows).items() if times > 1]
    assert set(rows) == commands


def test_the_index_leads_to_every_page(find, root):
    """But to records of decisions, which have a list of their own."""
    records = set(find("docs/decisions/0*.md"))
    others = set(find("**/*.md")) - records - {Path("README.md"), Path("CHANGELOG.md"), Path("docs/index.md")}
    for index, pages in {"docs/index.md": others, "docs/decisions/README.md": records}.items():
        linked = re.findall(r"\]\(([^)#\s]+)", (root / index).read_text())
        reached = {(root / index).parent.joinpath(link).resolve() for link in linked}
        assert pages
        assert not [str(page) for page in pages if root / page not in reached], f"{index} has no link to these"


# Each walk begins at README.md and follows links to the page or file that answers; a search finds it, too.
WALKS = {
    "a network of one's own": ["docs/tutorial/first_experiment.md"],
    "NAV reset": ["docs/glossary.md", "gateware/rtl/mac/nav_counter.sv"],
    "w <= packets in flight": ["docs/glossary.md", "host/core/policy/delayed_cumulative_tcp_ack.hpp"],
    "add a policy": ["docs/index.md", "docs/how-to/add_policy.md"],
}
SEARCHES = {
    "gateware/rtl": ("NAV reset", "gateware/rtl/mac/nav_counter.sv"),
    "host/core": ("w <= packets in flight", "host/core/policy/delayed_cumulative_tcp_ack.hpp"),
    "docs": ("Add a policy", "docs/how-to/add_policy.md"),
}


def test_a_newcomer_finds_answers_in_two_clicks(root):
    for question, clicks in WALKS.items():
        assert len(clicks) <= 2
        page = "README.md"
        for target in clicks:
            links = re.findall(r"\]\(([^)#\s]+)", (root / page).read_text())
            reached = {(root / page).parent.joinpath(link).resolve() for link in links}
            assert root / target in reached, f"{question}: {page} does not lead to {target}"
            page = target


def test_a_newcomer_finds_answers_in_one_search(root):
    page = (root / "docs/tutorial/find_your_way.md").read_text()
    for folder, (words, answer) in SEARCHES.items():
        command = ["git", "grep", "-il", words, "--", folder]
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.split()
        assert answer in found and len(found) <= 3, f"{words!r} finds {found}"
        assert words.lower() in page.lower() and f"-- {folder}`" in page, "the page tells of other searches"


def exists(path: Path) -> bool:
    return path.exists() or any(path.parent.glob(f"{path.name}.[hc]*"))


def test_files_that_pages_name_are_there(find, root):
    """A page that names a file is worth nothing when the file has moved. A name may mean both .hpp and .cpp."""
    missing = []
    for page in set(find("**/*.md")) - {Path("CHANGELOG.md")}:
        for number, line in enumerate((root / page).read_text().splitlines(), 1):
            if "(new" in line:
                continue
            named = [name for name in PATH.findall(line) if not PLACEHOLDER.search(name)]
            missing += [f"{page}:{number}: {name}" for name in named if not exists(root / name)]
    assert not missing


def test_decisions_are_numbered_and_say_context_decision_and_consequence(find, root):
    records = sorted(find("docs/decisions/0*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        text = (root / path).read_text()
        assert re.match(rf"# {path.name[:4]}: \S", text), path
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequence"], path
