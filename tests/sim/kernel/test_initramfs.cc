// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "sim/kernel/initramfs.hpp"

namespace perhop::kernels {
namespace {

TEST(initramfs, is_the_archive_that_the_format_says) {
  const std::vector<std::string> folders = {"proc"};
  const std::vector<initramfs_file> files = {{.name = "init", .content = "12345", .program = true}, {.name = "plan", .content = "abcd"}};
  const std::string made = make_initramfs(folders, files);
  // Each header has 110 bytes, then the name with its 0, up to a multiple of 4, then the content, likewise.
  const std::string first =
      "070701"
      "00000001"
      "000041ED"
      "00000000"
      "00000000"
      "00000001"
      "00000000"
      "00000000"
      "00000000"
      "00000000"
      "00000000"
      "00000000"
      "00000005"
      "00000000";
  EXPECT_EQ(made.substr(0, 110), first);
  EXPECT_EQ(made.substr(110, 6), std::string("proc\0\0", 6));
  const std::string second = made.substr(116, 110);
  EXPECT_EQ(second.substr(14, 8), "000081ED") << "a program";
  EXPECT_EQ(second.substr(54, 8), "00000005") << "its size";
  EXPECT_EQ(made.substr(116 + 110, 6 + 8), std::string("init\0\0"
                                                       "12345\0\0\0",
                                                       14));
  const std::string third = made.substr(116 + 110 + 14, 110);
  EXPECT_EQ(third.substr(14, 8), "000081A4") << "a file";
  EXPECT_NE(made.find("TRAILER!!!"), std::string::npos);
  EXPECT_EQ(made.size() % 4, 0U);
}

TEST(initramfs, is_a_function_of_its_files) {
  const std::vector<initramfs_file> files = {{.name = "init", .content = "1", .program = true}};
  EXPECT_EQ(make_initramfs({}, files), make_initramfs({}, files));
}

}  // namespace
}  // namespace perhop::kernels
