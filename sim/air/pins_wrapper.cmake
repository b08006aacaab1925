# SPDX-License-Identifier: GPL-2.0-or-later
#
# perhop_pins_wrapper(SOURCE VARIABLE [PORT=SIGNAL ...]): the path of the wrapper that has a pin for each member of the structs of
# SOURCE's ports; gateware/spec/pins.py writes it below the binary folder. Pins of PORT stand while SIGNAL is 0.
function(perhop_pins_wrapper source variable)
  get_filename_component(gateware "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../gateware" ABSOLUTE)
  get_filename_component(module "${source}" NAME_WE)
  set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/${module}_pins.sv")
  add_custom_command(
    OUTPUT "${wrapper}"
    COMMAND "${PERHOP_VENV}/bin/python" "${gateware}/spec/pins.py" "${source}" "${wrapper}" ${ARGN}
    DEPENDS "${source}" "${gateware}/spec/pins.py" "${gateware}/rtl/common/perhop_pkg.sv"
    VERBATIM
  )
  set(${variable} "${wrapper}" PARENT_SCOPE)
endfunction()
