// SPDX-License-Identifier: GPL-2.0-or-later
// One access to a register at a time: below SHELL_REGISTERS_BASE over AXI4-Lite to radio_top, in the space behind it to
// the shell's own registers; beyond both it is refused.
//
// Timing: as long as the slave takes; a refusal comes in the next clock.

`default_nettype none

module register_bus
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,

  // From ctrlport_crossing, or whatever brings accesses.
  input  wire logic        access_valid,
  output wire logic        access_ready,
  input  wire logic        access_write,
  input  wire logic [19:0] access_address,     // bytes
  input  wire logic [31:0] access_word,
  output wire logic        answer_valid,       // one clock
  output wire logic        answer_refused,
  output wire logic [31:0] answer_word,

  // To radio_top.
  output wire axil_request_s  m_axil,
  input  wire axil_response_s m_axil_response,

  // To shell_registers, which answer at once.
  output wire logic        shell_access,
  output wire logic        shell_write,
  output wire logic [9:0]  shell_address,
  output wire logic [31:0] shell_word,
  input  wire logic [31:0] shell_read_word
);

  typedef enum logic [2:0] {
    ST_IDLE,      // nothing to do
    ST_SHELL,     // the shell's registers answer in this clock
    ST_WRITE,     // address and word go to radio_top, each when it is taken
    ST_WRITTEN,   // its answer is waited for
    ST_ADDRESS,   // an address to read goes to radio_top
    ST_READ,      // its answer is waited for
    ST_REFUSE     // nobody is there
  } state_e;

  state_e      state_d, state_q;
  logic        address_taken_d, address_taken_q, word_taken_d, word_taken_q, write_q;
  logic [19:0] address_q;
  logic [31:0] word_q;

  wire logic take     = state_q == ST_IDLE && access_valid;
  wire logic is_radio = access_address < 20'(SHELL_REGISTERS_BASE);
  wire logic is_shell = access_address[19:10] == 10'(SHELL_REGISTERS_BASE >> 10);

  always_comb begin
    state_d         = state_q;
    address_taken_d = address_taken_q;
    word_taken_d    = word_taken_q;
    case (state_q)
      ST_IDLE: if (access_valid) begin
        address_taken_d = 1'b0;
        word_taken_d    = 1'b0;
        if (is_radio)      state_d = access_write ? ST_WRITE : ST_ADDRESS;
        else if (is_shell) state_d = ST_SHELL;
        else               state_d = ST_REFUSE;
      end
      ST_WRITE: begin
        if (m_axil_response.awready) address_taken_d = 1'b1;
        if (m_axil_response.wready)  word_taken_d    = 1'b1;
        if (address_taken_d && word_taken_d) state_d = ST_WRITTEN;
      end
      ST_WRITTEN: if (m_axil_response.bvalid)  state_d = ST_IDLE;
      ST_ADDRESS: if (m_axil_response.arready) state_d = ST_READ;
      ST_READ:    if (m_axil_response.rvalid)  state_d = ST_IDLE;
      default:    state_d = ST_IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q         <= ST_IDLE;
      address_taken_q <= 1'b0;
      word_taken_q    <= 1'b0;
    end else begin
      state_q         <= state_d;
      address_taken_q <= address_taken_d;
      word_taken_q    <= word_taken_d;
    end
    if (take) begin
      write_q   <= access_write;
      address_q <= access_address;
      word_q    <= access_word;
    end
  end

  wire logic written = state_q == ST_WRITTEN && m_axil_response.bvalid;
  wire logic read    = state_q == ST_READ && m_axil_response.rvalid;

  assign access_ready   = state_q == ST_IDLE;
  assign answer_valid   = state_q == ST_SHELL || state_q == ST_REFUSE || written || read;
  assign answer_refused = state_q == ST_REFUSE || (written && m_axil_response.bresp != '0) || (read && m_axil_response.rresp != '0);
  assign answer_word    = state_q == ST_SHELL ? shell_read_word : m_axil_response.rdata;

  // Whole words; an answer is taken at once.
  assign m_axil = '{
    awvalid: state_q == ST_WRITE && !address_taken_q,
    awaddr:  address_q[AXIL_ADDRESS_W-1:0],
    awprot:  '0,
    wvalid:  state_q == ST_WRITE && !word_taken_q,
    wdata:   word_q,
    wstrb:   '1,
    bready:  1'b1,
    arvalid: state_q == ST_ADDRESS,
    araddr:  address_q[AXIL_ADDRESS_W-1:0],
    arprot:  '0,
    rready:  1'b1
  };

  assign shell_access   = state_q == ST_SHELL;
  assign shell_write    = write_q;
  assign shell_address  = address_q[9:0];
  assign shell_word     = word_q;

  wire logic unused = &{1'b0, address_q[19:AXIL_ADDRESS_W]};

endmodule

`default_nettype wire
