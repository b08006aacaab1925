# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the forms in which core_node clocks the Verilated mac_core, each for one kind of clock.

Verilator's clocked process computes the registers from wires that the clock before left behind, and then every wire
anew: a clock costs the same whatever happens in it. A form computes the wires that its registers need, the registers,
and what the simulator reads of them. Wires are local variables, so that the compiler leaves out those that nobody
reads; and what a kind of clock is known not to do stands in it as a constant. What the forms are made of is Verilator's
own text; tests/sim/run/test_core_node.cc compares them with eval().

Usage: python clock_forms.py MODEL_FOLDER MODEL_UNITY
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = "Vmac_core___024root"
# What core_node reads of the model after any clock, after the last one of an evaluation, and after nbr_take.
READ_ALWAYS = re.compile("quiescent|desc_ready|phy_tx_.+|rx_deliver|done_.+")
READ_IN_THE_END = (
    *("next_timer", "want_rx_start", "nav_left_us", "contending", "sending", "tsf_us"),
    *("evt_backoff_running", "evt_backoff_slots"),
)
READ_WHEN_TAKEN = re.compile("nbr_.+")
STROBES = ("phy_rx_start", "phy_rx_end", "desc_valid")
SUMMARY = re.compile("summary_.+")
NEVER = ("rst", "cfg_seed_load")
# A quiescent core does nothing of this (mac_core.sv, warp_monitor.sv), so a clock with ticks begins with none of it.
PENDING = {"answer", "head_taken", "wants", "draw_wanted", "timer_end", "defer_drawn_q", "end_q", "start_q"}
HEARD = {"end_q", "start_q"}
# What Verilator makes of functions and of variables within a process.
TEMPORARY = re.compile("____Vlem|____Vlvb|unnamedblk")


@dataclass(frozen=True)
class Form:
    """One kind of clock."""

    name: str
    ticks: bool = False  # it carries some, and the core was quiescent
    told: bool = False  # ... and a summary of what was heard
    strobes: bool = False  # inputs may be there
    heard: bool = True  # the clock before may have brought a PHY indication
    takes: bool = False  # nbr_take is 1


FORMS = (
    Form("pass", ticks=True, strobes=True),
    Form("told", ticks=True, told=True, strobes=True),
    Form("begin", strobes=True),
    Form("heard"),
    Form("quiet", heard=False),
    Form("take", takes=True),
)


def member(name: str) -> str:
    return rf"vlSelfRef\.{name}\b"


def assigned(name: str) -> str:
    return rf"{member(name)}(?=(?:\s*\[[^\]]*\])?\s*=[^=])"


def replaced(text: str, name: str, value: str) -> str:
    return re.sub(member(name), value, text)


def last_word(name: str) -> str:
    """Of the name that Verilator gives a signal, which begins with its modules."""
    return name.rpartition("__DOT__")[2]


class Process:
    """A function of the model: its local variables and its statements."""

    def __init__(self, code: str, name: str) -> None:
        start = code.index(f"void {ROOT}___{name}({ROOT}* vlSelf) {{\n")
        text = code[start : code.index("\n}", start)]
        _, _, text = text.partition("// Locals")
        self.locals, _, self.body = text.partition("// Body")
        if not self.body:
            raise SystemExit(f"clock_forms: {name} is not as Verilator 5.48 writes it")
        self.body = self.body.replace("vlSelf->", "vlSelfRef.")
        self.members = list(dict.fromkeys(re.findall(r"vlSelfRef\.(\w+)", self.body)))
        self.assigned = {name for name in self.members if re.search(assigned(name), self.body)}


