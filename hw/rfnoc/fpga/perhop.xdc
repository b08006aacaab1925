# SPDX-License-Identifier: GPL-2.0-or-later
#
# Constraints of the crossings between host clock, mac_clk and radio clock. Vivado derives mac_clk from the clock manager. Cells are
# found by the names that cdc_bit, cdc_fifo and cdc_reset give their registers: keep both in step.

# Gray counts: all bits within one clock of either side of each other, so that at most one is caught in mid-change. 4 ns is below
# a period of the fastest clock, 250 MHz.
set_max_delay -datapath_only 4.0 \
  -from [get_cells -hierarchical -filter {NAME =~ *cdc_written_gray_q_reg*}] \
  -to   [get_cells -hierarchical -filter {NAME =~ *cdc_first_q_reg*}]
set_max_delay -datapath_only 4.0 \
  -from [get_cells -hierarchical -filter {NAME =~ *cdc_read_gray_q_reg*}] \
  -to   [get_cells -hierarchical -filter {NAME =~ *cdc_first_q_reg*}]

# Words have stood two clocks before their count tells of them.
set_false_path -through [get_pins -hierarchical -filter {NAME =~ *cdc_memory_reg*/O* || NAME =~ *cdc_memory_reg*/DO*}] \
  -from [get_cells -hierarchical -filter {NAME =~ *cdc_memory_reg*}]

# Single bits and resets may come at any time.
set_false_path -to [get_pins -hierarchical -filter {NAME =~ *u_own/cdc_first_q_reg*/D}]
set_false_path -to [get_pins -hierarchical -filter {NAME =~ *cdc_reset_q_reg*/PRE}]
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ *cdc_first_q_reg* || NAME =~ *cdc_second_q_reg*}]
