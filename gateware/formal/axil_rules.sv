// SPDX-License-Identifier: GPL-2.0-or-later
// AXI4-Lite (Arm IHI 0022, A3.2 and B1): what the slave offers stays until it is taken, every access is answered once,
// in the clock after the bus was done with it, and neither reads nor writes starve.
//
// Bound to axil_slave. Master and bus are free: the master keeps to the handshake's rules, the bus may
// be done in any clock of an access. The first clock is a reset.

`default_nettype none

module axil_rules #(
  parameter int unsigned ADDRESS_W = 10
) (
  input wire logic                 clk,
  input wire logic                 rst,
  input wire logic                 awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready,
  input wire logic [ADDRESS_W-1:0] awaddr, araddr,
  input wire logic [31:0]          wdata, rdata,
  input wire logic [3:0]           wstrb,
  input wire logic [1:0]           bresp, rresp,
  input wire logic                 bus_valid, bus_write, bus_done,
  input wire logic [ADDRESS_W-1:0] bus_address,
  input wire logic [31:0]          bus_word, bus_read_word,
  input wire logic [3:0]           bus_strobes
);

  logic                 running_q = 1'b0;
  logic                 aw_waits_q = 1'b0, w_waits_q = 1'b0, ar_waits_q = 1'b0, b_waits_q = 1'b0, r_waits_q = 1'b0;
  logic [ADDRESS_W-1:0] awaddr_q, araddr_q, taken_address_q;
  logic [31:0]          wdata_q, rdata_q, taken_word_q, done_word_q;
  logic [3:0]           wstrb_q, taken_strobes_q;
  logic                 writing_q = 1'b0, reading_q = 1'b0;   // taken and not yet answered
  logic                 done_q = 1'b0;                        // the bus was done a clock ago
  logic [1:0]           overtaken_reads_q = '0, overtaken_writes_q = '0;

  always_ff @(posedge clk) begin
    running_q  <= 1'b1;
    aw_waits_q <= !rst && awvalid && !awready;
    w_waits_q  <= !rst && wvalid && !wready;
    ar_waits_q <= !rst && arvalid && !arready;
    b_waits_q  <= !rst && bvalid && !bready;
    r_waits_q  <= !rst && rvalid && !rready;
    awaddr_q   <= awaddr;
    araddr_q   <= araddr;
    wdata_q    <= wdata;
    wstrb_q    <= wstrb;
    rdata_q    <= rdata;
    done_q     <= !rst && bus_valid && bus_done;
    if (bus_done) done_word_q <= bus_read_word;
    if (rst) begin
      writing_q          <= 1'b0;
      reading_q          <= 1'b0;
      overtaken_reads_q  <= '0;
      overtaken_writes_q <= '0;
    end else begin
      if (awvalid && awready) writing_q <= 1'b1;
      else if (bvalid && bready) writing_q <= 1'b0;
      if (arvalid && arready) reading_q <= 1'b1;
      else if (rvalid && rready) reading_q <= 1'b0;
      if (awvalid && awready) begin
        taken_address_q <= awaddr;
        taken_word_q    <= wdata;
        taken_strobes_q <= wstrb;
      end else if (arvalid && arready) begin
        taken_address_q <= araddr;
      end
      if (!arvalid || arready) overtaken_reads_q <= '0;
      else if (awready) overtaken_reads_q <= overtaken_reads_q + 1'b1;
      if (!(awvalid && wvalid) || awready) overtaken_writes_q <= '0;
      else if (arready) overtaken_writes_q <= overtaken_writes_q + 1'b1;
    end
  end

  // The master.
  always_comb begin
    if (!running_q) assume (rst);
    if (running_q && !rst) begin
      if (aw_waits_q) assume (awvalid && awaddr == awaddr_q);
      if (w_waits_q) assume (wvalid && wdata == wdata_q && wstrb == wstrb_q);
      if (ar_waits_q) assume (arvalid && araddr == araddr_q);
    end
    // The bus.
    if (!bus_valid) assume (!bus_done);
  end

  always_comb if (running_q && !rst) begin
    // Offered answers stay, unchanged.
    if (b_waits_q) a_write_answer_stays : assert (bvalid);
    if (r_waits_q) a_read_answer_stays : assert (rvalid && rdata == rdata_q);
    // No answer without its access, one access at a time, address and data together.
    a_write_answered : assert (!bvalid || writing_q);
    a_read_answered : assert (!rvalid || reading_q);
    a_one_at_a_time : assert (!(writing_q && reading_q));
    a_none_taken_meanwhile : assert (!(writing_q || reading_q) || !(awready || wready || arready));
    a_together : assert (awready == wready && !(awready && arready));
    a_ready_for_something : assert (!(awready && !(awvalid && wvalid)) && !(arready && !arvalid));
    a_okay : assert (bresp == 2'b00 && rresp == 2'b00);
    // What was taken is what stands on the bus, until it is done; then it is answered at once.
    a_on_the_bus : assert (bus_valid == ((writing_q || reading_q) && !bvalid && !rvalid));
    if (bus_valid) begin
      a_address : assert (bus_address == taken_address_q && bus_write == writing_q);
      if (bus_write) a_word : assert (bus_word == taken_word_q && bus_strobes == taken_strobes_q);
    end
    if (done_q) a_answered_at_once : assert (bvalid || rvalid);
    if (rvalid) a_read_word : assert (rdata == done_word_q);
    // Nobody waits for more than one other access; when nothing is under way, something that waits is taken.
    a_reads_do_not_starve : assert (overtaken_reads_q <= 2'd1);
    a_writes_do_not_starve : assert (overtaken_writes_q <= 2'd1);
    if (overtaken_reads_q != '0) a_read_is_next : assert (bus_write);
    if (overtaken_writes_q != '0) a_write_is_next : assert (!bus_write);
    if (!writing_q && !reading_q && (arvalid || (awvalid && wvalid))) a_taken_at_once : assert (awready || arready);

    c_write : cover (bvalid && b_waits_q);
    c_read : cover (rvalid && r_waits_q);
  end

endmodule

bind axil_slave axil_rules #(.ADDRESS_W(ADDRESS_W)) u_axil_rules (
  .clk, .rst, .awvalid(s_axil_awvalid), .awready(s_axil_awready), .wvalid(s_axil_wvalid), .wready(s_axil_wready),
  .bvalid(s_axil_bvalid), .bready(s_axil_bready), .arvalid(s_axil_arvalid), .arready(s_axil_arready),
  .rvalid(s_axil_rvalid), .rready(s_axil_rready), .awaddr(s_axil_awaddr), .araddr(s_axil_araddr),
  .wdata(s_axil_wdata), .rdata(s_axil_rdata), .wstrb(s_axil_wstrb), .bresp(s_axil_bresp), .rresp(s_axil_rresp),
  .bus_valid, .bus_write, .bus_done, .bus_address, .bus_word, .bus_read_word, .bus_strobes
);

`default_nettype wire
