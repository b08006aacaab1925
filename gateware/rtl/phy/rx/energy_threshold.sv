// SPDX-License-Identifier: GPL-2.0-or-later
// From which energy on the medium is busy: as it is set, and never above what the DSSS PHY's clause has for the station's transmit
// power (IEEE 802.11-2012, 16.4.8.5): who sends louder must hear further.
//
// Timing: combinational.

`default_nettype none

module energy_threshold
  import perhop_pkg::*;
(
  input  wire logic signed [7:0] cfg_energy_threshold_dbm,
  input  wire logic signed [7:0] cfg_transmit_power_dbm,
  input  wire logic              cfg_limit_threshold,      // by the power
  output wire logic signed [7:0] limit_dbm,                // 127: there is none
  output wire logic signed [7:0] threshold_dbm
);

  localparam int LOUD_DBM = int'(CCA_LOUD_POWER_DBM), MIDDLE_DBM = int'(CCA_MIDDLE_POWER_DBM);

  assign limit_dbm = !cfg_limit_threshold                       ? 8'sd127
                   : int'(cfg_transmit_power_dbm) > LOUD_DBM    ? -8'(CCA_LOUD_LIMIT_BELOW_DBM)
                   : int'(cfg_transmit_power_dbm) > MIDDLE_DBM  ? -8'(CCA_MIDDLE_LIMIT_BELOW_DBM)
                   :                                              -8'(CCA_QUIET_LIMIT_BELOW_DBM);

  assign threshold_dbm = cfg_energy_threshold_dbm > limit_dbm ? limit_dbm : cfg_energy_threshold_dbm;

endmodule

`default_nettype wire
