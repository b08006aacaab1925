# SPDX-License-Identifier: GPL-2.0-or-later
"""What commands share: how they end when something is wrong (one message, or JSON, and status 2), tables, options."""

from __future__ import annotations

import errno
import json
import os
import sys
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from perhop.errors import PerhopError, from_os

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130

# Off a terminal there is no width to ask for; tables are made for this many columns.
TABLE_WIDTH = 110

Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A Dask scheduler, such as tcp://HOST:8786, or its scheduler file: its workers make the runs. "
        "Default: PERHOP_SCHEDULER, or this machine makes them.",
    ),
]


def table_console(stderr: bool = False) -> Console:
    """Where tables are printed: as wide as the terminal, or as its COLUMNS."""
    console = Console(stderr=stderr)
    if console.is_terminal or "COLUMNS" in os.environ:
        return console
    return Console(stderr=stderr, width=TABLE_WIDTH)


def fail(error: PerhopError, json_: bool = False) -> NoReturn:
    """Tell the error and end the command."""
    if json_:
        print(json.dumps({"error": error.as_dict()}))
    else:
        Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red"), str(error)))
    raise typer.Exit(EXIT_BAD_INPUT)


class Commands(TyperGroup):
    """The commands. What no command has caught of our errors and of the operating system's ends as `fail` does."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # What stands behind -- is another program's.
        ctx.meta["perhop.json"] = "--json" in (args[: args.index("--")] if "--" in args else args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        json_ = ctx.meta["perhop.json"]
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except PerhopError as error:
            fail(error, json_)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            if error.filename is None:
                json_ = _drop_output() and json_
            fail(from_os(error), json_)


def _drop_output() -> bool:
    """Whether standard output takes anything; if not, what is left for it is dropped."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
