# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a wheel has beside the Python files: bin (programs), lib (libraries that no Debian system has by itself), the bindings, and tree:
# experiments and specification where a checkout has them, and what it was built from. perhop.paths is who looks there.
set(programs perhop-air perhop-sim perhop-exact perhop-live-air perhop-node perhop-policy)
foreach(target IN LISTS programs ITEMS perhop_bindings perhop_modem perhop_station)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "a wheel has ${target}, which cannot be built here: see the warnings above")
  endif()
endforeach()
set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET perhop_libraries RUNTIME DESTINATION perhop/bin COMPONENT wheel)

# The C library, the compiler's and zlib are on every system that has Python and apt. GSL's licence does not go with that of ns-3, which
# names it and calls nothing of it.
file(GLOB ns3_libraries_folder "${PERHOP_VENV}/lib/python3*/site-packages/ns3/lib64")
install(RUNTIME_DEPENDENCY_SET perhop_libraries
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s|z)\\.so" "^libgsl"
  DIRECTORIES "${ns3_libraries_folder}"
  LIBRARY DESTINATION perhop/lib COMPONENT wheel)
find_program(PERHOP_PATCHELF patchelf REQUIRED)
install(CODE "set(patchelf \"${PERHOP_PATCHELF}\")" COMPONENT wheel)
install(SCRIPT "${CMAKE_CURRENT_LIST_DIR}/free_libraries.cmake" COMPONENT wheel)
file(GLOB ns3_licences "${PERHOP_VENV}/lib/python3*/site-packages/ns3-*.dist-info/licenses")
install(DIRECTORY "${ns3_licences}/" DESTINATION perhop/lib/licenses/ns3 COMPONENT wheel)

# Needs the shared library of the Python that it was built with, which is not packed: a policy imports that one's packages.
if(TARGET perhop_python_policy)
  install(TARGETS perhop_python_policy LIBRARY DESTINATION perhop/lib COMPONENT wheel)
endif()
install(FILES host/core/policy/own/perhop_policy.h DESTINATION perhop/tree/host/core/policy/own COMPONENT wheel)
install(FILES host/own/perhop_policy.hpp DESTINATION perhop/tree/host/own COMPONENT wheel)
install(TARGETS perhop_bindings perhop_modem perhop_station LIBRARY DESTINATION perhop COMPONENT wheel)
install(FILES "${CMAKE_BINARY_DIR}/host/bindings/core.pyi" "${CMAKE_BINARY_DIR}/host/bindings/modem.pyi"
  "${CMAKE_BINARY_DIR}/flowgraphs/mac/station.pyi" DESTINATION perhop COMPONENT wheel)

# What Companion reads of the blocks in perhop_gr, in the environment's share.
file(GLOB block_descriptions flowgraphs/blocks/*.block.yml)
install(FILES ${block_descriptions} DESTINATION "${SKBUILD_DATA_DIR}/share/gnuradio/grc/blocks" COMPONENT wheel)
install(FILES flowgraphs/examples/dsss_loopback.grc DESTINATION "${SKBUILD_DATA_DIR}/share/gr-perhop/examples" COMPONENT wheel)

install(DIRECTORY sim/experiments DESTINATION perhop/tree/sim COMPONENT wheel
  FILES_MATCHING PATTERN "*.yaml" PATTERN "*.py" PATTERN "*.cpp" PATTERN "*.json" PATTERN "README.md" PATTERN "__pycache__" EXCLUDE)
install(FILES gateware/spec/registers.rdl gateware/spec/protocol.yaml gateware/spec/frames.yaml DESTINATION perhop/tree/gateware/spec COMPONENT wheel)
set(PERHOP_BUILT_FROM "" CACHE STRING "The version of the tree, as git describes it, where there is no git to ask")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/built_from.json" CONTENT "{\"git\": \"@PERHOP_BUILT_FROM@\"}\n" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/built_from.json" DESTINATION perhop/tree COMPONENT wheel)
