// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/own/load_policy.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <string_view>
#include <system_error>
#include <utility>

#include "host/own/python_policy.h"

namespace perhop::own {

namespace {

namespace fs = std::filesystem;

/// Root, or who has become root by sudo.
bool is_trusted(uid_t owner) {
  const char* const by_sudo = std::getenv("SUDO_UID");
  return owner == 0 || owner == geteuid() || (by_sudo != nullptr && std::to_string(owner) == by_sudo);
}

/// What others can write, they could make root run.
void refuse_what_others_can_write(const fs::path& file) {
  if (geteuid() != 0) return;
  for (fs::path place = file;; place = place.parent_path()) {
    struct stat found{};
    if (stat(place.c_str(), &found) != 0)
      throw policy_error(place.string() + ": " + std::generic_category().message(errno), "name another file");
    // In a folder with the sticky bit, such as /tmp, others cannot replace what is not theirs.
    const bool others_write = (found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !(S_ISDIR(found.st_mode) && (found.st_mode & S_ISVTX) != 0);
    if (others_write || !is_trusted(found.st_uid)) {
      throw policy_error(file.string() + " would run as root, and others can write " + (place == file ? "it" : place.string()),
                         "make root its owner and the only one who writes it (chown root, chmod go-w), or run without root");
    }
    if (place == place.root_path()) return;
  }
}

std::string last_loader_error() {
  const char* const said = dlerror();
  return said != nullptr ? said : "it cannot be loaded";
}

const perhop_policy* from_shared_object(const fs::path& file, const std::string& name) {
  void* const object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) throw policy_error(last_loader_error(), "build it with `perhop policy build`");
  const std::string symbol = "perhop_policy_" + name;
  const auto get = reinterpret_cast<const perhop_policy* (*)()>(dlsym(object, symbol.c_str()));
  if (get == nullptr)
    throw policy_error(file.string() + " has no policy " + name, "say PERHOP_POLICY(" + name + ") in its source, and build it again");
  return get();
}

/// Python is a library that only these policies need, so it comes with the first of them.
const perhop_policy* from_python(const fs::path& file, const std::string& name) {
  // Global: extension modules look for the functions of Python there.
  void* const python = dlopen(python_policy_library, RTLD_NOW | RTLD_GLOBAL);
  if (python == nullptr) {
    throw policy_error("policies in Python need " + last_loader_error(),
                       "install Debian's libpython3.11; in a checkout python3-dev, then remove out/build and `make build`");
  }
  const auto open = reinterpret_cast<decltype(&perhop_open_python_policy)>(dlsym(python, python_policy_symbol));
  if (open == nullptr) throw policy_error(last_loader_error(), "build perhop again");
  std::array<char, 8192> problem{};
  const perhop_policy* const found = open(file.c_str(), name.c_str(), problem.data(), problem.size());
  if (found == nullptr) throw policy_error(problem.data(), "mend the file");
  return found;
}

}  // namespace

policy_file::policy_file(fs::path file, std::string name, std::function<void(const std::string&)> failed)
    : file_(std::move(file)), name_(std::move(name)), failed_(std::move(failed)) {}

void policy_file::load() const {
  if (table_ != nullptr) return;
  std::error_code error;
  const fs::path file = fs::canonical(file_, error);
  if (error)
    throw policy_error(file_.string() + ": " + error.message(), "name a file: FILE.py:CLASS, or FILE.so:NAME after `perhop policy build`");
  refuse_what_others_can_write(file);
  const bool python = file.extension() == ".py";
  if (!python && file.extension() != ".so")
    throw policy_error(file.string() + " is neither Python (.py) nor a shared object (.so)",
                       "build C++ with `perhop policy build`, and name what that makes");
  const perhop_policy* const found = python ? from_python(file, name_) : from_shared_object(file, name_);
  if (found->interface_version != PERHOP_POLICY_INTERFACE) {
    throw policy_error(file.string() + " has version " + std::to_string(found->interface_version) +
                           " of the interface of policies, and this perhop " + std::to_string(PERHOP_POLICY_INTERFACE),
                       "build it again with `perhop policy build`");
  }
  if (found->limit_packets == nullptr && found->tcp_ack_packets == nullptr && found->pacing_interval_us == nullptr) {
    throw policy_error(file.string() + ": " + name_ + " decides nothing", "give it limit_packets, tcp_ack_packets or pacing_interval_us");
  }
  table_ = found;
}

const policy_file& policy_in(const fs::path& file, const std::string& name, const std::function<void(const std::string&)>& failed) {
  struct known {
    fs::path file;
    std::string name;
    policy_file source;
  };
  static std::deque<known> all;  // a deque: each stays where it is
  for (known& one : all) {
    if (one.file == file && one.name == name) return one.source;
  }
  all.push_back({file, name, policy_file(file, name, failed)});
  return all.back().source;
}

void load_own(const shim::flow_policy& policy) {
  const auto* const file = dynamic_cast<const policy_file*>(policy.own);
  if (file == nullptr) return;
  file->load();
  const auto check = [file](bool wanted, bool there, const char* key, const char* function) {
    if (wanted && !there) throw policy_error(file->name() + " is to be the policy's `" + key + "`, but has no " + function, "give it one");
  };
  const perhop_policy& table = *file->table();
  check(policy.cwl.kind == policy::cwl_kind::own, table.limit_packets != nullptr, "cwl", "limit_packets");
  check(policy.tcp_ack.kind == policy::tcp_ack_kind::own, table.tcp_ack_packets != nullptr, "tcp_ack", "tcp_ack_packets");
  check(policy.pacing.kind == policy::pacing_kind::own, table.pacing_interval_us != nullptr, "pacing", "pacing_interval_us");
}

}  // namespace perhop::own
