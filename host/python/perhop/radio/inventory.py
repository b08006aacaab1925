# SPDX-License-Identifier: GPL-2.0-or-later
"""The file that says which hosts are the nodes of an experiment, how they are reached and which radio each has."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from perhop.errors import ExperimentError
from perhop.experiment.load import Document, explained, read
from perhop.experiment.schema import Section
from perhop.node.drivers import MOST_SOCKET_BYTES, Driver
from perhop.refusal import refused

EXAMPLE = "hw/inventory/hosts.yml"
# Of the longest name of a socket in a run's own folder below `folder`.
ROOM_BYTES = 40


def _network(value: Any) -> Any:
    try:
        found = ipaddress.IPv4Network(value)
    except ValueError:
        raise refused(f"is {value!r}, which is no IPv4 network", "write 10.0.0.0/16") from None
    if found.prefixlen > 24:
        raise refused(f"is {value!r}, too small for the nodes", "give a network of /24 or larger, such as 10.0.0.0/16")
    return str(found)


def _folder(value: str) -> str:
    if not value.startswith("/") or len(value.encode()) > MOST_SOCKET_BYTES - ROOM_BYTES:
        raise refused(
            f"is {value!r}",
            f"give an absolute path of at most {MOST_SOCKET_BYTES - ROOM_BYTES} bytes, such as /var/tmp",
        )
    return value.rstrip("/")


def _plain(value: str) -> str:
    """A word that ssh takes for a host or user, never for an option."""
    if value.startswith("-") or any(letter.isspace() for letter in value):
        raise refused(f"is {value!r}", "write a host name, an IP address or a user, without spaces")
    return value


Word = Annotated[str, Field(min_length=1), AfterValidator(_plain)]


class Access(Section):
    """How a host is reached, and what is where on it."""

    user: Word = Field(default="root", description="who logs in, by key")
    port: int = Field(default=22, ge=1, le=65535, description="of its SSH server")
    identity: str | None = Field(
        default=None, min_length=1, description="file of the private key; null: as ssh finds it"
    )
    known_hosts: str | None = Field(default=None, min_length=1, description="file of host keys; null: as ssh finds it")
    become: Literal["auto", "none", "sudo"] = Field(
        default="auto", description="how commands become root's; auto: by sudo unless the user is root"
    )
    python: Word = Field(default="python3", description="Python 3.10 or newer on the host")
    perhop_node: Word = Field(
        default="perhop-node", description="the daemon on the host: a path, or a name on its PATH"
    )
    folder: Annotated[str, AfterValidator(_folder)] = Field(
        default="/var/tmp", description="where a run's files are until they are collected"
    )


class Host(Section):
    """A node of the experiment. What it does not say is as in `defaults`."""

    address: Word = Field(description="host name or IP address")
    name: Word | None = Field(default=None, description="in messages; null: the address")
    radio: Driver = Field(description="the MAC: the section `driver` of host/node/example.yaml")
    user: Word | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    identity: str | None = Field(default=None, min_length=1)
    known_hosts: str | None = Field(default=None, min_length=1)
    become: Literal["auto", "none", "sudo"] | None = None
    python: Word | None = None
    perhop_node: Word | None = None
    folder: Annotated[str, AfterValidator(_folder)] | None = None


class Limits(Section):
    """What a host must keep to before a run is begun."""

    clock_offset_ms: float = Field(
        default=1000, gt=0, description="between its time of day and this machine's: captures and logs are told by it"
    )
    clock_bound_ms: float = Field(
        default=20, gt=0, description="half of the shortest round trip to it: how exactly flows begin together"
    )
    free_mb: int = Field(default=200, ge=0, description="free space in `folder`")


class Inventory(Section):
    """The whole file."""

    defaults: Access = Access()
    network: Annotated[str, BeforeValidator(_network)] = Field(
        default="10.0.0.0/16", description="the nodes' addresses on the radio; no host may use it for something else"
    )
    limits: Limits = Limits()
    slow_down: int = Field(
        default=1, ge=1, le=600,
        description="how many times slower than radios the hosts' virtual radios run (hw/virtual_usrp); 1: real ones",
    )  # fmt: skip
    nodes: list[Host] = Field(min_length=2, max_length=256, description="the hosts; the first is node 0")

    def access(self, node: int) -> Access:
        """How a node is reached, defaults filled in."""
        own = {name: getattr(self.nodes[node], name) for name in Access.model_fields}
        return self.defaults.model_copy(update={name: value for name, value in own.items() if value is not None})

    def name(self, node: int) -> str:
        """What messages call a node."""
        host = self.nodes[node]
        return f"node {node} ({host.name or host.address})"


def load(file: Path) -> tuple[Inventory, Document]:
    """Read and check an inventory. Raises ExperimentError: file, line, field, remedy."""
    document = read(file, EXAMPLE)
    try:
        inventory = Inventory.model_validate(document.values)
    except ValidationError as error:
        raise explained(document, error, Inventory) from None
    _check(inventory, document)
    return inventory, document


def _check(inventory: Inventory, document: Document) -> None:
    seen: dict[tuple[str, int], int] = {}
    for index, host in enumerate(inventory.nodes):
        access = inventory.access(index)
        if (first := seen.setdefault((host.address, access.port), index)) != index:
            raise document.error(
                ("nodes", index, "address"), f"is {host.address!r}, as that of node {first}", "a host is one node"
            )
        for name in ("identity", "known_hosts"):
            value = getattr(access, name)
            if value is not None and not Path(value).expanduser().is_file():
                path = ("nodes", index, name) if getattr(host, name) is not None else ("defaults", name)
                raise document.error(
                    path, f"is {value}, and there is no such file", "give the path of a file that is there"
                )


def check_size(inventory: Inventory, document: Document, nodes: int) -> None:
    """The experiment's nodes are the inventory's. Raises ExperimentError."""
    if len(inventory.nodes) != nodes:
        raise document.error(
            ("nodes",),
            f"lists {len(inventory.nodes)} hosts, but the experiment has {nodes} nodes",
            "list one host a node, or change the topology: --set topology.hops=..",
        )


__all__ = ["Access", "ExperimentError", "Host", "Inventory", "Limits", "check_size", "load"]
