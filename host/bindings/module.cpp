// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop.core: host/core for Python.

#include <nanobind/nanobind.h>

#include "host/bindings/bind.hpp"

NB_MODULE(core, module) {
  module.doc() =
      "The policies, the path header and the shim of host/core: the objects that the simulator and a live node run.\n\n"
      "Nothing here reads a clock: the time is an argument, `now_us`, in microseconds since any fixed moment, and never goes\n"
      "back. Every value is checked: TypeError and ValueError name the field and say what it takes. What is not known is 0,\n"
      "where a field says so, or None.";
  perhop::bindings::bind_wire(module);
  perhop::bindings::bind_delay_estimator(module);
  perhop::bindings::bind_window_limits(module);
  perhop::bindings::bind_tcp_acks(module);
  perhop::bindings::bind_pacing(module);
  perhop::bindings::bind_exact(module);
  perhop::bindings::bind_tfrc(module);
  perhop::bindings::bind_shim(module);
}
