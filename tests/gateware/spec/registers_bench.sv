// SPDX-License-Identifier: GPL-2.0-or-later
// Gives a cocotb test plain ports to members of the register block's structs.

`default_nettype none

module registers_bench (
  input  wire logic        clk,
  input  wire logic        arst_n,

  output wire logic        s_axil_awready,
  input  wire logic        s_axil_awvalid,
  input  wire logic [8:0]  s_axil_awaddr,
  output wire logic        s_axil_wready,
  input  wire logic        s_axil_wvalid,
  input  wire logic [31:0] s_axil_wdata,
  input  wire logic [3:0]  s_axil_wstrb,
  input  wire logic        s_axil_bready,
  output wire logic        s_axil_bvalid,
  output wire logic [1:0]  s_axil_bresp,
  output wire logic        s_axil_arready,
  input  wire logic        s_axil_arvalid,
  input  wire logic [8:0]  s_axil_araddr,
  input  wire logic        s_axil_rready,
  output wire logic        s_axil_rvalid,
  output wire logic [31:0] s_axil_rdata,
  output wire logic [1:0]  s_axil_rresp,

  input  wire logic [63:0] tsf_us,
  input  wire logic        stat_rts_sent,
  input  wire logic        completion,
  output wire logic [47:0] cfg_address,
  output wire logic [63:0] cfg_seed,
  output wire logic        cfg_seed_load,
  output wire logic [9:0]  cfg_cw_max,
  output wire logic [15:0] cfg_response_airtime_us_7,
  output wire logic        nbr_take,
  output wire logic        irq
);

  perhop_registers_pkg::perhop_registers__in_t  hwif_in;
  perhop_registers_pkg::perhop_registers__out_t hwif_out;

  always_comb begin
    hwif_in = '{default: '0};
    hwif_in.tsf.value_us.next = tsf_us;
    hwif_in.stat_rts_sent.count.incr = stat_rts_sent;
    hwif_in.interrupt_status.completion.next = completion;
  end

  perhop_registers registers (
    .clk, .arst_n,
    .s_axil_awready, .s_axil_awvalid, .s_axil_awaddr, .s_axil_awprot('0), .s_axil_wready, .s_axil_wvalid,
    .s_axil_wdata, .s_axil_wstrb, .s_axil_bready, .s_axil_bvalid, .s_axil_bresp, .s_axil_arready, .s_axil_arvalid,
    .s_axil_araddr, .s_axil_arprot('0), .s_axil_rready, .s_axil_rvalid, .s_axil_rdata, .s_axil_rresp,
    .hwif_in, .hwif_out
  );

  assign cfg_address               = hwif_out.address.value.value;
  assign cfg_seed                  = hwif_out.seed.value.value;
  assign cfg_seed_load             = hwif_out.seed.value.swmod;
  assign cfg_cw_max                = hwif_out.contention_window.cw_max.value;
  assign cfg_response_airtime_us_7 = hwif_out.response[7].airtime_us.value;
  assign nbr_take                  = hwif_out.neighbour_select.take.value;
  assign irq                       = hwif_out.interrupt_status.intr;

endmodule

`default_nettype wire
