# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the notebooks and makes pages of them, with what they printed and drew.

The kernel is .venv's Python, which knows perhop; ipykernel comes from .venv-docs, behind all that .venv itself has.
"""

import base64
import json
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

CELL_TIMEOUT_S = 600
# Before Debian's packages, whose zmq (GNU Radio's) is too old for the kernel.
START = (
    "import sys; debian = [at for at, path in enumerate(sys.path) if path.endswith('dist-packages')]; "
    "sys.path.insert(min(debian, default=len(sys.path)), {packages!r}); "
    "from ipykernel.kernelapp import launch_new_instance as go; go()"
)


@dataclass
class Done:
    """A notebook that was run; `problem` is empty where it ran to its end."""

    name: str
    problem: str
    seconds: float


def kernel(python: Path, folder: Path) -> None:
    """Writes the description of the kernel `perhop`, for JUPYTER_PATH=folder."""
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    spec = folder / "kernels/perhop/kernel.json"
    spec.parent.mkdir(parents=True, exist_ok=True)
    argv = [str(python), "-c", START.format(packages=packages), "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": argv, "display_name": "perhop", "language": "python"}))


def execute(path: Path, page: Path, folder: Path, kernels: Path) -> Done:
    """Runs a notebook in `folder` and writes its page."""
    book = nbformat.read(path, as_version=4)
    client = NotebookClient(
        book,
        timeout=CELL_TIMEOUT_S,
        # On a loaded machine a kernel begins late.
        startup_timeout=CELL_TIMEOUT_S,
        kernel_name="perhop",
        resources={"metadata": {"path": str(folder)}},
    )
    folder.mkdir(parents=True, exist_ok=True)
    start_s, problem = time.monotonic(), ""
    with tempfile.TemporaryDirectory(prefix="perhop-kernel-") as sockets:
        client.create_kernel_manager()
        # Sockets in the file system: nobody else on the network reaches the kernel. Named in full, since the kernel is
        # in another folder than this program.
        client.km.transport = "ipc"
        client.km.ip = f"{sockets}/kernel"
        client.km.kernel_spec_manager = KernelSpecManager(
            kernel_dirs=[str(kernels / "kernels")], ensure_native_kernel=False
        )
        try:
            client.execute()
        except (CellExecutionError, DeadKernelError, RuntimeError, TimeoutError) as error:
            problem = re.sub(r"\x1b\[[\d;]*m", "", str(error)).strip()
    as_page(book, page)
    return Done(path.name, problem, time.monotonic() - start_s)


def as_page(book: nbformat.NotebookNode, page: Path) -> None:
    lines = []
    page.parent.mkdir(parents=True, exist_ok=True)
    for number, cell in enumerate(book.cells):
        if cell.cell_type == "markdown":
            lines += [cell.source.replace(".ipynb)", ".md)"), ""]
            continue
        lines += ["```python", cell.source, "```", ""]
        for at, output in enumerate(cell.get("outputs", [])):
            lines += [*shown(output, page, f"{page.stem}_{number}_{at}"), ""]
    page.write_text("\n".join(lines) + "\n")


def shown(output: nbformat.NotebookNode, page: Path, name: str) -> list[str]:
    if output.output_type == "stream":
        return ["```text", output.text.rstrip(), "```"]
    data = output.get("data", {})
    if "image/svg+xml" in data:
        (page.parent / f"{name}.svg").write_text(data["image/svg+xml"])
        return [f"![What the code above draws]({name}.svg)"]
    if "image/png" in data:
        (page.parent / f"{name}.png").write_bytes(base64.b64decode(data["image/png"]))
        return [f"![What the code above draws]({name}.png)"]
    if "text/html" in data:
        # One table; the page has its own style for it, and it may be wider than the page.
        table = re.sub(r"<style.*?</style>|\n\s*", "", data["text/html"], flags=re.DOTALL)
        return [f'<div class="output">{table}</div>']
    return ["```text", data.get("text/plain", "").rstrip(), "```"] if data.get("text/plain") else []


def execute_all(books: list[Path], pages: Path, folder: Path, python: Path, jobs: int) -> list[Done]:
    kernel(python, folder)
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda path: execute(path, pages / f"{path.stem}.md", folder / path.stem, folder), books))
