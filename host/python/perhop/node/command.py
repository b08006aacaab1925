# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop node FILE`: parses, calls the library, and becomes the daemon."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from perhop.errors import PerhopError
from perhop.terminal import fail

RUNTIME = Path("/run/perhop")


def node(
    file: Annotated[Path | None, typer.Argument(help="The configuration; host/node/example.yaml is one.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check it, and print what the daemon reads.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the interface that it has made.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of the file.")] = False,
) -> None:
    """Run the daemon of a node: TUN interface, shim and driver, as a file says. Ends at SIGTERM."""
    from perhop import files, paths
    from perhop.node import configuration, ebpf, interface
    from perhop.own import files as own_files

    if schema:
        print(json.dumps(configuration.NodeFile.model_json_schema(), indent=1))
        return
    try:
        if file is None:
            raise PerhopError("there is no configuration", "give a file; host/node/example.yaml is one")
        # systemd says where; the folder is gone when the service ends.
        runtime = Path(os.environ.get("RUNTIME_DIRECTORY", str(RUNTIME)).split(":")[0])
        wanted = configuration.load_file(file)
        told = configuration.daemon_json(wanted, runtime, file.parent)
        if check:
            print(json.dumps(told, indent=1))
            return
        if remove:
            interface.remove(wanted.interface)
            return
        program = paths.program("perhop-node")
        interface.check(wanted)
        if "cwl" in told:
            ebpf.check(told["cwl"]["cgroup"])
        config = runtime / f"{wanted.interface}.json"
        try:
            files.write_json(config, told)
        except OSError as error:
            raise PerhopError(f"{config} cannot be written: {error.strerror}", "set RUNTIME_DIRECTORY") from None
        interface.set_up(wanted)
    except PerhopError as error:
        fail(error)
    os.execve(program, [str(program), str(config)], own_files.environment())
