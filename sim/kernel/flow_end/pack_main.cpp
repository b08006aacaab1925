// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-pack-flow-end PROGRAM: writes the archive that a kernel begins with, but for its plan, to standard output. Part of the build,
// which compresses it: a kernel keeps what it has read the archive from beside what comes out of it.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "sim/kernel/flow_plan.hpp"
#include "sim/kernel/initramfs.hpp"

int main(int count, char** words) {
  using namespace perhop::kernels;
  std::ifstream program(count == 2 ? words[1] : "", std::ios::binary);
  if (!program) {
    std::fprintf(stderr, "usage: perhop-pack-flow-end PROGRAM\n");
    return 2;
  }
  const std::vector<std::string> folders = {"proc"};
  const std::vector<initramfs_file> files = {
      {.name = flow_plan::program_name, .content = {std::istreambuf_iterator<char>(program), {}}, .program = true}};
  const std::string archive = make_initramfs(folders, files);
  return std::fwrite(archive.data(), 1, archive.size(), stdout) == archive.size() ? 0 : 1;
}
