// SPDX-License-Identifier: GPL-2.0-or-later
/// What a kernel begins with: an archive of files in memory (cpio in the format `newc`, Documentation/driver-api/early-userspace of
/// Linux), the same to the byte for the same files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace perhop::kernels {

struct initramfs_file {
  std::string name;  ///< path without a first slash
  std::string content;
  bool program = false;
};

/// @param folders that are to be there, such as mount points
std::string make_initramfs(std::span<const std::string> folders, std::span<const initramfs_file> files);

}  // namespace perhop::kernels
