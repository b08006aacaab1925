// SPDX-License-Identifier: GPL-2.0-or-later
// AXI4-Lite (Arm IHI 0022, A3.2 and B1): what the slave offers stays until it is taken, every access is answered once,
// in the clock after the bus was done with it, and neither reads nor writes starve.
//
// Bound to axil_slave. Master and bus are free: the master keeps to the handshake's rules, the bus may
// be done in any clock of an access. The first clock is a reset.

`default_nettype none

module axil_rules
  import perhop_pkg::*;
  import perhop_register_words_pkg::*;
(
  input wire logic                 clk,
  input wire logic                 rst,
  input wire axil_request_s        host,
  input wire axil_response_s       slave,
  input wire logic                 bus_valid, bus_write, bus_done,
  input wire logic [REGISTER_SPACE_W-1:0] bus_address,
  input wire logic [31:0]          bus_word, bus_read_word,
  input wire logic [3:0]           bus_strobes
);

  logic                 running_q = 1'b0;
  logic                 aw_waits_q = 1'b0, w_waits_q = 1'b0, ar_waits_q = 1'b0, b_waits_q = 1'b0, r_waits_q = 1'b0;
  logic [AXIL_ADDRESS_W-1:0] awaddr_q, araddr_q;
  logic [REGISTER_SPACE_W-1:0] taken_address_q;
  logic [31:0]          wdata_q, rdata_q, taken_word_q, done_word_q;
  logic [3:0]           wstrb_q, taken_strobes_q;
  logic                 writing_q = 1'b0, reading_q = 1'b0;   // taken and not yet answered
  logic                 done_q = 1'b0;                        // the bus was done a clock ago
  logic [1:0]           overtaken_reads_q = '0, overtaken_writes_q = '0;

  always_ff @(posedge clk) begin
    running_q  <= 1'b1;
    aw_waits_q <= !rst && host.awvalid && !slave.awready;
    w_waits_q  <= !rst && host.wvalid && !slave.wready;
    ar_waits_q <= !rst && host.arvalid && !slave.arready;
    b_waits_q  <= !rst && slave.bvalid && !host.bready;
    r_waits_q  <= !rst && slave.rvalid && !host.rready;
    awaddr_q   <= host.awaddr;
    araddr_q   <= host.araddr;
    wdata_q    <= host.wdata;
    wstrb_q    <= host.wstrb;
    rdata_q    <= slave.rdata;
    done_q     <= !rst && bus_valid && bus_done;
    if (bus_done) done_word_q <= bus_read_word;
    if (rst) begin
      writing_q          <= 1'b0;
      reading_q          <= 1'b0;
      overtaken_reads_q  <= '0;
      overtaken_writes_q <= '0;
    end else begin
      if (host.awvalid && slave.awready) writing_q <= 1'b1;
      else if (slave.bvalid && host.bready) writing_q <= 1'b0;
      if (host.arvalid && slave.arready) reading_q <= 1'b1;
      else if (slave.rvalid && host.rready) reading_q <= 1'b0;
      if (host.awvalid && slave.awready) begin
        taken_address_q <= REGISTER_SPACE_W'(host.awaddr);
        taken_word_q    <= host.wdata;
        taken_strobes_q <= host.wstrb;
      end else if (host.arvalid && slave.arready) begin
        taken_address_q <= REGISTER_SPACE_W'(host.araddr);
      end
      if (!host.arvalid || slave.arready) overtaken_reads_q <= '0;
      else if (slave.awready) overtaken_reads_q <= overtaken_reads_q + 1'b1;
      if (!(host.awvalid && host.wvalid) || slave.awready) overtaken_writes_q <= '0;
      else if (slave.arready) overtaken_writes_q <= overtaken_writes_q + 1'b1;
    end
  end

  // The master.
  always_comb begin
    if (!running_q) assume (rst);
    if (running_q && !rst) begin
      if (aw_waits_q) assume (host.awvalid && host.awaddr == awaddr_q);
      if (w_waits_q) assume (host.wvalid && host.wdata == wdata_q && host.wstrb == wstrb_q);
      if (ar_waits_q) assume (host.arvalid && host.araddr == araddr_q);
    end
    // The bus.
    if (!bus_valid) assume (!bus_done);
  end

  always_comb if (running_q && !rst) begin
    // Offered answers stay, unchanged.
    if (b_waits_q) a_write_answer_stays : assert (slave.bvalid);
    if (r_waits_q) a_read_answer_stays : assert (slave.rvalid && slave.rdata == rdata_q);
    // No answer without its access, one access at a time, address and data together.
    a_write_answered : assert (!slave.bvalid || writing_q);
    a_read_answered : assert (!slave.rvalid || reading_q);
    a_one_at_a_time : assert (!(writing_q && reading_q));
    a_none_taken_meanwhile : assert (!(writing_q || reading_q) || !(slave.awready || slave.wready || slave.arready));
    a_together : assert (slave.awready == slave.wready && !(slave.awready && slave.arready));
    a_ready_for_something : assert (!(slave.awready && !(host.awvalid && host.wvalid)) && !(slave.arready && !host.arvalid));
    a_okay : assert (slave.bresp == 2'b00 && slave.rresp == 2'b00);
    // What was taken is what stands on the bus, until it is done; then it is answered at once.
    a_on_the_bus : assert (bus_valid == ((writing_q || reading_q) && !slave.bvalid && !slave.rvalid));
    if (bus_valid) begin
      a_address : assert (bus_address == taken_address_q && bus_write == writing_q);
      if (bus_write) a_word : assert (bus_word == taken_word_q && bus_strobes == taken_strobes_q);
    end
    if (done_q) a_answered_at_once : assert (slave.bvalid || slave.rvalid);
    if (slave.rvalid) a_read_word : assert (slave.rdata == done_word_q);
    // Nobody waits for more than one other access; when nothing is under way, something that waits is taken.
    a_reads_do_not_starve : assert (overtaken_reads_q <= 2'd1);
    a_writes_do_not_starve : assert (overtaken_writes_q <= 2'd1);
    if (overtaken_reads_q != '0) a_read_is_next : assert (bus_write);
    if (overtaken_writes_q != '0) a_write_is_next : assert (!bus_write);
    if (!writing_q && !reading_q && (host.arvalid || (host.awvalid && host.wvalid))) a_taken_at_once : assert (slave.awready || slave.arready);

    c_write : cover (slave.bvalid && b_waits_q);
    c_read : cover (slave.rvalid && r_waits_q);
  end

endmodule

bind axil_slave axil_rules u_axil_rules (
  .clk, .rst, .host(s_axil), .slave(s_axil_response),
  .bus_valid, .bus_write, .bus_done, .bus_address, .bus_word, .bus_read_word, .bus_strobes
);

`default_nettype wire
