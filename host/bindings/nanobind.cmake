# SPDX-License-Identifier: GPL-2.0-or-later
#
# Finds nanobind for the folder that includes this, and puts modules into the Python package.
set(Python_ROOT_DIR "${PERHOP_VENV}")
set(Python_FIND_VIRTUALENV ONLY)
find_package(Python 3.11 COMPONENTS Interpreter Development.Module)
file(GLOB perhop_nanobind "${PERHOP_VENV}/lib/python3*/site-packages/nanobind/cmake")
set(PERHOP_HAS_NANOBIND OFF)
if(Python_FOUND AND perhop_nanobind)
  set(PERHOP_HAS_NANOBIND ON)
  find_package(nanobind CONFIG REQUIRED HINTS "${perhop_nanobind}")
endif()

# A wheel's modules are for every Python from 3.11 on; the package nanobind-backend has the part of nanobind that depends on it.
set(PERHOP_NANOBIND_MODE NB_STATIC)
if(SKBUILD)
  set(PERHOP_NANOBIND_MODE BACKEND_MODULE nanobind_backend)
endif()

# perhop_install_module(TARGET MODULE): type stubs, and both into the package as a part of TARGET_package.
# Renamed into place: a Python that runs keeps the module it has loaded.
function(perhop_install_module target module)
  nanobind_add_stub(${target}_stub
    MODULE ${module}
    OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${module}.pyi"
    PYTHON_PATH "$<TARGET_FILE_DIR:${target}>"
    DEPENDS ${target}
  )
  get_target_property(excluded ${target} EXCLUDE_FROM_ALL)
  if(excluded)
    set_target_properties(${target}_stub PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(NOT PERHOP_PACKAGE_DIR)
    return()
  endif()
  set(library "${PERHOP_PACKAGE_DIR}/$<TARGET_FILE_NAME:${target}>")
  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/${module}_package.stamp")
  add_custom_command(
    OUTPUT "${stamp}"
    COMMAND "${CMAKE_COMMAND}" -E copy "$<TARGET_FILE:${target}>" "${library}.new"
    COMMAND "${CMAKE_COMMAND}" -E rename "${library}.new" "${library}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${CMAKE_CURRENT_BINARY_DIR}/${module}.pyi" "${PERHOP_PACKAGE_DIR}/${module}.pyi"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS ${target} "${CMAKE_CURRENT_BINARY_DIR}/${module}.pyi"
  )
  if(excluded)
    add_custom_target(${target}_package DEPENDS "${stamp}")
  else()
    add_custom_target(${target}_package ALL DEPENDS "${stamp}")
  endif()
endfunction()
