// SPDX-License-Identifier: GPL-2.0-or-later
// Lets legal writes through to the register block and refuses all others, which change nothing. The class of rules
// and the bits of each word stand in a memory that gateware/spec fills; it also keeps what was
// written, so that settings are read from it and not through a multiplexer of a thousand bits.
//
// Timing: after reset, 256 clocks in which the reset values are copied and no access is answered. An access
// takes three clocks, and waits before that while `hold`; a legal write takes effect in the fourth.

`default_nettype none

module register_guard
  import perhop_register_words_pkg::*;
#(
  // Whose map it is: the radio's, or the MAC's. (Words as a parameter cost mac_top 400 LUT4 with Yosys 0.70.)
  parameter bit RADIO = 1'b0
) (
  input  wire logic        clk,
  input  wire logic        rst,

  // From axil_slave.
  input  wire logic        bus_valid,
  input  wire logic        bus_write,
  input  wire logic [REGISTER_SPACE_W-1:0] bus_address,
  input  wire logic [31:0] bus_word,
  input  wire logic [3:0]  bus_strobes,
  output wire logic        bus_done,
  input  wire logic        hold,                   // what is to be read is still being gathered

  // Whether the word breaks a rule of its class; from perhop_register_rules.
  output wire logic [3:0]  kind,
  input  wire logic        broken,
  input  wire logic        enabled,                // the MAC runs: settings stand

  // What becomes of it.
  output wire logic        write,                  // it is legal: one clock after bus_done. With that, one of:
  output wire logic        refused_not_writable,
  output wire logic        refused_partial_write,
  output wire logic        refused_not_idle,
  output wire logic        refused_illegal_value,
  output wire logic        refused,

  // The memory: what it holds at bus_address; and each word that is written to it, after reset too.
  output wire logic        filling,                // after reset
  output wire logic [31:0] memory_word,
  output wire logic        memory_write,
  output wire logic [6:0]  memory_write_index,
  output wire logic [31:0] memory_write_word
);

  localparam logic [3:0] FIRST_IDLE = RADIO ? perhop_radio_register_words_pkg::FIRST_IDLE_CLASS : FIRST_IDLE_CLASS;

  typedef enum logic [1:0] {
    ST_FILL,    // reset values are copied, two clocks a word
    ST_IDLE,
    ST_READ,    // the memory was addressed
    ST_JUDGE
  } state_e;

  state_e      state_q;
  logic        write_q;
  logic [7:0]  fill_q;                             // word, and whether its reset value has been read
  (* no_rw_check *)   // for Yosys: what is read while it is written is not looked at
  logic [35:0] memory_q [512];
  logic [35:0] memory_data_q;

  initial begin
    for (int unsigned i = 0; i < 512; i++) memory_q[i] = RADIO ? perhop_radio_register_words_pkg::register_word(i) : register_word(i);
  end

  wire logic [8:0]  read_address = filling   ? {2'b01, fill_q[7:1]}
                                 : bus_write ? {1'b1, bus_address[9:2]}
                                             : {2'b00, bus_address[8:2]};
  wire logic [31:0] allowed      = memory_data_q[31:0];
  wire logic        judged       = state_q == ST_JUDGE && bus_write && bus_strobes != '0;

  always_ff @(posedge clk) begin
    write_q <= !rst && judged && !refused;
    if (rst) begin
      state_q <= ST_FILL;
      fill_q  <= '0;
    end else begin
      case (state_q)
        ST_FILL: begin
          fill_q <= fill_q + 1'b1;
          if (fill_q == '1) state_q <= ST_IDLE;
        end
        ST_IDLE:  if (bus_valid && !hold) state_q <= ST_READ;
        ST_READ:  state_q <= ST_JUDGE;
        default:  state_q <= ST_IDLE;
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (memory_write) memory_q[{2'b00, memory_write_index}] <= {4'd0, memory_write_word};
    memory_data_q <= memory_q[read_address];
  end

  assign filling  = state_q == ST_FILL;
  assign bus_done = state_q == ST_JUDGE;
  assign kind     = memory_data_q[35:32];

  wire logic writable = judged && kind != CLASS_NOT_WRITABLE;
  wire logic whole    = writable && bus_strobes == '1;
  wire logic idle     = whole && !(enabled && kind >= FIRST_IDLE);

  assign refused_not_writable  = judged && !writable;
  assign refused_partial_write = writable && !whole;
  assign refused_not_idle      = whole && !idle;
  assign refused_illegal_value = idle && (broken || (bus_word & ~allowed) != '0);
  assign refused = refused_not_writable || refused_partial_write || refused_not_idle || refused_illegal_value;
  assign write   = write_q;

  assign memory_word        = memory_data_q[31:0];
  assign memory_write       = filling ? fill_q[0] : write && !bus_address[9];
  assign memory_write_index = filling ? fill_q[7:1] : bus_address[8:2];
  assign memory_write_word  = filling ? memory_data_q[31:0] : bus_word;

  wire logic unused = &{1'b0, bus_address[1:0]};

endmodule

`default_nettype wire