class Model:
    """The text of mac_core as Verilator wrote it."""

    def __init__(self, folder: Path, unity: Path) -> None:
        sources = {path.name: path.read_text() for path in sorted(folder.glob("*.cpp")) if path != unity}
        self.includes = "".join(f'#include "{name}"\n' for name in sources)
        code = "\n".join(sources.values())
        self.clocked = Process(code, "nba_sequent__TOP__0")
        self.wired = Process(code, "stl_sequent__TOP__0")  # every wire, from registers and settings
        self.outputs = [name for name in sorted(self.clocked.assigned) if READ_ALWAYS.fullmatch(name)]
        # What depends on settings alone stays where the constructor put it.
        self.wires = sorted((self.clocked.assigned & self.wired.assigned) - set(self.outputs))
        self.wires = [name for name in self.wires if name not in READ_IN_THE_END]
        self.wires += sorted(name for name in self.clocked.assigned - self.wired.assigned if TEMPORARY.search(name))
        quiescent = re.search(r"vlSelfRef\.quiescent = (.*?);", self.clocked.body, re.S)
        names = re.findall(r"vlSelfRef\.(\w+)", quiescent[1]) if quiescent else []
        self.pending = [name for name in names if last_word(name) != "state_q"]
        if {last_word(name) for name in self.pending} != PENDING:
            raise SystemExit(f"clock_forms: quiescent says that there is none of {names}: is that all?")

    def known(self, form: Form) -> list[str]:
        """What is 0 before the clock."""
        return [name for name in self.pending if form.ticks or (not form.heard and last_word(name) in HEARD)]

    def constants(self, form: Form, dcf: bool) -> dict[str, str]:
        summary = [name for name in self.clocked.members if SUMMARY.fullmatch(name)]
        zero = [
            *NEVER,
            *(() if form.told else summary),
            *(() if form.ticks else ("tick_n",)),
            *(() if form.strobes else STROBES),
            *(("cfg_access_mode",) if dcf else ()),
        ]
        return {name: "0U" for name in zero} | {"nbr_take": f"{int(form.takes)}U"}

    def function(self, form: Form, dcf: bool) -> str:
        wires, clocked = self.wired.body, self.clocked.body
        for name, value in self.constants(form, dcf).items():
            wires, clocked = replaced(wires, name, value), replaced(clocked, name, value)
        known = self.known(form)
        for name in known:
            if name in self.wires:
                # What follows from it is known as well.
                wires = re.sub(rf"{member(name)}(?!\s*=[^=])", "0U", wires)
                continue
            wires = replaced(wires, name, "0U")
            first = re.search(assigned(name), clocked).start()
            clocked = replaced(clocked[:first], name, "0U") + clocked[first:]
        for name in (*self.outputs, *READ_IN_THE_END):
            wires = replaced(wires, name, f"before.{name}")
        for name in READ_IN_THE_END:
            first = re.search(assigned(name), clocked).start()
            clocked = clocked[:first] + replaced(clocked[first:], name, f"in_the_end.{name}")
        for name in self.wires:
            if form.takes and READ_WHEN_TAKEN.fullmatch(name):
                wires = replaced(wires, name, f"before.{name}")
                continue
            wires, clocked = replaced(wires, name, f"wire.{name}"), replaced(clocked, name, f"wire.{name}")
        # Assertions are never switched off.
        clocked = re.sub(r"vlSymsp->_vm_contextp__->assertOnGet\(\d+, \d+\)", "true", clocked)
        zeroes = "".join(f"  wire.{name} = 0;\n" for name in known if name in self.wires)
        ends = "".join(f"    vlSelfRef.{name} = in_the_end.{name};\n" for name in READ_IN_THE_END)
        return (
            f"static __attribute__((noinline)) void {form.name}{'_dcf' if dcf else ''}({ROOT}* __restrict vlSelf) {{\n"
            "  Vmac_core__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;\n"
            f"  {ROOT}& vlSelfRef = *vlSelf;\n  wires wire;\n  outputs before, in_the_end;\n"
            + ("  if (vlSelfRef.tick_n == 0) __builtin_unreachable();\n" if form.ticks else "")
            + f"  {{\n{self.wired.locals}{wires}\n  }}\n{zeroes}  {{\n{self.clocked.locals}{clocked}\n  }}\n"
            f"  if (vlSelfRef.quiescent) {{\n{ends}  }}\n}}\n"
        )

    def struct(self, name: str, members: list[str]) -> str:
        return f"struct {name} {{\n" + "".join(f"  decltype({ROOT}::{each}) {each};\n" for each in members) + "};\n"

    def text(self) -> str:
        taken = [name for name in self.wires if READ_WHEN_TAKEN.fullmatch(name)]
        structs = self.struct("wires", self.wires) + self.struct("outputs", [*self.outputs, *READ_IN_THE_END, *taken])
        forms = "".join(self.function(form, dcf) for form in FORMS for dcf in (True, False))
        heard = " | ".join(f"root->{name}" for name in self.pending if last_word(name) in HEARD)
        return f"""{self.includes}
namespace {{
{structs}
{forms}
bool says_something(const {ROOT}* root) {{ return (root->phy_tx_start | root->rx_deliver | root->done_valid) != 0; }}
}}

unsigned Vmac_core_clock({ROOT}* root, unsigned most_clocks) {{
  const bool dcf = root->cfg_access_mode == 0;
  if (root->tick_n != 0 && (root->summary_us | root->summary_nav_left_us | root->summary_heard) != 0) {{
    dcf ? told_dcf(root) : told(root);
  }} else if (root->tick_n != 0) {{
    dcf ? pass_dcf(root) : pass(root);
  }} else {{
    dcf ? begin_dcf(root) : begin(root);
  }}
  unsigned clocks = 1;
  for (; !root->quiescent && !says_something(root) && clocks != most_clocks; ++clocks) {{
    if (({heard}) != 0) {{
      dcf ? heard_dcf(root) : heard(root);
    }} else {{
      dcf ? quiet_dcf(root) : quiet(root);
    }}
  }}
  return clocks;
}}

void Vmac_core_take({ROOT}* root) {{ root->cfg_access_mode == 0 ? take_dcf(root) : take(root); }}
"""


def main() -> None:
    folder, unity = Path(sys.argv[1]), Path(sys.argv[2])
    unity.write_text(Model(folder, unity).text())


if __name__ == "__main__":
    main()
