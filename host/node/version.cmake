# SPDX-License-Identifier: GPL-2.0-or-later
#
# cmake -D ROOT=.. -D OUTPUT=version.hpp -P version.cmake: the project's version, and a digest of the sources that a daemon is made of. Two
# daemons with one digest measure and decide alike, whatever machines they were built for.
file(STRINGS "${ROOT}/host/python/perhop/__init__.py" line REGEX "^__version__ = ")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" version "${line}")
file(GLOB_RECURSE sources RELATIVE "${ROOT}" "${ROOT}/host/core/*.[ch]pp" "${ROOT}/host/drivers/*.[ch]pp" "${ROOT}/host/node/*.[ch]pp"
  "${ROOT}/host/sockets/*.[ch]pp")
list(FILTER sources EXCLUDE REGEX "/tests/")
list(SORT sources)
set(digests "")
foreach(source IN LISTS sources)
  file(SHA256 "${ROOT}/${source}" digest)
  string(APPEND digests "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING "${digest}" 0 12 digest)
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
// SPDX-License-Identifier: GPL-2.0-or-later
// Written by host/node/version.cmake.
#pragma once

namespace perhop::node {
inline constexpr const char* version_text = "@version@ sources @digest@";
}  // namespace perhop::node
]])
