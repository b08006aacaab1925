# SPDX-License-Identifier: GPL-2.0-or-later
#
# The libraries of ns-3's wheel that were installed: they find each other wherever they lie, and do without GSL, of which they call nothing
# (the smoke test binds all of their symbols).
file(GLOB libraries "${CMAKE_INSTALL_PREFIX}/perhop/lib/lib*.so*")
foreach(library IN LISTS libraries)
  execute_process(COMMAND "${patchelf}" --print-needed "${library}" OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "libgsl[^\n]*" unwanted "${needed}")
  list(TRANSFORM unwanted PREPEND "--remove-needed;")
  execute_process(COMMAND "${patchelf}" --set-rpath "$ORIGIN" ${unwanted} "${library}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
