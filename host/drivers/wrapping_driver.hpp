// SPDX-License-Identifier: GPL-2.0-or-later
/// A driver around another one: everything passes. What derives from it changes what it is there to change.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "host/drivers/driver.hpp"

namespace perhop::drivers {

class wrapping_driver : public driver, protected driver_listener {
public:
  explicit wrapping_driver(std::unique_ptr<driver> inner) : inner_(std::move(inner)) {}

  int descriptor() const override { return inner_->descriptor(); }
  void poll(driver_listener& listener) override {
    listener_ = &listener;
    inner_->poll(*this);
    after_poll();
    listener_ = nullptr;
  }
  bool can_send() const override { return inner_->can_send(); }
  bool send(const send_request& request) override { return inner_->send(request); }
  void restart(const std::string& why) override { inner_->restart(why); }
  bool access_registers(std::uint32_t cookie, std::span<const register_access> accesses) override {
    return inner_->access_registers(cookie, accesses);
  }
  const driver_counters& counters() const override { return inner_->counters(); }
  std::optional<radio_time> time() const override { return inner_->time(); }
  std::optional<std::uint32_t> mac_clock_us() const override { return inner_->mac_clock_us(); }
  std::string problem() const override { return inner_->problem(); }

protected:
  void on_up(const mac_properties& mac) override { listener_->on_up(mac); }
  void on_down() override { listener_->on_down(); }
  void on_completion(std::uint32_t cookie, const completion_record& record) override { listener_->on_completion(cookie, record); }
  void on_reception(const reception& frame) override { listener_->on_reception(frame); }
  void on_registers(std::uint32_t cookie, std::span<const register_answer> answers) override { listener_->on_registers(cookie, answers); }

  /// What is to be done beside, once a poll().
  virtual void after_poll() {}

  driver& inner() { return *inner_; }
  /// Told of what happens; only during poll().
  driver_listener& listener() { return *listener_; }

private:
  std::unique_ptr<driver> inner_;
  driver_listener* listener_ = nullptr;
};

}  // namespace perhop::drivers
