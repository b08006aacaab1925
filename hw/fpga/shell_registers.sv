// SPDX-License-Identifier: GPL-2.0-or-later
// The shell's own registers: where samples go, whether the host is there, and counters of what passes. What each is stands in
// gateware/spec/shell_registers.rdl.
//
// Timing: an access is answered in its clock.

`default_nettype none

module shell_registers #(
  parameter int unsigned CLOCKS_PER_US = 60,
  parameter int unsigned LOOP_SAMPLES = 16,
  parameter int unsigned DECIMATION   = 1,
  parameter int unsigned CHANNEL      = 0,
  parameter bit          STREAMED     = 1'b0,
  parameter bit          TIMED        = 1'b0
) (
  input  wire logic        clk,
  input  wire logic        rst,

  // From register_bus.
  input  wire logic        shell_access,
  input  wire logic        shell_write,
  input  wire logic [9:0]  shell_address,
  input  wire logic [31:0] shell_word,
  output wire logic [31:0] shell_read_word,

  // Settings, to sample_port.
  output wire logic        cfg_own_converter,  // also 0 from when the host is gone

  // What happens, a clock each.
  input  wire logic        stat_packet,
  input  wire logic        stat_packet_refused,
  input  wire logic        stat_frame,
  input  wire logic        stat_record,
  input  wire logic        stat_rx_sample_lost,
  input  wire logic        stat_tx_sample_late,
  input  wire logic        stat_sample,

  // From device_time and the MAC.
  input  wire logic [63:0] now_ticks,
  input  wire logic [63:0] tsf_us
);

  localparam int unsigned COUNTERS = 8;

  logic host_gone;

  perhop_shell_registers_pkg::perhop_shell_registers__in_t  told;
  perhop_shell_registers_pkg::perhop_shell_registers__out_t settings;
  logic [COUNTERS-1:0][31:0] counts_q;
  logic unused_read_done, unused_error, unused_write_done, unused_write_error, unused_write_stall, unused_read_stall;

  perhop_shell_registers u_registers (
    .clk, .rst,
    .s_cpuif_req(shell_access), .s_cpuif_req_is_wr(shell_write), .s_cpuif_addr(shell_address),
    .s_cpuif_wr_data(shell_word), .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(unused_write_stall),
    .s_cpuif_req_stall_rd(unused_read_stall), .s_cpuif_rd_ack(unused_read_done), .s_cpuif_rd_err(unused_error),
    .s_cpuif_rd_data(shell_read_word), .s_cpuif_wr_ack(unused_write_done), .s_cpuif_wr_err(unused_write_error),
    .hwif_in(told), .hwif_out(settings)
  );

  assign cfg_own_converter = settings.route.own_converter.value;

  heartbeat_watch #(.CLOCKS_PER_US(CLOCKS_PER_US)) u_heartbeat_watch (
    .clk, .rst, .watches(cfg_own_converter), .cfg_limit_ms(settings.heartbeat.limit_ms.value),
    .beat(settings.heartbeat.limit_ms.swmod), .gone(host_gone)
  );

  assign told.route.own_converter.hwclr = host_gone;

  wire logic [COUNTERS-1:0] events = {host_gone, stat_sample, stat_tx_sample_late, stat_rx_sample_lost, stat_record, stat_frame,
                                      stat_packet_refused, stat_packet};

  always_ff @(posedge clk) begin
    for (int unsigned index = 0; index < COUNTERS; ++index) begin
      if (rst)                counts_q[index] <= '0;
      else if (events[index]) counts_q[index] <= counts_q[index] + 1'b1;
    end
  end

  assign told.stat_packets.count.next         = counts_q[0];
  assign told.stat_packets_refused.count.next = counts_q[1];
  assign told.stat_frames.count.next          = counts_q[2];
  assign told.stat_records.count.next         = counts_q[3];
  assign told.stat_rx_samples_lost.count.next = counts_q[4];
  assign told.stat_tx_samples_late.count.next = counts_q[5];
  assign told.stat_samples.count.next         = counts_q[6];
  assign told.stat_hosts_gone.count.next      = counts_q[7];
  assign told.build.loop_samples.next         = 8'(LOOP_SAMPLES);
  assign told.build.decimation.next           = 8'(DECIMATION);
  assign told.build.channel.next              = 4'(CHANNEL);
  assign told.build.streamed.next             = STREAMED;
  assign told.build.timed.next                = TIMED;
  assign told.device_time.ticks.next          = now_ticks;
  assign told.device_time_tsf.value_us.next   = tsf_us;

  wire logic unused = &{1'b0, unused_read_done, unused_error, unused_write_done, unused_write_error, unused_write_stall,
                        unused_read_stall};

endmodule

`default_nettype wire
