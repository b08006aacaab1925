// SPDX-License-Identifier: GPL-2.0-or-later
//
// Policies of one's own from files (host/core/policy/own/perhop_policy.h): shared objects, and Python. What is in such a file runs with the
// rights of whoever loads it.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "host/core/policy/own/own_policy.hpp"
#include "host/core/shim/flow_policy.hpp"

namespace perhop::own {

class policy_error : public std::runtime_error {
public:
  policy_error(const std::string& problem, std::string remedy) : std::runtime_error(problem), remedy_(std::move(remedy)) {}

  /// What() is the problem, with the file's name.
  const std::string& remedy() const { return remedy_; }
  /// Both, in one sentence.
  std::string text() const { return what() + std::string("; ") + remedy_; }

private:
  std::string remedy_;
};

/// One policy of one file: FILE.so:NAME or FILE.py:CLASS.
class policy_file final : public policy::own_policy_source {
public:
  /// @param failed is told what an object says that cannot go on; it may throw
  policy_file(std::filesystem::path file, std::string name, std::function<void(const std::string&)> failed);

  /// Runs the file. Does nothing the second time.
  /// @throws policy_error it is no such policy, or root would run what others can write
  void load() const;

  const perhop_policy* table() const override { return table_; }
  void on_failed(const char* problem) const override { failed_(name() + ": " + problem); }

  std::string name() const { return file_.filename().string() + ":" + name_; }

private:
  std::filesystem::path file_;
  std::string name_;
  std::function<void(const std::string&)> failed_;
  mutable const perhop_policy* table_ = nullptr;
};

/// The policy for as long as the process runs: connections may outlive the configuration that named it. Not loaded yet.
const policy_file& policy_in(const std::filesystem::path& file, const std::string& name,
                             const std::function<void(const std::string&)>& failed);

/// Loads the policy of one's own that a flow's policy names, if it does. Before that, its parts do nothing.
/// @throws policy_error also where it has not a part that it is to be
void load_own(const shim::flow_policy& policy);

}  // namespace perhop::own
