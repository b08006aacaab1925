# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that hold for every file of the project."""

import ast
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

SOURCES = (
    "py",
    "sv",
    "svh",
    "v",
    "cpp",
    "hpp",
    "h",
    "cc",
    "rdl",
    "yaml",
    "yml",
    "vlt",
    "sby",
    "tcl",
    "lua",
    "sh",
    "cmake",
    "core",
)
MAX_FILE_BYTES = 500_000
# This file spells out what it looks for.
THIS = Path(__file__).name


def test_every_source_file_says_its_licence(find, root):
    files = find(*(f"**/*.{extension}" for extension in SOURCES), "**/CMakeLists.txt", "Makefile")
    assert files
    wrong = [
        path for path in files if "SPDX-License-Identifier: GPL-2.0-or-later" not in "\n".join(lines(root / path)[:5])
    ]
    assert not wrong


def lines(path) -> list[str]:
    """Lines of a text file; of a binary file, none."""
    try:
        return path.read_text().splitlines()
    except UnicodeDecodeError:
        return []


def hits(pattern: re.Pattern[str], files, root) -> list[str]:
    """Every match in the files, as path:line: text."""
    return [
        f"{path}:{number}: {found.group()}"
        for path in files
        for number, line in enumerate(lines(root / path), 1)
        for found in pattern.finditer(line)
    ]


def test_no_file_names_a_place_on_one_machine(find, root):
    """Paths below somebody's home or scratch folder, and package mirrors, work on one machine only."""
    places = re.compile(
        r"(?<![\w.}])/(?:work|root|home|tmp|farm|Users|mnt|workspace)/[\w.-]+|index-url|artifactregistry|pkg\.dev"
    )
    files = [path for path in find("**/*") if path.name != THIS]
    assert files
    assert not hits(places, files, root)


def test_no_file_leaves_work_for_later(find, root):
    later = re.compile(r"\b(TODO|FIXME|XXX|HACK|WIP|TBD)\b|NotImplemented|unimplemented")
    assert not hits(later, [path for path in find("**/*") if path.name != THIS], root)


def test_no_file_is_large(find, root):
    assert not [path for path in find("**/*") if (root / path).stat().st_size > MAX_FILE_BYTES]


def test_nothing_built_is_committed(find):
    assert not find("out/**/*", "**/*.o", "**/*.so", "**/*.pyc", "**/*.fst", "**/*.vcd", "**/*.parquet", "**/*.pcapng")


def test_links_in_documents_resolve(find, root):
    broken = []
    for path in find("**/*.md"):
        text = re.sub(r"```.*?```", "", (root / path).read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            name, _, heading = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            linked = (root / path).parent / name if name else root / path
            if not linked.exists():
                broken.append(f"{path}: {target}")
            elif heading and linked.suffix == ".md":
                titles = re.findall(r"^#+\s+(.*)$", linked.read_text(), re.MULTILINE)
                anchors = {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
                if heading not in anchors:
                    broken.append(f"{path}: {target}")
    assert not broken


def make_targets(root) -> set[str]:
    """Names before a colon in the Makefile."""
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", (root / "Makefile").read_text(), re.MULTILINE))


def test_documents_name_only_make_targets_that_exist(find, root):
    targets = make_targets(root)
    named = {
        (str(path), target)
        for path in find("**/*.md")
        for target in re.findall(r"(?:`|^\s*\$?\s*)make ([a-z][a-z-]*)", (root / path).read_text(), re.MULTILINE)
    }
    assert any(path == "README.md" for path, _ in named)
    assert not {(path, target) for path, target in named if target not in targets}


def test_make_help_explains_every_target(root):
    """Helpers are the exceptions: parts of lint, and help itself has a text too."""
    shown = subprocess.run(["make", "-s", "help"], cwd=root, capture_output=True, text=True, check=True).stdout
    explained = set(re.findall(r"^\s*make ([a-z-]+)\s+\S", shown, re.MULTILINE))
    assert {target for target in make_targets(root) if not target.startswith("lint-")} <= explained


@pytest.mark.parametrize("folder", ["gateware", "hw", "host", "flowgraphs", "sim", "tests"])
def test_a_top_folder_says_what_belongs_in_it(root, folder):
    assert len((root / folder / "README.md").read_text().split()) >= 20


def test_python_packages_are_pinned(root):
    pins = [line for line in lines(root / "requirements.txt") if line and not line.startswith("#")]
    assert pins
    assert not [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.]+", pin)]


def test_a_python_module_opens_with_a_docstring(find, root):
    files = [path for path in find("**/*.py") if (root / path).read_text().strip()]
    assert files
    assert not [path for path in files if not ast.get_docstring(ast.parse((root / path).read_text()))]


def test_what_a_pinned_package_needs_is_pinned_too(root):
    """Not only found by luck: .venv sees the system's packages, which a bare machine has not."""
    pinned = {
        re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower()
        for pin in lines(root / "requirements.txt")
        if pin and not pin.startswith("#")
    }
    missing = []
    # ns-3 is used without its Python bindings, and of the other only the script axe.min.js.
    for name in sorted(pinned - {"ns3", "axe-playwright-python"}):
        for text in metadata.distribution(name).requires or []:
            needed = Requirement(text)
            wanted = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if wanted and re.sub(r"[-_.]+", "-", needed.name).lower() not in pinned:
                missing.append(f"{name} needs {needed}")
    assert not missing


def test_a_long_source_file_says_why_it_is_one_file(find, root):
    """More than 450 lines are more than one idea, unless the head says otherwise; not what a program writes."""
    files = find("**/*.py", "**/*.cc", "**/*.cpp", "**/*.h", "**/*.hpp", "**/*.sv", "**/*.sh", "**/*.tcl", "**/*.yaml")
    looked_at = [path for path in files if "generated" not in path.parts]
    heads = {path: lines(root / path) for path in looked_at}
    long = {path: text for path, text in heads.items() if len(text) > 450 and "Generated" not in "".join(text[:12])}
    assert heads
    assert [path for path, text in long.items() if "It is one file" not in "\n".join(text[:40])] == []
