# SPDX-License-Identifier: GPL-2.0-or-later
#
# After a Verilator run: gathers the generated files in one translation unit.
# Usage: cmake -Dmodel_folder=... -Dmodel_unity=... -P gather_model.cmake
file(GLOB sources "${model_folder}/*.cpp")
list(SORT sources)
set(text "")
foreach(source IN LISTS sources)
  get_filename_component(name "${source}" NAME)
  string(APPEND text "#include \"${name}\"\n")
endforeach()
file(WRITE "${model_unity}" "${text}")
