// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/make_uhd_link.hpp"

namespace perhop::drivers {

bool has_uhd() { return false; }

std::unique_ptr<radio_link> make_uhd_link(const uhd_config&) {
  throw link_error("this program was built without UHD: install libuhd-dev, remove out/build, and build again");
}

}  // namespace perhop::drivers
