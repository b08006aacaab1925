# SPDX-License-Identifier: GPL-2.0-or-later
"""No circle of Python imports or C++ includes: what is used can be read, tested and moved without its users.

Imports within functions, and those for type checkers, count too. That a package's __init__ runs before its modules
does not: only what a file names is a use.
"""

import ast
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

Uses = Mapping[Path, Iterable[Path]]


def circles(uses: Uses) -> list[list[Path]]:
    """The sets of files that all use each other, directly or not (strongly connected components, R. Tarjan 1972)."""
    index: dict[Path, int] = {}
    lowest: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []

    def visit(file: Path) -> None:
        index[file] = lowest[file] = len(index)
        stack.append(file)
        for used in uses.get(file, ()):
            if used not in index:
                visit(used)
            if used in stack:
                lowest[file] = min(lowest[file], lowest[used])
        if lowest[file] == index[file]:
            at = stack.index(file)
            together = stack[at:]
            del stack[at:]
            if len(together) > 1 or file in uses.get(file, ()):
                found.append(sorted(together))

    for file in sorted(uses):
        if file not in index:
            visit(file)
    return found


def python_uses(files: Iterable[Path], text_of: Callable[[Path], str]) -> dict[Path, set[Path]]:
    """What each Python file imports of the others.

    A name is looked for beside the file itself, then from every folder that is no package, as any may be in the path of
    a script or a test; a name that several files answer to is nobody's.
    """
    known = set(files)
    of_name: dict[tuple[str, ...], set[Path]] = {}
    for file in known:
        for folder in file.parents:
            if not is_package(folder, known):
                of_name.setdefault(name_in(folder, file), set()).add(file)

    def in_folder(folder: Path, names: list[str]) -> Path | None:
        place = folder.joinpath(*names)
        found = [file for file in (place.with_suffix(".py"), place / "__init__.py") if file in known]
        return found[0] if found else None

    def module(file: Path, names: list[str]) -> Path | None:
        if not is_package(file.parent, known) and (beside := in_folder(file.parent, names)):
            return beside
        found = of_name.get(tuple(names), set())
        return next(iter(found)) if len(found) == 1 else None

    def imported(file: Path) -> Iterable[Path | None]:
        for node in ast.walk(ast.parse(text_of(file))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield module(file, alias.name.split("."))
            elif isinstance(node, ast.ImportFrom):
                package = node.module.split(".") if node.module else []
                for alias in node.names:
                    if node.level:
                        folder = file.parents[node.level - 1]
                        yield in_folder(folder, [*package, alias.name]) or in_folder(folder, package)
                    else:
                        yield module(file, [*package, alias.name]) or module(file, package)

    return {file: {used for used in imported(file) if used is not None} for file in sorted(known)}


def rooms_uses(of_file: Uses, package: Path) -> dict[Path, set[Path]]:
    """What each folder of a package, or module beside them, uses of the others."""

    def room(file: Path) -> Path:
        return Path(file.relative_to(package).parts[0])

    uses: dict[Path, set[Path]] = {}
    for file, used in of_file.items():
        uses.setdefault(room(file), set()).update(room(other) for other in used if room(other) != room(file))
    return uses


def name_in(folder: Path, file: Path) -> tuple[str, ...]:
    """What a program calls the module that has `folder` in its path."""
    parts = file.relative_to(folder).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def is_package(folder: Path, files: set[Path]) -> bool:
    return folder / "__init__.py" in files


def include_uses(files: Iterable[Path], text_of: Callable[[Path], str]) -> dict[Path, set[Path]]:
    """What each C++ file includes of the others: beside itself, from the root, or the only one whose path ends so."""
    known = set(files)
    by_name: dict[str, list[Path]] = {}
    for file in known:
        by_name.setdefault(file.name, []).append(file)

    def included(file: Path, name: str) -> Path | None:
        for place in (Path(os.path.normpath(file.parent / name)), Path(name)):
            if place in known:
                return place
        ends_so = [other for other in by_name.get(Path(name).name, []) if str(other).endswith("/" + name)]
        return ends_so[0] if len(ends_so) == 1 else None

    names = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
    return {
        file: {used for name in names.findall(text_of(file)) if (used := included(file, name)) is not None}
        for file in sorted(known)
    }


def told(found: list[list[Path]]) -> str:
    return "\n".join(" - ".join(map(str, circle)) for circle in found)


def test_no_circle_of_imports(find, root):
    uses = python_uses(find("**/*.py"), lambda file: (root / file).read_text())
    assert sum(map(len, uses.values())) > 500
    assert not (found := circles(uses)), told(found)


def test_no_circle_of_rooms(find, root):
    """The folders of host/python/perhop, and the modules beside them."""
    package = root / "host/python/perhop"
    of_file = python_uses(find("host/python/perhop/**/*.py"), lambda file: (root / file).read_text())
    uses = rooms_uses(of_file, package.relative_to(root))
    assert sum(map(len, uses.values())) > 60
    assert not (found := circles(uses)), told(found)


def test_no_circle_of_includes(find, root):
    files = find("**/*.hpp", "**/*.cpp", "**/*.h", "**/*.cc", "**/*.c")
    uses = include_uses(files, lambda file: (root / file).read_text())
    assert sum(map(len, uses.values())) > 500
    assert not (found := circles(uses)), told(found)


def test_a_circle_is_found_wherever_it_is_closed():
    """At the head of a module, within a function, for a type checker, through a package, through a third file."""
    heads = {
        "a/pack/one.py": "from pack import two\n",
        "a/pack/two.py": "def late():\n    from pack.one import thing\n",
        "a/pack/three.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .four import Four\n",
        "a/pack/four.py": "import pack.five\n",
        "a/pack/five.py": "import pack.three as three\n",
        "a/pack/six.py": "from pack import thing_of_the_package\n",
        "a/pack/__init__.py": "from pack.six import other\n",
        "a/pack/alone.py": "import os\nfrom pack import two\n",
        "b/script.py": "import helper\n",
        "b/helper.py": "import script\n",
        "c/script.py": "import helper\n",
        "c/helper.py": "import os\n",
    }
    texts = {Path(name): text for name, text in heads.items()}
    found = circles(python_uses(texts, texts.__getitem__))
    assert [sorted(file.stem for file in circle) for circle in sorted(found, key=lambda circle: -len(circle))] == [
        ["five", "four", "three"],
        ["__init__", "six"],
        ["one", "two"],
        ["helper", "script"],
    ]


def test_a_circle_of_rooms_is_found_though_no_two_modules_use_each_other():
    heads = {
        "p/cook/menu.py": "from p.cellar import wine\n",
        "p/cook/pot.py": "import os\n",
        "p/cellar/wine.py": "from p.cellar import rack\n",
        "p/cellar/rack.py": "def late():\n    from p.cook import pot\n",
        "p/plain.py": "from p.cook import menu\n",
        "p/__init__.py": "", "p/cook/__init__.py": "", "p/cellar/__init__.py": "",
    }  # fmt: skip
    texts = {Path(name): text for name, text in heads.items()}
    of_file = python_uses(texts, texts.__getitem__)
    assert not circles(of_file)
    assert circles(rooms_uses(of_file, Path("p"))) == [[Path("cellar"), Path("cook")]]


def test_a_circle_of_includes_is_found():
    heads = {
        "x/a.hpp": '#include "b.hpp"\n',
        "x/b.hpp": '#include "x/c.hpp"\n',
        "x/c.hpp": "#include <a.hpp>\n",
        "x/d.hpp": '#include "a.hpp"\n',
    }
    texts = {Path(name): text for name, text in heads.items()}
    found = circles(include_uses(texts, texts.__getitem__))
    assert [[file.stem for file in circle] for circle in found] == [["a", "b", "c"]]
