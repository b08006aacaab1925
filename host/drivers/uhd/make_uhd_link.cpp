// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/make_uhd_link.hpp"

#include "host/drivers/uhd/uhd_link.hpp"

namespace perhop::drivers {

bool has_uhd() { return true; }

std::unique_ptr<radio_link> make_uhd_link(const uhd_config& config) { return std::make_unique<uhd_link>(config); }

}  // namespace perhop::drivers
