# SPDX-License-Identifier: GPL-2.0-or-later
#
# After every Verilator run: makes sure that core_node may give a clock by calling the model's one clocked process:
#  - there is one such process and no combinational one after it;
#  - no combinational path leads from an input other than the settings (cfg_*) to anything.
# Then clock_forms.py gathers the generated files in one translation unit, with forms of that process beside them.
# Usage: cmake -Dmodel_folder=... -Dmodel_unity=... -Dpython=... -P check_model.cmake
file(GLOB sources "${model_folder}/*.cpp")
list(SORT sources)
set(code "")
foreach(source IN LISTS sources)
  file(READ "${source}" source_code)
  string(APPEND code "${source_code}")
endforeach()

string(REGEX MATCHALL "\nvoid Vmac_core___024root___(nba|act)_[a-z]+__TOP__[0-9]+" processes "${code}")
string(STRIP "${processes}" processes)
if(NOT processes STREQUAL "void Vmac_core___024root___nba_sequent__TOP__0")
  message(FATAL_ERROR "mac_core: core_node::clock_direct() needs one clocked process, Verilator made: ${processes}. "
                      "Remove the combinational input that caused it, or configure with -DPERHOP_DIRECT_EVAL=OFF.")
endif()
string(FIND "${code}" "void Vmac_core___024root___ico_sequent__TOP__0(" first)
if(first GREATER -1)
  string(SUBSTRING "${code}" ${first} -1 input_process)
  string(FIND "${input_process}" "\n}" last)
  string(SUBSTRING "${input_process}" 0 ${last} input_process)
  string(REGEX MATCHALL "vlSelfRef\\.(rst|tick_n|phy_cca_busy|phy_rx_[a-z_]+|desc_(valid|queue|ra|peer|bytes|rate|airtime_us|use_rts|tag)|nbr_(take|index|bin)|summary_[a-z_]+)[^a-z_0-9]"
         inputs "${input_process}")
  list(REMOVE_DUPLICATES inputs)
  if(inputs)
    message(FATAL_ERROR "mac_core: outputs depend on inputs within a clock (${inputs}), so core_node::clock_direct() would "
                        "miss them. Register these inputs first, or configure with -DPERHOP_DIRECT_EVAL=OFF.")
  endif()
endif()
execute_process(COMMAND "${python}" "${CMAKE_CURRENT_LIST_DIR}/clock_forms.py" "${model_folder}" "${model_unity}" COMMAND_ERROR_IS_FATAL ANY)
