# SPDX-License-Identifier: GPL-2.0-or-later
"""Models of what stands around our blocks in an image and is not ours: UHD's NoC shell, the vendor's cells."""

from __future__ import annotations

# Cells that Verilator knows nothing of.
VENDOR_MODELS = """
module MMCME2_BASE #(
  parameter CLKIN1_PERIOD = 0.0, parameter DIVCLK_DIVIDE = 1, parameter CLKFBOUT_MULT_F = 5.0, parameter
  CLKOUT0_DIVIDE_F = 1.0
) (
  input CLKIN1, CLKFBIN, PWRDWN, RST,
  output CLKFBOUT, CLKFBOUTB, CLKOUT0, CLKOUT0B, CLKOUT1, CLKOUT1B, CLKOUT2, CLKOUT2B, CLKOUT3, CLKOUT3B, CLKOUT4,
  CLKOUT5,
  CLKOUT6, LOCKED
);
endmodule
module BUFG (input I, output O);
endmodule
"""


def noc_shell(description: dict) -> str:
    """A model of the NoC shell that UHD's tool makes of a block description: its ports, and nothing behind them."""
    inputs, outputs = list(description["data"]["inputs"]), list(description["data"]["outputs"])
    ports = [f"input wire {clock['name']}_clk" for clock in description["clocks"]]
    ports += [f"output wire {clock['name']}_rst" for clock in description["clocks"]]
    ports += ["input wire [511:0] rfnoc_core_config", "output wire [511:0] rfnoc_core_status"]
    for side, way, back, count in (("s", "input", "output", len(inputs)), ("m", "output", "input", len(outputs))):
        ports += [f"{way} wire [{count}*CHDR_W-1:0] {side}_rfnoc_chdr_tdata"]
        ports += [f"{way} wire [{count}-1:0] {side}_rfnoc_chdr_{each}" for each in ("tlast", "tvalid")]
        ports += [f"{back} wire [{count}-1:0] {side}_rfnoc_chdr_tready"]
        ports += [f"{way} wire [31:0] {side}_rfnoc_ctrl_tdata", f"{way} wire {side}_rfnoc_ctrl_tlast"]
        ports += [f"{way} wire {side}_rfnoc_ctrl_tvalid", f"{back} wire {side}_rfnoc_ctrl_tready"]
    ports += ["output wire ctrlport_clk", "output wire ctrlport_rst"]
    control = description["control"]["ctrlport"]
    ports += [
        "output wire m_ctrlport_req_wr",
        "output wire m_ctrlport_req_rd",
        "output wire [19:0] m_ctrlport_req_addr",
    ]
    ports += ["output wire [31:0] m_ctrlport_req_data"]
    if control["byte_mode"]:
        ports += ["output wire [3:0] m_ctrlport_req_byte_en"]
    if control["timed"]:
        ports += ["output wire m_ctrlport_req_has_time", "output wire [63:0] m_ctrlport_req_time"]
    ports += ["input wire m_ctrlport_resp_ack", "input wire [31:0] m_ctrlport_resp_data"]
    if control["has_status"]:
        ports += ["input wire [1:0] m_ctrlport_resp_status"]
    ports += ["output wire axis_data_clk", "output wire axis_data_rst"]
    sideband = (
        "[31:0] X_tdata",
        "X_tkeep",
        "X_tlast",
        "X_tvalid",
        "[63:0] X_ttimestamp",
        "X_thas_time",
        "[15:0] X_tlength",
    )
    for side, way, back, names in (("m", "output", "input", inputs), ("s", "input", "output", outputs)):
        for name in names:
            stream = f"{side}_{name}_axis"
            ports += [f"{way} wire {each.replace('X', stream)}" for each in (*sideband, "X_teov", "X_teob")]
            ports += [f"{back} wire {stream}_tready"]
    parameters = ["parameter [9:0] THIS_PORTID = 0", "parameter CHDR_W = 64", "parameter [5:0] MTU = 10"]
    parameters += [f"parameter {name} = {value}" for name, value in description["parameters"].items()]
    joined = ",\n  ".join
    name = f"noc_shell_{description['module_name']}"
    return f"module {name} #(\n  {joined(parameters)}\n) (\n  {joined(ports)}\n);\nendmodule\n"
