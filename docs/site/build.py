#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the site of the pages (`make docs`), runs what they show, and looks at the result in a browser.

Needs .venv-docs, by whose Python it is called; what knows perhop is called by that of .venv.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "out/docs"
PYTHON = ROOT / ".venv/bin/python"
# What Material says of a later MkDocs is no warning about these pages.
ENVIRONMENT = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}

sys.path.insert(0, str(HERE))

import cxx  # noqa: E402
import links  # noqa: E402
import look  # noqa: E402
import notebooks  # noqa: E402
import pages  # noqa: E402
import shown_commands  # noqa: E402
import stripped  # noqa: E402

# Pages that are generated and stand in no committed page: section of the navigation -> (title, page).
REFERENCES = {
    "experiment_file.md": "Fields of an experiment file",
    "perhop.md": "Every option of perhop",
    "python_api.md": "The Python API",
}
LOOKED_AT = ["index.html", "docs/reference/experiment_file.html", "docs/notebooks/compare_policies.html"]
BOOKS = ("first_chain", "compare_policies", "own_policy", "to_the_air", "packet_delay")


def configuration(nav: list, stager: pages.Stager) -> str:
    """mkdocs.yml with what depends on the pages; its own tags (!!python) stay text."""
    beside = [f"/{name}.md" for name in sorted(stager.staged.sources)]
    beside += [f"/{name}/index.md" for name in sorted(stager.staged.folders)]
    added = {
        "docs_dir": str(OUT / "source"),
        "site_dir": str(OUT / "site"),
        "nav": nav,
        "not_in_nav": "\n".join(beside),
    }
    return (HERE / "mkdocs.yml").read_text() + yaml.safe_dump(added, sort_keys=False, allow_unicode=True)


def generated(source: Path) -> list[dict[str, str]]:
    """Writes the pages that come out of programs and headers; gives their part of the navigation."""
    folder = source / "docs/reference"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "host/python")}
    subprocess.run([str(PYTHON), str(HERE / "references.py"), str(folder)], check=True, env=environment)
    nav = [{title: f"docs/reference/{name}"} for name, title in REFERENCES.items()]
    (OUT / "options.json").write_bytes((folder / "options.json").read_bytes())
    (folder / "options.json").unlink()
    for name, text in sorted(cxx.pages(ROOT, OUT / "doxygen").items()):
        (folder / f"cxx_{name}.md").write_text(text)
        nav.append({f"C++: host/core/{name}": f"docs/reference/cxx_{name}.md"})
    return nav


def staged() -> pages.Stager:
    shutil.rmtree(OUT / "source", ignore_errors=True)
    stager = pages.Stager(ROOT, OUT / "source")
    stager.stage()
    for name in ("site.css", "iframe-worker.js"):
        (OUT / "source" / name).write_text((HERE / name).read_text())
    return stager


def navigation(stager: pages.Stager, references: list[dict[str, str]]) -> list:
    index = (ROOT / "docs/index.md").read_text()
    found = [name for name in stager.staged.pages if name not in ("README.md", "docs/index.md")]
    nav = [{"Home": ["README.md", {"All pages": "docs/index.md"}, {"Changes": "CHANGELOG.md"}]}]
    nav += pages.navigation(index, [name for name in found if not name.startswith("docs/decisions/0")])
    # What stands for several pages in the index, with these behind it.
    below = {
        "docs/decisions/README.md": [name for name in found if name.startswith("docs/decisions/0")],
        "docs/notebooks/README.md": [f"docs/notebooks/{name}.md" for name in BOOKS],
    }
    for section in (section for entry in nav for section in entry.values()):
        for at, item in enumerate(section):
            head = next(iter(item.values())) if isinstance(item, dict) else None
            if isinstance(head, str) and head in below:
                section[at] = {next(iter(item)): [head, *below[head]]}
    next(entry["Reference"] for entry in nav if "Reference" in entry).insert(0, {"Out of the program": references})
    return nav


