// SPDX-License-Identifier: GPL-2.0-or-later
/// UHD's mock of a register interface with the model of a radio behind it, and a block on it.
#pragma once

#include <uhd/exception.hpp>
#include <uhd/rfnoc/mock_block.hpp>
#include <uhd/rfnoc/noc_block_make_args.hpp>
#include <utility>

#include "host/drivers/uhd/perhop_block_control.hpp"
#include "radio_model.hpp"

namespace perhop::drivers::conformance {

/// Accesses reach the model; without it, or with `silent`, nobody answers.
class mock_registers : public ::uhd::rfnoc::mock_reg_iface_t {
public:
  explicit mock_registers(radio_model& model) : model_(model) {}
  bool silent = false;
  std::size_t unanswered_writes = 0;  ///< that did not ask for an answer

protected:
  void _poke_cb(std::uint32_t address, std::uint32_t word, ::uhd::time_spec_t, bool answered) override {
    expect_answer();
    if (!answered) ++unanswered_writes;
    model_.write(address, word);
  }
  void _peek_cb(std::uint32_t address, ::uhd::time_spec_t) override {
    expect_answer();
    read_memory[address] = model_.read(address);
  }

private:
  void expect_answer() const {
    if (silent || !model_.present()) throw ::uhd::op_timeout("no answer");
  }
  radio_model& model_;
};

inline ::uhd::rfnoc::mock_block_container mock_block(std::shared_ptr<mock_registers> registers,
                                                     std::uint32_t noc_id = uhd_blocks::perhop_noc_id) {
  uhd_blocks::register_blocks();
  return ::uhd::rfnoc::get_mock_block(noc_id, 1, 1, ::uhd::device_addr_t(), 8000, ::uhd::rfnoc::ANY_DEVICE, std::move(registers));
}

}  // namespace perhop::drivers::conformance
