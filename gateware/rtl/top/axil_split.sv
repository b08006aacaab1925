// SPDX-License-Identifier: GPL-2.0-or-later
// One AXI4-Lite port (Arm IHI 0022, B1) in front of two slaves that share its addresses: the lower half is that of slave 0, the upper
// that of slave 1. One read and one write at a time, so that answers stay in order.
//
// Timing: combinational. A slave must take the address and the data of a write in one clock, as axil_slave does.

`default_nettype none

module axil_split #(
  parameter int unsigned ADDRESS_W = 11
) (
  input  wire logic                 clk,
  input  wire logic                 rst,

  // From the host.
  input  wire logic                 s_axil_awvalid,
  output wire logic                 s_axil_awready,
  input  wire logic [ADDRESS_W-1:0] s_axil_awaddr,
  input  wire logic                 s_axil_wvalid,
  output wire logic                 s_axil_wready,
  output wire logic                 s_axil_bvalid,
  input  wire logic                 s_axil_bready,
  output wire logic [1:0]           s_axil_bresp,
  input  wire logic                 s_axil_arvalid,
  output wire logic                 s_axil_arready,
  input  wire logic [ADDRESS_W-1:0] s_axil_araddr,
  output wire logic                 s_axil_rvalid,
  input  wire logic                 s_axil_rready,
  output wire logic [31:0]          s_axil_rdata,
  output wire logic [1:0]           s_axil_rresp,

  // To the slaves, by number. Addresses, data, strobes and protection bits go to both as they come.
  output wire logic [1:0]           m_axil_awvalid,
  input  wire logic [1:0]           m_axil_awready,
  output wire logic [1:0]           m_axil_wvalid,
  input  wire logic [1:0]           m_axil_bvalid,
  output wire logic [1:0]           m_axil_bready,
  input  wire logic [1:0]           m_axil_bresp  [2],
  output wire logic [1:0]           m_axil_arvalid,
  input  wire logic [1:0]           m_axil_arready,
  input  wire logic [1:0]           m_axil_rvalid,
  output wire logic [1:0]           m_axil_rready,
  input  wire logic [31:0]          m_axil_rdata  [2],
  input  wire logic [1:0]           m_axil_rresp  [2]
);

  logic writing_q, reading_q;                       // an access waits for its answer
  logic write_to_q, read_from_q;                    // of this slave

  wire logic write_to    = s_axil_awaddr[ADDRESS_W-1];
  wire logic read_from   = s_axil_araddr[ADDRESS_W-1];
  wire logic write_waits = s_axil_awvalid && s_axil_wvalid && !writing_q;
  wire logic read_waits  = s_axil_arvalid && !reading_q;

  assign m_axil_awvalid = {write_waits && write_to, write_waits && !write_to};
  assign m_axil_wvalid  = m_axil_awvalid;
  assign m_axil_arvalid = {read_waits && read_from, read_waits && !read_from};

  assign s_axil_awready = write_waits && m_axil_awready[write_to];
  assign s_axil_wready  = s_axil_awready;
  assign s_axil_arready = read_waits && m_axil_arready[read_from];

  assign s_axil_bvalid = writing_q && m_axil_bvalid[write_to_q];
  assign s_axil_bresp  = m_axil_bresp[write_to_q];
  assign m_axil_bready = writing_q ? {s_axil_bready && write_to_q, s_axil_bready && !write_to_q} : 2'b00;
  assign s_axil_rvalid = reading_q && m_axil_rvalid[read_from_q];
  assign s_axil_rdata  = m_axil_rdata[read_from_q];
  assign s_axil_rresp  = m_axil_rresp[read_from_q];
  assign m_axil_rready = reading_q ? {s_axil_rready && read_from_q, s_axil_rready && !read_from_q} : 2'b00;

  always_ff @(posedge clk) begin
    if (rst) begin
      writing_q <= 1'b0;
      reading_q <= 1'b0;
    end else begin
      if (s_axil_awready)                      writing_q <= 1'b1;
      else if (s_axil_bvalid && s_axil_bready) writing_q <= 1'b0;
      if (s_axil_arready)                      reading_q <= 1'b1;
      else if (s_axil_rvalid && s_axil_rready) reading_q <= 1'b0;
    end
    if (s_axil_awready) write_to_q  <= write_to;
    if (s_axil_arready) read_from_q <= read_from;
  end

endmodule

`default_nettype wire