def built(nav: list, stager: pages.Stager) -> list[str]:
    """Builds the site; gives MkDocs' warnings, of which its strict mode allows none."""
    (OUT / "mkdocs.yml").write_text(configuration(nav, stager))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-f", str(OUT / "mkdocs.yml")]
    done = subprocess.run(command, cwd=OUT, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    (OUT / "mkdocs.log").write_text(done.stdout + done.stderr)
    warnings = re.findall(r"^(?:WARNING|ERROR).*$", done.stderr, re.M)
    if done.returncode and not warnings:
        warnings = ["MkDocs failed: " + (done.stderr.strip().splitlines() or ["without a word"])[-1]]
    return warnings


def books_run(jobs: int) -> tuple[int, list[str]]:
    """Runs the notebooks and writes their pages; gives how many ran to their end, and what is wrong."""
    paths = [ROOT / f"docs/notebooks/{name}.ipynb" for name in BOOKS]
    wrong = [line for path in paths for line in stripped.not_stripped(path)]
    os.environ["PYTHONPATH"] = str(ROOT / "host/python")
    done = notebooks.execute_all(paths, OUT / "source/docs/notebooks", OUT / "notebooks", PYTHON, jobs)
    del os.environ["PYTHONPATH"]
    wrong += [f"{book.name}: {book.problem}" for book in done if book.problem]
    return sum(not book.problem for book in done), wrong


def commands_run(stager: pages.Stager, only_look: bool) -> tuple[dict[str, int], list[str]]:
    """Runs what pages show, or only looks whether all of it is known."""
    targets = set(re.findall(r"^([a-z][a-z-]*):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown, problems = shown_commands.find(ROOT, [name for name in stager.staged.pages if name != "CHANGELOG.md"])
    table = shown_commands.Table((HERE / "commands.yaml").read_text(), targets, lambda name: (ROOT / name).exists())
    to_run, elsewhere, unknown = shown_commands.sort_out(shown, table, targets)
    problems += table.problems + unknown
    problems += shown_commands.unknown_options(shown, json.loads((OUT / "options.json").read_text()))
    ran: list[shown_commands.Ran] = []
    if not only_look:
        shown_commands.scratch(ROOT, OUT / "scratch")
        with (OUT / "commands.jsonl").open("w") as log:

            def keep(one: shown_commands.Ran) -> None:
                log.write(shown_commands.as_line(one))
                log.flush()

            ran = shown_commands.run_all(to_run, table.before, OUT / "scratch", keep)
        problems += [f"`{one.text}` ends with {one.status}: {one.output.strip()[-400:]}" for one in ran if not one.ok]
    counts = {"commands_run": sum(one.ok for one in ran), "commands_elsewhere": len(elsewhere), "places": len(shown)}
    return counts, problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="notebooks at a time")
    parser.add_argument(
        "--only-pages", action="store_true", help="run neither commands nor notebooks: a draft in seconds"
    )
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    problems: list[str] = []
    stager = staged()
    references = generated(OUT / "source")
    if arguments.only_pages:
        books = 0
        for name in BOOKS:
            notebooks.as_page(
                notebooks.nbformat.read(ROOT / f"docs/notebooks/{name}.ipynb", 4),
                OUT / f"source/docs/notebooks/{name}.md",
            )
    else:
        books, wrong = books_run(arguments.jobs)
        problems += wrong
    warnings = built(navigation(stager, references), stager)
    broken = links.broken(OUT / "site") if (OUT / "site").is_dir() else ["there is no site"]
    counts, wrong = commands_run(stager, arguments.only_pages)
    views, seen = look.look(OUT / "site", LOOKED_AT, OUT / "views") if (OUT / "site/index.html").is_file() else (0, [])
    problems += warnings + broken + wrong + seen
    for problem in problems:
        print(problem)
    result = {
        "warnings": len(warnings),
        **counts,
        "notebooks_run": books,
        "broken_links": len(broken),
        "pages": len(list((OUT / "site").rglob("*.html"))),
        "views": views,
        "problems": len(problems),
    }
    (OUT / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    print("RESULT " + json.dumps(result), flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
