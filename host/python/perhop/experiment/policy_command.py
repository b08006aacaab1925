# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop policy`: builds a policy of one's own, and says what one is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perhop.terminal import Commands

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Policies of one's own: files that an experiment names.")


@app.command()
def build(
    source: Annotated[Path, typer.Argument(help="C++ or C, one file, with PERHOP_POLICY(name).")],
    output: Annotated[Path | None, typer.Option(help="Default: FILE.so beside it.")] = None,
) -> None:
    """Compile a policy to a shared object, which an experiment names FILE.so:NAME."""
    from perhop.own import build as own

    made, said = own.build(source, output)
    if said:
        typer.echo(said.rstrip(), err=True)
    print(f"{made}: name it in an experiment as {made.name}:NAME, NAME being what PERHOP_POLICY says")


@app.command()
def check(
    policy: Annotated[str, typer.Argument(metavar="FILE:NAME", help="FILE.py:CLASS or FILE.so:NAME.")],
    cost: Annotated[bool, typer.Option("--cost", help="Also the CPU time of a call of each of its functions.")] = False,
) -> None:
    """Load a policy and say which parts of a flow's policy it takes. It runs the file."""
    from perhop.errors import PerhopError
    from perhop.experiment.policy_table import GROUPS
    from perhop.own import files, words

    if not words.WORDS.fullmatch(policy):
        raise PerhopError(f"{policy!r} names no policy", f"write {words.FORM}")
    _, parts = files.look(policy, Path.cwd())
    print(f"{words.label(policy)}: {', '.join(group.title for group in GROUPS if group.key in parts)}")
    if cost:
        for function, ns in files.cost_ns(policy, Path.cwd()).items():
            print(f"  {function}: {ns:,} ns")
