// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/initramfs.hpp"

#include <array>
#include <cstdio>

namespace perhop::kernels {

namespace {

constexpr unsigned folder_mode = 0040755, file_mode = 0100644, program_mode = 0100755;

class archive {
public:
  void add(const std::string& name, unsigned mode, const std::string& content) {
    std::array<char, 128> head{};
    // Magic, inode, mode, owner, group, links, time, size, four device numbers, length of the name with its 0, checksum.
    std::snprintf(head.data(), head.size(), "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X", ++inode_, mode, 0U, 0U, 1U, 0U,
                  content.size(), 0U, 0U, 0U, 0U, name.size() + 1, 0U);
    bytes_ += head.data();
    bytes_ += name;
    bytes_ += '\0';
    pad();
    bytes_ += content;
    pad();
  }
  std::string finish() {
    inode_ = 0;
    add("TRAILER!!!", 0, "");
    return std::move(bytes_);
  }

private:
  void pad() { bytes_.resize((bytes_.size() + 3) / 4 * 4); }

  std::string bytes_;
  unsigned inode_ = 0;
};

}  // namespace

std::string make_initramfs(std::span<const std::string> folders, std::span<const initramfs_file> files) {
  archive made;
  for (const std::string& folder : folders) made.add(folder, folder_mode, "");
  for (const initramfs_file& file : files) made.add(file.name, file.program ? program_mode : file_mode, file.content);
  return made.finish();
}

}  // namespace perhop::kernels
