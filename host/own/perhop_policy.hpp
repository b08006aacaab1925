// SPDX-License-Identifier: GPL-2.0-or-later
//
// A policy of one's own in C++20: a class with those member functions of perhop_policy.h that it has a use for, and one line.
//
//   #include <perhop_policy.hpp>
//
//   struct two_packets {
//     std::uint32_t limit_packets() { return 2; }
//   };
//   PERHOP_POLICY(two_packets)
//
// Functions take what the table's take, without the object, and structs by reference: void on_path(std::uint64_t now_us, const
// perhop_path&). `perhop policy build FILE.cpp` makes FILE.so of it, which an experiment names FILE.so:two_packets. What a function throws
// ends the policy.

#pragma once

#include <concepts>
#include <cstdint>
#include <exception>

#include <perhop_policy.h>

namespace perhop::own_policies {

template <typename policy>
class table_of {
  struct object {
    explicit object(const perhop_host* of) : host(of) {}
    const perhop_host* host;
    policy self{};
  };

  /// Nothing that is thrown may pass a function of C.
  template <typename result, typename call_type>
  static result guarded(const perhop_host* host, call_type call) {
    try {
      return call();
    } catch (const std::exception& error) {
      host->fail(host->context, error.what());
    } catch (...) {
      host->fail(host->context, "an exception that is no std::exception");
    }
    return result();
  }

  template <typename result, typename call_type>
  static result with(void* made, call_type call) {
    object& used = *static_cast<object*>(made);
    return guarded<result>(used.host, [&] { return static_cast<result>(call(used.self)); });
  }

public:
  static perhop_policy make() {
    perhop_policy table{};
    table.interface_version = PERHOP_POLICY_INTERFACE;
    table.create = [](const perhop_policy*, const perhop_host* host) {
      return guarded<void*>(host, [host]() -> void* { return new object(host); });
    };
    table.destroy = [](void* made) { delete static_cast<object*>(made); };

// A function that has the name and cannot be called would never be: that is said when the file is compiled.
#define PERHOP_POLICY_HAS(name, ...)                                                                                              \
  static_assert(                                                                                                                  \
      requires(policy& p) { p.__VA_ARGS__; } || !requires { &policy::name; }, #name " has not the arguments of perhop_policy.h"); \
  if constexpr (requires(policy& p) { p.__VA_ARGS__; })

    PERHOP_POLICY_HAS(on_path, on_path(std::uint64_t{}, perhop_path{})) {
      table.on_path = [](void* made, std::uint64_t now_us, const perhop_path* path) {
        with<void>(made, [&](policy& self) { self.on_path(now_us, *path); });
      };
    }
    PERHOP_POLICY_HAS(on_sent, on_sent(std::uint64_t{}, perhop_sent{})) {
      table.on_sent = [](void* made, std::uint64_t now_us, const perhop_sent* sent) {
        with<void>(made, [&](policy& self) { self.on_sent(now_us, *sent); });
      };
    }
    PERHOP_POLICY_HAS(on_arrival, on_arrival(std::uint64_t{}, perhop_arrival{})) {
      table.on_arrival = [](void* made, std::uint64_t now_us, const perhop_arrival* arrival) {
        with<void>(made, [&](policy& self) { self.on_arrival(now_us, *arrival); });
      };
    }
    PERHOP_POLICY_HAS(on_tcp_ack_sent, on_tcp_ack_sent(std::uint64_t{}, std::uint32_t{})) {
      table.on_tcp_ack_sent = [](void* made, std::uint64_t now_us, std::uint32_t packets_in_vain) {
        with<void>(made, [&](policy& self) { self.on_tcp_ack_sent(now_us, packets_in_vain); });
      };
    }
    PERHOP_POLICY_HAS(on_completion, on_completion(std::uint64_t{}, perhop_completion{})) {
      table.on_completion = [](void* made, std::uint64_t now_us, const perhop_completion* completion) {
        with<void>(made, [&](policy& self) { self.on_completion(now_us, *completion); });
      };
    }
    PERHOP_POLICY_HAS(limit_packets, limit_packets()) {
      table.limit_packets = [](void* made) { return with<std::uint32_t>(made, [](policy& self) { return self.limit_packets(); }); };
    }
    PERHOP_POLICY_HAS(pacing_interval_us, pacing_interval_us(std::uint64_t{}, perhop_release{})) {
      table.pacing_interval_us = [](void* made, std::uint64_t now_us, const perhop_release* release) {
        return with<std::uint64_t>(made, [&](policy& self) { return self.pacing_interval_us(now_us, *release); });
      };
    }
    PERHOP_POLICY_HAS(tcp_ack_packets, tcp_ack_packets()) {
      table.tcp_ack_packets = [](void* made) { return with<std::uint32_t>(made, [](policy& self) { return self.tcp_ack_packets(); }); };
    }
    PERHOP_POLICY_HAS(tcp_ack_deadline_us, tcp_ack_deadline_us(perhop_tcp_ack_wait{})) {
      table.tcp_ack_deadline_us = [](void* made, const perhop_tcp_ack_wait* wait) {
        return with<std::uint64_t>(made, [&](policy& self) { return self.tcp_ack_deadline_us(*wait); });
      };
    }
#undef PERHOP_POLICY_HAS
    return table;
  }
};

}  // namespace perhop::own_policies

/// At the end of the file, outside of all namespaces.
#define PERHOP_POLICY(name)                                                                       \
  extern "C" __attribute__((visibility("default"))) const perhop_policy* perhop_policy_##name() { \
    static const perhop_policy table = perhop::own_policies::table_of<name>::make();              \
    return &table;                                                                                \
  }
