// SPDX-License-Identifier: GPL-2.0-or-later
/// The three hosts, side by side: each event is played to all, and what is then seen is compared line by line.
#pragma once

#include <gtest/gtest.h>

#include <array>

#include "host_under_test.hpp"

namespace perhop::hop_test {

class three_hosts {
public:
  explicit three_hosts(const setting& with) : hosts_{make_ns3_host(with), make_node_host(with), make_study_host(with)} {}

  void play(const event& event) {
    std::array<std::string, 3> lines;
    for (std::size_t host = 0; host < hosts_.size(); ++host) lines[host] = played(*hosts_[host], event);
    constexpr std::array<const char*, 3> names = {"ns-3", "daemon", "study"};
    for (std::size_t host = 1; host < hosts_.size(); ++host) {
      ASSERT_EQ(lines[host], lines[0]) << "event " << events << " at " << event.now << " us, kind " << static_cast<int>(event.kind) << ": "
                                       << names[host] << " differs from " << names[0];
    }
    ++events;
    frames += lines[0].find(" frame ") != std::string::npos ? 1 : 0;
    rewritten += lines[0].starts_with(" window ") ? 1 : 0;
    held += lines[0].find(" room 0 ") == std::string::npos ? 1 : 0;
    last = lines[0];
  }

  std::size_t events = 0, frames = 0;
  std::size_t rewritten = 0;  ///< windows
  std::size_t held = 0;       ///< events after which something waited to be released
  std::string last;

private:
  static std::string played(host_under_test& host, const event& event) {
    std::string line;
    host.pass(event.now);
    switch (event.kind) {
      case event::what::send:
        host.send(event.now, event.ip);
        break;
      case event::what::receive:
        if (const auto window = host.receive(event.now, event.header, event.rider, event.ip)) line = " window " + std::to_string(*window);
        break;
      case event::what::forward:
        host.forward(event.now, event.header, event.rider, event.ip);
        break;
      case event::what::begin:
        host.begin(event.now, event.flow);
        break;
      case event::what::complete:
        if (host.has_frame()) host.complete(event.now, event.done);
    }
    return line + host.state();
  }

  std::array<std::unique_ptr<host_under_test>, 3> hosts_;
};

}  // namespace perhop::hop_test
