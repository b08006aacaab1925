# SPDX-License-Identifier: GPL-2.0-or-later
#
# After every Verilator run: gathers the generated files in one translation unit, and makes sure that core_node may give a
# clock by calling the model's one clocked process:
#  - there is one such process and no combinational one after it;
#  - no combinational path leads from an input other than the settings (cfg_*) to anything.
# It also makes two forms of that process (core_node.hpp), of which the compiler leaves out what they never do: reset, seeding,
# the table's snapshots; and what passing time takes in a clock that carries none, or what a settling core does in one that does.
# Usage: cmake -Dmodel_folder=... -Dmodel_unity=... -P check_model.cmake
file(GLOB sources "${model_folder}/*.cpp")
list(SORT sources)
set(text "")
set(code "")
foreach(source IN LISTS sources)
  get_filename_component(name "${source}" NAME)
  string(APPEND text "#include \"${name}\"\n")
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
  string(REGEX MATCHALL "vlSelfRef\\.(rst|tick_n|phy_cca_busy|phy_rx_[a-z_]+|desc_(valid|queue|ra|peer|bytes|rate|airtime_us|use_rts|tag)|nbr_(take|index|bin))[^a-z_0-9]"
         inputs "${input_process}")
  list(REMOVE_DUPLICATES inputs)
  if(inputs)
    message(FATAL_ERROR "mac_core: outputs depend on inputs within a clock (${inputs}), so core_node::clock_direct() would "
                        "miss them. Register these inputs first, or configure with -DPERHOP_DIRECT_EVAL=OFF.")
  endif()
endif()
string(APPEND text "
static inline void never_in_a_run(Vmac_core___024root* root) { root->rst = root->cfg_seed_load = root->nbr_take = 0; }
__attribute__((flatten)) void Vmac_core_settle(Vmac_core___024root* root) {
  never_in_a_run(root);
  root->tick_n = 0;
  Vmac_core___024root___nba_sequent__TOP__0(root);
}
__attribute__((flatten)) void Vmac_core_pass_time(Vmac_core___024root* root) {
  never_in_a_run(root);
  if (root->tick_n == 0) __builtin_unreachable();
  Vmac_core___024root___nba_sequent__TOP__0(root);
}
")
file(WRITE "${model_unity}" "${text}")
