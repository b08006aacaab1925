// SPDX-License-Identifier: GPL-2.0-or-later
// AXI4-Lite slave (Arm IHI 0022, B1) in front of a simple bus: one access at a time, reads and writes in turn when
// both wait. Every access is answered with OKAY: what a write did wrong is read in a register, because an error
// response stops the processor of some hosts. The bus has the addresses of one register map; higher bits of an address are not
// looked at.
//
// Timing: an access is taken in the clock in which it is offered; it stands on the bus from the next clock until
// `bus_done`, and is answered in the clock after that. What a write says stands one clock longer.

`default_nettype none

module axil_slave
  import perhop_pkg::*;
  import perhop_register_words_pkg::*;
(
  input  wire logic                 clk,
  input  wire logic                 rst,

  // From and to the host.
  input  wire axil_request_s        s_axil,
  output wire axil_response_s       s_axil_response,

  // The bus.
  output wire logic                 bus_valid,
  output wire logic                 bus_write,
  output wire logic [REGISTER_SPACE_W-1:0] bus_address,
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
  logic [REGISTER_SPACE_W-1:0] address_q;
  logic [31:0]          word_q, read_word_q;
  logic [3:0]           strobes_q;

  wire logic write_waits = s_axil.awvalid && s_axil.wvalid;
  wire logic take_write  = state_q == ST_IDLE && write_waits && !(s_axil.arvalid && write_q);
  wire logic take_read   = state_q == ST_IDLE && s_axil.arvalid && !(write_waits && !write_q);

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
        ST_ANSWER: if (write_q ? s_axil.bready : s_axil.rready) state_q <= ST_IDLE;
        default:   state_q <= ST_IDLE;
      endcase
    end
    if (state_q == ST_IDLE) begin
      address_q <= REGISTER_SPACE_W'(take_write ? s_axil.awaddr : s_axil.araddr);
      strobes_q <= s_axil.wstrb;
      word_q    <= s_axil.wdata;
    end
    if (bus_done) read_word_q <= bus_read_word;
  end

  assign s_axil_response = '{
    awready: take_write && !rst,
    wready:  take_write && !rst,
    bvalid:  state_q == ST_ANSWER && write_q,
    bresp:   2'b00,
    arready: take_read && !rst,
    rvalid:  state_q == ST_ANSWER && !write_q,
    rdata:   read_word_q,
    rresp:   2'b00
  };

  assign bus_valid   = state_q == ST_BUS;
  assign bus_write   = write_q;
  assign bus_address = address_q;
  assign bus_word    = word_q;
  assign bus_strobes = strobes_q;

endmodule

`default_nettype wire
