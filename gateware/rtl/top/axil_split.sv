// SPDX-License-Identifier: GPL-2.0-or-later
// One AXI4-Lite port (Arm IHI 0022, B1) in front of two slaves that share its addresses: the lower half is that of slave 0, the upper
// that of slave 1. One read and one write at a time, so that answers stay in order.
//
// Timing: combinational. A slave must take the address and the data of a write in one clock, as axil_slave does.

`default_nettype none

module axil_split
  import perhop_pkg::*;
(
  input  wire logic           clk,
  input  wire logic           rst,

  // From the host.
  input  wire axil_request_s  s_axil,
  output wire axil_response_s s_axil_response,

  // To the slaves, by number. Addresses, data, strobes and protection bits go to both as they come.
  output wire axil_request_s  m_axil [2],
  input  wire axil_response_s m_axil_response [2]
);

  logic writing_q, reading_q;                       // an access waits for its answer
  logic write_to_q, read_from_q;                    // of this slave

  wire logic write_to    = s_axil.awaddr[AXIL_ADDRESS_W-1];
  wire logic read_from   = s_axil.araddr[AXIL_ADDRESS_W-1];
  wire logic write_waits = s_axil.awvalid && s_axil.wvalid && !writing_q;
  wire logic read_waits  = s_axil.arvalid && !reading_q;
  wire logic write_taken = write_waits && m_axil_response[write_to].awready;
  wire logic read_taken  = read_waits && m_axil_response[read_from].arready;

  axil_request_s asked [2];

  always_comb begin
    for (int slave = 0; slave < 2; slave++) begin
      asked[slave]         = s_axil;
      asked[slave].awvalid = write_waits && write_to == 1'(slave);
      asked[slave].wvalid  = write_waits && write_to == 1'(slave);
      asked[slave].bready  = s_axil.bready && writing_q && write_to_q == 1'(slave);
      asked[slave].arvalid = read_waits && read_from == 1'(slave);
      asked[slave].rready  = s_axil.rready && reading_q && read_from_q == 1'(slave);
    end
  end

  assign m_axil = asked;

  assign s_axil_response = '{
    awready: write_taken,
    wready:  write_taken,
    bvalid:  writing_q && m_axil_response[write_to_q].bvalid,
    bresp:   m_axil_response[write_to_q].bresp,
    arready: read_taken,
    rvalid:  reading_q && m_axil_response[read_from_q].rvalid,
    rdata:   m_axil_response[read_from_q].rdata,
    rresp:   m_axil_response[read_from_q].rresp
  };

  always_ff @(posedge clk) begin
    if (rst) begin
      writing_q <= 1'b0;
      reading_q <= 1'b0;
    end else begin
      if (write_taken)                                  writing_q <= 1'b1;
      else if (s_axil_response.bvalid && s_axil.bready) writing_q <= 1'b0;
      if (read_taken)                                   reading_q <= 1'b1;
      else if (s_axil_response.rvalid && s_axil.rready) reading_q <= 1'b0;
    end
    if (write_taken) write_to_q  <= write_to;
    if (read_taken)  read_from_q <= read_from;
  end

endmodule

`default_nettype wire
