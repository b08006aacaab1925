// SPDX-License-Identifier: GPL-2.0-or-later
// AXI4-Lite slave (Arm IHI 0022, B1) in front of a simple bus: one access at a time, reads and writes in turn when
// both wait. Every access is answered with OKAY: what a write did wrong is read in a register, because an error
// response stops the processor of some hosts.
//
// Timing: an access is taken in the clock in which it is offered; it stands on the bus from the next clock until
// `bus_done`, and is answered in the clock after that. What a write says stands one clock longer.

`default_nettype none

module axil_slave #(
  parameter int unsigned ADDRESS_W = 10
) (
  input  wire logic                 clk,
  input  wire logic                 rst,

  input  wire logic                 s_axil_awvalid,
  output wire logic                 s_axil_awready,
  input  wire logic [ADDRESS_W-1:0] s_axil_awaddr,
  input  wire logic                 s_axil_wvalid,
  output wire logic                 s_axil_wready,
  input  wire logic [31:0]          s_axil_wdata,
  input  wire logic [3:0]           s_axil_wstrb,
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

  // The bus.
  output wire logic                 bus_valid,
  output wire logic                 bus_write,
  output wire logic [ADDRESS_W-1:0] bus_address,
  output wire logic [31:0]          bus_word,       // to be written
  output wire logic [3:0]           bus_strobes,
  input  wire logic                 bus_done,       // one clock while bus_valid, with
  input  wire logic [31:0]          bus_read_word
);

  typedef enum logic [1:0] {
    ST_IDLE,
    ST_BUS,       // the access is on the bus
    ST_ANSWER
  } state_e;

  state_e               state_q;
  logic                 write_q;                    // the access, or the last one, is a write
  logic [ADDRESS_W-1:0] address_q;
  logic [31:0]          word_q, read_word_q;
  logic [3:0]           strobes_q;

  wire logic write_waits = s_axil_awvalid && s_axil_wvalid;
  wire logic take_write  = state_q == ST_IDLE && write_waits && !(s_axil_arvalid && write_q);
  wire logic take_read   = state_q == ST_IDLE && s_axil_arvalid && !(write_waits && !write_q);

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q <= ST_IDLE;
      write_q <= 1'b0;
    end else begin
      case (state_q)
        ST_IDLE: if (take_write || take_read) begin
          state_q <= ST_BUS;
          write_q <= take_write;
        end
        ST_BUS:    if (bus_done) state_q <= ST_ANSWER;
        ST_ANSWER: if (write_q ? s_axil_bready : s_axil_rready) state_q <= ST_IDLE;
        default:   state_q <= ST_IDLE;
      endcase
    end
    if (state_q == ST_IDLE) begin
      address_q <= take_write ? s_axil_awaddr : s_axil_araddr;
      strobes_q <= s_axil_wstrb;
      word_q    <= s_axil_wdata;
    end
    if (bus_done) read_word_q <= bus_read_word;
  end

  assign s_axil_awready = take_write && !rst;
  assign s_axil_wready  = take_write && !rst;
  assign s_axil_arready = take_read && !rst;
  assign s_axil_bvalid  = state_q == ST_ANSWER && write_q;
  assign s_axil_rvalid  = state_q == ST_ANSWER && !write_q;
  assign s_axil_rdata   = read_word_q;
  assign s_axil_bresp   = 2'b00;
  assign s_axil_rresp   = 2'b00;

  assign bus_valid   = state_q == ST_BUS;
  assign bus_write   = write_q;
  assign bus_address = address_q;
  assign bus_word    = word_q;
  assign bus_strobes = strobes_q;

endmodule

`default_nettype wire
